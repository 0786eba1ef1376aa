//! Proxy variables for the builds: taken from the environment, in both spellings, values never in a command line.
//!
//! Docker knows these names as build arguments and keeps them out of the image's history and of its cache. A proxy's
//! address may hold a password, so `--build-arg NAME` stands there without a value: docker reads that from its
//! environment.

use std::ffi::OsString;

/// Upper case is what people set; lower case is what apt reads.
const NAMES: [(&str, &str); 4] = [
    ("HTTP_PROXY", "http_proxy"),
    ("HTTPS_PROXY", "https_proxy"),
    ("ALL_PROXY", "all_proxy"),
    ("NO_PROXY", "no_proxy"),
];

/// The variables to set for docker: each that is set, under both names.
pub(super) fn variables(environment: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    let mut variables = Vec::new();
    for (upper, lower) in NAMES {
        if let Some(value) = set(upper).or_else(|| set(lower)) {
            variables.push((upper, set(upper).unwrap_or_else(|| value.clone())));
            variables.push((lower, set(lower).unwrap_or(value)));
        }
    }
    variables
}

/// Names the variables in a `docker build` command line, before its last word, which is the context.
pub(super) fn name_in(argv: &mut Vec<OsString>, variables: &[(&'static str, OsString)]) {
    let end = argv.len().saturating_sub(1);
    let words = variables.iter().flat_map(|(name, _)| [OsString::from("--build-arg"), OsString::from(name)]);
    drop(argv.splice(end..end, words));
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{name_in, variables};

    #[test]
    fn one_spelling_gives_both() {
        let set = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from("http://p:1"));
        assert_eq!(variables(set), [("HTTPS_PROXY", "http://p:1".into()), ("https_proxy", "http://p:1".into())]);
    }

    #[test]
    fn each_spelling_keeps_its_own_value_and_empty_is_unset() {
        let set = |name: &str| match name {
            "NO_PROXY" => Some(OsString::from("a")),
            "no_proxy" => Some(OsString::from("b")),
            "http_proxy" => Some(OsString::new()),
            _ => None,
        };
        assert_eq!(variables(set), [("NO_PROXY", "a".into()), ("no_proxy", "b".into())]);
    }

    #[test]
    fn a_password_stays_out_of_the_command_line() {
        let mut argv: Vec<OsString> = ["build", "ctx"].map(Into::into).into();
        name_in(&mut argv, &[("HTTP_PROXY", "http://user:secret@p".into())]);
        assert_eq!(argv, ["build", "--build-arg", "HTTP_PROXY", "ctx"]);
    }
}
