//! What a broken build's log says: its last lines, and what to type next.
//!
//! A log is shown, never obeyed: what would steer the terminal is left out, and the advice is ours, chosen by signs.

use std::{fs, path::Path};

use crate::{cmd::Failure, report};

/// How many lines of a log are shown.
const TAIL: usize = 15;

/// Shows the end of the log and makes the failure of it.
pub(super) fn failure(name: &str, log: &Path) -> Failure {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines = tail(&text);
    for line in &lines {
        report::say(format_args!("{name}| {line}"));
    }
    Failure::new(format!("image `{name}` is not built; the whole log: {}", log.display())).hint(advice(name, &lines))
}

/// The last lines that are not empty, without colours.
fn tail(text: &str) -> Vec<String> {
    let lines = text.lines().rev().map(plain).filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.take(TAIL).collect();
    lines.reverse();
    lines
}

/// The line without colour sequences and other control characters: a log must not steer the terminal.
fn plain(line: &str) -> String {
    let mut pieces = line.split("\x1b[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let mut rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').chars();
        // The letter that ends the sequence.
        rest.next();
        text.push_str(rest.as_str());
    }
    text.replace(|c: char| c.is_control() && c != '\t', "")
}

/// What a log says, in lower case, and what to try then; the first that fits wins.
const CAUSES: &[(&[&str], &str)] = &[
    (&["no space left"], "free some disk: docker system df, then docker image prune"),
    (
        &["certificate verif", "certificate_verify", "self-signed certificate", "unable to get local issuer"],
        "a company's TLS proxy? hand in its CA: cargo xtask images --ca FILE",
    ),
    (
        &["hash sum mismatch", "do not match the hashes", "eintegrity"],
        "the download is not the one whose sum stands in images/; if the registry is right: cargo xtask images refresh",
    ),
    (
        &["etarget", "e404", "no matching distribution", "404  not found"],
        "the registry does not have what is pinned: cargo xtask images refresh",
    ),
    (
        &["407 proxy authentication", "proxy authentication required"],
        "the proxy wants a login: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and HTTP_PROXY",
    ),
    (
        &["401  unauthorized", "403  forbidden", "code e401", "code e403", "http error 401", "http error 403"],
        "the registry wants a login: --secret netrc=FILE, --secret npmrc=FILE; or another registry: images/versions",
    ),
    (&["pull access denied", "manifest unknown", "/v2/"], "no such base here: cargo xtask images --base REF"),
    (
        &["could not resolve", "no such host", "temporary failure", "to connect", "not connect", "timed out"],
        "no network in the build? set HTTP_PROXY and HTTPS_PROXY, or name a mirror in images/versions",
    ),
];

/// What to type next.
fn advice(name: &str, lines: &[String]) -> String {
    let said = lines.join("\n").to_lowercase();
    let known = CAUSES.iter().find(|(signs, _)| signs.iter().any(|sign| said.contains(sign)));
    known.map_or_else(|| format!("cargo xtask images build {name}"), |(_, advice)| (*advice).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{TAIL, advice, plain, tail};

    #[test]
    fn the_tail_is_the_end_without_empty_lines() {
        let text: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
        let lines = tail(&text);
        assert_eq!((lines.len(), lines[0].as_str(), lines[TAIL - 1].as_str()), (TAIL, "line 85", "line 99"));
        assert!(tail("").is_empty());
    }

    #[test]
    fn colours_and_bells_are_left_out() {
        assert_eq!(plain("\x1b[91mE: \x07no\x1b[0m\tway\x1b[1;32m"), "E: no\tway");
        assert_eq!(plain("\x1b[é \x1b["), " ");
    }

    #[test]
    fn the_advice_fits_the_cause() {
        for (line, word) in [
            ("write /x: no space left on device", "docker system df"),
            ("SSL: self-signed certificate in chain", "--ca"),
            ("E: Failed to fetch x  Hash Sum mismatch", "refresh"),
            ("npm error code ETARGET", "refresh"),
            ("E: Failed to fetch http://x/y.deb  401  Unauthorized [IP: 1.2.3.4 80]", "--secret"),
            ("npm error code E403", "--secret"),
            ("ERROR: HTTP error 403 while getting https://x", "--secret"),
            ("Tunnel connection failed: 407 Proxy Authentication Required", "HTTPS_PROXY"),
            ("pull access denied for x", "--base"),
            ("Get https://registry-1.docker.io/v2/: no such host", "--base"),
            ("Could not resolve 'deb.debian.org'", "HTTP_PROXY"),
            ("Could not connect to 127.0.0.1:9", "HTTP_PROXY"),
            ("E: Unable to locate package ca-certificates", "images build shell"),
        ] {
            assert!(advice("shell", &[line.to_owned()]).contains(word), "{line}");
        }
    }
}
