//! From words to an [`Invocation`]. Pure: nothing here looks at the system.
//!
//! Options stand before the command. What follows an agent's name is the agent's, untouched. Which settings and agents
//! there are is their tables' to say; this reads them.

mod help;
mod near;
mod parser;
mod script;

use std::ffi::OsString;

pub(crate) use self::{
    help::{long as long_help, short as short_help},
    parser::parse,
    script::{completions, man_page},
};
use crate::{agent::Agent, bundle, config::Setting, report::Level, toolchain::Spec};

/// What the user asked for.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// Options that are settings, in the order given.
    pub(crate) settings: Vec<(&'static Setting, String)>,
    pub(crate) switches: Switches,
    pub(crate) command: Command,
}

/// Options that are about this one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switches {
    pub(crate) level: Level,
    pub(crate) dry_run: bool,
    pub(crate) json: bool,
    pub(crate) no_input: bool,
    pub(crate) yes: bool,
    pub(crate) origin: bool,
}

#[derive(Debug)]
pub(crate) enum Command {
    Help { long: bool },
    Version,
    Agent { agent: &'static dyn Agent, args: Vec<OsString> },
    Run { words: Vec<OsString> },
    Toolchain { spec: Spec, words: Vec<OsString> },
    Listing(Listing),
    Doctor { agent: Option<&'static dyn Agent> },
    CacheClear,
    Completions { shell: String },
    Man,
    Normalize { agent: String, command: String },
    Bundle(bundle::Order),
}

/// Commands that look and tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Ps,
    Gc,
    Images,
    ConfigShow,
    Support,
}

/// A command that is no agent, for help and completions: how it is written, and what it does.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) meaning: &'static str,
}

/// All of them, in the order of the help.
pub(crate) const FORMS: &[Form] = &[
    Form { name: "run", words: "-- CMD", meaning: "run any command as the agent" },
    Form {
        name: "toolchain",
        words: "KIND[@VERSION][=IMAGE] [-- CMD]",
        meaning: "run CMD, or a shell, in a toolchain's own container",
    },
    Form { name: "ps", words: "", meaning: "list running sessions" },
    Form { name: "images", words: "", meaning: "list the images that agents and sidecars would be made of" },
    Form { name: "doctor", words: "[AGENT]", meaning: "prove the whole path, from docker to a tool call" },
    Form { name: "support", words: "", meaning: "run every agent with every toolchain that is here, and tell" },
    Form { name: "config", words: "show", meaning: "print all settings; --origin tells where each comes from" },
    Form { name: "gc", words: "", meaning: "remove what ended sessions have left" },
    Form { name: "toolchain-cache-clear", words: "", meaning: "remove the sidecars' caches" },
    Form {
        name: "bundle",
        words: "verify|load DIR [--digest SHA256] [--key FINGERPRINT]",
        meaning: "check every byte of a bundle of images, then load it into docker",
    },
    Form { name: "normalize", words: "AGENT COMMAND", meaning: "print what of an agent's shell command is evaluated" },
    Form { name: "completions", words: "bash|zsh|fish", meaning: "print completions for that shell" },
    Form { name: "man", words: "", meaning: "print the manual page" },
];

/// An option that is about one run, for help and completions.
pub(crate) struct Switch {
    /// Empty where it has no short form.
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    pub(crate) meaning: &'static str,
}

/// All of them.
pub(crate) const SWITCHES: &[Switch] = &[
    Switch { short: "", long: "dry-run", meaning: "print the commands instead of running them" },
    Switch { short: "", long: "json", meaning: "print lists as JSON" },
    Switch { short: "", long: "no-input", meaning: "never ask; fail and say what to type" },
    Switch { short: "", long: "yes", meaning: "answer every question with yes" },
    Switch { short: "", long: "no-toolchain-cache", meaning: "the same as --cache 0" },
    Switch { short: "", long: "origin", meaning: "with config show: where each value comes from" },
    Switch { short: "v", long: "verbose", meaning: "say more: every tool call, timings" },
    Switch { short: "q", long: "quiet", meaning: "say only what went wrong" },
    Switch { short: "h", long: "help", meaning: "print help; --help prints more than -h" },
    Switch { short: "V", long: "version", meaning: "print the version" },
];

#[cfg(test)]
mod tests;
