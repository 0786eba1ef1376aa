//! Every environment variable that the launcher reads: name, meaning, range, in one table.
//!
//! Read once at the start and passed down; nothing else in the launcher looks at the environment for settings, and
//! nothing ever writes to it.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use crate::error::Error;

/// A variable, for the help and the README.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

/// All variables, in the order of the help.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable { name: DOCKER, meaning: "Docker-compatible program to run (docker)" },
    Variable { name: BINARIES, meaning: "folder with linux-amd64/ and linux-arm64/ (beside the launcher)" },
    Variable { name: NETWORK, meaning: "Docker network of a session (bridge)" },
    Variable { name: USER, meaning: "uid:gid in the containers (yours)" },
    Variable { name: CA, meaning: "PEM bundle that the containers trust instead of their own" },
    Variable { name: ALLOW_HOME, meaning: "1 allows the home directory as a workspace" },
    Variable { name: MAX_SECS, meaning: "limit on a tool's run time in seconds (none)" },
    Variable { name: MAX_CALLS, meaning: "tools that run at once; others wait (256)" },
    Variable { name: TCP, meaning: "1 serves the agent by TCP on loopback instead of a socket" },
    Variable { name: VERBOSE, meaning: "1 makes shims say when they run a tool in place" },
];

const DOCKER: &str = "AIFO_CODER_DOCKER";
const BINARIES: &str = "AIFO_CODER_BINARIES";
const NETWORK: &str = "AIFO_SESSION_NETWORK";
const USER: &str = "AIFO_CODER_USER";
const CA: &str = "AIFO_CODER_CA";
const ALLOW_HOME: &str = "AIFO_CODER_ALLOW_HOME";
const MAX_SECS: &str = "AIFO_TOOLEEXEC_MAX_SECS";
const MAX_CALLS: &str = "AIFO_TOOLEEXEC_MAX_CONNECTIONS";
const TCP: &str = "AIFO_TOOLEEXEC_USE_TCP";
const VERBOSE: &str = "AIFO_TOOLCHAIN_VERBOSE";

/// What they say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) docker: Option<OsString>,
    pub(crate) binaries: Option<PathBuf>,
    pub(crate) network: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) allow_home: bool,
    pub(crate) max_secs: Option<u64>,
    pub(crate) max_calls: usize,
    pub(crate) tcp: bool,
    pub(crate) shim_verbose: bool,
}

impl Config {
    /// # Errors
    /// [`Error::Variable`] for a value out of range.
    pub(crate) fn from_env() -> Result<Self, Error> {
        Self::read(|name| env::var_os(name))
    }

    fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        // Empty is the same as not set.
        let set = |name: &'static str| get(name).filter(|value| !value.is_empty());
        let text = |name: &'static str| match set(name).map(OsString::into_string) {
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(Error::Variable { name, expected: "text" }),
            None => Ok(None),
        };
        let number = |name: &'static str, expected| match text(name)? {
            None => Ok(None),
            Some(value) => value.parse::<u64>().map(Some).map_err(|_cause| Error::Variable { name, expected }),
        };
        let switch = |name: &'static str| match set(name).as_deref().and_then(OsStr::to_str) {
            None => Ok(false),
            Some(value) => is_on(value).ok_or(Error::Variable { name, expected: "1 or 0" }),
        };
        let calls = number(MAX_CALLS, "a number from 1 to 1000")?.unwrap_or(256);
        let max_calls = usize::try_from(calls).ok().filter(|calls| (1..=1000).contains(calls));
        let user = text(USER)?;
        if user.as_deref().is_some_and(|user| !is_user(user)) {
            return Err(Error::Variable { name: USER, expected: "UID:GID" });
        }
        Ok(Self {
            docker: set(DOCKER),
            binaries: set(BINARIES).map(PathBuf::from),
            network: text(NETWORK)?,
            user,
            ca: set(CA).map(PathBuf::from),
            allow_home: switch(ALLOW_HOME)?,
            // 0 is how one says "none" where a variable is already set.
            max_secs: number(MAX_SECS, "a number of seconds")?.filter(|&secs| secs > 0),
            max_calls: max_calls.ok_or(Error::Variable { name: MAX_CALLS, expected: "a number from 1 to 1000" })?,
            tcp: switch(TCP)?,
            shim_verbose: switch(VERBOSE)?,
        })
    }
}

fn is_on(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn is_user(user: &str) -> bool {
    user.split_once(':').is_some_and(|(uid, gid)| uid.parse::<u32>().is_ok() && gid.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config, Error> {
        Config::read(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value)))
    }

    #[test]
    fn values_are_read_and_ranges_held() {
        let config = read(&[(MAX_SECS, "9"), (TCP, "Yes"), (USER, "0:0"), (DOCKER, "")]).unwrap();
        assert_eq!((config.max_secs, config.max_calls, config.tcp), (Some(9), 256, true));
        assert_eq!(config.docker, None);
        assert_eq!(read(&[(MAX_SECS, "0")]).unwrap().max_secs, None);
        for (name, value) in
            [(MAX_SECS, "-1"), (MAX_SECS, "x"), (MAX_CALLS, "0"), (MAX_CALLS, "1001"), (TCP, "maybe"), (USER, "me")]
        {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
