//! One agent a workspace: taken before anything is started, released by the kernel, and the other one is told by whom.

use std::process::Stdio;

use rustix::process::Signal;

use crate::support::{
    Background, Ran,
    docker::{Place, agents::stand_in},
    wait_until,
};

#[test]
#[ignore = "needs docker"]
fn t50_a_second_agent_in_a_workspace_is_told_who_has_it_and_what_to_type() {
    let place = Place::new();
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    let before = place.listing();
    let ran = Ran::of(stand_in(&place, &[], "codex", &[]).command.stdin(Stdio::null()));
    let holder = format!("claude in session {}, process {}", session.id, session.child.id());
    let said = format!(
        "aifo-coder: error: `{}` already has an agent: {holder}\n\
         aifo-coder: hint: end that session, or work in a clone: git clone . ../other\n",
        place.workspace().display()
    );
    assert_eq!((ran.code(), ran.err(), ran.out()), (125, said, String::new()));
    let after: Vec<String> = place.listing().into_iter().filter(|name| name != "program-codex").collect();
    assert_eq!(after, before, "nothing was made for an agent that did not run");
    // Another workspace, a person's shell, a command, a dry run: none of them is in the way.
    let other = Place::new();
    stand_in(&other, &[], "codex", &[]).run_with_input("true\n").expect(0);
    stand_in(&place, &["--dry-run"], "codex", &[]).command.output().unwrap();
    let mut shell = place.launcher(&["shell"]).start();
    shell.expect(0, "true");
    session.expect(0, "true");
    drop(shell.input.take());
    assert!(shell.child.wait().unwrap().success());
    shell.assert_own_gone();
    // The kernel releases what a killed launcher held.
    session.kill(Signal::KILL);
    session.wait();
    stand_in(&place, &[], "codex", &[]).run_with_input("true\n").expect(0);
}

#[test]
#[ignore = "needs docker"]
fn t50_of_many_launchers_at_once_exactly_one_runs() {
    let place = Place::new();
    let mut running: Vec<Background> = (0..6)
        .map(|_| {
            let mut launcher = stand_in(&place, &[], "claude", &[]);
            Background::start(launcher.command.stdin(Stdio::piped()))
        })
        .collect();
    let mut refused = 0;
    wait_until("all but one are refused", || {
        if let Some(at) = running.iter_mut().position(Background::has_ended) {
            let ran = running.remove(at).end();
            assert!(ran.code() == 125 && ran.err().contains("already has an agent: claude in session "), "{ran}");
            refused += 1;
        }
        refused == 5
    });
    let mut winner = running.pop().unwrap();
    drop(winner.input());
    winner.end().expect(0);
}
