//! Signals from the caller to the tool (T36).

use std::{
    fs,
    io::{Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::Command,
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{Background, Plan, Ran, Rig, form, process, under, wait_until};

/// A tool of two processes in one group, and a third that has left it. Each writes down what it gets; TERM ends them.
const LOGGER: &str = r#"
import os, signal
wanted = [getattr(signal, "SIG" + name) for name in "HUP INT QUIT USR1 USR2 TERM CONT TSTP WINCH".split()]
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
name = "tool" if os.fork() else "child"
if name == "child" and os.fork() == 0:
    name = "away"
    os.setsid()
    # Or the caller's pipe would stay open as long as this one lives.
    for fd in 0, 1, 2: os.dup2(os.open("/dev/null", os.O_RDWR), fd)
log = open(name, "a", buffering=1)
print("up", file=log)
while True:
    number = signal.sigwait(wanted)
    print(signal.Signals(number).name[3:], file=log)
    if number == signal.SIGTERM:
        os._exit(42)
"#;

const PROCESSES: [&str; 3] = ["tool", "child", "away"];

fn logging(rig: &Rig, shim: Command) -> Background {
    let mut shim = shim;
    // A group below its parent's, as a shell with job control makes it: in any other the kernel drops TSTP.
    let call = Background::start(shim.args(["-c", LOGGER]).process_group(0));
    wait_until("the tool is up", || PROCESSES.iter().all(|name| rig.content(name).starts_with("up\n")));
    call
}

fn with_python() -> Rig {
    let mut plan = Plan { kinds: vec!["c-cpp", "python"], tcp: true, ..Plan::default() };
    // Nothing about signals may hang on a home that can be written.
    plan.env.push(("HOME", "/nonexistent".to_owned()));
    Rig::with(plan)
}

/// Ends the process that has left the group, which gets no signal of the caller.
fn end_away(rig: &Rig) {
    rig.leftovers().into_iter().for_each(|pid| {
        if process::command_line(pid).contains("pthread_sigmask") {
            process::signal(pid, Signal::KILL);
        }
    });
}

#[test]
fn t36_defects_16_17_18_19_each_signal_comes_once_at_once_and_to_the_whole_group_but_usr1_and_usr2() {
    let rig = with_python();
    for mut shim in [rig.shim("python3"), rig.shim_by_tcp("python3")] {
        PROCESSES.iter().for_each(|name| drop(fs::remove_file(rig.file(name))));
        // No curl, no shell, no program at all is needed to pass a signal on; and the tool says nothing all the while.
        shim.env("PATH", "/nonexistent");
        let mut call = logging(&rig, shim);
        let mut expected = "up\n".to_owned();
        // What only a program knows that was made for them is the program's own; its children would die of it.
        let mut childs = expected.clone();
        for (signal, name) in [
            (Signal::INT, "INT"),
            (Signal::HUP, "HUP"),
            (Signal::QUIT, "QUIT"),
            (Signal::USR1, "USR1"),
            (Signal::USR2, "USR2"),
            (Signal::WINCH, "WINCH"),
            (Signal::USR1, "USR1"),
            (Signal::TSTP, "TSTP"),
            (Signal::CONT, "CONT"),
            (Signal::USR2, "USR2"),
        ] {
            call.signal(signal);
            expected += &format!("{name}\n");
            childs += &if name.starts_with("USR") { String::new() } else { format!("{name}\n") };
            wait_until(name, || rig.content("tool") == expected && rig.content("child") == childs);
            if signal == Signal::TSTP {
                wait_until("the caller stops too", || process::state(call.pid()) == Some('T'));
            }
        }
        assert!(!call.has_ended());
        call.signal(Signal::TERM);
        call.end().expect(42);
        expected += "TERM\n";
        childs += "TERM\n";
        wait_until("the child has it too", || rig.content("child") == childs);
        assert_eq!((rig.content("tool"), rig.content("away").as_str()), (expected, "up\n"));
        end_away(&rig);
    }
}

#[test]
fn t36_what_the_caller_ignores_is_not_passed_on() {
    let rig = with_python();
    let shim = rig.shim("python3");
    // As nohup(1) and `&` in a script start their programs.
    let ignoring = under(&["bash", "-c", "trap '' HUP INT QUIT; exec \"$0\" \"$@\""], &shim);
    let call = logging(&rig, ignoring);
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1] {
        call.signal(signal);
    }
    wait_until("the one that counts", || rig.content("tool") == "up\nUSR1\n");
    call.signal(Signal::TERM);
    call.end().expect(42);
    assert_eq!(rig.content("tool"), "up\nUSR1\nTERM\n");
    end_away(&rig);
}

#[test]
fn defect_15_an_interrupt_ends_a_tool_that_does_not_ask_for_more() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
            drop(fs::remove_file(rig.file("pids")));
            let call = Background::start(
                shim.args(["-c", "sleep 1000 > /dev/null 2>&1 & echo $! > pids; echo $$ >> pids; wait; exit 0"]),
            );
            wait_until("it runs", || process::pids_in(&rig.file("pids")).len() == 2);
            let pids = process::pids_in(&rig.file("pids"));
            call.signal(signal);
            assert_eq!(call.end().signal(), Some(number));
            // A background job of a shell ignores INT, here as anywhere.
            if signal == Signal::INT {
                process::signal(pids[0], Signal::KILL);
            }
            wait_until("all of it is gone", || !pids.iter().any(|pid| process::is_alive(*pid)));
        }
    }
}

#[test]
fn defect_19_the_code_of_a_tool_that_handles_its_interrupt_is_kept() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        drop(fs::remove_file(rig.file("up")));
        let script = "trap 'echo bye; exit 5' INT; echo > up; while :; do sleep 0.02; done";
        let call = Background::start(shim.args(["-c", script]));
        wait_until("it runs", || rig.file("up").exists());
        call.signal(Signal::INT);
        assert_eq!(call.end().expect(5), "bye");
    }
}

#[test]
fn defect_20_the_callers_shell_lives_on() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for mut shim in [rig.shim("sleep"), rig.shim_by_tcp("sleep")] {
        let shell =
            Background::start(&mut under(&["bash", "-c", "\"$0\" \"$@\"; echo \"survived $?\""], shim.arg("1000")));
        let is_tool = |pid: &u32| process::command_line(*pid) == "sleep 1000";
        wait_until("the tool runs", || rig.leftovers().iter().any(is_tool));
        let shim = process::children(shell.pid());
        assert_eq!(shim.len(), 1);
        process::signal(shim[0], Signal::TERM);
        assert_eq!(shell.end().expect(0), "survived 143");
    }
}

#[test]
fn t36_a_second_interrupt_is_followed_by_the_end() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        drop(fs::remove_file(rig.file("log")));
        let script = "trap 'echo INT >> log' INT; trap '' TERM; echo up >> log; while :; do sleep 0.02; done";
        let mut call = Background::start(shim.args(["-c", script]));
        wait_until("it runs", || rig.content("log") == "up\n");
        call.signal(Signal::INT);
        wait_until("one interrupt", || rig.content("log") == "up\nINT\n");
        if call.has_ended() {
            panic!("{}", call.end());
        }
        call.signal(Signal::INT);
        assert_eq!(call.end().signal(), Some(9));
        assert_eq!(rig.content("log"), "up\nINT\nINT\n");
    }
}

#[test]
fn t36_signals_before_the_tool_runs_are_not_lost() {
    let mut rig = Rig::with(Plan { kinds: vec![], expected: vec!["c-cpp"], ..Plan::default() });
    let informed = Background::start(&mut rig.bash("exec sleep 1000"));
    let interrupted = Background::start(&mut rig.bash("echo ran >> ran"));
    let is_collecting = |call: &Background| process::mask(call.pid(), "SigBlk") & 1 << 9 != 0;
    wait_until("both wait with their signals collected", || is_collecting(&informed) && is_collecting(&interrupted));
    informed.signal(Signal::USR1);
    interrupted.signal(Signal::INT);
    assert_eq!(interrupted.end().signal(), Some(2), "nothing runs yet, so nothing holds it up");
    rig.start_sidecar("c-cpp", &[]);
    assert_eq!(informed.end().signal(), Some(10), "passed on as soon as there was a tool");
    rig.assert_serves();
    assert_eq!(rig.content("ran"), "", "what its caller has given up is not run");
}

#[test]
fn t36_a_large_call_that_waits_hears_its_signals() {
    let rig = Rig::start();
    // Nobody reads, as it is for a large call that has no place yet.
    process::signal(rig.proxy.id(), Signal::STOP);
    let large: Vec<String> = (0..20).map(|_| "x".repeat(100_000)).collect();
    let start = || Background::start(rig.bash("echo ran >> ran; exit $#").args(&large));
    let is_collecting = |call: &Background| process::mask(call.pid(), "SigBlk") & 1 << 9 != 0;
    let calls = [Signal::TERM, Signal::INT, Signal::HUP].map(|signal| (signal, start()));
    let informed = start();
    for (signal, mut call) in calls {
        wait_until("it waits with its signals collected", || is_collecting(&call));
        call.signal(signal);
        // Its output is still on the way to the proxy.
        let status = call.status_within(Duration::from_secs(10));
        assert_eq!(status.signal(), Some(signal.as_raw()));
    }
    wait_until("it waits with its signals collected", || is_collecting(&informed));
    informed.signal(Signal::WINCH);
    process::signal(rig.proxy.id(), Signal::CONT);
    informed.end().expect(20);
    rig.assert_serves();
    assert_eq!(rig.content("ran"), "ran\n", "what its caller has given up is not run");
}

#[test]
fn t36_any_client_can_pass_signals_on_by_name() {
    let rig = with_python();
    let mut call = Background::start(rig.shim("python3").args(["-c", LOGGER]));
    wait_until("the tool is up", || PROCESSES.iter().all(|name| rig.content(name).starts_with("up\n")));
    // The id is the client's own secret; here it comes from a second call, which makes it a wrong one.
    let id = rig.ask(&rig.call(2, "true", &[])).field("x-exec-id");
    assert_eq!(id.len(), 32);
    let over = rig.request("/signal", 2, "", &form(&[("exec_id", &id), ("signal", "TERM")]));
    assert_eq!(rig.ask(&over).status, 404, "that call has ended");
    assert!(!call.has_ended());
    call.signal(Signal::TERM);
    call.end().expect(42);
    end_away(&rig);

    let script = "trap 'echo USR1' USR1; trap 'echo TERM; exit 6' TERM; echo up; while :; do sleep 0.02; done";
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", script])).unwrap();
    let mut heard = Vec::new();
    let mut hear = |what: &str| {
        while !String::from_utf8_lossy(&heard).contains(what) {
            let mut piece = [0; 1000];
            let count = stream.read(&mut piece).unwrap();
            assert!(count > 0, "the stream ended");
            heard.extend_from_slice(&piece[..count]);
        }
        String::from_utf8_lossy(&heard).into_owned()
    };
    let head = hear("up\n");
    let id = head.split("X-Exec-Id: ").nth(1).and_then(|rest| rest.get(..32)).expect("an id").to_owned();
    for name in ["usr1", "Usr1", "USR1"] {
        let request = rig.request("/signal", 1, "", &form(&[("signal", name), ("exec_id", &id)]));
        assert_eq!(rig.ask(&request).status, 204, "{name}");
    }
    hear("USR1\n");
    // Without a name it is TERM.
    assert_eq!(rig.ask(&rig.request("/signal", 2, "", &form(&[("exec_id", &id)]))).status, 204);
    assert!(hear("X-Exit-Code: 6\r\n").contains("TERM\n"));
}

#[test]
fn defect_33_a_signal_leaves_no_marks() {
    let rig = Rig::start();
    let call = Background::start(rig.shim("sleep").arg("1000").current_dir(rig.workspace()));
    let is_tool = |pid: &u32| process::command_line(*pid) == "sleep 1000";
    wait_until("the tool runs", || rig.leftovers().iter().any(is_tool));
    call.signal(Signal::INT);
    let ran: Ran = call.end();
    assert_eq!(ran.signal(), Some(2));
    assert_eq!(fs::read_dir(rig.workspace()).unwrap().count(), 0, "marker files");
}
