//! Programs under test, beside the test and to their end: always with a deadline, so that no hang takes the suite along.

use std::{
    fmt,
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, PidfdFlags, Signal},
};

use super::process;

/// How long anything may take that is expected to end by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs beside the test; it is killed with the value.
#[derive(Debug)]
pub(crate) struct Background {
    command: String,
    child: Child,
    out: Receiver<Vec<u8>>,
    err: Receiver<Vec<u8>>,
}

impl Background {
    /// Starts it with its output and errors taken down.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::with_output_as_set(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts it with output and errors where the command says; what is piped is taken down.
    #[track_caller]
    pub(crate) fn with_output_as_set(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot start: {error}"));
        let (out, err) = (read_away(child.stdout.take()), read_away(child.stderr.take()));
        Self { command: format!("{command:?}"), child, out, err }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        process::signal(self.child.id(), signal);
    }

    /// Its standard input, if that was piped; closed when dropped.
    #[track_caller]
    pub(crate) fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("a piped input that was not taken")
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        self.end_within(PATIENCE)
    }

    /// Waits for its end no longer than this.
    #[track_caller]
    pub(crate) fn end_within(&mut self, patience: Duration) -> Ran {
        let status = self.status_within(patience);
        let take = |from: &Receiver<Vec<u8>>| from.recv_timeout(PATIENCE);
        let (out, err) = (take(&self.out), take(&self.err));
        let report = |what| panic!("{}\nhas ended, but its {what} stays open", self.command);
        let stdout = out.unwrap_or_else(|_| report("output"));
        let stderr = err.unwrap_or_else(|_| report("error output"));
        Ran { command: self.command.clone(), output: Output { status, stdout, stderr } }
    }

    /// Its status alone, for a program that leaves daemons with its output.
    #[track_caller]
    pub(crate) fn status_within(&mut self, patience: Duration) -> ExitStatus {
        if let Some(status) = self.child.try_wait().expect("a child") {
            return status;
        }
        let pid = Pid::from_child(&self.child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("a child that was not waited for");
        let limit = Timespec::try_from(patience).expect("a reasonable time");
        let mut on = [PollFd::new(&pidfd, PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut on, Some(&limit))).expect("poll works");
        assert!(ready > 0, "{}\nhas not ended within {patience:?}", self.command);
        self.child.wait().expect("a child")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Everything up to the end, once it has come; nothing from what was not piped.
fn read_away(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes));
        read.map(|_count| sender.send(bytes))
    });
    all
}

/// What a program did, with a report that says everything when an expectation fails.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) command: String,
    pub(crate) output: Output,
}

impl Ran {
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        Background::start(command).end()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.output.status.signal()
    }

    /// As a shell tells it: the code, or 128 + n for signal n.
    pub(crate) fn code(&self) -> i32 {
        shell_code(self.output.status)
    }

    /// Expects an exit code and gives stdout without its last line end.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> String {
        assert_eq!(self.code(), code, "{self}");
        self.out().trim_end_matches('\n').to_owned()
    }

    /// Expects an exit code, no output, and this in one line of the shim's own on stderr.
    #[track_caller]
    pub(crate) fn expect_said(&self, code: i32, said: &str) {
        assert_eq!((self.code(), self.out().as_str()), (code, ""), "{self}");
        let err = self.err();
        let is_one_line = err.ends_with('\n') && err.matches('\n').count() == 1;
        assert!(
            is_one_line && err.starts_with("aifo-shim: ") && err.contains(said),
            "not one line with {said}\n{self}"
        );
    }
}

/// A call under another program, which gets the shim's path and arguments behind these words.
pub(crate) fn under(words: &[&str], call: &Command) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(call.get_program()).args(call.get_args()).stdin(Stdio::null());
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(call.get_current_dir().expect("calls have a directory"));
    command
}

/// The code as a shell tells it.
pub(crate) fn shell_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nended with {}\n-- stdout\n{}\n-- stderr\n{}", self.command, self.code(), self.out(), self.err())
    }
}
