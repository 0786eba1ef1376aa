//! `cargo xtask TASK`: everything that builds, checks, tests and measures this project.
//!
//! One file a task, one match here. Tasks run from the project's root, start other programs with argument vectors
//! (never through a shell), echo what they run, and end at the first failure with one line and exit code 1.

mod apparmor;
mod bench;
mod build;
mod check;
mod cmd;
mod dist;
mod fuzz;
mod images;
mod quickstart;
mod report;
mod share;
mod test;
mod tidy;

use std::{env, ffi::OsString, path::PathBuf, process::ExitCode};

use crate::cmd::Failure;

const HELP: &str = "\
cargo xtask TASK [OPTIONS]

Tasks:
  apparmor     the containers' AppArmor profile, checked
  bench        the numbers of the README, with rivals in the same run
  build        the static programs, into target/dist
  check        format, lints, tidiness, and what the programs must be
  dist         archives of the programs, with checksums
  fuzz         the parsers of the wire protocol, with what nobody thought of
  images       base, agent and toolchain images
  quickstart   build everything and run a first session
  test         every test that this machine can run

`cargo xtask TASK --help` tells more.
";

fn main() -> ExitCode {
    let mut args = env::args_os();
    if args.next().is_some_and(|own| own.to_string_lossy().ends_with(bench::CLOCK)) {
        return bench::clock(&args.collect::<Vec<_>>());
    }
    let task = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    let done = match task.to_str() {
        Some("help" | "-h" | "--help" | "") => {
            report::out(HELP);
            Ok(())
        }
        Some("apparmor") => apparmor::main(rest),
        Some("bench") => bench::main(rest),
        Some("inside") => bench::inside(rest),
        Some("build") => build::main(rest),
        Some("check") => check::main(rest),
        Some("dist") => dist::main(rest),
        Some("fuzz") => fuzz::main(rest),
        Some("images") => images::main(rest),
        Some("quickstart") => quickstart::main(rest),
        Some("test") => test::main(rest),
        _ => Err(Failure::new(format!("no task `{}`", task.display())).hint("cargo xtask help")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report::failed(&failure);
            ExitCode::FAILURE
        }
    }
}

/// The project's root: the folder above this crate.
pub(crate) fn root() -> PathBuf {
    let crate_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().map_or(crate_dir.clone(), PathBuf::from)
}
