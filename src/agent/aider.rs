//! Aider: Python, edits files as text, runs tools by `/bin/sh -c`.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct Aider;

impl Agent for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn summary(&self) -> &'static str {
        "Aider"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["aider"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("AIDER_CHECK_UPDATE", "false"), ("AIDER_ANALYTICS", "false")]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Python
    }

    fn state(&self) -> &'static [&'static str] {
        &[".aider"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] = &[
            Copied::same(".aider.conf.yml"),
            Copied::same(".aider.model.settings.yml"),
            Copied::same(".aider.model.metadata.json"),
        ];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &[
            "OPENAI_API_KEY",
            "OPENAI_API_BASE",
            "OPENAI_API_TYPE",
            "OPENAI_API_VERSION",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "DEEPSEEK_API_KEY",
            "OPENROUTER_API_KEY",
            "AZURE_API_KEY",
            "AZURE_API_BASE",
            "AZURE_API_VERSION",
        ]
    }
}
