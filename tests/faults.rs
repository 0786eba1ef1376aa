//! Parts that die, and a launcher that does not listen (T46, T48).

use std::{io::Write, sync::Arc, thread, time::Duration};

use rustix::process::Signal;

use crate::support::{
    Answer, Background, Plan, Ran, Rig, is_alive, process, read_all, shell_code, wait_until, wait_within,
};

/// The stated time for a call to notice that its way is gone.
const NOTICED: Duration = Duration::from_secs(5);

/// Two calls that wait for nothing, one by each protocol of the shim, and their tools.
#[track_caller]
fn running(rig: &Rig) -> ([Background; 2], Vec<u32>) {
    let script = "echo $$ >> pids; exec sleep 1000";
    let calls =
        [rig.shim("bash"), rig.shim_by_tcp("bash")].map(|mut shim| Background::start(shim.args(["-c", script])));
    wait_until("both run", || process::pids_in(&rig.file("pids")).len() == 2);
    (calls, process::pids_in(&rig.file("pids")))
}

fn served() -> Rig {
    Rig::with(Plan { tcp: true, ..Plan::default() })
}

#[test]
fn t46_a_proxy_that_dies_ends_every_call_with_a_word() {
    for (signal, code) in [(Signal::KILL, 137), (Signal::TERM, 0)] {
        let mut rig = served();
        let (calls, tools) = running(&rig);
        process::signal(rig.proxy.id(), signal);
        for mut call in calls {
            let ran = call.end_within(NOTICED);
            ran.expect_said(125, "connection to the proxy was lost; the call's end is unknown");
        }
        assert_eq!(shell_code(rig.proxy.wait().unwrap()), code);
        wait_until("the tools are gone", || !tools.iter().any(|pid| is_alive(*pid)));
        Ran::of(&mut rig.shim("bash")).expect_said(125, "cannot connect to the proxy");
        rig.finish();
    }
}

#[test]
fn t46_a_sidecar_that_dies_ends_every_call_with_its_name() {
    for signal in [Signal::KILL, Signal::TERM] {
        let mut rig = served();
        let (calls, tools) = running(&rig);
        process::signal(rig.sidecars[0].id(), signal);
        for mut call in calls {
            let ran = call.end_within(NOTICED);
            // "is gone", or "lost the call" where the proxy had not yet heard of its start.
            ran.expect_said(125, "the c-cpp sidecar ");
        }
        wait_until("the tools are gone", || !tools.iter().any(|pid| is_alive(*pid)));
        assert_eq!(rig.notice("gone="), "c-cpp");
        for shim in [Rig::shim, Rig::shim_by_tcp] {
            Ran::of(&mut shim(&rig, "bash")).expect_said(86, "the c-cpp sidecar is gone");
        }
        drop(rig.sidecars[0].wait());
        // The rest of the session goes on.
        let answer = rig.ask(&rig.call(2, "perl", &[]));
        assert_eq!(answer.status, 403);
        rig.finish();
    }
}

#[test]
fn t46_a_supervisor_that_dies_costs_one_call() {
    let rig = served();
    // A tool whose supervisor is gone lives on as a daemon would.
    let script = "echo $$ > pid; exec sleep 1000 > /dev/null 2>&1";
    let mut call = Background::start(&mut rig.bash(script));
    wait_until("it runs", || !process::pids_in(&rig.file("pid")).is_empty());
    let tool = process::pids_in(&rig.file("pid"))[0];
    let supervisor = process::parent(tool).expect("a live tool");
    assert_ne!(supervisor, rig.sidecars[0].id());
    process::signal(supervisor, Signal::KILL);
    call.end_within(NOTICED).expect_said(125, "the c-cpp sidecar");
    rig.assert_serves();
    assert_eq!(process::parent(tool), Some(rig.sidecars[0].id()));
}

#[test]
fn t46_a_call_that_waits_for_a_sidecar_hears_what_became_of_it() {
    let mut rig = Rig::with(Plan { expected: vec!["rust", "go"], tcp: true, ..Plan::default() });
    let waiting = [rig.shim("cargo"), rig.shim_by_tcp("cargo")].map(|mut shim| Background::start(&mut shim));
    let mut buffered = rig.connect();
    buffered.write_all(&rig.call(1, "rustc", &[])).unwrap();
    let is_collecting = |call: &Background| process::mask(call.pid(), "SigBlk") & 1 << 9 != 0;
    wait_until("they wait", || waiting.iter().all(is_collecting));
    rig.tell_proxy(&[("failed", "rust"), ("reason", "no such image: rust:0.1\nreally")]);
    for call in waiting {
        call.end().expect_said(86, "the rust sidecar did not start: no such image: rust:0.1 really");
    }
    let answer = Answer::of(&read_all(buffered));
    assert_eq!((answer.status, answer.code().as_str()), (409, "86"));
    assert_eq!(answer.reason(), "the rust sidecar did not start: no such image: rust:0.1 really");
    // The other is still awaited, and comes.
    let waiting = Background::start(rig.shim("go").arg("version"));
    wait_until("it waits", || is_collecting(&waiting));
    rig.start_sidecar("go", &[("PATH", "/nonexistent")]);
    waiting.end().expect_said(86, "`go` is not installed in the go sidecar");
    rig.assert_serves();
}

#[test]
fn t48_a_launcher_that_does_not_listen_holds_nobody_up_and_is_told_what_it_missed() {
    let rig = Rig::start();
    let hearing = Arc::clone(&rig.hearing);
    let deaf = hearing.lock().unwrap();
    // More than the pipe, the queue and every buffer between take; long arguments fill the pipe sooner.
    let long = "%".repeat(1000);
    let request = rig.call(2, "true", &[&long]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1300).for_each(|_| assert_eq!(rig.ask(&request).code(), "0")));
        }
    });
    drop(deaf);
    let missed: u64 = rig.notice("lost=").parse().expect("a number");
    assert!((1..5200).contains(&missed), "{missed}");
    rig.assert_serves();
    wait_within(Duration::from_secs(60), "new calls are told again", || rig.notice("call=").contains("tool=echo"));
}
