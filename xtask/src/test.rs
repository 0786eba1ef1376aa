//! `cargo xtask test [--docker] [--quick] [FILTER]`: every test that this machine can run.
//!
//! Tests that need something from outside are marked `#[ignore = "needs …"]`; they run where it is there. With
//! `--docker` its absence is a failure, so that a green run always means that they ran.

use std::{
    env,
    ffi::OsString,
    process::{Command, Stdio},
};

use crate::{
    build::{self, Arch},
    cmd::{self, Failure},
    images, report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask test [--docker] [--quick] [FILTER]

Builds what ships and runs the tests. Those that need Docker run where it
answers; with --docker they must. --quick leaves them out.
";

#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    docker: bool,
    quick: bool,
    filter: Option<String>,
}

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let Some(plan) = parse(&args)? else {
        report::out(HELP);
        return Ok(());
    };
    build::build(Arch::host())?;
    let docker = if plan.quick { Err(Failure::new("left out by --quick")) } else { docker_answers() };
    if plan.docker {
        docker.as_ref().map_err(|absent| Failure::new(format!("--docker was asked for, but {absent}")))?;
    }
    if docker.is_ok() {
        images::main(image_args())?;
    }
    let emulator = emulator(plan.docker)?;
    if emulator {
        build::build(Arch::Arm64)?;
    }
    let filter = plan.filter.as_deref();
    run_tests(&["--workspace", "--lib", "--bins"], filter, &[])?;
    let mut skipped = Vec::new();
    if let Err(absent) = &docker {
        report::say(format_args!("tests that need docker are skipped: {absent}"));
        skipped.push("docker::");
    }
    if !emulator {
        report::say("tests that need qemu-aarch64-static are skipped: it is not installed");
        skipped.push("emulated::");
    }
    run_tests(&["--package", "aifo-coder", "--test", "it"], filter, &skipped)
}

fn parse(args: &[OsString]) -> Result<Option<Plan>, Failure> {
    let mut plan = Plan::default();
    for word in args.iter().filter_map(|word| word.to_str()) {
        match word {
            "-h" | "--help" => return Ok(None),
            "--docker" => plan.docker = true,
            "--quick" => plan.quick = true,
            _ if word.starts_with('-') || plan.filter.is_some() => {
                return Err(Failure::new(format!("test: cannot use `{word}`")).hint("cargo xtask test --help"));
            }
            _ => plan.filter = Some(word.to_owned()),
        }
    }
    Ok(Some(plan))
}

/// Ignored tests are those that need something; the modules of what is missing are left out by name.
fn run_tests(what: &[&str], filter: Option<&str>, skipped: &[&str]) -> Result<(), Failure> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).args(["test", "--quiet"]).args(what).arg("--").args(filter);
    cargo.arg("--include-ignored").args(skipped.iter().flat_map(|module| ["--skip", module]));
    cmd::run(&mut cargo)
}

fn docker_answers() -> Result<(), Failure> {
    let docker = env::var_os("AIFO_CODER_DOCKER").unwrap_or_else(|| "docker".into());
    cmd::capture(Command::new(docker).args(["version", "--format", "{{.Server.Version}}"]))
        .map(drop)
        .map_err(|_said| Failure::new("no Docker Engine answers"))
}

fn emulator(required: bool) -> Result<bool, Failure> {
    let there = Command::new("qemu-aarch64-static").arg("--version").stdout(Stdio::null()).status().is_ok();
    if required && !there {
        return Err(Failure::new("--docker was asked for, but qemu-aarch64-static is not installed")
            .hint("apt-get install qemu-user-static"));
    }
    Ok(there)
}

/// The build containers trust what this machine trusts, where it says so.
fn image_args() -> Vec<OsString> {
    env::var_os("SSL_CERT_FILE").map_or_else(Vec::new, |ca| vec!["--ca".into(), ca])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_make_a_plan() {
        let plan = |line: &str| parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        let all = Plan { docker: true, quick: false, filter: Some("promise".into()) };
        assert_eq!(plan("--docker promise").unwrap(), Some(all));
        assert_eq!(plan("-h").unwrap(), None);
        assert!(plan("a b").is_err() && plan("--dokcer").is_err());
    }
}
