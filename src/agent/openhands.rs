//! OpenHands: Python; runs all commands in one interactive bash inside tmux.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct OpenHands;

impl Agent for OpenHands {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn summary(&self) -> &'static str {
        "OpenHands"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["openhands"]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Python
    }

    fn state(&self) -> &'static [&'static str] {
        &[".openhands"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] =
            &[Copied::same(".openhands/settings.json"), Copied::same(".openhands/agent_settings.json")];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &["LLM_API_KEY", "LLM_BASE_URL", "LLM_MODEL", "LLM_API_VERSION"]
    }
}
