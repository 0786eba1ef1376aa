//! A tool that would outlive its agent: killed, interrupted, timed out, its terminal closed. The tool that the agent has
//! started in a sidecar is gone within two seconds plus the grace that a tool is given, and nothing else is left.
//!
//! The tool is as stubborn as can be: it takes no signal that can be refused, and has a child in a session of its own.

use std::time::Duration;

use rustix::process::Signal;

use super::{
    recipes::{CLAUDE, OPENCODE, PI, Recipe},
    stage::Stage,
};
use crate::support::{
    docker::{Launcher, Place, processes},
    process, wait_until, wait_within,
};

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
        Self::new(Starter::Agent(Stage::of(recipe, &steps)))
    }

    #[track_caller]
    fn by_run() -> Self {
        Self::new(Starter::Run(Place::of_plain_user()))
    }

    #[track_caller]
    fn new(starter: Starter) -> Self {
        // A folder of this process's own, and a number of its own.
        let held = Self { seconds: String::new(), starter };
        let name = held.place().path().file_name().expect("a name").to_string_lossy().into_owned();
        let seconds = format!("9{}", name.chars().filter(char::is_ascii_digit).collect::<String>());
        let make = format!("hold:\n\t@trap '' HUP INT TERM; setsid sleep {seconds} & sleep {seconds}\n");
        held.place().put("Makefile", &make);
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

    fn tools(&self) -> usize {
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

const STARTERS: &[fn() -> Held] =
    &[|| Held::by(&CLAUDE, "", &[]), || Held::by(&OPENCODE, "", &[]), || Held::by(&PI, "", &[]), Held::by_run];

#[test]
#[ignore = "needs docker"]
fn a_killed_agent_takes_its_tool_along() {
    for starter in STARTERS {
        let held = starter();
        let mut session = held.launcher().start();
        held.wait_for_tools();
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
        let mut session = held.launcher().start();
        held.wait_for_tools();
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
        let mut session = held.launcher().start();
        held.wait_for_tools();
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
        let mut window = held.launcher().open(100, 30);
        held.wait_for_tools();
        window.close();
        held.assert_tools_gone();
        window.end();
    }
}

/// OpenCode goes on when it is interrupted outside of its screen, and so does its tool: it is not among them.
#[test]
#[ignore = "needs docker"]
fn an_interrupt_at_the_terminal_ends_the_tool() {
    for starter in [STARTERS[0], STARTERS[2], STARTERS[3]] {
        let held = starter();
        let mut window = held.launcher().open(100, 30);
        held.wait_for_tools();
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
        let session = held.launcher().start();
        held.wait_for_tools();
        let goes_on = held.place().workspace().join("goes-on");
        wait_until("the agent goes on", || goes_on.exists());
        held.assert_tools_gone();
        held.place().put("enough", "");
        session.finish().expect(0);
    }
}
