//! Pi: Node; ignores `SHELL` and reads its shell from a settings file.

use super::{Agent, Copied, Runtime, ShellHook};

#[derive(Debug)]
pub(super) struct Pi;

impl Agent for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn summary(&self) -> &'static str {
        "Pi"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["pi"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("PI_SKIP_VERSION_CHECK", "1")]
    }

    fn configure_shell(&self) -> ShellHook {
        ShellHook::Setting { file: ".pi/agent/settings.json", key: "shellPath" }
    }

    fn runtime(&self) -> Runtime {
        Runtime::Node
    }

    fn state(&self) -> &'static [&'static str] {
        &[".pi"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] = &[
            Copied::same(".pi/agent/settings.json"),
            Copied::same(".pi/agent/models.json"),
            Copied::same(".pi/agent/auth.json"),
        ];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_OAUTH_TOKEN",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GROQ_API_KEY",
            "OPENROUTER_API_KEY",
            "XAI_API_KEY",
            "PI_OFFLINE",
        ]
    }
}
