//! The table of images: what there is, in which order it is built, and what each starts from.
//!
//! A parent stands before its children, so that the table itself is a valid order of building. What an image contains
//! is its folder's business (`images/NAME/`), never this table's.

use crate::cmd::Failure;

/// The version that all images carry in their tag: that of the workspace.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an image is for; it decides what goes into the build context besides the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Where the others install their packages; gets the company's CA; never run, never shipped.
    Workshop,
    /// The layers that all others share.
    Base,
    /// Runs an agent: gets the shim, its links and the login file.
    Agent,
    /// Runs tools for an agent: carries nothing of ours.
    Toolchain,
}

/// One image: `aifo-coder-NAME`, built from `images/NAME/`.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) name: &'static str,
    /// Another name that a user may type: that of the `--toolchain` kind.
    pub(super) kind: Option<&'static str>,
    pub(super) role: Role,
    /// The build arguments that name other images of this table.
    pub(super) parents: &'static [(&'static str, &'static str)],
}

impl Image {
    /// The image's full name, as docker knows it.
    pub(super) fn reference(&self) -> String {
        reference(self.name)
    }

    /// Whether `word` names this image.
    fn answers_to(&self, word: &str) -> bool {
        let word = word.strip_prefix("aifo-coder-").unwrap_or(word);
        word == self.name || self.kind == Some(word)
    }
}

const SHARED: &[(&str, &str)] = &[("BASE", "base"), ("BASE_APT", "base-apt")];

const fn agent(name: &'static str) -> Image {
    Image { name, kind: None, role: Role::Agent, parents: SHARED }
}

const fn toolchain(name: &'static str, kind: &'static str) -> Image {
    Image { name, kind: Some(kind), role: Role::Toolchain, parents: SHARED }
}

/// Every image, parents first.
pub(super) const IMAGES: &[Image] = &[
    Image { name: "base-apt", kind: None, role: Role::Workshop, parents: &[] },
    Image { name: "base", kind: None, role: Role::Base, parents: &[("BASE_APT", "base-apt")] },
    agent("shell"),
    toolchain("toolchain-rust", "rust"),
    toolchain("toolchain-node", "node"),
    toolchain("toolchain-python", "python"),
    toolchain("toolchain-cpp", "c-cpp"),
    toolchain("toolchain-go", "go"),
];

/// The docker name of one of our images, by its short name.
pub(super) fn reference(name: &str) -> String {
    format!("aifo-coder-{name}:release-{VERSION}")
}

/// The images that the words name, with all that they start from, in building order; no word means all.
///
/// # Errors
/// When a word names no image.
pub(super) fn wanted(words: &[String]) -> Result<Vec<&'static Image>, Failure> {
    if let Some(stranger) = words.iter().find(|word| !IMAGES.iter().any(|image| image.answers_to(word))) {
        let known: Vec<&str> = IMAGES.iter().map(|image| image.name).collect();
        return Err(Failure::new(format!("no image `{stranger}`")).hint(format!("one of: {}", known.join(" "))));
    }
    let mut needed: Vec<&str> = Vec::new();
    // From the end, so that an image is marked before its parents are looked at.
    for image in IMAGES.iter().rev() {
        let named = words.is_empty() || words.iter().any(|word| image.answers_to(word));
        if named || needed.contains(&image.name) {
            needed.push(image.name);
            needed.extend(image.parents.iter().map(|(_, parent)| parent));
        }
    }
    Ok(IMAGES.iter().filter(|image| needed.contains(&image.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::{IMAGES, wanted};

    fn names(words: &[&str]) -> Vec<&'static str> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        wanted(&words).unwrap().iter().map(|image| image.name).collect()
    }

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
        assert_eq!(names(&["shell"]), ["base-apt", "base", "shell"]);
        assert_eq!(names(&["base"]), ["base-apt", "base"]);
        assert_eq!(names(&[]).len(), IMAGES.len());
    }

    #[test]
    fn a_toolchain_answers_to_its_kind_and_its_full_name() {
        assert_eq!(names(&["c-cpp"]), ["base-apt", "base", "toolchain-cpp"]);
        assert_eq!(names(&["aifo-coder-toolchain-go", "go"]), ["base-apt", "base", "toolchain-go"]);
    }

    #[test]
    fn a_strange_name_is_refused_with_the_known_ones() {
        let failure = wanted(&["rost".to_owned()]).unwrap_err();
        assert_eq!(failure.to_string(), "no image `rost`");
        assert!(failure.hint_text().unwrap().contains("toolchain-rust"));
    }

    #[test]
    fn every_sidecar_kind_of_the_shim_has_an_image() {
        for (kind, _) in aifo_shim::tools::KIND_TOOLS {
            assert!(IMAGES.iter().any(|image| image.kind == Some(kind)), "{kind}");
        }
    }
}
