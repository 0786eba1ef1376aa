//! A running session, whose agent may be a shell that the test talks to.

use std::{
    io::Write,
    process::{Child, ChildStdin, ExitStatus, Output},
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    docker,
    leftovers::{assert_nothing_left, assert_nothing_left_soon, processes, remove_containers},
};
use crate::support::{Ran, process, wait_until};

/// The end of an answer; no tool prints it by itself.
const MARK: &str = "\u{1}aifo-it-end ";

/// A running session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(super) command: String,
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(super) out: mpsc::Receiver<Vec<u8>>,
    pub(super) said: Arc<Mutex<Vec<u8>>>,
    /// Ends when everything was said.
    pub(super) hearing: Option<JoinHandle<()>>,
    pub(super) marker: String,
    pub(super) asked: u32,
}

impl Session {
    /// A container's name.
    pub(crate) fn name(&self, part: &str) -> String {
        format!("aifo-{}-{part}", self.id)
    }

    /// What the launcher has said so far.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().expect("no panic with it")).into_owned()
    }

    /// The next line of the agent.
    #[track_caller]
    pub(crate) fn line(&self) -> Vec<u8> {
        self.out.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| panic!("no more output\n{}", self.err()))
    }

    /// Lets the agent, a shell that reads its commands from standard input, run something: exit code, and output of
    /// both kinds.
    #[track_caller]
    pub(crate) fn ask(&mut self, script: &str) -> (i32, String) {
        self.asked += 1;
        let mark = format!("{MARK}{} ", self.asked);
        self.tell(&format!("{{ {script}\n}} 2>&1 </dev/null; printf '\\n{mark}%s\\n' $?\n"));
        let mut output = Vec::new();
        loop {
            let line = self.line();
            if let Some(code) = line.strip_prefix(mark.as_bytes()) {
                // The line end before the mark is ours.
                output.pop();
                let code = String::from_utf8_lossy(code).trim().parse().expect("an exit code");
                return (code, String::from_utf8_lossy(&output).into_owned());
            }
            output.extend_from_slice(&line);
        }
    }

    /// The same, with the exit code expected; output without its last line end.
    #[track_caller]
    pub(crate) fn expect(&mut self, code: i32, script: &str) -> String {
        let (got, output) = self.ask(script);
        assert_eq!(got, code, "`{script}` said\n{output}\n{}", self.err());
        output.trim_end_matches('\n').to_owned()
    }

    /// Says something to the agent and waits for nothing.
    #[track_caller]
    pub(crate) fn tell(&mut self, text: &str) {
        self.input.as_mut().expect("still open").write_all(text.as_bytes()).expect("the agent reads");
    }

    /// The main process of a container, as this host numbers it.
    #[track_caller]
    pub(crate) fn pid_of(&self, part: &str) -> u32 {
        self.inspect(part, "{{.State.Pid}}").parse().expect("a process id")
    }

    #[track_caller]
    pub(crate) fn inspect(&self, part: &str, format: &str) -> String {
        docker(&["inspect", "--format", format, &self.name(part)]).expect(0)
    }

    /// Waits until a container runs.
    #[track_caller]
    pub(crate) fn wait_for(&self, part: &str) {
        let name = self.name(part);
        wait_until(&format!("{name} runs"), || {
            docker(&["inspect", "--format", "{{.State.Running}}", &name]).out() == "true\n"
        });
    }

    /// The docker client that stands for a container on this host.
    #[track_caller]
    pub(crate) fn client_of(&self, part: &str) -> u32 {
        let name = self.name(part);
        let is_client = |line: &str| line.starts_with("docker\0run\0") && line.contains(&format!("--name\0{name}\0"));
        let found = processes().into_iter().find(|process| is_client(&process.command));
        found.unwrap_or_else(|| panic!("no docker client of {name}")).pid
    }

    /// Sends the launcher a signal.
    pub(crate) fn kill(&self, signal: Signal) {
        process::signal(self.child.id(), signal);
    }

    /// Closes the agent's standard input, waits for the end, and proves that nothing is left by then.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Ran {
        drop(self.input.take());
        let status = self.status();
        assert_nothing_left(&self.id, &self.marker);
        self.ran(status)
    }

    /// Waits for the end of a session that was struck, and proves that nothing is left soon after.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Ran {
        let status = self.status();
        self.assert_gone();
        self.ran(status)
    }

    /// Proves that nothing is left soon after it was killed.
    #[track_caller]
    pub(crate) fn assert_gone(&self) {
        assert_nothing_left_soon(&self.id, &self.marker);
    }

    /// The same where another session has the same workspace.
    #[track_caller]
    pub(crate) fn assert_own_gone(&self) {
        assert_nothing_left_soon(&self.id, "");
    }

    #[track_caller]
    fn status(&mut self) -> ExitStatus {
        wait_until("the launcher ends", || self.child.try_wait().expect("a child").is_some());
        self.child.wait().expect("a child")
    }

    /// What it said to the end: nobody holds its streams any more.
    fn ran(&mut self, status: ExitStatus) -> Ran {
        let stdout = self.out.iter().flatten().collect();
        drop(self.hearing.take().map(JoinHandle::join));
        let output = Output { status, stdout, stderr: self.err().into_bytes() };
        Ran { command: self.command.clone(), output }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
        remove_containers(&self.id);
    }
}
