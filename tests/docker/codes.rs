//! The agent's exit code is the launcher's, and what is said where there is none.

use crate::support::docker::Place;

#[test]
#[ignore = "needs docker"]
fn the_agents_exit_code_is_passed_on_verbatim() {
    let place = Place::new();
    for code in [0, 1, 2, 7, 42, 86, 124, 125, 126, 127, 128, 130, 137, 143, 200, 254, 255] {
        let ran = place.launcher(&["run", "--", "sh", "-c", &format!("echo out; echo err >&2; exit {code}")]).run();
        assert_eq!(ran.expect(code), "out");
        assert!(ran.err().ends_with(": run\nerr\n"), "{ran}");
    }
}

#[test]
#[ignore = "needs docker"]
fn death_by_a_signal_is_128_and_its_number() {
    let place = Place::new();
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("INT", 130), ("SEGV", 139)] {
        place.launcher(&["run", "--", "sh", "-c", &format!("kill -{signal} $$")]).run().expect(code);
    }
}

#[test]
#[ignore = "needs docker"]
fn t34_an_agent_starts_with_no_signal_blocked_or_ignored() {
    let place = Place::new();
    let ran = place.launcher(&["run", "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]).run();
    assert_eq!(ran.expect(0), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000");
}

#[test]
#[ignore = "needs docker"]
fn a_command_that_is_missing_is_127_and_one_that_is_no_program_126() {
    let place = Place::new();
    place.put("text", "no program\n");
    let ran = place.launcher(&["run", "--", "no-such-command"]).run();
    ran.expect(127);
    assert!(ran.err().contains("no-such-command"), "{ran}");
    place.launcher(&["run", "--", "/workspace/text"]).run().expect(126);
    place.launcher(&["run", "--", "/workspace"]).run().expect(126);
}

#[test]
#[ignore = "needs docker"]
fn promise_1_a_tool_call_ends_as_the_tool_did() {
    let place = Place::new();
    place.put("Makefile", "all:\n\t@exit 3\n");
    let launcher = place.launcher(&["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "sh"]);
    let mut session = launcher.start_shell();
    session.expect(2, "make");
    for code in [0, 1, 86, 124, 125, 255] {
        session.expect(code, &format!("dash -c 'exit {code}'"));
    }
    session.expect(143, "dash -c 'kill -TERM $$; sleep 5'");
    session.expect(137, "dash -c 'kill -KILL $$; sleep 5'");
    // A kind without a sidecar: refused, and nothing ran.
    let said = session.expect(86, "cargo --version");
    assert!(said.ends_with("no rust sidecar in this session; start it with --toolchain rust"), "{said}");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_toolchains_own_command_has_stdin_workspace_and_exit_code() {
    let place = Place::new();
    place.put("sub/file", "here\n");
    let ran =
        place.launcher(&["toolchain", "c-cpp", "--", "sh", "-c", "cat sub/file -; exit 9"]).run_with_input("in\n");
    assert_eq!(ran.expect(9), "here\nin");
    let ran = place.launcher(&["toolchain", "python", "--", "python3", "-c", "import os; print(os.getcwd())"]).run();
    assert_eq!(ran.expect(0), "/workspace");
    // Without a command: a shell.
    assert_eq!(
        place.launcher(&["toolchain", "rust"]).run_with_input("cargo --version | cut -c-6\n").expect(0),
        "cargo "
    );
}
