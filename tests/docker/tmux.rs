//! The same under tmux, as people run it: a shell of the host in a pane, the launcher started from it.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::Signal;

use crate::support::{
    Ran,
    docker::{Place, session_id},
    process, wait_until,
};

/// A tmux server of the test's own, with one pane and a shell in it.
#[derive(Debug)]
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    #[track_caller]
    fn start(place: &Place) -> Self {
        let tmux = Self { socket: place.path().join("tmux") };
        let mut command = tmux.command(&["new-session", "-d", "-s", "it", "-x", "90", "-y", "25"]);
        command.args(["env", "PS1=host$ ", "bash", "--norc", "--noprofile"]).current_dir(place.workspace());
        Ran::of(&mut command).expect(0);
        tmux.run(&["set-option", "-t", "it", "history-limit", "1000"]);
        tmux.wait_for("host$");
        tmux
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(args).stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        Ran::of(&mut self.command(args)).expect(0)
    }

    fn screen(&self) -> String {
        Ran::of(&mut self.command(&["capture-pane", "-p", "-J", "-S", "-200", "-t", "it"])).out()
    }

    #[track_caller]
    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "it"], keys].concat());
    }

    #[track_caller]
    fn type_line(&self, line: &str) {
        self.run(&["send-keys", "-t", "it", "-l", "--", line]);
        self.keys(&["Enter"]);
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        let mut screen = String::new();
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until("the pane", || {
                screen = self.screen();
                screen.contains(text)
            });
        }));
        assert!(told.is_ok(), "no {text:?} in the pane:\n{screen}");
    }

    /// Types the launcher's line into the shell and gives the session's id.
    #[track_caller]
    fn launch(&self, place: &Place, args: &[&str]) -> String {
        let launcher = place.launcher(args).command;
        let words = [launcher.get_program()].into_iter().chain(launcher.get_args());
        let line: Vec<_> = words.map(|word| format!("'{}'", word.to_str().expect("text"))).collect();
        self.type_line(&line.join(" "));
        let mut id = None;
        wait_until("the launcher names its session", || {
            id = session_id(&self.screen());
            id.is_some()
        });
        self.type_line("echo ag''ent");
        self.wait_for("\nagent\n");
        id.unwrap_or_default()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        drop(self.command(&["kill-server"]).stderr(Stdio::null()).status());
    }
}

const SHELL: [&str; 6] = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "shell", "--norc"];

#[test]
#[ignore = "needs docker"]
fn under_tmux_size_resize_and_interrupt_reach_the_tool() {
    let place = Place::new();
    let tmux = Tmux::start(&place);
    let id = tmux.launch(&place, &SHELL);
    tmux.type_line("dash -c 'test -t 0 && stty size; trap \"stty size\" WINCH; while :; do sleep 0.05; done'");
    tmux.wait_for("\n25 90\n");
    tmux.run(&["resize-window", "-t", "it", "-x", "110", "-y", "33"]);
    tmux.wait_for("\n33 110\n");
    tmux.keys(&["C-c"]);
    tmux.type_line("echo \"code $?\"");
    tmux.wait_for("\ncode 130\n");
    tmux.type_line("exit 6");
    // What is typed before the host's shell is back would still be the agent's.
    wait_until("the prompt", || tmux.screen().trim_end().ends_with("host$"));
    tmux.type_line("echo \"host $?\"");
    tmux.wait_for("\nhost 6\n");
    place.assert_nothing_left(&id);
}

#[test]
#[ignore = "needs docker"]
fn t51_under_tmux_a_killed_launcher_gives_the_shell_its_terminal_back() {
    let place = Place::new();
    let tmux = Tmux::start(&place);
    let id = tmux.launch(&place, &SHELL);
    tmux.type_line("dash -c 'trap : TERM INT HUP; echo st\"ays\"; while :; do sleep 1; done'");
    tmux.wait_for("\nstays\n");
    process::signal(place.launcher_pid(), Signal::KILL);
    tmux.wait_for("Killed");
    place.assert_nothing_left(&id);
    tmux.type_line("echo ba''ck; stty -a");
    tmux.wait_for("\nback\n");
    tmux.wait_for(" icanon ");
    tmux.wait_for(" echo ");
}

#[test]
#[ignore = "needs docker"]
fn t51_under_tmux_a_closed_pane_leaves_nothing() {
    let place = Place::new();
    let tmux = Tmux::start(&place);
    let id = tmux.launch(&place, &SHELL);
    tmux.type_line("dash -c 'trap : TERM INT HUP; echo st\"ays\"; while :; do sleep 1; done'");
    tmux.wait_for("\nstays\n");
    tmux.run(&["kill-server"]);
    place.assert_nothing_left(&id);
}
