//! `env [-i] [-u NAME] [NAME=VALUE…] TOOL [ARG…]`: what env(1) would do before it starts the tool.
//!
//! Agents clear the environment (`env -i cargo build`), and with it the PATH that leads to the shim. So `env` is a link
//! to the shim too: where the words mean one of the carried tools, its changes are applied here and the tool is routed;
//! every other use of `env` runs the real one by absolute path. Pure: words in, a plan out.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use aifo_shim::tools;

/// The changes and the tool behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trampoline {
    pub(crate) tool: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) changes: Changes,
}

/// What happens to the environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    clear: bool,
    unset: Vec<OsString>,
    set: Vec<(OsString, OsString)>,
}

impl Changes {
    /// The environment after the changes.
    pub(crate) fn apply(&self, env: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let replaced = |name: &OsString| self.unset.contains(name) || self.set.iter().any(|(set, _)| set == name);
        let kept = env.filter(|(name, _)| !self.clear && !replaced(name));
        kept.chain(self.set.iter().cloned()).collect()
    }
}

/// Reads env's words. None when they mean anything but a plain start of a carried tool: then the real env decides.
pub(crate) fn parse(words: &[OsString]) -> Option<Trampoline> {
    let mut changes = Changes::default();
    let mut words = words.iter();
    let tool = loop {
        let word = words.next()?;
        match word.as_bytes() {
            b"-i" | b"-" | b"--ignore-environment" => changes.clear = true,
            b"-u" | b"--unset" => changes.unset.push(words.next()?.clone()),
            b"--" => {}
            [b'-', b'u', name @ ..] => changes.unset.push(owned(name)),
            [b'-', b'-', b'u', b'n', b's', b'e', b't', b'=', name @ ..] => changes.unset.push(owned(name)),
            [b'-', ..] => return None,
            bytes => match bytes.iter().position(|&byte| byte == b'=') {
                Some(equals) => {
                    let (name, value) = bytes.split_at(equals);
                    // The last assignment of a name counts.
                    changes.set.retain(|(set, _)| set.as_bytes() != name);
                    changes.set.push((owned(name), owned(&value[1..])));
                }
                None => break word,
            },
        }
    };
    let carried = tools::names().any(|name| OsStr::new(name) == tool);
    carried.then(|| Trampoline { tool: tool.clone(), args: words.cloned().collect(), changes })
}

fn owned(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let plan = parse(&words)?;
        let env = [("A", "1"), ("B", "2")].map(|(name, value)| (name.into(), value.into()));
        let mut shown: Vec<String> = plan
            .changes
            .apply(env.into_iter())
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        shown.extend([plan.tool].iter().chain(&plan.args).map(|word| word.display().to_string()));
        Some(shown.join(" "))
    }

    #[test]
    fn changes_are_those_of_env() {
        for (line, expected) in [
            ("cargo build", "A=1 B=2 cargo build"),
            ("-i cargo", "cargo"),
            ("- C=3 node x.js", "C=3 node x.js"),
            ("-u A cargo", "B=2 cargo"),
            ("-uA --unset=B cargo -u x", "cargo -u x"),
            ("--unset B A=9 A=8 cargo A=7", "A=8 cargo A=7"),
            ("-i -- D= make", "D= make"),
        ] {
            assert_eq!(after(line).as_deref(), Some(expected), "env {line}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_real_env() {
        for line in
            ["", "-i", "A=1", "ls", "-S cargo", "-0", "--chdir=/ cargo", "/usr/bin/cargo", "-u", "./cargo", "env cargo"]
        {
            assert_eq!(after(line), None, "env {line}");
        }
    }
}
