//! A session that stays up while it is measured.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::{
    build::Arch,
    cmd::{self, Failure, io_failure},
};

/// The launcher with an agent that runs what it reads, line by line.
pub(super) struct Session {
    launcher: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    /// As docker knows it.
    pub(super) id: String,
}

/// The agent: each line is a command of sh; a marker with its exit code follows its output.
const AGENT: &str = "while IFS= read -r line; do eval \"$line\"; echo \"=$?=\"; done";

impl Session {
    /// Starts one in `workspace`; `options` stand before the command.
    pub(super) fn start(workspace: &Path, options: &[&str], env: &[(&str, &str)]) -> Result<Self, Failure> {
        let mut command = Command::new(Arch::host().dist().join("aifo-coder"));
        command.args(options).args(["run", "--", "sh", "-c", AGENT]).current_dir(workspace).envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut launcher = command.spawn().map_err(io_failure("start", "aifo-coder"))?;
        let output = lines(launcher.stdout.take());
        let said = lines(launcher.stderr.take());
        let input = launcher.stdin.take();
        let id = said.iter().find_map(|line| line.split("session ").nth(1)?.split(':').next().map(str::to_owned));
        let id = id.ok_or_else(|| Failure::new("the session did not start").hint("aifo-coder -v run -- true"))?;
        // Keep reading, so that the launcher never waits for us.
        thread::spawn(move || said.iter().for_each(drop));
        Ok(Self { launcher, input, output, id })
    }

    /// Runs a line in the agent and gives what it printed; its end must be 0.
    pub(super) fn run(&mut self, line: &str) -> Result<Vec<String>, Failure> {
        let lost = || Failure::new(format!("the agent ended during `{line}`"));
        let input = self.input.as_mut().ok_or_else(lost)?;
        writeln!(input, "{line}").map_err(io_failure("write", "the agent"))?;
        let mut printed = Vec::new();
        loop {
            let next = self.output.recv_timeout(Duration::from_secs(1800)).map_err(|_gone| lost())?;
            match next.strip_prefix('=').and_then(|code| code.strip_suffix('=')) {
                Some("0") => return Ok(printed),
                Some(code) => return Err(Failure::new(format!("`{line}` ended with {code}: {}", printed.join(" ")))),
                None => printed.push(next),
            }
        }
    }

    /// A container of it.
    pub(super) fn container(&self, part: &str) -> String {
        format!("aifo-{}-{part}", self.id)
    }

    /// The largest resident size that any process of a container has had, in KiB; the tools that it runs aside.
    pub(super) fn peak_kib(&self, part: &str) -> Result<f64, Failure> {
        let pid = docker(&["inspect", "--format", "{{.State.Pid}}", &self.container(part)])?;
        let status =
            std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(io_failure("read", "the process"))?;
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak.ok_or_else(|| Failure::new("the kernel tells no peak"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.launcher.wait());
    }
}

/// Docker's answer.
pub(super) fn docker(args: &[&str]) -> Result<String, Failure> {
    cmd::capture(cmd::docker().args(args))
}

fn lines(from: Option<impl std::io::Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = from.into_iter().flat_map(|from| BufReader::new(from).lines().map_while(Result::ok));
        lines.into_iter().try_for_each(|line| sender.send(line))
    });
    receiver
}
