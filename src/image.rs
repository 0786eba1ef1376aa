//! Which image a container is made of: names of ours and of others, registries, flavors. Pure.
//!
//! Ours are looked for under the internal registry where one is set, and nowhere else: a name without a registry is
//! never asked of a public one, where anybody could own it. Others may be sent to a mirror. What the user names whole is
//! taken as it is written.

use crate::{
    agent::Agent,
    config::Config,
    toolchain::{Kind, Spec},
};

/// An image, and whether a registry may be asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) reference: String,
    pub(crate) can_pull: bool,
}

impl Image {
    /// As the user wrote it. A name of ours without a registry is still ours.
    pub(crate) fn as_named(reference: &str, config: &Config) -> Self {
        let is_ours = registry(reference).is_none() && reference.starts_with(&format!("{}-", prefix(config)));
        Self { reference: reference.to_owned(), can_pull: !is_ours }
    }

    /// Of an agent: the one that is set, or ours.
    pub(crate) fn of_agent(agent: &dyn Agent, config: &Config) -> Self {
        if let Some(reference) = config.text("image.agent") {
            return Self::as_named(reference, config);
        }
        let slim = if config.text("image.flavor") == Some("slim") { "-slim" } else { "" };
        ours(&format!("{}{slim}", agent.image()), tag(config), config)
    }

    /// Of a sidecar: what its option names, then what is set for its kind, then ours.
    pub(crate) fn of_sidecar(spec: &Spec, config: &Config) -> Self {
        let kind = spec.kind.name;
        let set = |name: &str| config.text(&format!("toolchain.{kind}-{name}"));
        if let Some(reference) = spec.image.as_deref() {
            return Self::as_named(reference, config);
        }
        if let (None, Some(reference)) = (&spec.version, set("image")) {
            return Self::as_named(reference, config);
        }
        let version = spec.version.as_deref().or(set("version"));
        if config.is_on(&format!("toolchain.{kind}-official")) {
            return official(spec.kind, version, config);
        }
        ours(&format!("toolchain-{}", spec.kind.image), version.unwrap_or(tag(config)), config)
    }

    /// The registry's name, for `docker login`.
    pub(crate) fn registry(&self) -> Option<&str> {
        registry(&self.reference)
    }
}

fn prefix(config: &Config) -> &str {
    config.text("image.prefix").unwrap_or("aifo-coder")
}

fn tag(config: &Config) -> &str {
    config.text("image.tag").unwrap_or(crate::RELEASE)
}

fn ours(name: &str, tag: &str, config: &Config) -> Image {
    let internal = config.text("image.internal-registry").map(with_slash);
    let reference = format!("{}{}-{name}:{tag}", internal.as_deref().unwrap_or_default(), prefix(config));
    Image { reference, can_pull: internal.is_some() }
}

/// The language's own image, from the mirror where one is set and no internal registry is.
fn official(kind: Kind, version: Option<&str>, config: &Config) -> Image {
    let (name, newest, ending) = kind.official;
    let mirror = config.text("image.mirror-registry").filter(|_| config.text("image.internal-registry").is_none());
    let mirror = mirror.map(with_slash).unwrap_or_default();
    Image { reference: format!("{mirror}{name}:{}{ending}", version.unwrap_or(newest)), can_pull: true }
}

/// Exactly one slash behind a registry's prefix.
fn with_slash(prefix: &str) -> String {
    format!("{}/", prefix.trim_end_matches('/'))
}

/// The first part of a reference, if it is a host: it has a dot or a port, or is `localhost`.
fn registry(reference: &str) -> Option<&str> {
    let (first, _) = reference.split_once('/')?;
    (first.contains(['.', ':']) || first == "localhost").then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::by_name,
        config::{Sources, table},
    };

    fn config(settings: &[(&str, &str)]) -> Config {
        let variables =
            settings.iter().map(|(key, value)| (table::by_key(key).unwrap().variable.to_owned(), value.into()));
        Config::resolve(&Sources { variables: variables.collect(), ..Sources::default() }).unwrap()
    }

    fn agent(settings: &[(&str, &str)]) -> String {
        shown(&Image::of_agent(by_name("claude").unwrap(), &config(settings)))
    }

    fn sidecar(spec: &str, settings: &[(&str, &str)]) -> String {
        shown(&Image::of_sidecar(&Spec::parse(spec).unwrap(), &config(settings)))
    }

    fn shown(image: &Image) -> String {
        format!("{}{}", image.reference, if image.can_pull { " pull" } else { "" })
    }

    const RELEASE: &str = crate::RELEASE;

    #[test]
    fn an_agents_image_follows_the_settings() {
        assert_eq!(agent(&[]), format!("aifo-coder-claude:{RELEASE}"));
        assert_eq!(agent(&[("image.flavor", "slim"), ("image.tag", "7")]), "aifo-coder-claude-slim:7");
        assert_eq!(agent(&[("image.prefix", "mine")]), format!("mine-claude:{RELEASE}"));
        let internal = ("image.internal-registry", "r.example:5000/team//");
        assert_eq!(agent(&[internal]), format!("r.example:5000/team/aifo-coder-claude:{RELEASE} pull"));
        assert_eq!(agent(&[("image.mirror-registry", "m.example")]), format!("aifo-coder-claude:{RELEASE}"));
        assert_eq!(agent(&[("image.agent", "my/agent:1"), internal]), "my/agent:1 pull");
        assert_eq!(agent(&[("image.agent", "aifo-coder-claude:x")]), "aifo-coder-claude:x");
    }

    #[test]
    fn a_sidecars_image_follows_option_setting_default() {
        let image = ("toolchain.rust-image", "vetted/rust:1");
        assert_eq!(sidecar("rust", &[]), format!("aifo-coder-toolchain-rust:{RELEASE}"));
        assert_eq!(sidecar("cpp@9", &[]), "aifo-coder-toolchain-cpp:9");
        assert_eq!(sidecar("rust", &[image]), "vetted/rust:1 pull");
        assert_eq!(sidecar("rust@9", &[image]), "aifo-coder-toolchain-rust:9");
        assert_eq!(sidecar("rust=x/y:z", &[image]), "x/y:z pull");
        assert_eq!(sidecar("rust", &[("toolchain.rust-version", "8")]), "aifo-coder-toolchain-rust:8");
    }

    #[test]
    fn official_images_come_from_the_mirror_unless_there_is_an_internal_registry() {
        let on = |kind: &'static str| -> (&'static str, &'static str) {
            let key =
                table::SETTINGS.iter().find(|setting| setting.key == format!("toolchain.{kind}-official")).unwrap().key;
            (key, "1")
        };
        let mirror = ("image.mirror-registry", "m.example/hub");
        assert_eq!(sidecar("rust@1.80", &[on("rust")]), "rust:1.80-bookworm pull");
        assert_eq!(sidecar("go", &[on("go"), mirror]), "m.example/hub/golang:1-bookworm pull");
        assert_eq!(
            sidecar("c-cpp@13", &[on("c-cpp"), mirror, ("image.internal-registry", "i.example")]),
            "gcc:13-bookworm pull"
        );
        for kind in ["node", "python"] {
            assert!(sidecar(kind, &[on(kind)]).ends_with("-bookworm pull"), "{kind}");
        }
    }

    #[test]
    fn a_registry_is_told_from_a_folder() {
        for (reference, expected) in [
            ("a.b/c:1", Some("a.b")),
            ("localhost/c", Some("localhost")),
            ("h:5000/c", Some("h:5000")),
            ("team/c:1", None),
            ("c:1", None),
        ] {
            assert_eq!(registry(reference), expected, "{reference}");
        }
    }
}
