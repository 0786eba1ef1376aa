//! The agent that is a person: bash.

use super::Agent;

#[derive(Debug)]
pub(super) struct Shell;

impl Agent for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn summary(&self) -> &'static str {
        "bash, for yourself"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["bash", "sh"]
    }

    fn is_exclusive(&self) -> bool {
        false
    }
}
