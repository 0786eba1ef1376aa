//! A person at a terminal: the tool in the sidecar has that very terminal, its size, its keys, its closing.

use crate::support::{
    docker::{Launcher, Place, Window, docker},
    wait_until,
};

const TOOLS: [&str; 8] =
    ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "--tool", "c-cpp:sleep", "--tool", "c-cpp:stty"];

fn shell(place: &Place) -> Launcher {
    place.launcher(&[&TOOLS[..], &["shell", "--norc"]].concat())
}

/// An interactive shell in a window, once it answers.
#[track_caller]
fn open(place: &Place) -> Window {
    let window = shell(place).open(100, 30);
    window.ask("echo re''ady", "ready\r\n");
    window
}

/// What runs in the sidecar, execd and its supervisors left out.
fn tools_of(window: &Window) -> Vec<String> {
    let top = docker(&["top", &window.name("c-cpp"), "-o", "pid,args"]).out();
    top.lines().skip(1).filter(|line| !line.contains("aifo-coder execd")).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs docker"]
fn a_tool_sees_the_terminal_and_its_size() {
    let place = Place::new();
    let mut window = open(&place);
    window.ask("stty size", "30 100\r\n");
    window.ask("dash -c 'test -t 0 && test -t 1 && test -t 2 && echo all th\"ree\"'", "all three\r\n");
    window.ask("dash -c 'test -t 1 || echo no terminal >&2' | cat", "no terminal\r\n");
    window.ask("dash -c 'echo ty\"pe\"; read line; echo \"<$line>\"'", "type\r\n");
    window.ask("typed", "<typed>");
    let before = window.now();
    window.ask("dash -c 'trap \"stty size\" WINCH; echo wait\"ing\"; while :; do sleep 0.05; done'", "waiting\r\n");
    window.terminal().resize(120, 41);
    window.shows_since(before, "41 120\r\n");
    window.terminal().keys("\u{3}");
    window.shows_prompt_since(before);
    window.ask("exit 5", "exit\r\n");
    assert_eq!(window.end(), Some(5));
    assert!(window.terminal().is_sane());
}

#[test]
#[ignore = "needs docker"]
fn an_agent_starts_with_the_windows_size_and_never_with_none() {
    let place = Place::new();
    for columns in 101..106 {
        let mut window = place.launcher(&["run", "--", "sh", "-c", "stty size; stty size"]).open(columns, 30);
        assert_eq!(window.end(), Some(0));
        let size = format!("30 {columns}\r\n");
        window.shows_since(0, &size.repeat(2));
    }
}

#[test]
#[ignore = "needs docker"]
fn promise_1_every_key_is_the_agents_and_none_leaves_the_session() {
    let place = Place::new();
    let keys = "stty raw -echo; echo rea'd'y; exec cat -v";
    let mut window = place.launcher(&["run", "--", "sh", "-c", keys]).open(80, 24);
    window.shows_since(0, "ready");
    // Docker's own keys for leaving a container: the first would be held back, both together end it all with 0.
    for (typed, shown) in [("\u{10}", "^P"), ("\u{10}\u{11}", "^P^Q"), ("ü", "M-CM-<"), ("\u{3}", "^C")] {
        let before = window.now();
        window.terminal().keys(typed);
        window.shows_since(before, shown);
    }
    docker(&["kill", "--signal", "TERM", &window.name("agent")]).expect(0);
    assert_eq!(window.end(), Some(143));
}

#[test]
#[ignore = "needs docker"]
fn ctrl_c_ends_the_tool_and_not_the_shell() {
    let place = Place::new();
    let mut window = open(&place);
    for (key, code) in [("\u{3}", 130), ("\u{1c}", 131)] {
        window.ask("dash -c 'echo st\"arted\"; exec sleep 1000'", "started\r\n");
        window.terminal().keys(key);
        window.ask("echo code $?", &format!("code {code}\r\n"));
        wait_until("the tool is gone", || tools_of(&window).is_empty());
    }
    // One interrupt for one key; the pause lets the shim hear of the start, without which a key cancels the call.
    let counts =
        "dash -c 'trap \"echo one mo\"re INT; sleep 0.3; echo st\"arted\"; sleep 0.6 || sleep 0.6; echo do\"ne\"'";
    let before = window.now();
    window.ask(counts, "started\r\n");
    window.terminal().keys("\u{3}");
    window.shows_since(before, "done\r\n");
    assert_eq!(window.shown_since(before).matches("one more\r\n").count(), 1);
    // At the prompt it ends nothing. What is typed before the shell has taken it is lost, as anywhere.
    window.shows_prompt_since(before);
    let before = window.now();
    window.terminal().keys("\u{3}");
    window.shows_prompt_since(before);
    window.ask("exit", "exit\r\n");
    window.end();
}

#[test]
#[ignore = "needs docker"]
fn ctrl_z_stops_the_tool_and_fg_continues_it() {
    let place = Place::new();
    let mut window = open(&place);
    let ticks =
        "dash -c 'sleep 0.3; echo st\"arted\"; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; done; echo fini\"shed\"'";
    window.ask(ticks, "started\r\n");
    window.terminal().keys("\u{1a}");
    window.ask("jobs", "Stopped");
    let states = || docker(&["top", &window.name("c-cpp"), "-o", "pid,stat,comm"]).out();
    wait_until("the tool is stopped", || states().lines().any(|line| line.contains(" T") && line.contains("dash")));
    window.ask("fg", "finished\r\n");
    window.ask("exit", "exit\r\n");
    window.end();
}

#[test]
#[ignore = "needs docker"]
fn a_killed_tool_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    let mut window = open(&place);
    window.ask("sh -c 'dash -c \"stty raw -echo; kill -KILL \\$\\$\"; /bin/stty -a'", " icanon ");
    window.ask("sh -c '/bin/stty -a' | grep -o ' echo '; echo co\"ok\"ed", " echo \r\ncooked");
    window.ask("exit", "exit\r\n");
    window.end();
}

#[test]
#[ignore = "needs docker"]
fn t51_a_closed_window_leaves_nothing() {
    let place = Place::new();
    let mut window = open(&place);
    // The program in the window, a shell in the agent, and a tool that wants to stay.
    let stubborn = "dash -c 'trap : HUP TERM INT; setsid sleep 1001 & echo st\"ays\"; while :; do sleep 1; done'";
    window.ask(stubborn, "stays\r\n");
    window.close();
    window.end();
}

#[test]
#[ignore = "needs docker"]
fn t51_a_killed_launcher_at_a_terminal_leaves_nothing_running() {
    let place = Place::new();
    let mut window = open(&place);
    window.ask("dash -c 'trap : TERM INT HUP; echo st\"ays\"; while :; do sleep 1; done'", "stays\r\n");
    window.kill_launcher();
    window.end();
}
