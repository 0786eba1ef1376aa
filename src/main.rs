//! `aifo-coder`: parse, dispatch, report, exit code; nothing else.
//!
//! The same program is the launcher on the host, and under the hidden commands `proxy` and `execd` what runs in a
//! session's containers: one thing to audit, to sign and to ship.

mod agent;
mod bundle;
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
mod image;
mod inspect;
mod launch;
mod near;
#[cfg(target_os = "linux")]
mod proxy;
mod random;
mod report;
mod toolchain;

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{ExitCode, ExitStatus},
};

use crate::{
    cli::{Command, Invocation, Listing, Switches},
    config::{Config, Sources},
    error::Error,
    launch::{Manner, Task, Wishes},
};

/// The tag of our images.
pub(crate) const RELEASE: &str = concat!("release-", env!("CARGO_PKG_VERSION"));

fn main() -> ExitCode {
    match dispatch().and_then(|code| report::written().map(|()| code)) {
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
    let Invocation { settings, switches, command } = cli::parse(env::args_os().skip(1))?;
    report::set_level(switches.level);
    if let Some(text) = printed(&command) {
        report::out(text);
        return Ok(ExitCode::SUCCESS);
    }
    let config = Config::resolve(&Sources::of_process(settings))?;
    config.warnings.iter().for_each(report::warn);
    report::set_color(config.text("ui.color"));
    let task = match command {
        Command::Agent { agent, args } => Task::Agent { agent, args },
        Command::Run { words } => Task::Command { name: "run".to_owned(), agent: None, words },
        Command::Toolchain { spec, words } => Task::Toolchain { spec, words },
        Command::Doctor { agent } => return inspect::doctor(agent, switches, &config).map(|()| ExitCode::SUCCESS),
        Command::CacheClear => return inspect::cache_clear(switches, &config).map(|()| ExitCode::SUCCESS),
        Command::Bundle(order) => return bundle::run(&order, switches, &config).map(|()| ExitCode::SUCCESS),
        Command::Listing(listing) => return list(listing, switches, &config).map(|()| ExitCode::SUCCESS),
        // Printed above, before any configuration was read.
        _ => return Ok(ExitCode::SUCCESS),
    };
    let wishes = Wishes { no_input: switches.no_input, yes: switches.yes };
    let manner = Manner { dry_run: switches.dry_run, wishes };
    launch::run(&task, &config, manner).map(|status| status.map_or(ExitCode::SUCCESS, as_code))
}

/// What a command prints that needs neither configuration nor docker.
fn printed(command: &Command) -> Option<String> {
    Some(match command {
        Command::Help { long } => {
            if *long {
                cli::long_help()
            } else {
                cli::short_help()
            }
        }
        Command::Version => concat!("aifo-coder ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
        Command::Completions { shell } => cli::completions(shell),
        Command::Man => cli::man_page(),
        Command::Normalize { agent, command } => {
            let agent::Normalized { command, evaluate } = agent::normalize(agent, command);
            format!("{}\n{command}\n", if evaluate { "evaluated" } else { "plumbing" })
        }
        _ => return None,
    })
}

fn list(listing: Listing, switches: Switches, config: &Config) -> Result<(), Error> {
    match listing {
        Listing::Ps => inspect::ps(switches, config),
        Listing::Gc => inspect::gc(switches, config),
        Listing::Images => inspect::images(switches, config),
        Listing::ConfigShow => inspect::config(switches, config),
        Listing::Support => inspect::support(switches, config),
    }
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

/// The agent's own code; 128 + n where signal n ended it, or the docker client in front of it.
fn as_code(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
