//! The kinds of sidecars: names, images, and what their tools find in the environment.

use crate::{error::Error, near::nearest};

/// A kind of sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// As `aifo_shim::tools` and the proxy know it.
    pub(crate) name: &'static str,
    /// What users write instead.
    aliases: &'static [&'static str],
    /// Of our image, behind `toolchain-`.
    pub(crate) image: &'static str,
    /// The language's own image: name, tag of the newest version, and what follows the version.
    pub(crate) official: (&'static str, &'static str, &'static str),
    /// What every tool of the kind finds set, besides HOME.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// A call that every sidecar of the kind can serve at once.
    pub(crate) probe: [&'static str; 2],
}

/// HOME in every container; the same for any user.
pub(crate) const HOME: &str = "/home/coder";

const NODE: &[(&str, &str)] = &[
    ("NPM_CONFIG_CACHE", "/home/coder/.cache/npm"),
    ("NPM_CONFIG_PREFIX", "/home/coder/.cache/npm-global"),
    ("YARN_CACHE_FOLDER", "/home/coder/.cache/yarn"),
    ("PNPM_STORE_PATH", "/home/coder/.cache/pnpm-store"),
    ("DENO_DIR", "/home/coder/.cache/deno"),
];
const PYTHON: &[(&str, &str)] =
    &[("PIP_CACHE_DIR", "/home/coder/.cache/pip"), ("UV_CACHE_DIR", "/home/coder/.cache/uv"), ("UV_LINK_MODE", "copy")];

/// All kinds, in the order of the help.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "rust",
        aliases: &[],
        image: "rust",
        official: ("rust", "1", "-bookworm"),
        env: &[("CARGO_HOME", "/home/coder/.cache/cargo"), ("CC", "gcc"), ("CXX", "g++")],
        probe: ["cargo", "--version"],
    },
    Kind {
        name: "node",
        aliases: &["typescript", "ts", "bun"],
        image: "node",
        official: ("node", "lts", "-bookworm"),
        env: NODE,
        probe: ["node", "--version"],
    },
    Kind {
        name: "python",
        aliases: &["py"],
        image: "python",
        official: ("python", "3", "-bookworm"),
        env: PYTHON,
        probe: ["python3", "--version"],
    },
    Kind {
        name: "c-cpp",
        aliases: &["c", "cpp", "c_cpp", "c++"],
        image: "cpp",
        official: ("gcc", "14", "-bookworm"),
        env: &[],
        probe: ["make", "--version"],
    },
    Kind {
        name: "go",
        aliases: &["golang"],
        image: "go",
        official: ("golang", "1", "-bookworm"),
        env: &[("GOPATH", "/home/coder/.cache/go"), ("GOCACHE", "/home/coder/.cache/go-build")],
        probe: ["go", "version"],
    },
];

impl Kind {
    fn parse(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        KINDS.iter().find(|kind| kind.name == name || kind.aliases.contains(&name.as_str()))
    }
}

/// `KIND[@VERSION][=IMAGE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) kind: Kind,
    pub(crate) version: Option<String>,
    pub(crate) image: Option<String>,
}

impl Spec {
    /// # Errors
    /// [`Error::Usage`] with the sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::Usage(why);
        let (left, image) = match text.split_once('=') {
            Some((left, image)) => (left, Some(image)),
            None => (text, None),
        };
        let (kind, version) = match left.split_once('@') {
            Some((kind, version)) => (kind, Some(version)),
            None => (left, None),
        };
        if image == Some("") || version == Some("") {
            return Err(bad(format!("toolchain `{text}` has an empty part; write KIND[@VERSION][=IMAGE]")));
        }
        let names = || KINDS.iter().map(|kind| kind.name);
        let unknown = || {
            let all = || format!("there are {}", names().collect::<Vec<_>>().join(", "));
            let meant = nearest(kind, names()).map_or_else(all, |name| format!("did you mean `{name}`?"));
            bad(format!("no toolchain kind `{kind}`; {meant}"))
        };
        let kind = *Kind::parse(kind).ok_or_else(unknown)?;
        Ok(Self { kind, version: version.map(str::to_owned), image: image.map(str::to_owned) })
    }

    /// Of several for one kind the last one counts.
    pub(crate) fn last_of_each_kind(specs: Vec<Self>) -> Vec<Self> {
        let mut kept: Vec<Self> = Vec::new();
        for spec in specs {
            kept.retain(|other| other.kind != spec.kind);
            kept.push(spec);
        }
        kept
    }
}

/// A tool's name as it may stand in a list: nothing that a path, an option or a terminal could make something else of.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    !name.is_empty() && !name.starts_with(['-', '.']) && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_name_is_plain() {
        assert!(["g++", "clang-14", "python3.11", "a_b"].into_iter().all(is_tool_name));
        assert!(!["", "-x", ".x", "..", "a/b", "a b", "é", "a\0"].into_iter().any(is_tool_name));
    }

    fn parts(text: &str) -> Option<String> {
        let Spec { kind, version, image } = Spec::parse(text).ok()?;
        Some(format!("{} {} {}", kind.name, version.unwrap_or_default(), image.unwrap_or_default()))
    }

    #[test]
    fn a_spec_names_kind_version_and_image() {
        for (text, expected) in [
            ("rust", "rust  "),
            ("cpp", "c-cpp  "),
            ("TypeScript@22", "node 22 "),
            ("go=golang:1.22-bookworm", "go  golang:1.22-bookworm"),
            ("rust@1.80=r.example:5000/rust@sha256:ab", "rust 1.80 r.example:5000/rust@sha256:ab"),
        ] {
            assert_eq!(parts(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "ruby", "rust@", "rust=", "@1", "=x", "rust@=x"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_spec_of_a_kind_counts() {
        let specs = ["rust@1", "node", "rust@2"].map(|text| Spec::parse(text).unwrap()).to_vec();
        let kept = Spec::last_of_each_kind(specs);
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[1].version.as_deref(), Some("2"));
    }

    #[test]
    fn kinds_are_those_of_the_tool_table() {
        let ours: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let table: Vec<_> = aifo_shim::tools::KIND_TOOLS.iter().map(|(name, _)| *name).collect();
        assert_eq!(ours, table);
    }
}
