//! Variables that the user gives the agent, and how they reach it.
//!
//! Each has another name until the agent is started: under its own, a program on the way might obey it, the docker client
//! first of all.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

/// What stands before the name on the way.
pub const PREFIX: &str = "AIFO_ENV_";

/// Those of this process's environment.
pub fn all() -> impl Iterator<Item = Given> {
    env::vars_os().filter_map(|(before, value)| {
        let name = before.as_bytes().strip_prefix(PREFIX.as_bytes()).filter(|name| !name.is_empty())?;
        let name = OsStr::from_bytes(name).to_owned();
        Some(Given { before, name, value })
    })
}

/// One of them.
#[derive(Debug)]
pub struct Given {
    /// Its name on the way.
    pub before: OsString,
    /// The agent's name for it.
    pub name: OsString,
    pub value: OsString,
}

/// A variable as the agent will see it.
pub fn var(name: &str) -> Option<OsString> {
    env::var_os(format!("{PREFIX}{name}")).or_else(|| env::var_os(name))
}
