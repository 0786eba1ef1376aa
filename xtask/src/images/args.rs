//! Command line of `cargo xtask images`: words in, an order out; touches nothing.

use std::{ffi::OsString, num::NonZero, path::PathBuf};

use crate::cmd::Failure;

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    Help,
    List,
    Build(Wishes),
}

/// How to build what.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    /// Image names as typed; none means all.
    pub(super) names: Vec<String>,
    /// The Debian image to start from.
    pub(super) base: Option<String>,
    /// Certificates to trust while building.
    pub(super) ca: Option<PathBuf>,
    /// How many builds run at a time.
    pub(super) jobs: Option<NonZero<usize>>,
    /// Whether docker's cache is left aside.
    pub(super) fresh: bool,
    /// Values that stand in for those in `images/versions`.
    pub(super) values: Vec<(String, String)>,
}

/// Reads the words after `cargo xtask images`.
///
/// # Errors
/// When an option is unknown, lacks its value, or has one that makes no sense.
pub(super) fn parse(words: Vec<OsString>) -> Result<Order, Failure> {
    let mut words = words.into_iter().peekable();
    match words.peek().and_then(|word| word.to_str()) {
        Some("list") => {
            words.next();
            return words
                .next()
                .map_or(Ok(Order::List), |word| Err(usage(format!("list takes no `{}`", word.display()))));
        }
        Some("build") => drop(words.next()),
        _ => {}
    }
    let mut wishes = Wishes::default();
    while let Some(word) = words.next() {
        let mut value = |name: &str| words.next().ok_or_else(|| usage(format!("missing value for `{name}`")));
        match word.to_str() {
            Some("-h" | "--help" | "help") => return Ok(Order::Help),
            Some(name @ "--base") => wishes.base = Some(text(value(name)?)?),
            Some(name @ "--ca") => wishes.ca = Some(value(name)?.into()),
            Some(name @ "--jobs") => wishes.jobs = Some(jobs(&text(value(name)?)?)?),
            Some("--fresh") => wishes.fresh = true,
            Some(name @ "--arg") => wishes.values.push(assignment(&text(value(name)?)?)?),
            Some(name) if !name.starts_with('-') => wishes.names.push(name.to_owned()),
            _ => return Err(usage(format!("no option `{}`", word.display()))),
        }
    }
    Ok(Order::Build(wishes))
}

fn usage(message: String) -> Failure {
    Failure::new(message).hint("cargo xtask images --help")
}

fn text(value: OsString) -> Result<String, Failure> {
    value.into_string().map_err(|value| usage(format!("`{}` is not text", value.display())))
}

fn jobs(value: &str) -> Result<NonZero<usize>, Failure> {
    value.parse().ok().ok_or_else(|| usage(format!("`--jobs` wants a number from 1, not `{value}`")))
}

fn assignment(value: &str) -> Result<(String, String), Failure> {
    let (name, value) =
        value.split_once('=').ok_or_else(|| usage(format!("`--arg` wants NAME=VALUE, not `{value}`")))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Order, Wishes, parse};

    fn parsed(line: &str) -> Result<Order, String> {
        parse(line.split_whitespace().map(Into::into).collect()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn building_all_is_what_no_word_means() {
        assert_eq!(parsed(""), Ok(Order::Build(Wishes::default())));
        assert_eq!(parsed("build"), Ok(Order::Build(Wishes::default())));
    }

    #[test]
    fn names_and_options_mix() {
        let order = parsed("build rust --base debian:12 shell --ca a.crt --jobs 3 --fresh --arg KEEP_APT=1");
        let wishes = Wishes {
            names: vec!["rust".to_owned(), "shell".to_owned()],
            base: Some("debian:12".to_owned()),
            ca: Some("a.crt".into()),
            jobs: 3.try_into().ok(),
            fresh: true,
            values: vec![("KEEP_APT".to_owned(), "1".to_owned())],
        };
        assert_eq!(order, Ok(Order::Build(wishes)));
    }

    #[test]
    fn list_and_help_stand_alone() {
        assert_eq!(parsed("list"), Ok(Order::List));
        assert_eq!(parsed("rust --help"), Ok(Order::Help));
        assert_eq!(parsed("list rust"), Err("list takes no `rust`".to_owned()));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, said) in [
            ("--bse x", "no option `--bse`"),
            ("--ca", "missing value for `--ca`"),
            ("--jobs 0", "`--jobs` wants a number from 1, not `0`"),
            ("--jobs many", "`--jobs` wants a number from 1, not `many`"),
            ("--arg KEEP_APT", "`--arg` wants NAME=VALUE, not `KEEP_APT`"),
        ] {
            assert_eq!(parsed(line), Err(said.to_owned()));
        }
    }
}
