//! The least that an agent's image must do: start as a plain user and tell which version it is.

use crate::support::docker::Place;

#[test]
#[ignore = "needs docker"]
fn every_agent_tells_its_version_to_a_plain_user() {
    let place = Place::of_plain_user();
    for agent in ["aider", "claude", "codex", "letta", "opencode", "openhands", "pi"] {
        let ran = place.launcher(&["--flavor", "slim", agent, "--version"]).run();
        ran.expect(0);
        // Pi writes it to standard error.
        let said = ran.out() + &ran.err();
        let is_version = |word: &str| word.split('.').filter(|part| part.parse::<u32>().is_ok()).count() >= 3;
        assert!(said.split_whitespace().any(is_version), "{ran}");
    }
}
