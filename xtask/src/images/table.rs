//! The table of images: what there is, in which order it is built, and what each starts from.
//!
//! A parent stands before its children, so that the table itself is a valid order of building. What an image contains
//! is its folder's business (`images/FOLDER/`), never this table's. An agent has two images from one Dockerfile:
//! `NAME` starts from `agent`, which has editors, `NAME-slim` from `agent-slim`, which has none.

use crate::cmd::Failure;

/// The version that all images carry in their tag: that of the workspace.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an image is for; it decides what goes into the build context besides the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Where the others install their packages; gets the company's CA; never run, never shipped.
    Workshop(Debian),
    /// Layers that others share; nothing is run in it.
    Base,
    /// Runs an agent: gets the shim, its links and the login file.
    Agent(Flavor),
    /// Runs tools for an agent: carries nothing of ours.
    Toolchain,
}

/// How much an agent's image holds besides the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavor {
    Full,
    Slim,
}

/// The Debian that a workshop starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Debian {
    Bookworm,
    Trixie,
}

impl Debian {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// One image: `aifo-coder-NAME`, built from `images/FOLDER/`.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    /// Another name that a user may type: that of the `--toolchain` kind.
    pub(super) kind: Option<&'static str>,
    pub(super) role: Role,
    /// The build arguments that name other images of this table; the first is what it starts from.
    pub(super) parents: &'static [(&'static str, &'static str)],
    /// The program that no registry carries: the user brings it as `--file NAME=PATH`.
    pub(super) file: Option<&'static str>,
    /// Whether the licences of what it holds let others pass it on.
    pub(super) redistributable: bool,
}

impl Image {
    /// The image's full name, as docker knows it.
    pub(super) fn reference(&self) -> String {
        reference(self.name)
    }

    pub(super) fn is_agent(&self) -> bool {
        matches!(self.role, Role::Agent(_))
    }

    /// Whether containers are made of it; the others only lend their layers.
    pub(super) fn is_run(&self) -> bool {
        self.is_agent() || self.role == Role::Toolchain
    }

    /// Whether `word` names this image; an agent's plain name means the flavors that are asked for.
    fn answers_to(&self, word: &str, flavors: &[Flavor]) -> bool {
        let word = word.strip_prefix("aifo-coder-").unwrap_or(word);
        match self.role {
            Role::Agent(flavor) if [self.folder, "agents", "all"].contains(&word) => flavors.contains(&flavor),
            _ => word == self.name || self.kind == Some(word) || word == "all",
        }
    }

    /// Whether it is built when no word names any.
    fn is_usual(&self, flavors: &[Flavor]) -> bool {
        match self.role {
            Role::Agent(flavor) => self.folder == "shell" && flavors.contains(&flavor),
            Role::Toolchain => true,
            Role::Workshop(_) | Role::Base => false,
        }
    }
}

const fn shared(name: &'static str, folder: &'static str, parents: &'static [(&'static str, &'static str)]) -> Image {
    Image { name, folder, kind: None, role: Role::Base, parents, file: None, redistributable: true }
}

const fn workshop(name: &'static str, debian: Debian) -> Image {
    Image { role: Role::Workshop(debian), ..shared(name, "base-apt", &[]) }
}

const fn full(name: &'static str) -> Image {
    let parents = &[("BASE", "agent"), ("BASE_APT", "base-apt")];
    Image { role: Role::Agent(Flavor::Full), ..shared(name, name, parents) }
}

const fn slim(name: &'static str, folder: &'static str) -> Image {
    let parents = &[("BASE", "agent-slim"), ("BASE_APT", "base-apt")];
    Image { role: Role::Agent(Flavor::Slim), ..shared(name, folder, parents) }
}

/// An agent's image whose program the user brings.
const fn brought(image: Image) -> Image {
    Image { file: Some(image.folder), ..image }
}

const fn toolchain(name: &'static str, kind: &'static str) -> Image {
    let parents = &[("BASE", "base"), ("BASE_APT", "base-apt")];
    Image { kind: Some(kind), role: Role::Toolchain, ..shared(name, name, parents) }
}

/// Every image, parents first.
pub(super) const IMAGES: &[Image] = &[
    workshop("base-apt", Debian::Bookworm),
    shared("base", "base", &[("BASE_APT", "base-apt")]),
    shared("agent-slim", "agent-slim", &[("BASE", "base"), ("BASE_APT", "base-apt")]),
    shared("agent", "agent", &[("BASE", "agent-slim"), ("BASE_APT", "base-apt")]),
    full("shell"),
    slim("shell-slim", "shell"),
    toolchain("toolchain-rust", "rust"),
    toolchain("toolchain-node", "node"),
    toolchain("toolchain-python", "python"),
    toolchain("toolchain-cpp", "c-cpp"),
    toolchain("toolchain-go", "go"),
    full("aider"),
    slim("aider-slim", "aider"),
    Image { redistributable: false, ..full("claude") },
    Image { redistributable: false, ..slim("claude-slim", "claude") },
    full("codex"),
    slim("codex-slim", "codex"),
    brought(full("crush")),
    brought(slim("crush-slim", "crush")),
    full("letta"),
    slim("letta-slim", "letta"),
    full("opencode"),
    slim("opencode-slim", "opencode"),
    full("pi"),
    slim("pi-slim", "pi"),
    brought(full("plandex")),
    brought(slim("plandex-slim", "plandex")),
    // The same four on Debian trixie, for the one agent that bookworm's Python is too old for.
    workshop("base-apt-trixie", Debian::Trixie),
    shared("base-trixie", "base", &[("BASE_APT", "base-apt-trixie")]),
    shared("agent-trixie-slim", "agent-slim", &[("BASE", "base-trixie"), ("BASE_APT", "base-apt-trixie")]),
    shared("agent-trixie", "agent", &[("BASE", "agent-trixie-slim"), ("BASE_APT", "base-apt-trixie")]),
    Image { parents: &[("BASE", "agent-trixie"), ("BASE_APT", "base-apt-trixie")], ..full("openhands") },
    Image {
        parents: &[("BASE", "agent-trixie-slim"), ("BASE_APT", "base-apt-trixie")],
        ..slim("openhands-slim", "openhands")
    },
];

/// The docker name of one of our images, by its short name.
pub(super) fn reference(name: &str) -> String {
    format!("aifo-coder-{name}:release-{VERSION}")
}

/// What an image for a processor is called here: an engine keeps one image under a name, that for its own processor.
pub(super) fn tag(name: &str, arch: &str, own: &str) -> String {
    if arch == own { reference(name) } else { format!("{}-{arch}", reference(name)) }
}

/// The image of that name.
pub(super) fn find(name: &str) -> Option<&'static Image> {
    IMAGES.iter().find(|image| image.name == name)
}

/// The images that the words name, with all that they start from, in building order; no word means the usual ones.
///
/// # Errors
/// When a word names no image.
pub(super) fn wanted(words: &[String], flavors: &[Flavor]) -> Result<Vec<&'static Image>, Failure> {
    let both = [Flavor::Full, Flavor::Slim];
    if let Some(stranger) = words.iter().find(|word| !IMAGES.iter().any(|image| image.answers_to(word, &both))) {
        let mut known: Vec<&str> = IMAGES.iter().map(|image| image.folder).chain(["agents", "all"]).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Failure::new(format!("no image `{stranger}`")).hint(format!("one of: {}", known.join(" "))));
    }
    let mut needed: Vec<&str> = Vec::new();
    // From the end, so that an image is marked before its parents are looked at.
    for image in IMAGES.iter().rev() {
        let named = words.iter().any(|word| image.answers_to(word, flavors));
        let named = named || words.is_empty() && image.is_usual(flavors);
        if named || needed.contains(&image.name) {
            needed.push(image.name);
            needed.extend(image.parents.iter().map(|(_, parent)| parent));
        }
    }
    Ok(IMAGES.iter().filter(|image| needed.contains(&image.name)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Flavor, IMAGES, Role, wanted};

    fn names(words: &[&str], flavors: &[Flavor]) -> Vec<&'static str> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        wanted(&words, flavors).unwrap().iter().map(|image| image.name).collect()
    }

    const FULL: &[Flavor] = &[Flavor::Full];
    const SLIM: &[Flavor] = &[Flavor::Slim];
    const BOTH: &[Flavor] = &[Flavor::Full, Flavor::Slim];

    #[test]
    fn parents_stand_before_their_children() {
        for (at, image) in IMAGES.iter().enumerate() {
            for (_, parent) in image.parents {
                assert!(IMAGES[..at].iter().any(|before| before.name == *parent), "{} before {parent}", image.name);
            }
        }
    }

    #[test]
    fn an_image_brings_what_it_starts_from() {
        assert_eq!(names(&["shell"], FULL), ["base-apt", "base", "agent-slim", "agent", "shell"]);
        assert_eq!(names(&["base"], FULL), ["base-apt", "base"]);
        assert_eq!(names(&["all"], BOTH).len(), IMAGES.len());
    }

    #[test]
    fn no_word_means_the_shell_and_the_toolchains() {
        let usual = names(&[], FULL);
        assert_eq!(usual[..5], ["base-apt", "base", "agent-slim", "agent", "shell"]);
        assert!(usual[5..].iter().all(|name| name.starts_with("toolchain-")) && usual.len() == 10);
    }

    #[test]
    fn a_flavor_chooses_among_an_agents_images() {
        assert_eq!(names(&["claude"], SLIM), ["base-apt", "base", "agent-slim", "claude-slim"]);
        assert_eq!(names(&["claude-slim"], FULL), ["base-apt", "base", "agent-slim", "claude-slim"]);
        assert_eq!(names(&["pi"], BOTH), ["base-apt", "base", "agent-slim", "agent", "pi", "pi-slim"]);
        let agents = names(&["agents"], SLIM);
        assert_eq!(agents.iter().filter(|name| !name.starts_with("base") && !name.starts_with("agent")).count(), 10);
    }

    #[test]
    fn a_toolchain_answers_to_its_kind_and_its_full_name() {
        assert_eq!(names(&["c-cpp"], FULL), ["base-apt", "base", "toolchain-cpp"]);
        assert_eq!(names(&["aifo-coder-toolchain-go", "go"], FULL), ["base-apt", "base", "toolchain-go"]);
    }

    #[test]
    fn a_strange_name_is_refused_with_the_known_ones() {
        let failure = wanted(&["rost".to_owned()], FULL).unwrap_err();
        assert_eq!(failure.to_string(), "no image `rost`");
        assert!(failure.hint_text().unwrap().contains("toolchain-rust"));
    }

    #[test]
    fn every_agent_has_both_flavors_of_one_folder() {
        for image in IMAGES.iter().filter(|image| image.role == Role::Agent(Flavor::Full)) {
            let slim = format!("{}-slim", image.name);
            let slim = IMAGES.iter().find(|other| other.name == slim).unwrap();
            assert_eq!((slim.role, slim.folder), (Role::Agent(Flavor::Slim), image.folder));
            assert_eq!((slim.file, slim.redistributable), (image.file, image.redistributable));
        }
    }

    #[test]
    fn every_folder_with_a_dockerfile_is_in_the_table() {
        for entry in fs::read_dir(crate::root().join("images")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let known = IMAGES.iter().any(|image| image.folder == name);
            assert_eq!(known, entry.path().join("Dockerfile").exists(), "{name}");
        }
    }

    #[test]
    fn every_sidecar_kind_of_the_shim_has_an_image() {
        for (kind, _) in aifo_shim::tools::KIND_TOOLS {
            assert!(IMAGES.iter().any(|image| image.kind == Some(kind)), "{kind}");
        }
    }
}
