//! `--runtime local`: the same launcher, proxy, execd and shim as plain processes, and nothing of them left.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, Permissions},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{Background, Ran, TempDir, Terminal, clean, process, program, wait_until, wait_within};

/// A program that stands in for an agent's own.
fn agent_program(place: &Place, name: &str, text: &str) -> PathBuf {
    let folder = place.folder("programs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// PATH with a folder in front.
fn path_with(folder: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap();
    env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(&path))).unwrap()
}

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

#[test]
fn the_interrupt_key_is_the_agents_while_it_runs() {
    let place = Place::new();
    for end in ["exit 7", "kill -INT $$"] {
        let script = format!("trap 'echo cleaned; trap - INT; {end}' INT; echo up; while :; do sleep 0.05; done");
        let terminal = Terminal::open();
        let mut launcher = terminal.run(&place.launcher(&["run", "--", "/bin/sh", "-c", &script]));
        terminal.shows("up");
        terminal.keys("\u{3}");
        terminal.shows("cleaned");
        assert_eq!(launcher.status_within(Duration::from_secs(20)).code(), Some(if end == "exit 7" { 7 } else { 130 }));
    }
    // What a process sends is meant for the launcher.
    let mut launcher = Background::start(&mut place.agent(&[], "trap '' INT; touch up; sleep 1014"));
    wait_until("the agent runs", || place.folder("workspace/up").exists());
    launcher.signal(Signal::INT);
    launcher.status_within(Duration::from_secs(10));
    place.assert_nothing_left();
}

#[test]
fn a_local_agent_has_its_own_runtime_in_place_and_what_it_is_told_in_a_container() {
    let place = Place::new();
    let script = "#!/usr/bin/env python3\nimport os, subprocess, sys\nget = os.environ.get\n\
                  print(sys.argv[1:], get('AIDER_ANALYTICS'), get('OPENAI_API_KEY'), get('EXTRA'), get('MINE'))\n\
                  print(get('GIT_CONFIG_COUNT'), get('HOME') == os.path.dirname(os.getcwd()) + '/home', flush=True)\n\
                  sys.exit(subprocess.run([get('SHELL'), '-lc', 'command -v cargo']).returncode)\n";
    let programs = agent_program(&place, "aider", script);
    let mut launcher = place.launcher(&["--env", "EXTRA=by hand", "aider", "--yes"]);
    launcher.env("PATH", path_with(&programs)).env("AIFO_API_KEY", "of the house").env("AIFO_ENV_MINE", "mine");
    let ran = Ran::of(&mut launcher);
    let said = ran.expect(0);
    let (first, rest) = said.split_once('\n').unwrap();
    assert_eq!(first, "['--yes'] false of the house by hand mine", "{ran}");
    let shim = rest.strip_prefix("None True\n").unwrap_or_else(|| panic!("{ran}"));
    assert!(shim.starts_with(place.folder("tmp").to_str().unwrap()) && shim.ends_with("/bin/cargo"), "{ran}");
    // Its own runtime is a tool like any other where the user says so.
    launcher.env("AIFO_SHIM_SMART", "0");
    assert!(Ran::of(&mut launcher).err().contains("no python sidecar"));
    // A place in a container is no place here.
    let programs =
        agent_program(&place, "claude", "#!/bin/sh\necho ${CLAUDE_CONFIG_DIR-none} ${CLAUDE_CODE_SHELL##*/}\n");
    let ran = Ran::of(place.launcher(&["claude"]).env("PATH", path_with(&programs)));
    assert_eq!(ran.expect(0), "none aifo-bash");
    place.assert_nothing_left();
}

#[test]
fn what_only_a_container_can_be_is_refused_or_named_by_the_local_runtime() {
    let place = Place::new();
    for option in [
        &["--volume", "/etc:/x"][..],
        &["--publish", "80:80"],
        &["--network", "none"],
        &["--image", "some:1"],
        &["--flavor", "slim"],
        &["--toolchain", "rust@1.80"],
    ] {
        let ran = Ran::of(&mut place.launcher(&[option, &["run", "--", "true"]].concat()));
        let said =
            format!("error: `{} {}` needs a container, and --runtime local has none: leave", option[0], option[1]);
        assert!(ran.code() == 2 && ran.err().contains(&said), "{ran}");
    }
    let mut launcher = place.launcher(&["run", "--", "true"]);
    let ran = Ran::of(launcher.env("AIFO_CODER_USER", "1:1").env("AIFO_CODER_IMAGE", "some:1"));
    ran.expect(0);
    for (variable, key) in [("AIFO_CODER_USER", "session.user"), ("AIFO_CODER_IMAGE", "image.agent")] {
        let said = format!("aifo-coder: warning: {variable}: --runtime local has no container for `{key}`\n");
        assert!(ran.err().contains(&said), "{ran}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_workspace_that_docker_could_not_name_is_one_for_the_local_runtime() {
    let place = Place::new();
    let workspace = place.folder("workspace").join(OsStr::from_bytes(b"latin-\xe4\r"));
    fs::create_dir(&workspace).unwrap();
    let mut agent = place.agent(&["dash"], "dash -c 'echo carried >here'");
    Ran::of(agent.current_dir(&workspace)).expect(0);
    assert_eq!(fs::read_to_string(workspace.join("here")).unwrap(), "carried\n");
    place.assert_nothing_left();
}

#[test]
fn t52_a_home_what_is_above_it_and_what_holds_secrets_is_no_workspace() {
    let place = Place::new();
    fs::create_dir(place.folder("home/.ssh")).unwrap();
    let refused = |folder: &Path, home: Option<&Path>| {
        let mut launcher = place.launcher(&["run", "--", "true"]);
        launcher.env_remove("HOME").envs(home.map(|home| ("HOME", home)));
        Ran::of(launcher.current_dir(folder))
    };
    let cd = "aifo-coder: hint: cd to a project";
    let home = place.folder("home");
    for (folder, why, hint) in [
        (place.folder("."), "your home directory lies in it", ", or AIFO_CODER_ALLOW_HOME=1"),
        (place.folder("home"), "it is your home directory", ", or AIFO_CODER_ALLOW_HOME=1"),
        (place.folder("home/.ssh"), "programs keep secrets in it", ""),
    ] {
        let ran = refused(&folder, Some(&home));
        let shown = fs::canonicalize(&folder).unwrap();
        let said = format!("aifo-coder: error: `{}` cannot be the workspace: {why}\n{cd}{hint}\n", shown.display());
        assert_eq!((ran.code(), ran.err()), (125, said));
    }
    // Who has no HOME, or somebody else's, has one all the same.
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let uid = rustix::process::getuid().as_raw().to_string();
    let own = users.lines().find(|line| line.split(':').nth(2) == Some(&uid)).and_then(|line| line.split(':').nth(5));
    let own = Path::new(own.expect("the tests run as somebody"));
    for home in [None, Some(home.as_path())] {
        let ran = refused(own, home);
        assert!(ran.code() == 125 && ran.err().contains("cannot be the workspace: it is your home directory"), "{ran}");
    }
    place.assert_nothing_left();
}

#[test]
fn t50_one_agent_at_a_time_whoever_starts_it_with_whatever_variables() {
    let place = Place::new();
    let programs = agent_program(&place, "claude", "#!/bin/sh\ntouch up; cat\n");
    let claude = |tmp: &str, runtime: &str| {
        fs::create_dir_all(place.folder(tmp)).unwrap();
        fs::create_dir_all(place.folder(runtime)).unwrap();
        let mut launcher = place.launcher(&["claude"]);
        launcher.env("PATH", path_with(&programs)).env("TMPDIR", place.folder(tmp)).stdin(Stdio::piped());
        launcher.env("XDG_RUNTIME_DIR", place.folder(runtime));
        launcher
    };
    let mut first = Background::start(&mut claude("tmp", "run"));
    wait_until("the agent runs", || place.folder("workspace/up").exists());
    let second = Ran::of(claude("tmp/other", "run/other").stdin(Stdio::null()));
    let said = second.err();
    let holder = format!(", process {}\naifo-coder: hint: end that session, or work in a clone: ", first.pid());
    assert!(said.contains(" already has an agent: claude in session ") && said.contains(&holder), "{second}");
    assert_eq!((second.code(), fs::read_dir(place.folder("run/other")).unwrap().count()), (125, 0));
    // Nothing that the launcher has started holds the lock with it.
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == place.folder("workspace"))
    };
    let session = process::with_variable(&format!("AIFO_IT={}", place.mark()));
    let holders: Vec<u32> = session.into_iter().filter(holds).collect();
    assert_eq!(holders, [first.pid()]);
    drop(first.input());
    first.end().expect(0);
    Ran::of(claude("tmp", "run").stdin(Stdio::null())).expect(0);
    fs::remove_dir_all(place.folder("tmp/other")).unwrap();
    place.assert_nothing_left();
}

#[test]
fn variables_reach_the_agent_by_their_names_and_the_nearest_wins() {
    let place = Place::new();
    let config = place.folder("home").join(".config/aifo-coder");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config"), "[session]\nenv-file = ~/vars\n").unwrap();
    fs::write(place.folder("home").join("vars"), "A=file\nB=file\n").unwrap();
    let script = "echo $A $B $C; env | grep AIFO_ENV_";
    let mut launcher = place.launcher(&["--env", "A=option", "run", "--", "/bin/sh", "-c", script]);
    launcher.envs(["A", "B", "C"].map(|name| (format!("AIFO_ENV_{name}"), "variable")));
    assert_eq!(Ran::of(&mut launcher).expect(1), "option file variable");
    place.assert_nothing_left();
}
