//! Runs other programs: echo the command, run it, and make a failure of whatever is not success.

use std::{
    env,
    error::Error,
    fmt, io,
    process::{Command, Output, Stdio},
};

use crate::{report, root};

/// Why a task ended: one line, and where it helps, what to type next.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// Turns an I/O error on `subject` into a failure that names it: `cannot read `x`: no such file`.
pub(crate) fn io_failure<'a>(verb: &'a str, subject: impl fmt::Display + 'a) -> impl FnOnce(io::Error) -> Failure + 'a {
    move |error| Failure::new(format!("cannot {verb} `{subject}`: {error}"))
}

/// Runs a command with the caller's terminal.
///
/// # Errors
/// When it cannot be started or does not end with 0.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    report::say(format_args!("$ {}", shown(command)));
    let status = command.status().map_err(io_failure("start", shown(command)))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` ended with {status}", shown(command)))) }
}

/// Runs a command and returns its stdout, without echo; its stderr goes into the failure.
///
/// # Errors
/// When it cannot be started or does not end with 0.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(io_failure("start", shown(command)))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&stderr).trim_end().to_owned();
    Err(Failure::new(format!("`{}` ended with {status}: {said}", shown(command))))
}

/// Docker, or the program that `AIFO_CODER_DOCKER` names instead.
pub(crate) fn docker() -> Command {
    Command::new(env::var_os("AIFO_CODER_DOCKER").unwrap_or_else(|| "docker".into()))
}

/// Whether an engine answers.
pub(crate) fn docker_answers() -> bool {
    capture(docker().args(["version", "--format", "{{.Server.Version}}"])).is_ok()
}

/// Cargo, the one that runs this, in the project's root.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The command as one would type it; for people, not for a shell.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}
