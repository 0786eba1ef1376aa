//! Command line of `cargo xtask images`: words in, an order out; touches nothing.

use std::{ffi::OsString, num::NonZero, path::PathBuf};

use super::{
    mounts::Secret,
    table::{Debian, Flavor},
};
use crate::cmd::Failure;

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    Help,
    List,
    Layer,
    Build(Wishes),
    /// Run those of these names; none means all.
    Verify(Vec<String>),
    /// Write a bundle.
    Save(Wishes),
    /// Hand them to a registry.
    Push(Wishes),
    /// Write what is in these images; none means all.
    Sbom(Wishes),
    /// Bring the pins of these names up to date; none means all.
    Refresh {
        names: Vec<String>,
        ca: Option<PathBuf>,
    },
}

/// How to build what.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    /// Image names as typed; none means the usual ones.
    pub(super) names: Vec<String>,
    /// Which images of an agent; none means the full one.
    pub(super) flavors: Vec<Flavor>,
    /// The Debian images to start from.
    pub(super) bases: Vec<(Debian, String)>,
    /// Certificates to trust while building.
    pub(super) ca: Option<PathBuf>,
    /// How many builds run at a time.
    pub(super) jobs: Option<NonZero<usize>>,
    /// Whether docker's cache is left aside.
    pub(super) fresh: bool,
    /// Values that stand in for those in `images/versions`.
    pub(super) values: Vec<(String, String)>,
    /// Programs that no registry carries, by the agent's name.
    pub(super) files: Vec<(String, PathBuf)>,
    /// Logins for registries, for as long as a build takes.
    pub(super) secrets: Vec<Secret>,
    /// The processors that images are for; none means docker's own.
    pub(super) platforms: Vec<String>,
    /// Where to write.
    pub(super) output: Option<PathBuf>,
    /// Where to push.
    pub(super) registry: Option<String>,
    /// The key to sign with, as gpg knows it.
    pub(super) sign: Option<String>,
    /// Whether what may not be passed on is passed on all the same.
    pub(super) with_claude: bool,
}

/// What only some orders take, and what an order besides building takes.
const NOT_FOR_BUILD: &[&str] = &["--output", "--registry", "--sign", "--with-claude"];

/// Reads the words after `cargo xtask images`.
///
/// # Errors
/// When an option is unknown, lacks its value, or has one that makes no sense.
pub(super) fn parse(words: Vec<OsString>) -> Result<Order, Failure> {
    let verb = words.first().and_then(|word| word.to_str());
    match verb {
        Some("list") => alone(&words, Order::List),
        Some("layer") => alone(&words, Order::Layer),
        Some("verify") => with(&words[1..], &[], |wishes| Order::Verify(wishes.names)),
        Some("refresh") => with(&words[1..], &["--ca"], |wishes| Order::Refresh { names: wishes.names, ca: wishes.ca }),
        Some("save") => {
            with(&words[1..], &["--output", "--sign", "--with-claude", "--flavor", "--platform"], Order::Save)
        }
        Some("push") => with(&words[1..], &["--registry", "--with-claude", "--flavor", "--platform"], Order::Push),
        Some("sbom") => with(&words[1..], &["--output"], Order::Sbom),
        Some("build") => without(&words[1..], NOT_FOR_BUILD),
        _ => without(&words, NOT_FOR_BUILD),
    }
}

/// An order that takes nothing.
fn alone(words: &[OsString], order: Order) -> Result<Order, Failure> {
    match words {
        [_] => Ok(order),
        [_, word, ..] if ["-h", "--help"].iter().any(|help| word == help) => Ok(Order::Help),
        _ => Err(usage(format!("{} takes no `{}`", words[0].display(), words[1].display()))),
    }
}

/// An order that takes names and only these options.
fn with(words: &[OsString], options: &[&str], order: impl FnOnce(Wishes) -> Order) -> Result<Order, Failure> {
    let Order::Build(wishes) = build(words)? else { return Ok(Order::Help) };
    let strange = words.iter().filter_map(|word| word.to_str());
    match strange.into_iter().find(|word| word.starts_with('-') && !options.contains(word)) {
        Some(word) => Err(usage(format!("no option `{word}` here"))),
        None => Ok(order(wishes)),
    }
}

/// An order to build, which does not take these options.
fn without(words: &[OsString], options: &[&str]) -> Result<Order, Failure> {
    match words.iter().filter_map(|word| word.to_str()).find(|word| options.contains(word)) {
        Some(word) => Err(usage(format!("no option `{word}`"))),
        None => build(words),
    }
}

fn build(words: &[OsString]) -> Result<Order, Failure> {
    let mut words = words.iter();
    let mut wishes = Wishes::default();
    while let Some(word) = words.next() {
        let mut value = |name: &str| words.next().ok_or_else(|| usage(format!("missing value for `{name}`")));
        match word.to_str() {
            Some("-h" | "--help" | "help") => return Ok(Order::Help),
            Some(name @ "--flavor") => wishes.flavors = flavors(text(value(name)?)?)?,
            Some(name @ "--base") => wishes.bases.push(base(text(value(name)?)?)),
            Some(name @ "--ca") => wishes.ca = Some(value(name)?.into()),
            Some(name @ "--jobs") => wishes.jobs = Some(jobs(text(value(name)?)?)?),
            Some("--fresh") => wishes.fresh = true,
            Some(name @ "--arg") => wishes.values.push(assignment(name, text(value(name)?)?)?),
            Some(name @ "--file") => {
                let (agent, path) = assignment(name, text(value(name)?)?)?;
                wishes.files.push((agent, path.into()));
            }
            Some(name @ "--secret") => {
                let (form, path) = assignment(name, text(value(name)?)?)?;
                let known = || usage(format!("no secret `{form}`; there are netrc and npmrc"));
                wishes.secrets.push(Secret::of(&form, &path).ok_or_else(known)?);
            }
            Some(name @ "--platform") => wishes.platforms = platforms(text(value(name)?)?)?,
            Some(name @ "--output") => wishes.output = Some(value(name)?.into()),
            Some(name @ "--registry") => wishes.registry = Some(text(value(name)?)?.to_owned()),
            Some(name @ "--sign") => wishes.sign = Some(text(value(name)?)?.to_owned()),
            Some("--with-claude") => wishes.with_claude = true,
            Some(name) if !name.starts_with('-') => wishes.names.push(name.to_owned()),
            _ => return Err(usage(format!("no option `{}`", word.display()))),
        }
    }
    Ok(Order::Build(wishes))
}

fn usage(message: String) -> Failure {
    Failure::new(message).hint("cargo xtask images --help")
}

fn text(value: &OsString) -> Result<&str, Failure> {
    value.to_str().ok_or_else(|| usage(format!("`{}` is not text", value.display())))
}

fn flavors(value: &str) -> Result<Vec<Flavor>, Failure> {
    match value {
        "full" => Ok(vec![Flavor::Full]),
        "slim" => Ok(vec![Flavor::Slim]),
        "both" => Ok(vec![Flavor::Full, Flavor::Slim]),
        _ => Err(usage(format!("`--flavor` wants full, slim or both, not `{value}`"))),
    }
}

/// `REF`, or `trixie=REF`; a reference holds no `=`.
fn base(value: &str) -> (Debian, String) {
    let release = [Debian::Bookworm, Debian::Trixie].into_iter();
    let named =
        release.filter_map(|debian| Some((debian, value.strip_prefix(debian.name())?.strip_prefix('=')?))).next();
    let (debian, reference) = named.unwrap_or((Debian::Bookworm, value));
    (debian, reference.to_owned())
}

fn platforms(value: &str) -> Result<Vec<String>, Failure> {
    let arch = |platform: &str| match platform {
        "linux/amd64" | "linux/arm64" => Ok(platform.trim_start_matches("linux/").to_owned()),
        _ => Err(usage(format!("`--platform` wants linux/amd64, linux/arm64 or both, not `{platform}`"))),
    };
    value.split(',').map(arch).collect()
}

fn jobs(value: &str) -> Result<NonZero<usize>, Failure> {
    value.parse().ok().ok_or_else(|| usage(format!("`--jobs` wants a number from 1, not `{value}`")))
}

fn assignment(option: &str, value: &str) -> Result<(String, String), Failure> {
    let (name, value) =
        value.split_once('=').ok_or_else(|| usage(format!("`{option}` wants NAME=VALUE, not `{value}`")))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Debian, Flavor, Order, Secret, Wishes, parse};

    fn parsed(line: &str) -> Result<Order, String> {
        parse(line.split_whitespace().map(Into::into).collect()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn building_the_usual_is_what_no_word_means() {
        assert_eq!(parsed(""), Ok(Order::Build(Wishes::default())));
        assert_eq!(parsed("build"), Ok(Order::Build(Wishes::default())));
    }

    #[test]
    fn names_and_options_mix() {
        let order = parsed(
            "build rust --base debian:12 shell --ca a.crt --jobs 3 --fresh --arg KEEP_APT=1 --flavor both \
             --file crush=/tmp/a=b --secret netrc=/n --base trixie=debian:13 --platform linux/amd64,linux/arm64",
        );
        let wishes = Wishes {
            names: vec!["rust".to_owned(), "shell".to_owned()],
            flavors: vec![Flavor::Full, Flavor::Slim],
            bases: vec![(Debian::Bookworm, "debian:12".to_owned()), (Debian::Trixie, "debian:13".to_owned())],
            ca: Some("a.crt".into()),
            jobs: 3.try_into().ok(),
            fresh: true,
            values: vec![("KEEP_APT".to_owned(), "1".to_owned())],
            files: vec![("crush".to_owned(), "/tmp/a=b".into())],
            secrets: Secret::of("netrc", "/n").into_iter().collect(),
            platforms: vec!["amd64".to_owned(), "arm64".to_owned()],
            ..Wishes::default()
        };
        assert_eq!(order, Ok(Order::Build(wishes)));
    }

    #[test]
    fn list_refresh_and_help_stand_alone() {
        assert_eq!(parsed("list"), Ok(Order::List));
        assert_eq!(parsed("layer"), Ok(Order::Layer));
        assert_eq!(parsed("rust --help"), Ok(Order::Help));
        assert_eq!(parsed("refresh --help"), Ok(Order::Help));
        assert_eq!(parsed("list rust"), Err("list takes no `rust`".to_owned()));
        let pi = Order::Refresh { names: vec!["pi".to_owned()], ca: Some("a.crt".into()) };
        assert_eq!(parsed("refresh pi --ca a.crt"), Ok(pi));
        assert_eq!(parsed("verify pi"), Ok(Order::Verify(vec!["pi".to_owned()])));
        let save = Wishes { output: Some("dir".into()), with_claude: true, ..Wishes::default() };
        assert_eq!(parsed("save --output dir --with-claude"), Ok(Order::Save(save)));
        assert_eq!(parsed("save --fresh"), Err("no option `--fresh` here".to_owned()));
        assert_eq!(parsed("build --output dir"), Err("no option `--output`".to_owned()));
        assert_eq!(parsed("refresh --fresh"), Err("no option `--fresh` here".to_owned()));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, said) in [
            ("--bse x", "no option `--bse`"),
            ("--ca", "missing value for `--ca`"),
            ("--jobs 0", "`--jobs` wants a number from 1, not `0`"),
            ("--jobs many", "`--jobs` wants a number from 1, not `many`"),
            ("--arg KEEP_APT", "`--arg` wants NAME=VALUE, not `KEEP_APT`"),
            ("--file crush", "`--file` wants NAME=VALUE, not `crush`"),
            ("--platform arm64", "`--platform` wants linux/amd64, linux/arm64 or both, not `arm64`"),
            ("--flavor thin", "`--flavor` wants full, slim or both, not `thin`"),
        ] {
            assert_eq!(parsed(line), Err(said.to_owned()));
        }
    }
}
