//! The shim for arm64, run by an emulator of that machine: the same calls, another set of system calls and structures.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use rustix::process::Signal;

use crate::support::{Background, Plan, Ran, Rig, clean, dist, wait_until};

/// The same call by the arm64 shim; the emulator is told under which name it runs.
fn emulated(call: Command) -> Command {
    let mut command = clean("qemu-aarch64-static");
    command.arg("-0").arg(call.get_program()).arg(dist("arm64").join("aifo-shim")).args(call.get_args());
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    command.current_dir(call.get_current_dir().expect("calls have a directory"));
    command
}

fn served() -> Rig {
    Rig::with(Plan { tcp: true, ..Plan::default() })
}

#[test]
#[ignore = "needs qemu-aarch64-static"]
fn codes_output_and_errors() {
    let rig = served();
    for code in [0, 1, 77, 255] {
        let ran = Ran::of(&mut emulated(rig.bash(&format!("echo out; echo err >&2; exit {code}"))));
        assert_eq!((ran.expect(code).as_str(), ran.err().as_str()), ("out", "err\n"));
    }
    Ran::of(&mut emulated(rig.shim("cargo"))).expect_said(86, "no rust sidecar");
    let mut lost = rig.shim("bash");
    lost.env("AIFO_TOOLEEXEC_URL", "unix:///nowhere.sock");
    Ran::of(&mut emulated(lost)).expect_said(125, "cannot connect");
    rig.assert_serves();
}

#[test]
#[ignore = "needs qemu-aarch64-static"]
fn descriptors_and_arguments() {
    let rig = served();
    let mut call = emulated(rig.bash("cat; printf '%s|' \"$@\"; ls /proc/self/fd | wc -l"));
    call.args(["a b", "", "grün"]).stdin(Stdio::piped());
    let mut call = Background::start(&mut call);
    call.input().write_all(b"by stdin\n").unwrap();
    assert_eq!(call.end().expect(0), "by stdin\na b||grün|4");
}

#[test]
#[ignore = "needs qemu-aarch64-static"]
fn signals_both_ways() {
    let rig = served();
    for shim in [Rig::shim, Rig::shim_by_tcp] {
        drop(fs::remove_file(rig.file("up")));
        let mut call = shim(&rig, "bash");
        call.args([
            "-c",
            "trap 'echo USR1 >> log' USR1; trap 'exit 9' TERM; echo up > up; while :; do sleep 0.02; done",
        ]);
        let call = Background::start(&mut emulated(call));
        wait_until("it runs", || rig.file("up").exists());
        let before = rig.content("log");
        call.signal(Signal::USR1);
        wait_until("it comes", || rig.content("log").len() > before.len());
        call.signal(Signal::TERM);
        call.end().expect(9);
    }
    let ran = Ran::of(&mut emulated(rig.bash("kill -TERM $$")));
    assert_eq!(ran.signal(), Some(15), "{ran}");
}

#[test]
#[ignore = "needs qemu-aarch64-static"]
fn the_older_protocol_by_tcp() {
    let rig = served();
    let mut call = rig.shim_by_tcp("bash");
    call.args(["-c", "seq 1 100000; exit 3"]);
    let ran = Ran::of(&mut emulated(call));
    assert_eq!(ran.code(), 3, "{}", ran.err());
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(ran.out() == numbers);
}
