//! The file `images/versions`, and which of its values a Dockerfile is given.
//!
//! A Dockerfile gets what it declares with `ARG` and nothing else, so that a new Go leaves Node's image in the cache.
//! A declared argument without any value is an error here, not an empty string in a build.

use std::collections::BTreeMap;

use crate::cmd::Failure;

/// Names and values, as in the file.
pub(super) type Values = BTreeMap<String, String>;

/// Reads `NAME=VALUE` lines; empty ones and those that start with `#` say nothing.
///
/// # Errors
/// When a line is something else or a name comes twice.
pub(super) fn parse(text: &str) -> Result<Values, Failure> {
    let mut values = Values::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let at = || format!("images/versions:{}", number + 1);
        let (name, value) =
            line.split_once('=').ok_or_else(|| Failure::new(format!("{}: `{line}` is not NAME=VALUE", at())))?;
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::new(format!("{}: `{name}` comes twice", at())));
        }
    }
    Ok(values)
}

/// Replaces values by those of the command line.
///
/// # Errors
/// When the file knows no such name: a typo must not go unnoticed.
pub(super) fn overridden(mut values: Values, with: &[(String, String)]) -> Result<Values, Failure> {
    for (name, value) in with {
        let known = values
            .get_mut(name)
            .ok_or_else(|| Failure::new(format!("images/versions has no `{name}`")).hint("see images/versions"))?;
        known.clone_from(value);
    }
    Ok(values)
}

/// The build arguments for one Dockerfile: what it declares, from its parents first, then from the file.
///
/// # Errors
/// When it declares an argument that nobody gives a value.
pub(super) fn build_args(
    dockerfile: &str,
    parents: &[(&str, String)],
    values: &Values,
) -> Result<Vec<(String, String)>, Failure> {
    let mut args: Vec<(String, String)> = Vec::new();
    for (name, default) in declared(dockerfile) {
        let parent = parents.iter().find(|(parent, _)| *parent == name).map(|(_, reference)| reference);
        match parent.or_else(|| values.get(name)) {
            _ if args.iter().any(|(given, _)| given == name) => {}
            Some(value) => args.push((name.to_owned(), value.clone())),
            None if default => {}
            None => return Err(Failure::new(format!("`ARG {name}` has no value")).hint("add it to images/versions")),
        }
    }
    Ok(args)
}

/// The names after `ARG`, and whether the Dockerfile itself has a value for each.
fn declared(dockerfile: &str) -> impl Iterator<Item = (&str, bool)> {
    dockerfile.lines().filter_map(|line| line.trim().strip_prefix("ARG ")).map(|rest| {
        let rest = rest.trim();
        rest.split_once('=').map_or((rest, false), |(name, _)| (name, true))
    })
}

#[cfg(test)]
mod tests {
    use super::{Values, build_args, overridden, parse};

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn comments_and_empty_lines_say_nothing() {
        let values = parse("# a\n\nGO=1.23\nURL=https://x/?a=b\n").unwrap();
        assert_eq!(values, Values::from([pair("GO", "1.23"), pair("URL", "https://x/?a=b")]));
    }

    #[test]
    fn a_broken_line_is_named_by_its_number() {
        assert_eq!(parse("A=1\nB\n").unwrap_err().to_string(), "images/versions:2: `B` is not NAME=VALUE");
        assert_eq!(parse("A=1\n\nA=2\n").unwrap_err().to_string(), "images/versions:3: `A` comes twice");
    }

    #[test]
    fn only_known_names_are_overridden() {
        let values = Values::from([pair("KEEP_APT", "0")]);
        assert_eq!(overridden(values.clone(), &[pair("KEEP_APT", "1")]).unwrap()["KEEP_APT"], "1");
        assert!(overridden(values, &[pair("KEEP_ATP", "1")]).is_err());
    }

    #[test]
    fn a_dockerfile_gets_what_it_declares() {
        let values = Values::from([pair("GO", "1.23"), pair("NODE", "24"), pair("KEEP_APT", "1")]);
        let dockerfile =
            "ARG BASE\nFROM ${BASE} AS stage\nARG KEEP_APT=0\nARG NODE\nARG OWN=x\nFROM ${BASE}\nARG NODE\n";
        let args = build_args(dockerfile, &[("BASE", "debian:12".to_owned())], &values).unwrap();
        assert_eq!(args, [pair("BASE", "debian:12"), pair("KEEP_APT", "1"), pair("NODE", "24")]);
    }

    #[test]
    fn an_argument_without_value_is_refused() {
        let failure = build_args("ARG RUST\n", &[], &Values::new()).unwrap_err();
        assert_eq!(failure.to_string(), "`ARG RUST` has no value");
    }
}
