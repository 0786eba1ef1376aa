//! Tools at a terminal (T36, T44): it is theirs as it was their caller's.

use std::fs;

use aifo_shim::sys::send_with_standard_descriptors;
use rustix::process::Signal;

use crate::support::{Answer, Background, Plan, Rig, Terminal, form, is_alive, process, read_all, under, wait_until};

fn with_python() -> Rig {
    Rig::with(Plan { kinds: vec!["c-cpp", "python"], ..Plan::default() })
}

/// The first process in a file of the workspace, once it is there.
#[track_caller]
fn pid_in(rig: &Rig, name: &str) -> u32 {
    wait_until("the tool runs", || !process::pids_in(&rig.file(name)).is_empty());
    process::pids_in(&rig.file(name))[0]
}

#[test]
fn t44_a_tool_has_its_callers_terminal_and_its_size() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    terminal.resize(123, 45);
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size && read -r line && echo \"got $line\"; exit 3";
    let call = terminal.run(&rig.bash(script));
    terminal.shows("45 123\r\n");
    terminal.keys("typed\n");
    assert_eq!(call.end().code(), 3);
    terminal.shows("got typed\r\n");
}

/// Prints the terminal's size whenever it hears of a new one; USR1 ends it.
const SIZES: &str = "
import os, signal
awaited = [signal.SIGWINCH, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print('up', flush=True)
while signal.sigwait(awaited) == signal.SIGWINCH: print(*os.get_terminal_size(), flush=True)
os._exit(7)";

#[test]
fn t36_t44_a_new_size_is_told_and_seen() {
    let (rig, terminal) = (with_python(), Terminal::open());
    let call = terminal.run(rig.shim("python3").args(["-c", SIZES]));
    terminal.shows("up\r\n");
    for (columns, rows) in [(100, 30), (81, 25), (200, 50), (90, 20), (10, 10)] {
        terminal.resize(columns, rows);
        terminal.shows(&format!("{columns} {rows}\r\n"));
    }
    call.signal(Signal::USR1);
    assert_eq!(call.end().code(), 7);
}

#[test]
fn t44_a_terminal_left_raw_by_a_tool_that_died_is_put_right() {
    let rig = Rig::start();
    let raw = "stty raw -echo -isig; echo $$ > pid; exec sleep 1000";
    let ends: [fn(&Background, u32); 4] = [
        |_call, tool| process::signal(tool, Signal::KILL),
        |_call, tool| process::signal(tool, Signal::SEGV),
        |call, _tool| call.signal(Signal::TERM),
        |call, _tool| call.signal(Signal::HUP),
    ];
    for end in ends {
        let terminal = Terminal::open();
        drop(fs::remove_file(rig.file("pid")));
        let call = terminal.run(&rig.bash(raw));
        let tool = pid_in(&rig, "pid");
        assert!(!terminal.is_sane());
        end(&call, tool);
        assert_ne!(call.end().code(), 0);
        assert!(terminal.is_sane());
    }
    // What a tool does to the terminal and ends is what its caller wanted of it.
    let terminal = Terminal::open();
    assert_eq!(terminal.run(rig.shim("stty").arg("-echo")).end().code(), 0);
    assert!(!terminal.is_sane());
}

/// An interactive shell of the agent's at a terminal, which knows the tool `bash` as `tool`.
fn shell(rig: &Rig, terminal: &Terminal) -> Background {
    let call = rig.shim("bash");
    let mut command = under(&["bash", "--norc", "--noprofile", "-i", "-s"], &call);
    command.env("PS1", "$ ").env("TOOL", call.get_program());
    let running = terminal.run(&command);
    terminal.shows("$ ");
    terminal.keys("tool() { \"$TOOL\" \"$@\"; }; stty -echo; PS1=; echo rea''dy\n");
    terminal.shows("ready\r\n");
    running
}

#[test]
fn t36_the_interrupt_key_reaches_the_tool_and_spares_the_shell() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let running = shell(&rig, &terminal);
    terminal.keys("tool -c 'echo $$ > pid; sleep 1000'; echo \"code $?\"\n");
    let tool = pid_in(&rig, "pid");
    terminal.keys("\x03");
    wait_until("the tool has ended", || !is_alive(tool));
    terminal.keys("echo \"still $?\"\n");
    terminal.shows("still 130\r\n");
    // At a terminal interrupts are everyday keys: a tool that takes them goes on, however many come.
    fs::remove_file(rig.file("pid")).unwrap();
    terminal.keys(
        "tool -c 'trap \"echo INT >> log\" INT; trap \"exit 11\" QUIT; echo $$ > pid; while :; do sleep 0.02; done'\n",
    );
    let tool = pid_in(&rig, "pid");
    for count in 1..=4 {
        terminal.keys("\x03");
        wait_until("it takes the interrupt", || rig.content("log").lines().count() == count);
    }
    // The quit key is the tool's to answer too.
    terminal.keys("\x1c");
    wait_until("the tool has ended", || !is_alive(tool));
    terminal.keys("echo \"after $?\"; exit 5\n");
    terminal.shows("after 11\r\n");
    assert_eq!(running.end().code(), 5);
}

#[test]
fn t36_the_stop_key_stops_tool_and_caller_and_fg_wakes_both() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let running = shell(&rig, &terminal);
    let log = "trap \"echo CONT >> log\" CONT; echo $$ > pid; while :; do sleep 0.02; done";
    terminal.keys(&format!("tool -c '{log}'\n"));
    let tool = pid_in(&rig, "pid");
    for round in 1..=2 {
        terminal.keys("\x1a");
        wait_until("the tool stops", || process::state(tool) == Some('T'));
        terminal.keys(&format!("jobs; echo round {round}\n"));
        terminal.shows(&format!("round {round}\r\n"));
        assert!(terminal.screen().contains("Stopped"), "{}", terminal.screen());
        terminal.keys("fg\n");
        wait_until("the tool goes on", || rig.content("log").lines().count() >= round);
        assert_ne!(process::state(tool), Some('T'));
    }
    terminal.keys("\x03");
    wait_until("the tool has ended", || !is_alive(tool));
    terminal.keys("exit 6\n");
    assert_eq!(running.end().code(), 6);
}

#[test]
fn t36_the_stop_key_with_no_shell_to_say_fg_stops_nothing() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    // The first process of a session, as an agent's in its container is: the kernel drops the key for a program in place.
    let call = terminal.run(&rig.bash("for i in {1..100000}; do echo \"tick $i.\"; sleep 0.01; done"));
    for ticks in [10, 60, 110] {
        terminal.shows(&format!("tick {ticks}.\r\n"));
        terminal.keys("\x1a");
    }
    terminal.shows("tick 160.\r\n");
    terminal.keys("\x03");
    assert_eq!(call.end().code(), 130);
    let call = terminal.run(&rig.bash("kill -TSTP $$; kill -STOP $$; echo \"went\" on; exit 4"));
    terminal.shows("went on\r\n");
    assert_eq!(call.end().code(), 4);
}

#[test]
fn t36_a_tool_that_stops_itself_gives_the_terminal_back() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let running = shell(&rig, &terminal);
    for (round, signal) in ["TSTP", "STOP", "TSTP"].into_iter().enumerate() {
        drop(fs::remove_file(rig.file("pid")));
        let script = format!("echo $$ > pid; kill -{signal} $$; echo awake {round}; read -r line; echo \"<$line>\"");
        terminal.keys(&format!("tool -c '{script}'\n"));
        let tool = pid_in(&rig, "pid");
        wait_until("the tool stops", || process::state(tool) == Some('T'));
        terminal.keys(&format!("jobs; echo prompt {round}\n"));
        terminal.shows(&format!("prompt {round}\r\n"));
        assert_eq!(terminal.screen().matches("Stopped").count(), 2 * (round + 1), "{}", terminal.screen());
        terminal.keys("fg\n");
        terminal.shows(&format!("awake {round}\r\n"));
        terminal.keys(&format!("line {round}\n"));
        terminal.shows(&format!("<line {round}>\r\n"));
    }
    terminal.keys("exit 6\n");
    assert_eq!(running.end().code(), 6);
}

#[test]
fn t36_who_has_not_asked_hears_of_no_stop() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 3";
    let body = form(&[("tool", "bash"), ("arg", "-c"), ("arg", script)]);
    for (field, stream) in [("", ""), ("X-Aifo-Accept: other\r\n", ""), ("X-Aifo-Accept: stopped\r\n", "stopped\n")] {
        let mut client = rig.connect();
        let request = rig.request("/exec", 3, field, &body);
        let sent = send_with_standard_descriptors(&client, &request, Some(terminal.line()));
        assert_eq!(sent.unwrap(), request.len());
        let answer = Answer::of(&read_all(&mut client));
        assert_eq!((answer.text().as_str(), answer.code().as_str()), (stream, "3"), "{field}");
    }
}

#[test]
fn t44_a_tool_in_the_background_leaves_the_keys_to_the_shell() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let running = shell(&rig, &terminal);
    terminal.keys("tool -c 'test -t 0; echo \"$? $(cat).\"; test -t 1; echo \"out $?\"; sleep 1000' &\n");
    terminal.shows("1 .\r\n");
    terminal.shows("out 0\r\n");
    terminal.keys("echo typed; kill %1; wait; exit 7\n");
    terminal.shows("typed\r\n");
    assert_eq!(running.end().code(), 7);
}

#[test]
fn t36_closing_the_window_hangs_up_the_tool() {
    let (rig, terminal) = (Rig::start(), Terminal::open());
    let call =
        terminal.run(&rig.bash("trap 'echo HUP >> log; exit 9' HUP; echo $$ > pid; while :; do sleep 0.02; done"));
    let tool = pid_in(&rig, "pid");
    drop(terminal);
    assert_eq!(call.end().code(), 9);
    wait_until("the tool has ended", || !is_alive(tool));
    assert_eq!(rig.content("log"), "HUP\n");
}

#[test]
fn t44_python_runs_interactively() {
    let (rig, terminal) = (with_python(), Terminal::open());
    let mut python = rig.shim("python3");
    let call = terminal.run(python.args(["-q", "-i", "-c", "import sys; print('up', sys.stdin.isatty())"]));
    terminal.shows("up True\r\n");
    terminal.keys("6 * 7\n");
    // With the prompt it listens: what is typed before is the terminal's, in which the key means something else.
    terminal.shows("42\r\n>>> ");
    terminal.keys("\x04");
    assert_eq!(call.end().code(), 0);
}
