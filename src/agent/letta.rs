//! Letta Code: Node; starts `bash -c` found through PATH.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct Letta;

impl Agent for Letta {
    fn name(&self) -> &'static str {
        "letta"
    }

    fn summary(&self) -> &'static str {
        "Letta Code"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["letta"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("DISABLE_AUTOUPDATER", "1")]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Node
    }

    fn state(&self) -> &'static [&'static str] {
        &[".letta"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] = &[Copied::same(".letta/settings.json")];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &["LETTA_API_KEY", "LETTA_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LLAMA_CPP_BASE_URL"]
    }
}
