//! A place for one agent: a plain user's project and home, and the server that tells the agent what to run.

use std::{collections::BTreeSet, fs, net::IpAddr, os::unix::fs::chown, process::Stdio, time::Duration};

use aifo_provider::{Provider, Script};

use super::recipes::{Hand, Recipe};
use crate::support::{
    Background, Ran,
    docker::{Launcher, Place, docker, session_id},
};

/// Some agents take their time to start, and more of it while other tests run.
const PATIENCE: Duration = Duration::from_secs(180);
/// What an agent without tools is answered: an edit, in the form that it understands.
const EDIT: &str = "notes.txt\n```\nedited\n```\n";

/// An agent that can be started, and a script for it.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) place: Place,
    pub(super) provider: Provider,
    recipe: &'static Recipe,
    steps: Vec<String>,
    given: BTreeSet<String>,
}

impl Stage {
    #[track_caller]
    pub(super) fn of<S: AsRef<str>>(recipe: &'static Recipe, steps: &[S]) -> Self {
        let place = Place::of_plain_user();
        let steps: Vec<String> = steps.iter().map(|step| step.as_ref().to_owned()).collect();
        let (script, last_word) = match recipe.hand {
            Hand::TestCommand => (&[][..], EDIT),
            Hand::Shell | Hand::Typed => (&steps[..], "all done"),
        };
        let provider = Provider::start(gateway(), Script::new(script, last_word), None).expect("a free port");
        if let Some((file, text)) = recipe.file {
            let path = place.home().join(file);
            fs::create_dir_all(path.parent().expect("a path below HOME")).expect("its folder");
            fs::write(&path, text.replace("SERVER", &provider.url())).expect("a file");
            let below = path.ancestors().take_while(|folder| *folder != place.home());
            below.for_each(|path| chown(path, Some(place.uid()), None).expect("the user's own"));
        }
        let given = place.listing().into_iter().collect();
        Self { place, provider, recipe, steps, given }
    }

    /// The launcher with its agent, told everything but the options.
    pub(super) fn launcher(&self, options: &[&str]) -> Launcher {
        let mut words = [&["--flavor", "slim"], options, self.recipe.options, &[self.recipe.name]].concat();
        let command = self.steps.join(" && ");
        if self.recipe.hand == Hand::TestCommand {
            words.extend(["--auto-test", "--test-cmd", &command]);
        }
        words.extend(self.recipe.words);
        let launcher = self.place.launcher(&words).env("AIFO_TOOLCHAIN_VERBOSE", "1");
        let url = self.provider.url();
        self.recipe
            .env
            .iter()
            .fold(launcher, |launcher, (name, value)| launcher.env(name, value.replace("SERVER", &url)))
    }

    /// Runs the agent to a good end; gives what it said. Nothing of the session may be left, and of files only what the
    /// agent keeps by its own will.
    #[track_caller]
    pub(super) fn run(&self, options: &[&str]) -> Ran {
        let mut launcher = self.launcher(&[&["-v"], options].concat());
        let ran = Background::start(launcher.command.stdin(Stdio::null())).end_within(PATIENCE);
        assert_eq!(ran.code(), 0, "{ran}");
        assert!(!ran.err().contains("aifo-entrypoint: "), "its container was not made ready\n{ran}");
        self.place.assert_nothing_left(&session_id(&ran.err()).expect("a session"));
        let tools = self.provider.results();
        if self.recipe.hand != Hand::TestCommand {
            assert_eq!(tools.len(), self.steps.len(), "{ran}\n{tools:#?}");
        }
        let mut asked = self.provider.records().into_iter().filter(|record| !record.model.is_empty()).peekable();
        assert!(asked.peek().is_some() && asked.all(|record| record.has_key), "{:#?}", self.provider.records());
        ran
    }

    /// A file that a step has written into the project.
    #[track_caller]
    pub(super) fn said(&self, name: &str) -> String {
        let path = self.place.workspace().join(name);
        let text = fs::read(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; told: {:#?}", path.display(), self.provider.results());
        });
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Proves that the project holds these files besides what the agent keeps there, and HOME nothing but its state.
    #[track_caller]
    pub(super) fn assert_only(&self, files: &[&str]) {
        let state = format!("home/.local/state/aifo-coder/{}", self.recipe.name);
        let is_state =
            |path: &str| path.starts_with(&format!("{state}/")) || format!("{state}/").starts_with(&format!("{path}/"));
        let fresh = self.place.listing().into_iter().filter(|path| !self.given.contains(path) && !is_state(path));
        let expected = files.iter().chain(self.recipe.leaves).map(|file| format!("workspace/{file}"));
        assert_eq!(fresh.collect::<BTreeSet<_>>(), expected.collect());
    }
}

/// The calls that were carried into sidecars, as the launcher tells them with `-v`: kind and words.
pub(super) fn calls(ran: &Ran) -> Vec<String> {
    let is_call = |line: &&str| ["c-cpp: ", "python: ", "node: "].iter().any(|kind| line.starts_with(kind));
    let err = ran.err();
    let lines = err.lines().filter_map(|line| line.strip_prefix("aifo-coder: ")).filter(is_call);
    lines.filter_map(|line| Some(line.rsplit_once(" in /")?.0.to_owned())).collect()
}

/// This host as a container on docker's own network sees it.
#[track_caller]
fn gateway() -> IpAddr {
    let format = "{{range .IPAM.Config}}{{.Gateway}} {{end}}";
    let gateways = docker(&["network", "inspect", "bridge", "--format", format]).expect(0);
    let first = gateways.split_whitespace().find_map(|gateway| gateway.parse().ok());
    first.unwrap_or_else(|| panic!("no gateway in {gateways:?}"))
}
