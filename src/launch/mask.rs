//! What of a call's arguments is shown: nothing that is named like a secret, or stands where secrets stand. Pure.
//!
//! Names are held against the list that keeps variables from tools (`aifo_shim::wire::env`), and against more of it:
//! too much hidden costs a reader little.

use std::mem;

use aifo_shim::wire::env::{SECRET_PARTS, SECRET_WORD_ENDINGS, looks_secret};

const HIDDEN: &str = "***";

/// The arguments as they may be shown.
pub(super) fn shown(args: &[Vec<u8>]) -> Vec<String> {
    let mut is_value = false;
    let show = |arg: &Vec<u8>| {
        let text = String::from_utf8_lossy(arg);
        if mem::replace(&mut is_value, announces(&text)) { HIDDEN.to_owned() } else { masked(&text) }
    };
    args.iter().map(show).collect()
}

/// Whether the next argument is a secret: behind an option, or a key of npm's settings.
fn announces(text: &str) -> bool {
    let is_name = ["-", "_", "//"].iter().any(|begin| text.starts_with(begin));
    is_name && !text.contains('=') && names_secret(last_name(text))
}

/// An argument without the secrets in it.
fn masked(text: &str) -> String {
    let value = text.char_indices().find_map(|(at, c)| {
        let (before, behind) = text.split_at(at);
        let ends_name = match c {
            '=' => true,
            ':' => before.ends_with('"') || behind.starts_with(": "),
            _ => false,
        };
        (ends_name && names_secret(last_name(before))).then_some(at + 1)
    });
    let bearer = "bearer ";
    let credential = || text.to_ascii_lowercase().find(bearer).map(|at| at + bearer.len());
    let shown = match value.or_else(credential).and_then(|at| text.get(..at)) {
        Some(before) => without_user(before) + HIDDEN,
        None => without_user(text),
    };
    shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The name that a text ends with.
fn last_name(text: &str) -> &str {
    let text = text.trim_end_matches(['"', '\'', ' ']);
    text.rsplit(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).next().unwrap_or_default()
}

/// `--auth-token`, `_authToken`, `X-Api-Key`, `passwd`.
fn names_secret(name: &str) -> bool {
    let mut spelled = String::from("_");
    let mut was_lower = false;
    for c in name.chars() {
        if was_lower && c.is_ascii_uppercase() {
            spelled.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        spelled.push(if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    }
    let joined = spelled.replace('_', "");
    let mut parts = SECRET_PARTS.iter().chain(SECRET_WORD_ENDINGS);
    looks_secret(&spelled) || parts.any(|word| joined.contains(word))
}

/// A text without the user and the password in the addresses in it.
fn without_user(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("://") {
        let end = behind.find(|c: char| "/?#\"'".contains(c) || c.is_whitespace()).unwrap_or(behind.len());
        let (place, after) = behind.split_at(end);
        let host = place.rsplit_once('@').map_or_else(|| place.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
        shown.extend([before, "://", &host]);
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(args: &[&str]) -> String {
        shown(&args.iter().map(|arg| arg.as_bytes().to_vec()).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn no_secret_is_shown() {
        for args in [
            &["--token", "SEC"][..],
            &["--auth-token=SEC"],
            &["--access-token", "SEC"],
            &["--passwd=SEC"],
            &["--key", "SEC"],
            &["--api-key=SEC"],
            &["--accesstoken=SEC"],
            &["--env=MY_TOKEN=SEC"],
            &["-DapiKey=SEC"],
            &["https://u:SEC@h/p"],
            &["git+https://SEC@h"],
            &["https://u:a@h/ https://u:SEC@h"],
            &["https://h/p?access_token=SEC&x=1"],
            &["Authorization: Bearer SEC"],
            &["-H", "authorization:bearer SEC"],
            &["X-Api-Key: SEC"],
            &["{\"password\":\"SEC\"}"],
            &["//r/:_authToken=SEC"],
            &["config", "set", "//r/:_authToken", "SEC"],
            &["_auth=SEC"],
            &["TWINE_PASSWORD=SEC"],
            &["cookie: SEC"],
        ] {
            let line = line(args);
            assert!(!line.contains("SEC") && line.contains(HIDDEN), "{args:?}: {line}");
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for args in [
            &["test", "auth::login", "token::parse"][..],
            &["run", "auth:build"],
            &["--author", "a", "--path=/x", "--keyboard=de", "KEY"],
            &["https://host:1/path@2?x=1"],
            &["-c", "a=b: c"],
            &["--patch", "x"],
        ] {
            assert_eq!(line(args), args.join(" "));
        }
        assert_eq!(line(&["a\nb\u{1b}[1m"]), "a b [1m");
        assert_eq!(line(&["https://u:p@h/x?token=t"]), "https://***@h/x?token=***");
    }
}
