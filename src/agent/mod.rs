//! The agents: one file each, one line each in the table, and nothing else in the tree knows a name.
//!
//! An agent is described, never special-cased: its program, its image, what of the user's files it may see, how it is
//! told which shell to use, and how it wraps the commands that it runs. Everything else reads this description.

mod aider;
mod claude;
mod codex;
mod crush;
mod letta;
mod opencode;
mod openhands;
mod pi;
mod plandex;
mod shell;

use std::fmt::Debug;

/// Every agent, by name.
pub(crate) static AGENTS: &[&dyn Agent] = &[
    &aider::Aider,
    &claude::Claude,
    &codex::Codex,
    &crush::Crush,
    &letta::Letta,
    &opencode::OpenCode,
    &openhands::OpenHands,
    &pi::Pi,
    &plandex::Plandex,
    &shell::Shell,
];

/// What the launcher needs to know of an agent (seed "agent SPI").
pub(crate) trait Agent: Debug + Sync {
    /// What the user types, and the value of `AIFO_AGENT_NAME`.
    fn name(&self) -> &'static str;

    /// One line for the help.
    fn summary(&self) -> &'static str;

    /// Its program's names, tried in order on the container's PATH.
    fn binary_names(&self) -> &'static [&'static str];

    /// Arguments before the user's own.
    fn args(&self) -> &'static [&'static str] {
        &[]
    }

    /// Variables that it always gets.
    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What of a shell command line is the command, and whether it is to be evaluated: agents wrap what they run, and
    /// run a few lines of their own.
    fn normalize_command(&self, raw: &str) -> Normalized {
        Normalized::evaluated(raw)
    }

    /// How it is told to use our shell.
    fn configure_shell(&self) -> ShellHook {
        ShellHook::Variables(&[])
    }

    /// Of our images, the name behind the prefix.
    fn image(&self) -> &'static str {
        self.name()
    }

    /// The runtime that its own programs need, for the smart switches.
    fn runtime(&self) -> Runtime {
        Runtime::None
    }

    /// Folders below HOME that outlive a session. They are kept apart from the user's own: see `launch::inside`.
    fn state(&self) -> &'static [&'static str] {
        &[]
    }

    /// The user's own files below HOME that are copied in, read-only at their source, where the state has none yet.
    fn config(&self) -> &'static [Copied] {
        &[]
    }

    /// Variables of the caller that it may see: its credentials and what goes with them.
    fn credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it works on the workspace on its own account, so that two of them would get in each other's way.
    fn is_exclusive(&self) -> bool {
        true
    }
}

/// A command line as an agent meant it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Normalized {
    pub(crate) command: String,
    /// Whether it is the model's, to be judged, and not the agent's own plumbing.
    pub(crate) evaluate: bool,
}

impl Normalized {
    pub(crate) fn evaluated(command: &str) -> Self {
        Self { command: command.to_owned(), evaluate: true }
    }

    pub(crate) fn plumbing(raw: &str) -> Self {
        Self { command: raw.to_owned(), evaluate: false }
    }
}

/// The runtime in which an agent's own programs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    None,
    Node,
    Python,
}

/// How an agent learns of our shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellHook {
    /// `SHELL`, which every agent gets, and these variables beside it.
    Variables(&'static [&'static str]),
    /// A key of a JSON file below HOME, beside `SHELL`.
    Setting { file: &'static str, key: &'static str },
}

/// A file of the user that is copied into the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Below the user's HOME.
    pub(crate) from: &'static str,
    /// Below the container's.
    pub(crate) to: &'static str,
}

impl Copied {
    /// To the same place.
    const fn same(path: &'static str) -> Self {
        Self { from: path, to: path }
    }
}

/// The agent with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().find(|agent| agent.name() == name).copied()
}

/// As [`Agent::normalize_command`]; a name that nobody has passes through and is evaluated.
pub(crate) fn normalize(name: &str, raw: &str) -> Normalized {
    by_name(name).map_or_else(|| Normalized::evaluated(raw), |agent| agent.normalize_command(raw))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_agent_is_whole() {
        let mut seen = BTreeSet::new();
        for agent in AGENTS {
            let name = agent.name();
            assert!(seen.insert(name), "{name} stands twice");
            assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
            assert!(!agent.binary_names().is_empty(), "{name} has no program");
            assert!(agent.summary().len() < 50 && !agent.summary().ends_with('.'), "{name}");
            let inside = |path: &str| !path.starts_with('/') && !path.split('/').any(|part| part == "..");
            assert!(agent.state().iter().all(|path| inside(path)), "{name}");
            assert!(agent.config().iter().all(|file| inside(file.from) && inside(file.to)), "{name}");
        }
        assert_eq!(seen.len(), AGENTS.len());
    }

    #[test]
    fn promise_11_no_agent_sees_anothers_state() {
        let owns = |agent: &&dyn Agent, path: &str| {
            agent.state().iter().any(|own| path == *own || path.starts_with(&format!("{own}/")))
        };
        for one in AGENTS {
            for other in AGENTS.iter().filter(|other| other.name() != one.name()) {
                let files = one.config().iter().flat_map(|file| [file.from, file.to]);
                for path in one.state().iter().copied().chain(files) {
                    assert!(!owns(other, path), "{} would see {path} of {}", one.name(), other.name());
                }
            }
        }
    }

    #[test]
    fn credentials_are_secret_by_our_own_rules() {
        let is_ours = |name: &str| name.starts_with("AIFO_") || name == "PATH" || name == "HOME";
        for agent in AGENTS {
            assert!(!agent.credentials().iter().any(|name| is_ours(name)), "{}", agent.name());
        }
    }

    /// What the agents that wrap nothing were recorded to start: their shells' command lines.
    const RECORDED: &[(&str, [&str; 3])] = &[
        ("aider", ["/bin/sh", "-c", "make && python3 -c 'print(1)'"]),
        ("codex", ["/usr/bin/bash", "-c", "cc --version | head -1; command -v cc; pwd"]),
        ("codex", ["/usr/bin/bash", "-c", "python3 -c 'import os;print(open(\"/proc/1/cmdline\").read())'"]),
        ("letta", ["bash", "-c", "cc --version | head -1; command -v cc; pwd"]),
        ("opencode", ["/opt/aifo/bin/aifo-bash", "-c", "cat /proc/1/cmdline >here; echo \"it's $(id -un)\" >name"]),
        ("pi", ["/opt/aifo/bin/aifo-bash", "-c", "make"]),
    ];

    #[test]
    fn what_is_not_wrapped_is_evaluated_as_it_was_recorded() {
        for (agent, [_, _, command]) in RECORDED {
            assert_eq!(normalize(agent, command), Normalized::evaluated(command), "{agent}");
        }
    }

    #[test]
    fn an_unknown_agent_passes_through_and_is_evaluated() {
        assert_eq!(normalize("unknown", "eval 'rm -rf /'"), Normalized::evaluated("eval 'rm -rf /'"));
    }
}
