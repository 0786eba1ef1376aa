//! What becomes of a tool and all that it has started (T37 to T40).

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{Background, Plan, Ran, Rig, form, is_alive, process, shell_code, wait_until, wait_within};

/// INT, TERM and KILL take two seconds together; the rest is for a busy machine.
const STATED_TIME: Duration = Duration::from_secs(8);

/// A tool that does not want to end, with a child in its group, one in a session of its own, and a daemon twice removed.
/// None of them says anything.
const STUBBORN: &str = "
import os, signal, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        for fd in 0, 1, 2: os.dup2(os.open('/dev/null', os.O_RDWR), fd)
elif os.fork() == 0:
    os.setsid()
with open('pids', 'a') as pids: print(os.getpid(), file=pids)
time.sleep(1000)";

fn with_python() -> Rig {
    Rig::with(Plan { kinds: vec!["c-cpp", "python"], tcp: true, ..Plan::default() })
}

#[track_caller]
fn stubborn_pids(rig: &Rig) -> Vec<u32> {
    wait_until("all four run", || process::pids_in(&rig.file("pids")).len() == 4);
    process::pids_in(&rig.file("pids"))
}

#[track_caller]
fn all_end(pids: &[u32]) {
    wait_within(STATED_TIME, "everything is gone", || !pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn t37_t39_promise_5_a_killed_shim_takes_its_tool_and_its_daemons_with_it() {
    let rig = with_python();
    for mut shim in [rig.shim("python3"), rig.shim_by_tcp("python3")] {
        drop(fs::remove_file(rig.file("pids")));
        let mut call = Background::start(shim.args(["-c", STUBBORN]));
        let pids = stubborn_pids(&rig);
        call.signal(Signal::KILL);
        assert_eq!(shell_code(call.status_within(STATED_TIME)), 137);
        all_end(&pids);
    }
}

#[test]
fn t37_a_client_that_is_gone_at_the_start_leaves_its_call_on_record_and_in_its_place() {
    let rig = Rig::with(Plan { max_calls: 1, ..Plan::default() });
    // So that its tool starts after its client has gone.
    let supervisors = process::children(rig.sidecars[0].id());
    supervisors.iter().for_each(|pid| process::signal(*pid, Signal::STOP));
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", "sleep 1000", "gone"])).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    drop(stream);
    let mut next = Background::start(&mut rig.bash("exit 7"));
    std::thread::sleep(Duration::from_millis(300));
    assert!(!next.has_ended(), "one place, and two calls");
    supervisors.iter().for_each(|pid| process::signal(*pid, Signal::CONT));
    assert!(rig.notice("call=").contains("&arg=gone&"), "it is on record");
    next.end().expect(7);
    assert!(rig.notice("call=").contains("&code=7&"));
}

#[test]
fn promise_5_a_process_whose_first_thread_has_ended_is_killed_too() {
    let rig = with_python();
    let script = "
import ctypes, os, signal, threading, time
for name in signal.SIGINT, signal.SIGTERM: signal.signal(name, signal.SIG_IGN)
def live():
    open('pids', 'w').write(str(os.getpid()))
    while True: time.sleep(0.1)
threading.Thread(target=live).start()
ctypes.CDLL(None).pthread_exit(None)";
    let mut call = Background::start(rig.shim("python3").args(["-c", script]));
    wait_until("it lives on", || {
        process::pids_in(&rig.file("pids")).first().is_some_and(|pid| process::state(*pid) == Some('Z'))
    });
    let pids = process::pids_in(&rig.file("pids"));
    call.signal(Signal::KILL);
    call.status_within(STATED_TIME);
    wait_within(STATED_TIME, "its threads are gone", || {
        fs::read_dir(format!("/proc/{}/task", pids[0])).map_or(0, Iterator::count) <= 1
    });
}

#[test]
fn t37_defect_21_a_client_that_closes_takes_its_silent_tool_with_it() {
    let rig = with_python();
    for proto in [1, 2] {
        drop(fs::remove_file(rig.file("pids")));
        let mut stream = rig.connect();
        stream.write_all(&rig.call(proto, "python3", &["-c", STUBBORN])).unwrap();
        let pids = stubborn_pids(&rig);
        drop(stream);
        all_end(&pids);
        // By TCP there is no hang-up to see, only an end of what is sent.
        drop(fs::remove_file(rig.file("pids")));
        let mut stream = rig.connect_tcp();
        stream.write_all(&rig.call(proto, "python3", &["-c", STUBBORN])).unwrap();
        let pids = stubborn_pids(&rig);
        drop(stream);
        all_end(&pids);
    }
}

#[test]
fn t37_a_tool_that_is_given_up_may_clean_up_first() {
    let rig = Rig::start();
    // In the order of the document; a tool that ends by one of them gets no other.
    let script = |trap: &str| format!("trap 'echo {trap}' EXIT; {trap}; echo $$ > pid; while :; do sleep 0.02; done");
    for (trap, expected) in [
        ("trap 'echo INT >> log; exit' INT; trap 'echo TERM >> log; exit' TERM", "INT\n"),
        ("trap 'echo INT >> log' INT; trap 'echo TERM >> log; exit' TERM", "INT\nTERM\n"),
        ("trap 'echo INT >> log' INT; trap 'echo TERM >> log' TERM", "INT\nTERM\n"),
    ] {
        drop(fs::remove_file(rig.file("log")));
        drop(fs::remove_file(rig.file("pid")));
        let call = Background::start(&mut rig.bash(&script(trap)));
        wait_until("it runs", || !process::pids_in(&rig.file("pid")).is_empty());
        let pids = process::pids_in(&rig.file("pid"));
        call.signal(Signal::KILL);
        all_end(&pids);
        assert_eq!(rig.content("log"), expected, "{trap}");
    }
}

#[test]
fn t37_a_stopped_tool_ends_too() {
    let rig = Rig::start();
    let call = Background::start(&mut rig.bash("echo $$ > pid; kill -STOP $$"));
    wait_until("it has stopped", || {
        process::pids_in(&rig.file("pid")).first().is_some_and(|pid| process::state(*pid) == Some('T'))
    });
    call.signal(Signal::KILL);
    all_end(&process::pids_in(&rig.file("pid")));
}

#[test]
fn t37_promise_5_a_client_that_leaves_while_its_tool_starts_leaves_nothing() {
    let rig = Rig::start();
    let stubborn = "trap '' INT TERM HUP; echo $$ >> pids; while :; do sleep 1; done";
    let request = rig.call(2, "bash", &["-c", stubborn]);
    for attempt in 0..150 {
        let mut stream = rig.connect();
        stream.write_all(&request).unwrap();
        // From at once to some milliseconds later, by work and not by the clock.
        for _ in 0..attempt % 50 {
            drop(UnixStream::connect(rig.socket()).unwrap());
        }
    }
    rig.assert_serves();
    let runs = |pid: &u32| process::command_line(*pid).contains("trap");
    wait_within(STATED_TIME, "all of them are gone", || !rig.leftovers().iter().any(runs));
    assert!(!process::pids_in(&rig.file("pids")).is_empty(), "none of them had started");
}

#[test]
fn t37_a_call_whose_client_leaves_the_queue_is_never_run() {
    let rig = Rig::with(Plan { max_calls: 1, ..Plan::default() });
    let mut first = Background::start(rig.bash("echo up > up; cat").stdin(std::process::Stdio::piped()));
    wait_until("the only place is taken", || rig.file("up").exists());
    let queued: Vec<Background> = (0..5).map(|_| Background::start(&mut rig.bash("echo ran >> ran"))).collect();
    let mut stream = rig.connect();
    stream.write_all(&rig.call(1, "bash", &["-c", "echo ran >> ran"])).unwrap();
    let waits = |call: &Background| process::mask(call.pid(), "SigBlk") & 1 << 9 != 0;
    wait_until("they wait", || queued.iter().all(waits));
    queued.iter().for_each(|call| call.signal(Signal::KILL));
    queued.into_iter().for_each(|call| assert_eq!(call.end().code(), 137));
    drop(stream);
    drop(first.input());
    first.end().expect(0);
    rig.assert_serves();
    assert_eq!(rig.content("ran"), "");
}

#[test]
fn t38_a_daemon_that_keeps_the_output_open_does_not_keep_the_call() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let script = "sleep 1000 & echo $! >> pids; echo said; exit 4";
    for proto in [1, 2] {
        let answer = rig.ask(&rig.call(proto, "bash", &["-c", script]));
        assert_eq!((answer.text().as_str(), answer.code().as_str()), ("said\n", "4"), "protocol {proto}");
    }
    for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        let out = rig.file("out");
        let mut call = Background::with_output_as_set(shim.args(["-c", script]).stdout(File::create(&out).unwrap()));
        assert_eq!(shell_code(call.status_within(Duration::from_secs(60))), 4);
        assert_eq!(rig.content("out"), "said\n");
    }
    let daemons = process::pids_in(&rig.file("pids"));
    assert!(daemons.len() == 4 && daemons.iter().all(|pid| is_alive(*pid)), "{daemons:?}");
}

#[test]
fn t39_promise_12_daemons_of_ended_calls_live_as_long_as_the_session() {
    let mut rig = Rig::start();
    let script = "
        quiet() { \"$@\" < /dev/null > /dev/null 2>&1 & echo $! >> pids; }
        quiet sleep 1000; quiet nohup sleep 1000; quiet setsid sleep 1000
        (quiet setsid bash -c 'trap \"\" HUP INT TERM; while :; do sleep 1000; done')";
    for _ in 0..3 {
        Ran::of(&mut rig.bash(script)).expect(0);
    }
    let pids = process::pids_in(&rig.file("pids"));
    assert_eq!(pids.len(), 12);
    rig.assert_serves();
    assert!(pids.iter().all(|pid| is_alive(*pid)), "they are nobody's to end");
    rig.finish();
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn t40_no_orphan_stays_a_zombie() {
    let rig = Rig::start();
    // A thousand grandchildren whose parents are gone, and a tool that goes on meanwhile.
    let mut call =
        Background::start(&mut rig.bash("for i in {1..500}; do (sleep 0.01 &); done; echo up > up; sleep 1000"));
    Ran::of(&mut rig.bash("for i in {1..500}; do (sleep 0.01 &); done")).expect(0);
    wait_until("all are started", || rig.file("up").exists());
    let execd = rig.sidecars[0].id();
    let is_short = |pid: &u32| process::command_line(*pid) == "sleep 0.01";
    wait_until("they have ended and nobody has to wait for them", || {
        let parents = process::children(execd).into_iter().chain([execd]);
        !rig.leftovers().iter().any(is_short) && parents.map(process::zombies).sum::<usize>() == 0
    });
    assert!(!call.has_ended());
}

#[test]
fn a_kill_takes_the_daemons_too() {
    let rig = with_python();
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "python3", &["-c", STUBBORN])).unwrap();
    let pids = stubborn_pids(&rig);
    let mut head = [0; 1000];
    let count = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..count]).into_owned();
    let id = head.split("X-Exec-Id: ").nth(1).and_then(|rest| rest.get(..32)).expect("an id");
    let kill = rig.request("/signal", 2, "", &form(&[("exec_id", id), ("signal", "KILL")]));
    assert_eq!(rig.ask(&kill).status, 204);
    let rest = crate::support::read_all(stream);
    assert!(String::from_utf8_lossy(&rest).contains("X-Exit-Code: 137\r\nX-Exit-Signal: 9\r\n"));
    all_end(&pids);
}
