//! Why a call did not run or its end is unknown, the exit code that says so (never 0), and how a program ends with it.

use std::{
    error::Error,
    ffi::OsStr,
    fmt,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use crate::{
    sys::{self, Ended},
    wire::{
        chunk::ChunkError,
        endpoint::EndpointError,
        exit::{FAILED, NOT_EXECUTABLE, NOT_FOUND, REFUSED, SIGNAL_BASE, TIMEOUT},
        head::HeadError,
    },
};

#[derive(Debug)]
pub enum ShimError {
    Usage,
    NotConfigured,
    BadUrl(EndpointError),
    BadToken,
    NoDirectory(io::Error),
    TooManyArguments,
    TooDeep,
    NoLocalRuntime(&'static [&'static str]),
    LocalFailed(PathBuf, io::Error),
    Connect(String, io::Error),
    Transport(io::Error),
    Lost,
    BadHead(HeadError),
    BadBody(ChunkError),
    NotAProxy,
    NoExitCode,
    Trailing,
    Output(io::Error),
    Refused { status: u16, reason: String },
    NoCommand,
    State(io::Error),
    Start(PathBuf, io::Error),
}

impl ShimError {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage | Self::NoCommand => 2,
            Self::NotConfigured | Self::BadUrl(_) | Self::BadToken => REFUSED,
            Self::Refused { status: 504, .. } => TIMEOUT,
            // 408 and 5xx are the proxy's trouble; every other refusal is its decision.
            Self::Refused { status: 400..=499, .. } if !matches!(self, Self::Refused { status: 408, .. }) => REFUSED,
            Self::TooManyArguments => NOT_EXECUTABLE,
            Self::TooDeep | Self::NoLocalRuntime(_) => NOT_FOUND,
            Self::LocalFailed(_, cause) | Self::Start(_, cause) if cause.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Self::LocalFailed(..) | Self::Start(..) => NOT_EXECUTABLE,
            _ => FAILED,
        }
    }
}

impl fmt::Display for ShimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage => f.write_str("this program runs under the name of a tool; see `aifo-coder --help`"),
            Self::NotConfigured => f.write_str("proxy not configured. Please launch agent with --toolchain."),
            Self::BadUrl(cause) => write!(f, "AIFO_TOOLEEXEC_URL: {cause}"),
            Self::BadToken => f.write_str("AIFO_TOOLEEXEC_TOKEN: not a token"),
            Self::NoDirectory(cause) => write!(f, "cannot read the current directory: {cause}"),
            Self::TooManyArguments => f.write_str("argument list too long"),
            Self::TooDeep => f.write_str("the local runtime leads back to the shim"),
            Self::NoLocalRuntime(paths) => write!(f, "no local runtime at {}", paths.join(" or ")),
            Self::LocalFailed(path, cause) | Self::Start(path, cause) => {
                write!(f, "cannot run `{}`: {cause}", path.display())
            }
            Self::Connect(whom, cause) => write!(f, "cannot connect to the proxy at `{whom}`: {cause}"),
            Self::Transport(cause) => write!(f, "connection to the proxy failed: {cause}"),
            Self::Lost => f.write_str("connection to the proxy was lost; the call's end is unknown"),
            Self::BadHead(cause) => write!(f, "the proxy's answer is malformed: {cause}"),
            Self::BadBody(cause) => write!(f, "the proxy's stream is malformed: {cause}"),
            Self::NotAProxy => f.write_str("what answered is not a tool-exec proxy"),
            Self::NoExitCode => f.write_str("the proxy's answer has no exit code; the call's end is unknown"),
            Self::Trailing => f.write_str("the proxy went on after its answer had ended"),
            Self::Output(cause) => write!(f, "cannot write output: {cause}"),
            Self::Refused { status, reason } => write!(f, "refused by the proxy ({status}): {reason}"),
            Self::NoCommand => f.write_str("no command to run"),
            Self::State(cause) => write!(f, "the agent's state would not be kept: {cause}"),
        }
    }
}

impl Error for ShimError {}

/// Ends as what was run did: by its code or by its signal.
pub fn end(name: &OsStr, ended: Result<Ended, ShimError>) -> ExitCode {
    match ended {
        Ok(Ended::Code(code)) => ExitCode::from(code),
        Ok(Ended::Signal(number)) => {
            sys::die_by(number);
            ExitCode::from(SIGNAL_BASE.saturating_add(u8::try_from(number).unwrap_or(u8::MAX)))
        }
        Err(error) => {
            say(name, &error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// One line on stderr with the one prefix; a stderr that is gone is nothing to fail for.
pub fn say(name: &OsStr, text: impl fmt::Display) {
    drop(writeln!(io::stderr(), "aifo-shim: {}: {text}", name.display()));
}
