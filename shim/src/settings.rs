//! What the launcher tells the shim through the environment: every variable is read here, once.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// The proxy's address, `unix:///path` or `http://host:port/exec`.
pub const URL: &str = "AIFO_TOOLEEXEC_URL";
/// The session's token.
pub const TOKEN: &str = "AIFO_TOOLEEXEC_TOKEN";
/// How many shims stand above this one; a belt against a local runtime that leads back to the shim.
pub const DEPTH: &str = "AIFO_SHIM_DEPTH";

const DEEPEST: u32 = 64;

/// The switches of local or carried, which the launcher sets for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smart {
    pub node: bool,
    pub python: bool,
    /// `/workspace` in a container.
    pub workspace: PathBuf,
}

/// The environment's part of a decision.
#[derive(Debug)]
pub struct Settings {
    pub url: Option<String>,
    pub token: Option<String>,
    pub smart: Smart,
    pub verbose: bool,
    pub depth: u32,
}

impl Settings {
    pub fn from_env() -> Self {
        let smart = is_on("AIFO_SHIM_SMART");
        Self {
            url: text(URL),
            token: text(TOKEN),
            smart: Smart {
                node: smart && is_on("AIFO_SHIM_SMART_NODE"),
                python: smart && is_on("AIFO_SHIM_SMART_PYTHON"),
                workspace: PathBuf::from(set("AIFO_WORKSPACE").unwrap_or_else(|| OsString::from("/workspace"))),
            },
            verbose: set("AIFO_TOOLCHAIN_VERBOSE").is_some_and(|value| value != "0"),
            depth: text(DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or(0),
        }
    }

    pub fn is_too_deep(&self) -> bool {
        self.depth >= DEEPEST
    }
}

/// A variable counts as set when it is not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    set(name).and_then(|value| value.into_string().ok())
}

fn is_on(name: &str) -> bool {
    const WORDS: [&str; 7] = ["1", "true", "TRUE", "yes", "YES", "on", "ON"];
    set(name).is_some_and(|value| WORDS.iter().any(|word| OsStr::new(word) == value))
}
