//! `cargo xtask test [--docker] [--quick] [FILTER]`: every test that this machine can run.
//!
//! Tests that need something from outside are marked `#[ignore = "needs …"]`; they run where it is there. With
//! `--docker` its absence is a failure, so that a green run always means that they ran.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
};

use crate::{
    build::{self, Arch},
    cmd::{self, Failure},
    images, report,
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
    let docker = !plan.quick && cmd::docker_answers();
    if plan.docker && !docker {
        return Err(Failure::new("--docker was asked for, but no Docker Engine answers").hint("aifo-coder doctor"));
    }
    if docker {
        images::main(Vec::new())?;
        images::main(["agents", "--flavor", "slim"].map(OsString::from).into())?;
    }
    let emulator = emulator(plan.docker)?;
    if emulator {
        build::build(Arch::Arm64)?;
    }
    let filter = plan.filter.as_deref();
    run_tests(&["--workspace", "--lib", "--bins"], filter, &[])?;
    run_tests(&["--package", "aifo-provider", "--test", "program"], filter, &[])?;
    let mut skipped = Vec::new();
    if !docker {
        report::say("tests that need docker are skipped: no Docker Engine answers, or --quick was given");
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
    let mut cargo = cmd::cargo();
    cargo.args(["test", "--quiet"]).args(what).arg("--").args(filter);
    cargo.arg("--include-ignored").args(skipped.iter().flat_map(|module| ["--skip", module]));
    cmd::run(&mut cargo)
}

fn emulator(required: bool) -> Result<bool, Failure> {
    let there = Command::new("qemu-aarch64-static").arg("--version").stdout(Stdio::null()).status().is_ok();
    if required && !there {
        return Err(Failure::new("--docker was asked for, but qemu-aarch64-static is not installed")
            .hint("apt-get install qemu-user-static"));
    }
    Ok(there)
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
