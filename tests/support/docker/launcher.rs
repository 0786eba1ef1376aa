//! A launcher and the ways to start it: to its end, beside the test, in a window, or to be refused.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use super::{
    Session, Window, docker,
    leftovers::{assert_nothing_left, session_id},
};
use crate::support::{Ran, Terminal, wait_until};

/// A launcher that was not started yet.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) command: Command,
    /// See [`super::Place`].
    pub(super) marker: String,
}

impl Launcher {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs a session to its end and proves that nothing of it is left.
    #[track_caller]
    pub(crate) fn run(mut self) -> Ran {
        self.command.stdin(Stdio::null());
        let ran = Ran::of(&mut self.command);
        let id = session_id(&ran.err()).unwrap_or_else(|| panic!("no session: {ran}"));
        assert_nothing_left(&id, &self.marker);
        ran
    }

    /// The same with something on standard input.
    #[track_caller]
    pub(crate) fn run_with_input(self, input: &str) -> Ran {
        let mut session = self.start();
        // A session that ends without reading has its own reasons, which its exit code tells.
        drop(session.input.as_mut().expect("piped").write_all(input.as_bytes()));
        session.finish()
    }

    /// Expects a refusal: exit 125, one line that says why, perhaps a second that says what to type, nothing started.
    /// Gives the first line without its prefix.
    #[track_caller]
    pub(crate) fn refused(self) -> (String, Option<String>) {
        self.refused_with(125)
    }

    /// The same with another exit code.
    #[track_caller]
    pub(crate) fn refused_with(mut self, code: i32) -> (String, Option<String>) {
        let ran = Ran::of(self.command.stdin(Stdio::null()));
        assert_eq!((ran.code(), ran.out().as_str()), (code, ""), "{ran}");
        assert_eq!(session_id(&ran.err()), None, "{ran}");
        let started = docker(&["ps", "-a", "--format", "{{.Names}} {{.Label \"aifo.workspace\"}}"]).out();
        assert!(!started.contains(&self.marker), "{ran}\n{started}");
        let err = ran.err();
        // Whoever comes first with new programs makes the image for everybody, and says so.
        let mut lines = err.lines().filter(|line| !line.starts_with("aifo-coder: making aifo-coder-session:"));
        let error = lines.next().and_then(|line| line.strip_prefix("aifo-coder: error: "));
        let hint = lines.next().map(|line| line.strip_prefix("aifo-coder: hint: ").unwrap_or_else(|| panic!("{ran}")));
        assert_eq!(lines.next(), None, "{ran}");
        (error.unwrap_or_else(|| panic!("{ran}")).to_owned(), hint.map(str::to_owned))
    }

    /// Starts it and waits until it has said which session it is.
    #[track_caller]
    pub(crate) fn start(mut self) -> Session {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the launcher starts");
        let (lines, out) = mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                drop(lines.send(std::mem::take(&mut line)));
            }
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let mut stderr = child.stderr.take().expect("piped");
        let hearing = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                kept.lock().expect("no panic with it").extend_from_slice(&buffer[..count]);
            }
        });
        let input = child.stdin.take();
        let command = format!("{:?}", self.command);
        let (id, marker, hearing) = (String::new(), self.marker, Some(hearing));
        let mut session = Session { id, command, child, input, out, said, hearing, marker, asked: 0 };
        wait_until("the launcher names its session", || {
            assert!(session.child.try_wait().expect("a child").is_none(), "{}", session.err());
            session_id(&session.err()).map(|id| session.id = id).is_some()
        });
        session
    }

    /// Starts it in a window of a terminal, and waits for the session's name on the screen.
    #[track_caller]
    pub(crate) fn open(self, columns: u16, rows: u16) -> Window {
        let terminal = Terminal::open();
        terminal.resize(columns, rows);
        let launcher = terminal.run(&self.command);
        let mut id = None;
        wait_until("the launcher names its session", || {
            id = session_id(&terminal.screen());
            id.is_some()
        });
        Window { terminal: Some(terminal), launcher, id: id.unwrap_or_default(), marker: self.marker }
    }

    /// A session whose agent is a shell that the test talks to, once it answers.
    #[track_caller]
    pub(crate) fn start_shell(self) -> Session {
        let mut session = self.start();
        assert_eq!(session.ask("echo hello"), (0, "hello\n".to_owned()));
        session
    }
}
