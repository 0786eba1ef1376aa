//! `aifo-bash`: the shell that agents are given, and the real one behind it.
//!
//! Many agents ask for a login shell with every command, which reads `/etc/profile`, resets PATH and takes longer than
//! most commands. The session's environment is a login's already, so for a command (`-c`) the wish is dropped; everything
//! else is passed on as it came. Pure but for the last step.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use aifo_shim::{
    error::ShimError,
    sys::{self, Ended},
    wire::exec::CStrings,
};

/// Absolute paths; PATH is never searched.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/bin/sh"];
/// Options of bash that take the next word.
const WITH_VALUE: &[&[u8]] = &[b"-o", b"+o", b"-O", b"+O", b"--rcfile", b"--init-file"];

/// Becomes the real shell.
pub(crate) fn run(words: &[OsString]) -> Result<Ended, ShimError> {
    let shell = SHELLS.iter().find(|path| Path::new(path).is_file()).ok_or(ShimError::NoLocalRuntime(SHELLS))?;
    let mut argv = CStrings::default();
    argv.push(shell.as_bytes());
    without_login(words).iter().for_each(|word| argv.push(word.as_bytes()));
    let mut envp = CStrings::default();
    for (name, value) in env::vars_os() {
        envp.push(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    }
    Err(ShimError::LocalFailed(shell.into(), sys::exec(&argv, &envp)))
}

/// The words without the wish for a login shell, if they bring a command.
fn without_login(words: &[OsString]) -> Vec<OsString> {
    let options = options(words);
    let brings_command = options.iter().any(|&at| words.get(at).is_some_and(|word| letters(word).contains(&b'c')));
    if !brings_command {
        return words.to_vec();
    }
    let keep = |(at, word): (usize, &OsString)| {
        if !options.contains(&at) {
            return Some(word.clone());
        }
        if word == "--login" {
            return None;
        }
        let kept: Vec<u8> = letters(word).iter().copied().filter(|&letter| letter != b'l').collect();
        match letters(word) {
            [] => Some(word.clone()),
            _ if kept.is_empty() => None,
            _ => Some(OsString::from_vec([b"-", kept.as_slice()].concat())),
        }
    };
    words.iter().enumerate().filter_map(keep).collect()
}

/// Where the options stand: up to `--`, or the first word that is none.
fn options(words: &[OsString]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at).map(|word| word.as_bytes()) {
        if WITH_VALUE.contains(&word) {
            at += 2;
        } else if word == b"--" || !(word.starts_with(b"-") || word.starts_with(b"+")) || word.len() < 2 {
            break;
        } else {
            found.push(at);
            at += 1;
        }
    }
    found
}

/// The letters of a cluster such as `-lc`; none for a long option.
fn letters(word: &OsStr) -> &[u8] {
    match word.as_bytes() {
        [b'-', b'-', ..] => &[],
        [b'-', letters @ ..] => letters,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_needs_no_login() {
        for (line, expected) in [
            ("-lc cmd", "-c cmd"),
            ("-c -l cmd", "-c cmd"),
            ("-l -c cmd", "-c cmd"),
            ("--login -c cmd", "-c cmd"),
            ("-xlc cmd -l", "-xc cmd -l"),
            ("-ec cmd", "-ec cmd"),
            ("-o pipefail -lc cmd", "-o pipefail -c cmd"),
            ("--rcfile -l -lc cmd", "--rcfile -l -c cmd"),
            ("-c -- -l", "-c -- -l"),
            ("-l", "-l"),
            ("-il", "-il"),
            ("--login script -c", "--login script -c"),
            ("-l script.sh -c x", "-l script.sh -c x"),
            ("", ""),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let shown = without_login(&words).join(OsStr::new(" "));
            assert_eq!(shown, *expected, "{line}");
        }
    }
}
