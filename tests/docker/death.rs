//! T46: one part of a session dies. Whoever depends on it hears which part it was, and nothing hangs.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{
    Ran,
    docker::{Place, Session, docker},
    process, wait_until,
};

#[track_caller]
fn start(place: &Place) -> Session {
    let kinds = ["--toolchain", "c-cpp", "--tool", "c-cpp:sleep", "--toolchain", "python"];
    let mut session = place.launcher(&[&kinds[..], &["run", "--", "/bin/dash"]].concat()).start_shell();
    session.expect(0, "make --version && python3 --version");
    session
}

#[test]
#[ignore = "needs docker"]
fn t46_a_killed_proxy_ends_the_session_with_125_and_its_name() {
    let place = Place::new();
    for _ in 0..4 {
        let mut session = start(&place);
        docker(&["kill", &session.name("proxy")]).expect(0);
        let begun = Instant::now();
        let ended = session.wait();
        assert_eq!(ended.code(), 125, "{ended}");
        assert!(ended.err().contains("\naifo-coder: error: the proxy ended before the session did"), "{ended}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{ended}");
    }
}

#[test]
#[ignore = "needs docker"]
fn t46_a_killed_proxy_ends_a_stubborn_agent_too() {
    let place = Place::new();
    let mut session = start(&place);
    session.tell("trap '' TERM HUP INT; while :; do /bin/sleep 1; done\n");
    docker(&["kill", &session.name("proxy")]).expect(0);
    assert_eq!(session.wait().code(), 125);
}

#[test]
#[ignore = "needs docker"]
fn t46_a_sidecar_killed_in_a_call_is_named_and_the_session_goes_on() {
    let place = Place::new();
    let mut session = start(&place);
    session.tell("sleep 1002 </dev/null 2>/tmp/said & \n");
    let name = session.name("c-cpp");
    wait_until("the tool runs", || docker(&["top", &name]).out().contains("sleep 1002"));
    docker(&["kill", &name]).expect(0);
    let begun = Instant::now();
    session.expect(125, "wait $!");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let said = session.expect(0, "cat /tmp/said");
    assert_eq!(said, "aifo-shim: sleep: the c-cpp sidecar is gone; the call's end is unknown");
    let said = session.expect(86, "sleep 1");
    assert_eq!(said, "aifo-shim: sleep: refused by the proxy (409): the c-cpp sidecar is gone");
    assert!(session.expect(0, "python3 --version").starts_with("Python 3"));
    wait_until("the launcher says so", || session.err().contains("warning: the c-cpp sidecar ended"));
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn t46_a_killed_execd_takes_its_tools_along() {
    let place = Place::new();
    let mut session = start(&place);
    session.tell("sleep 1008 </dev/null 2>/tmp/said & \n");
    let name = session.name("c-cpp");
    wait_until("the tool runs", || docker(&["top", &name]).out().contains("sleep 1008"));
    process::signal(session.pid_of("c-cpp"), Signal::KILL);
    session.expect(125, "wait $!");
    wait_until("its container is gone", || docker(&["top", &name]).code() != 0);
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_killed_agent_container_ends_the_session() {
    let place = Place::new();
    let mut session = start(&place);
    docker(&["kill", &session.name("agent")]).expect(0);
    assert_eq!(session.wait().code(), 137);
}

#[test]
#[ignore = "needs docker"]
fn a_killed_docker_client_of_a_sidecar_disturbs_no_call() {
    let place = Place::new();
    let mut session = start(&place);
    process::signal(session.client_of("c-cpp"), Signal::KILL);
    session.expect(0, "make --version && sleep 0.1");
    // Without its client the launcher cannot know when the container is gone; it goes all the same.
    drop(session.input.take());
    session.wait().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn killed_docker_clients_of_agent_and_proxy_leave_nothing() {
    let place = Place::new();
    for part in ["agent", "proxy"] {
        let mut session = start(&place);
        process::signal(session.client_of(part), Signal::KILL);
        let ended = session.wait();
        assert_ne!(ended.code(), 0, "{ended}");
    }
}

#[test]
#[ignore = "needs docker"]
fn a_paused_sidecar_holds_only_its_own_calls() {
    let place = Place::new();
    let mut session = start(&place);
    let name = session.name("c-cpp");
    docker(&["pause", &name]).expect(0);
    session.tell("make --version >/tmp/late 2>&1 </dev/null & \n");
    assert!(session.expect(0, "python3 --version").starts_with("Python 3"));
    docker(&["unpause", &name]).expect(0);
    session.expect(0, "wait $! && grep -q GNU /tmp/late");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_sidecar_that_cannot_end_does_not_hold_the_launcher_and_gc_removes_it() {
    let place = Place::new();
    let mut session = start(&place);
    let name = session.name("c-cpp");
    docker(&["pause", &name]).expect(0);
    let begun = Instant::now();
    session.tell("exit 3\n");
    wait_until("the launcher ends", || session.child.try_wait().expect("a child").is_some());
    assert_eq!(session.child.wait().expect("a child").code(), Some(3));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // With programs of its own, gc would also remove those of other builds, which this test has no business with.
    let ran = Ran::of(&mut place.launcher(&["gc"]).env("AIFO_CODER_BINARIES", "/nowhere").command);
    let removed = format!("sidecar of session {}, whose proxy is gone", session.id);
    assert!(ran.expect(0).contains(&removed), "{ran}");
    assert!(session.wait().err().contains("warning: the c-cpp sidecar does not end"));
}
