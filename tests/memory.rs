//! What a long stream costs (T41): nothing that grows. The 10 GB of the bench are one of these in large.

use crate::support::{Plan, Ran, Rig, process, under};

/// Each of proxy, execd and its supervisors.
const MOST_KIB: u64 = 16 * 1024;

/// 1.08 GB of numbers that the caller's shell compares with its own, read in pieces so small that the reader is the
/// slowest of all.
const COMPARE: &str = "set -o pipefail; \"$0\" \"$@\" | dd bs=1k status=none | cmp - <(seq 1 120000000)";

#[test]
fn t41_promise_4_a_gigabyte_through_a_slow_reader_is_whole_and_held_nowhere() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let mut by_tcp = rig.shim_by_tcp("seq");
    assert_eq!(Ran::of(&mut under(&["bash", "-c", COMPARE], by_tcp.args(["1", "120000000"]))).expect(0), "");
    let mut direct = rig.shim("seq");
    let compare = COMPARE.replace("bs=1k", "bs=4k");
    assert_eq!(Ran::of(&mut under(&["bash", "-c", &compare], direct.args(["1", "120000000"]))).expect(0), "");
    let execd = rig.sidecars[0].id();
    for pid in process::children(execd).into_iter().chain([execd, rig.proxy.id()]) {
        let peak = process::status(pid, "VmHWM");
        assert!(peak <= MOST_KIB, "{peak} KiB in {}", process::command_line(pid));
    }
}

#[test]
fn memory_is_given_back_after_large_requests() {
    let rig = Rig::start();
    let megabyte = vec!["x".repeat(100_000); 10];
    let words: Vec<&str> = megabyte.iter().map(String::as_str).collect();
    let request = rig.call(2, "true", &words);
    for _ in 0..40 {
        assert_eq!(rig.ask(&request).code(), "0");
    }
    let proxy = rig.proxy.id();
    let (now, peak) = (process::status(proxy, "VmRSS"), process::status(proxy, "VmHWM"));
    // One request of a megabyte may be held several times over on its way, forty must not.
    assert!(peak <= 2 * MOST_KIB && now <= MOST_KIB, "{now} KiB now, {peak} KiB at most");
}
