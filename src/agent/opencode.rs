//! OpenCode: a native program behind a Node launcher; starts the shell that `SHELL` names.

use super::{Agent, Copied, Runtime};

#[derive(Debug)]
pub(super) struct OpenCode;

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn summary(&self) -> &'static str {
        "OpenCode"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["opencode"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("OPENCODE_DISABLE_AUTOUPDATE", "1")]
    }

    fn runtime(&self) -> Runtime {
        Runtime::Node
    }

    fn state(&self) -> &'static [&'static str] {
        &[".local/share/opencode", ".local/state/opencode", ".config/opencode"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] = &[
            Copied::same(".config/opencode/opencode.json"),
            Copied::same(".config/opencode/AGENTS.md"),
            Copied::same(".local/share/opencode/auth.json"),
        ];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &[
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "OPENROUTER_API_KEY",
            "GROQ_API_KEY",
            "AZURE_API_KEY",
            "AZURE_RESOURCE_NAME",
            "OPENCODE_API_KEY",
            "OPENCODE_DISABLE_MODELS_FETCH",
        ]
    }
}
