//! Codex: starts the user's shell by the system's list of users, whatever `SHELL` says. An option tells it not to make each
//! command a login; it still takes one snapshot of a login shell when it starts.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn summary(&self) -> &'static str {
        "Codex"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["codex"]
    }

    fn args(&self) -> &'static [&'static str] {
        &["-c", "allow_login_shell=false"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("CODEX_HOME", "/home/coder/.codex")]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Node
    }

    fn state(&self) -> &'static [&'static str] {
        &[".codex"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] =
            &[Copied::same(".codex/config.toml"), Copied::same(".codex/auth.json"), Copied::same(".codex/AGENTS.md")];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"]
    }
}
