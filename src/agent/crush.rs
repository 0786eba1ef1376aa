//! Crush: a terminal agent that ships through npm.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct Crush;

impl Agent for Crush {
    fn name(&self) -> &'static str {
        "crush"
    }

    fn summary(&self) -> &'static str {
        "Crush"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["crush"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("CRUSH_DISABLE_PROVIDER_AUTO_UPDATE", "1"), ("CRUSH_DISABLE_METRICS", "1")]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Node
    }

    fn state(&self) -> &'static [&'static str] {
        &[".local/share/crush", ".crush"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] =
            &[Copied::same(".config/crush/crush.json"), Copied::same(".local/share/crush/crush.json")];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &[
            "OPENAI_API_KEY",
            "OPENAI_API_ENDPOINT",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "GROQ_API_KEY",
            "AZURE_OPENAI_API_KEY",
            "AZURE_OPENAI_API_ENDPOINT",
            "AZURE_OPENAI_API_VERSION",
        ]
    }
}
