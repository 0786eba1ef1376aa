//! The limit on run time, which there is only when the user sets one (T45).

use std::fs;

use crate::support::{Background, Plan, Ran, Rig};

/// Writes down what it gets, and does not end.
const STUBBORN: &str = "
import signal
awaited = [signal.SIGINT, signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print('said', flush=True)
while True:
    with open('log', 'a') as log: print(signal.Signals(signal.sigwait(awaited)).name[3:], file=log, flush=True)";

fn limited() -> Rig {
    Rig::with(Plan { kinds: vec!["c-cpp", "python"], max_secs: Some(1), tcp: true, ..Plan::default() })
}

#[track_caller]
fn took_all_steps(rig: &Rig) {
    assert_eq!(rig.content("log"), "INT\nTERM\n");
    fs::remove_file(rig.file("log")).expect("it was there");
}

#[test]
fn t45_a_reached_limit_is_124_by_every_protocol() {
    let rig = limited();
    let ran = Ran::of(rig.shim("python3").args(["-c", STUBBORN]));
    assert_eq!((ran.code(), ran.out().as_str()), (124, "said\n"), "{ran}");
    assert_eq!(ran.err(), "aifo-shim: python3: stopped after its limit of 1 s\n");
    took_all_steps(&rig);
    let ran = Ran::of(rig.shim_by_tcp("python3").args(["-c", STUBBORN]));
    assert_eq!((ran.code(), ran.out().as_str()), (124, "said\naifo-coder proxy timeout\n"), "{ran}");
    took_all_steps(&rig);
    let buffered = rig.ask(&rig.call(1, "python3", &["-c", STUBBORN]));
    assert_eq!((buffered.status, buffered.text().as_str(), buffered.code().as_str()), (504, "timeout\n", "124"));
    took_all_steps(&rig);
    rig.assert_serves();
}

#[test]
fn t45_the_code_is_the_limits_even_when_the_tool_ends_well() {
    let rig = limited();
    let script = "trap 'exit 0' INT; while :; do sleep 0.02; done";
    assert_eq!(Ran::of(&mut rig.bash(script)).code(), 124);
    let streamed = rig.ask(&rig.call(2, "bash", &["-c", script]));
    assert_eq!((streamed.code().as_str(), streamed.text().as_str()), ("124", "aifo-coder proxy timeout\n"));
    assert!(streamed.reason().contains("limit of 1 s"), "{streamed:?}");
}

#[test]
fn t45_the_limit_is_on_the_tool_and_not_on_who_waits() {
    let rig = Rig::with(Plan { max_secs: Some(2), max_calls: 1, ..Plan::default() });
    // Together they take longer than one of them may.
    let calls: Vec<_> = (0..4).map(|_| Background::start(rig.shim("sleep").arg("0.8"))).collect();
    for call in calls {
        assert_eq!(call.end().expect(0), "");
    }
    assert_eq!(Ran::of(&mut rig.bash("exit 9")).code(), 9);
}

#[test]
fn defect_10_promise_6_there_is_no_limit_unless_one_is_set() {
    // Three times as long as the limit of the others, which shows that a limit would have been noticed.
    let rig = Rig::start();
    assert_eq!(Ran::of(rig.shim("sleep").arg("3")).expect(0), "");
    assert_eq!(Ran::of(limited().shim("sleep").arg("3")).code(), 124);
}
