//! A tool that would outlive its agent: killed, interrupted, timed out, its terminal closed. The tool that the agent has
//! started in a sidecar is gone within two seconds plus the grace that a tool is given, and nothing else is left.
//!
//! The tool is as stubborn as can be: it takes no signal that can be refused, and has a child in a session of its own. Only
//! where a person interrupts it at a terminal it is an ordinary one: there a tool may say no, as anywhere.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    recipes::{CLAUDE, CODEX, OPENCODE, PI, Recipe},
    stage::Stage,
};
use crate::support::{
    Ran,
    docker::{Launcher, Place, Session, Window, docker, processes},
    process, wait_until, wait_within,
};

const STUBBORN: &str = "@trap '' HUP INT TERM; setsid sleep SECONDS & sleep SECONDS";
const ORDINARY: &str = "@sleep SECONDS & sleep SECONDS";
/// Two seconds, and the two in which a tool is asked before it is made to go.
const SOON: Duration = Duration::from_secs(4);

/// Who starts the tool.
#[derive(Debug)]
enum Starter {
    Agent(Stage),
    Run(Place),
}

/// A session whose agent waits for a stubborn tool.
#[derive(Debug)]
struct Held {
    starter: Starter,
    /// What nobody else on this machine sleeps for.
    seconds: String,
}

impl Held {
    /// The agent calls the tool; then it does what stands behind, if anything.
    #[track_caller]
    fn by(recipe: &'static Recipe, arguments: &str, then: &[&str]) -> Self {
        let hold = format!("{{\"command\": \"make hold\"{arguments}}}");
        let steps: Vec<&str> = [hold.as_str()].into_iter().chain(then.iter().copied()).collect();
        Self::new(Starter::Agent(Stage::of(recipe, &steps)), STUBBORN)
    }

    #[track_caller]
    fn by_run(tool: &str) -> Self {
        Self::new(Starter::Run(Place::of_plain_user()), tool)
    }

    #[track_caller]
    fn new(starter: Starter, tool: &str) -> Self {
        let held = Self { seconds: String::new(), starter };
        let name = held.place().path().file_name().expect("a name").to_string_lossy().into_owned();
        let seconds = format!("9{}", name.chars().filter(char::is_ascii_digit).collect::<String>());
        held.place().put("Makefile", &format!("hold:\n\t{}\n", tool.replace("SECONDS", &seconds)));
        Self { seconds, ..held }
    }

    fn place(&self) -> &Place {
        match &self.starter {
            Starter::Agent(stage) => &stage.place,
            Starter::Run(place) => place,
        }
    }

    #[track_caller]
    fn launcher(&self) -> Launcher {
        match &self.starter {
            Starter::Agent(stage) => stage.launcher(&["--toolchain", "c-cpp"]),
            Starter::Run(place) => {
                place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh", "-c", "make hold; true"])
            }
        }
    }

    /// Starts it for an agent that nobody types to.
    #[track_caller]
    fn start(&self) -> Session {
        let mut session = self.launcher().start();
        drop(session.input.take());
        self.wait_for_tools();
        session
    }

    /// Starts it in a window.
    #[track_caller]
    fn open(&self) -> Window {
        let window = self.launcher().open(100, 30);
        self.wait_for_tools();
        window
    }

    fn tools(&self) -> usize {
        // To look at every process is dear, and whoever waits asks often.
        thread::sleep(Duration::from_millis(40));
        let line = format!("sleep\0{}\0", self.seconds);
        processes().iter().filter(|process| process.command == line).count()
    }

    #[track_caller]
    fn wait_for_tools(&self) {
        wait_until(&format!("both tools of {self:?} run"), || self.tools() == 2);
    }

    #[track_caller]
    fn assert_tools_gone(&self) {
        wait_within(SOON, &format!("the tools of {self:?} are gone"), || self.tools() == 0);
    }
}

const STARTERS: &[fn() -> Held] = &[
    || Held::by(&CLAUDE, "", &[]),
    || Held::by(&OPENCODE, "", &[]),
    || Held::by(&PI, "", &[]),
    || Held::by_run(STUBBORN),
];

#[test]
#[ignore = "needs docker"]
fn a_killed_agent_takes_its_tool_along() {
    for starter in STARTERS {
        let held = starter();
        let mut session = held.start();
        let agent = process::children(session.pid_of("agent"));
        process::signal(agent[0], Signal::KILL);
        held.assert_tools_gone();
        let ended = session.wait();
        assert_eq!(ended.code(), 137, "{ended}");
    }
}

#[test]
#[ignore = "needs docker"]
fn a_killed_launcher_takes_agent_and_tool_along() {
    for starter in STARTERS {
        let held = starter();
        let mut session = held.start();
        session.kill(Signal::KILL);
        held.assert_tools_gone();
        session.wait();
    }
}

#[test]
#[ignore = "needs docker"]
fn a_terminated_launcher_ends_agent_and_tool() {
    for starter in STARTERS {
        let held = starter();
        let mut session = held.start();
        session.kill(Signal::TERM);
        held.assert_tools_gone();
        assert_ne!(session.wait().code(), 0);
    }
}

#[test]
#[ignore = "needs docker"]
fn a_closed_terminal_takes_agent_and_tool_along() {
    for starter in STARTERS {
        let held = starter();
        let mut window = held.open();
        window.close();
        held.assert_tools_gone();
        window.end();
    }
}

#[test]
#[ignore = "needs docker"]
fn a_killed_tmux_takes_agent_and_tool_along() {
    for held in [Held::by(&CLAUDE, "", &[]), Held::by(&PI, "", &[])] {
        let tmux = |args: &[&OsStr]| {
            let mut tmux = Command::new("tmux");
            tmux.arg("-S").arg(held.place().path().join("tmux")).args(["-f", "/dev/null"]).args(args);
            tmux.stdin(Stdio::null());
            tmux
        };
        let launcher = held.launcher().command;
        let words = [OsStr::new("new-session"), OsStr::new("-d"), launcher.get_program()];
        let mut session = tmux(&words);
        session.args(launcher.get_args()).current_dir(held.place().workspace());
        session.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::of(&mut session).expect(0);
        held.wait_for_tools();
        let here = format!("label=aifo.workspace={}", held.place().workspace().display());
        let label = ["ps", "--filter", &here, "--format", "{{.Label \"aifo.session\"}}"];
        let id = docker(&label).out().lines().next().expect("a session").to_owned();
        Ran::of(&mut tmux(&[OsStr::new("kill-server")])).expect(0);
        held.assert_tools_gone();
        held.place().assert_nothing_left(&id);
    }
}

/// OpenCode goes on when it is interrupted outside of its screen, and so does its tool: it is not among them.
#[test]
#[ignore = "needs docker"]
fn an_interrupt_at_the_terminal_ends_the_tool() {
    for held in [Held::by(&CLAUDE, "", &[]), Held::by(&PI, "", &[]), Held::by_run(ORDINARY)] {
        let mut window = held.open();
        window.terminal().keys("\u{3}");
        held.assert_tools_gone();
        window.end();
    }
}

/// The agent gives a tool up and goes on: the tool must be gone while the agent still works.
#[test]
#[ignore = "needs docker"]
fn a_tool_that_the_agent_has_timed_out_is_gone_while_the_agent_goes_on() {
    for (recipe, limit) in [(&OPENCODE, ", \"timeout\": 1500"), (&PI, ", \"timeout\": 1")] {
        let held = Held::by(recipe, limit, &["touch goes-on; until test -e enough; do sleep 0.05; done"]);
        let session = held.start();
        let goes_on = held.place().workspace().join("goes-on");
        wait_until("the agent goes on", || goes_on.exists());
        held.assert_tools_gone();
        held.place().put("enough", "");
        session.finish().expect(0);
    }
}

/// Claude Code and Codex put a tool aside instead, for as long as they run.
#[test]
#[ignore = "needs docker"]
fn a_tool_that_the_agent_has_put_aside_ends_with_the_session() {
    let then = "touch goes-on";
    let held = Held::by(&CODEX, ", \"yield_time_ms\": 1500", &[then]);
    held.start().finish().expect(0);
    assert_eq!(held.tools(), 0);
    let held = Held::by(&CLAUDE, ", \"timeout\": 1500", &[then]);
    let mut session = held.start();
    let goes_on = held.place().workspace().join("goes-on");
    wait_until("the agent goes on", || goes_on.exists());
    assert_eq!(held.tools(), 2);
    session.kill(Signal::TERM);
    held.assert_tools_gone();
    session.wait();
}
