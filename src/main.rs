//! `aifo-coder`: parse, dispatch, report, exit code; nothing else.
//!
//! The same program is the launcher on the host, and under the hidden commands `proxy` and `execd` what runs in a
//! session's containers: one thing to audit, to sign and to ship.

#[cfg(target_os = "linux")]
mod channel;
mod cli;
mod config;
mod control;
mod digest;
mod docker;
mod error;
#[cfg(target_os = "linux")]
mod execd;
mod inspect;
mod json;
mod launch;
#[cfg(target_os = "linux")]
mod proxy;
mod report;
mod toolchain;

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{ExitCode, ExitStatus},
};

use crate::{
    cli::{Command, Invocation},
    config::Config,
    error::Error,
    launch::Agent,
};

/// The tag of our images.
pub(crate) const RELEASE: &str = concat!("release-", env!("CARGO_PKG_VERSION"));

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(error) => {
            report::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn dispatch() -> Result<ExitCode, Error> {
    if let Some(done) = inside_a_container() {
        return done.map(|()| ExitCode::SUCCESS);
    }
    let Invocation { options, command } = cli::parse(env::args_os().skip(1))?;
    report::set_level(options.level);
    let config = Config::from_env()?;
    let agent = match command {
        Command::Help { long } => {
            report::out(if long { cli::long_help() } else { cli::short_help() });
            return Ok(ExitCode::SUCCESS);
        }
        Command::Version => {
            report::out(concat!("aifo-coder ", env!("CARGO_PKG_VERSION"), "\n"));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Ps => return inspect::ps(&options, &config).map(|()| ExitCode::SUCCESS),
        Command::Gc => return inspect::gc(&options, &config).map(|()| ExitCode::SUCCESS),
        Command::Doctor => return inspect::doctor(options, &config).map(|()| ExitCode::SUCCESS),
        Command::Shell { args } => {
            let command = ["bash".into()].into_iter().chain(args).collect();
            Agent { name: "shell".to_owned(), image: image(&options), command, shims: true, env: Vec::new() }
        }
        Command::Run { command } => {
            Agent { name: "run".to_owned(), image: image(&options), command, shims: true, env: Vec::new() }
        }
        Command::Toolchain { spec, command } => {
            let shell = || vec!["sh".into()];
            let command = if command.is_empty() { shell() } else { command };
            let env = spec.kind.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Agent { name: spec.kind.name.to_owned(), image: spec.image(), command, shims: false, env }
        }
    };
    launch::run(agent, &options, &config).map(|status| status.map_or(ExitCode::SUCCESS, as_code))
}

/// The hidden commands, which read nothing but their standard input.
fn inside_a_container() -> Option<Result<(), Error>> {
    #[cfg(target_os = "linux")]
    match env::args_os().nth(1)?.to_str()? {
        "proxy" => return Some(proxy::run()),
        "execd" => return Some(execd::run()),
        "environment" => return Some(execd::print_environment().map_err(|cause| Error::Execd("cannot print", cause))),
        _ => {}
    }
    None
}

fn image(options: &cli::Options) -> String {
    options.image.clone().unwrap_or_else(launch::shell_image)
}

/// The agent's own code; 128 + n where signal n ended it, or the docker client in front of it.
fn as_code(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
