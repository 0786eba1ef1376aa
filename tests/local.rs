//! `--runtime local`: the same launcher, proxy, execd and shim as plain processes, and nothing of them left.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{Background, Ran, TempDir, Terminal, clean, process, program, wait_until, wait_within};

/// A folder for sessions: workspace, HOME, and a folder for temporary files that only they use.
#[derive(Debug)]
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new());
        for folder in ["workspace", "home", "tmp"] {
            fs::create_dir(place.0.path().join(folder)).expect("a folder");
        }
        place
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `aifo-coder --runtime local ARGS…` in the workspace.
    fn launcher(&self, args: &[&str]) -> Command {
        let mut command = clean(program("aifo-coder"));
        command.args(["--runtime", "local"]).args(args).current_dir(self.folder("workspace")).stdin(Stdio::null());
        command.env("HOME", self.folder("home")).env("TMPDIR", self.folder("tmp")).env("AIFO_IT", self.mark());
        command
    }

    /// A command in a shell as the agent, with `c-cpp` as the sidecar that also holds these tools.
    fn agent(&self, tools: &[&str], script: &str) -> Command {
        let tools = tools.iter().flat_map(|tool| ["--tool".to_owned(), format!("c-cpp:{tool}")]);
        let mut words: Vec<String> = ["--toolchain", "c-cpp"].map(str::to_owned).into_iter().chain(tools).collect();
        words.extend(["run", "--", "/bin/sh", "-c", script].map(str::to_owned));
        self.launcher(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn mark(&self) -> String {
        self.0.path().display().to_string()
    }

    fn processes(&self) -> Vec<String> {
        let alive = process::with_variable(&format!("AIFO_IT={}", self.mark()));
        let alive = alive.into_iter().filter(|pid| process::is_alive(*pid));
        alive.map(|pid| format!("{pid} {}", process::command_line(pid))).collect()
    }

    /// Proves, within the stated time, that no process and no file of a session is left.
    #[track_caller]
    fn assert_nothing_left(&self) {
        let mut left = Vec::new();
        wait_within(Duration::from_secs(10), "nothing is left", || {
            left = self.processes();
            let files = fs::read_dir(self.folder("tmp")).expect("a folder").flatten();
            left.extend(files.map(|file| file.path().display().to_string()));
            left.is_empty()
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // After a failed test only.
        for pid in process::with_variable(&format!("AIFO_IT={}", self.mark())) {
            process::signal(pid, Signal::KILL);
        }
    }
}

#[test]
fn the_local_runtime_warns_that_it_isolates_nothing() {
    let place = Place::new();
    for quiet in [&["-q"][..], &[]] {
        let ran = Ran::of(&mut place.launcher(&[quiet, &["run", "--", "true"]].concat()));
        ran.expect(0);
        let warning =
            "aifo-coder: warning: --runtime local isolates nothing: agent and tools are plain processes of this host\n";
        assert!(ran.err().starts_with(warning), "{ran}");
    }
    place.assert_nothing_left();
}

#[test]
fn exit_codes_of_agent_and_tool_are_verbatim() {
    let place = Place::new();
    for code in [0, 1, 7, 86, 124, 125, 126, 127, 128, 255] {
        let ran = Ran::of(&mut place.agent(&[], &format!("echo out; echo err >&2; exit {code}")));
        assert_eq!(ran.expect(code), "out");
        assert!(ran.err().ends_with("err\n"), "{ran}");
    }
    let codes = "for code in 0 1 86 125 255; do dash -c \"exit $code\"; echo $?; done; dash -c 'kill -9 $$'; echo $?";
    assert_eq!(Ran::of(&mut place.agent(&["dash"], codes)).expect(0), "0\n1\n86\n125\n255\n137");
    Ran::of(&mut place.launcher(&["run", "--", "no-such-command"])).expect(127);
    Ran::of(&mut place.launcher(&["run", "--", "/"])).expect(126);
    Ran::of(&mut place.agent(&[], "kill -TERM $$")).expect(143);
    place.assert_nothing_left();
}

#[test]
fn t34_a_local_agent_starts_with_no_signal_blocked_or_ignored() {
    let place = Place::new();
    let ran = Ran::of(&mut place.launcher(&["run", "--", "sed", "-n", "s/^Sig[BI].*\t//p", "/proc/self/status"]));
    let masks: Vec<u64> = ran.expect(0).lines().map(|mask| u64::from_str_radix(mask, 16).unwrap()).collect();
    // Whoever started the tests may have had the C library's own two ignored, 32 and 33.
    assert_eq!(masks.iter().map(|mask| mask & 0x7fff_ffff).collect::<Vec<_>>(), [0, 0], "{ran}");
}

#[test]
fn a_tool_is_carried_with_directory_input_and_environment() {
    let place = Place::new();
    fs::create_dir(place.folder("workspace/grün")).unwrap();
    let script =
        "cd grün && command -v dash && echo in | WORD=word dash -c 'pwd; cat; echo $WORD; echo no >&2' 2>/dev/null";
    let ran = Ran::of(&mut place.agent(&["dash"], script));
    let said = ran.expect(0);
    let (found, rest) = said.split_once('\n').unwrap();
    assert!(
        found.starts_with(&place.folder("tmp/aifo-").display().to_string()) && found.ends_with("/bin/dash"),
        "{ran}"
    );
    assert_eq!(rest, format!("{}\nin\nword", place.folder("workspace/grün").display()));
    place.assert_nothing_left();
}

#[test]
fn a_tool_reads_the_terminal_and_sets_its_modes() {
    let (place, terminal) = (Place::new(), Terminal::open());
    let tools = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "--tool", "c-cpp:stty"];
    let words = [&tools[..], &["run", "--", "/bin/bash", "--norc", "--noprofile", "-i"]].concat();
    let launcher = terminal.run(&place.launcher(&words));
    terminal
        .keys("stty -echo; PS1=; dash -c 'stty sane; stty -echo; echo rea\"dy\"; read -r line; echo \"<$line>\"'\n");
    terminal.shows("ready\r\n");
    terminal.keys("typed\n");
    terminal.shows("<typed>\r\n");
    terminal.keys("exit 7\n");
    assert_eq!(launcher.end().code(), 7);
    place.assert_nothing_left();
}

#[test]
fn promise_12_a_killed_launcher_leaves_no_process_and_no_folder() {
    let place = Place::new();
    let stubborn = "(trap '' TERM INT HUP; setsid sleep 1009 & while :; do sleep 1; done) & \
                    dash -c 'trap \"\" TERM INT HUP; setsid sleep 1010 & echo $$ >busy; while :; do sleep 1; done'";
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        drop(fs::remove_file(place.folder("workspace/busy")));
        let mut launcher = Background::start(&mut place.agent(&["dash"], stubborn));
        wait_until("the tool runs", || !process::pids_in(&place.folder("workspace/busy")).is_empty());
        assert_eq!(fs::read_dir(place.folder("tmp")).unwrap().count(), 1, "the session's folder");
        launcher.signal(signal);
        launcher.status_within(Duration::from_secs(10));
        place.assert_nothing_left();
    }
}

#[test]
fn promise_12_an_ended_agent_takes_its_daemons_and_its_tools_with_it() {
    let place = Place::new();
    let script = "setsid sleep 1011 >/dev/null 2>&1 & dash -c 'setsid sleep 1012 >/dev/null 2>&1 & sleep 1013' & \
                  while ! test -e up; do dash -c 'touch up'; done; exit 5";
    Ran::of(&mut place.agent(&["dash"], script)).expect(5);
    place.assert_nothing_left();
}

#[test]
fn two_local_sessions_at_once_know_nothing_of_each_other() {
    let place = Place::new();
    let script = "echo $AIFO_TOOLEEXEC_TOKEN $AIFO_TOOLEEXEC_URL; touch ready-$0; \
                  until test -e ready-one && test -e ready-two; do sleep 0.02; done; dash -c 'echo called'";
    let start = |name: &str| Background::start(place.agent(&["dash"], script).arg(name));
    let (one, two) = (start("one"), start("two"));
    let (one, two) = (one.end().expect(0), two.end().expect(0));
    assert!(one.ends_with("\ncalled") && two.ends_with("\ncalled"), "{one}\n{two}");
    let words = |said: &str| said.split_once(' ').map(|(token, url)| (token.to_owned(), url.to_owned())).expect("two");
    let (one, two) = (words(&one), words(&two));
    assert!(one.0 != two.0 && one.1 != two.1, "{one:?} {two:?}");
    place.assert_nothing_left();
}

#[test]
fn the_sessions_folder_is_closed_to_others_and_secrets_are_in_no_argv() {
    let place = Place::new();
    let mut command = place.agent(&["dash"], "echo $AIFO_TOOLEEXEC_TOKEN >token; dash -c 'touch up'; cat");
    let mut launcher = Background::start(command.stdin(Stdio::piped()));
    wait_until("the session is up", || place.folder("workspace/up").exists());
    let folder = fs::read_dir(place.folder("tmp")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&folder).unwrap().permissions(), Permissions::from_mode(0o40700));
    let token = fs::read_to_string(place.folder("workspace/token")).unwrap();
    assert_eq!(token.trim().len(), 64);
    let argv = place.processes();
    assert!(argv.len() >= 4 && !argv.iter().any(|line| line.contains(token.trim())), "{argv:?}");
    drop(launcher.input());
    launcher.end().expect(0);
    place.assert_nothing_left();
}

#[test]
fn a_local_dry_run_prints_commands_without_secrets_and_leaves_no_folder() {
    let place = Place::new();
    let ran = Ran::of(&mut place.launcher(&["--dry-run", "--toolchain", "rust", "shell"]));
    let said = ran.expect(0).replace('\'', "");
    let programs: Vec<&str> = said.lines().map(|line| line.rsplit_once("/aifo-").unwrap().1).collect();
    assert_eq!(programs.len(), 3, "{ran}");
    assert!(
        programs[0] == "coder proxy" && programs[1] == "coder execd" && programs[2].ends_with("bin --or sh -- bash"),
        "{ran}"
    );
    assert!(!said.split(|c: char| !c.is_ascii_hexdigit()).any(|word| word.len() >= 32), "{ran}");
    place.assert_nothing_left();
}

#[test]
fn the_last_call_of_a_session_is_on_record_too() {
    let place = Place::new();
    for _ in 0..5 {
        let mut command =
            place.launcher(&["-v", "--toolchain", "c-cpp", "--tool", "c-cpp:true", "run", "--", "true", "last"]);
        let ran = Ran::of(&mut command);
        assert!(ran.err().contains("c-cpp: true last in "), "{ran}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_call_that_the_end_of_its_session_cuts_off_is_on_record_too() {
    let place = Place::new();
    let script = "dash -c 'trap \"\" INT TERM; touch up; while :; do sleep 0.1; done' & until [ -e up ]; do :; done";
    let words = ["-v", "--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "/bin/sh", "-c", script];
    let ran = Ran::of(&mut place.launcher(&words));
    assert_eq!(ran.code(), 0, "{ran}");
    let said = ran.err();
    let told: Vec<&str> = said.lines().filter(|line| line.contains("c-cpp: dash -c ")).collect();
    assert!(told.len() == 1 && told[0].contains(" ended with "), "{ran}");
    place.assert_nothing_left();
}
