//! Plandex: one native program.

use super::{Agent, Copied};

#[derive(Debug)]
pub(super) struct Plandex;

impl Agent for Plandex {
    fn name(&self) -> &'static str {
        "plandex"
    }

    fn summary(&self) -> &'static str {
        "Plandex"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["plandex", "pdx"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        &[("PLANDEX_SKIP_UPGRADE", "1")]
    }

    fn state(&self) -> &'static [&'static str] {
        &[".plandex-home-v2", ".plandex-home"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] =
            &[Copied::same(".plandex-home-v2/auth.json"), Copied::same(".plandex-home-v2/accounts.json")];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &["PLANDEX_API_HOST", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"]
    }
}
