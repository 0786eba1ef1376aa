//! Which tools are carried to which kind of sidecar: the one table behind links, routing and allowlists.
//!
//! The names are those of the seed "toolexec protocol" and of the predecessor's links. A name that stands here gets a
//! link in `/opt/aifo/bin`; a name that does not is refused by the proxy unless the user added it.

/// The development tools that any sidecar may hold: the first running one that has the tool gets the call.
pub const DEV_TOOLS: &[&str] =
    &["make", "cmake", "ninja", "pkg-config", "gcc", "g++", "clang", "clang++", "cc", "c++", "hadolint"];

/// The tools that only one kind of sidecar holds, by the kind's name.
pub const KIND_TOOLS: &[(&str, &[&str])] = &[
    ("rust", &["cargo", "rustc", "rust-analyzer", "rustfmt", "rustdoc"]),
    ("node", &["node", "npm", "npx", "yarn", "pnpm", "deno", "bun", "tsc", "ts-node"]),
    ("python", &["python", "python3", "pip", "pip3", "uv", "uvx"]),
    ("c-cpp", &[]),
    ("go", &["go", "gofmt"]),
];

/// Where an agent's own runtime is looked for, in order of preference: absolute paths, for PATH would find the shim again.
pub const LOCAL_NODE: &[&str] = &["/usr/local/bin/node", "/usr/bin/node"];
pub const LOCAL_PYTHON: &[&str] = &["/usr/bin/python3", "/usr/local/bin/python3"];

/// Every name that is linked to the shim, `env` (the trampoline) aside.
pub fn names() -> impl Iterator<Item = &'static str> {
    KIND_TOOLS.iter().flat_map(|(_, tools)| tools.iter()).chain(DEV_TOOLS).copied()
}
