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
    needed_by_all()?;
    build::build(Arch::host())?;
    let docker = !plan.quick && cmd::docker_answers();
    if plan.docker && !docker {
        return Err(Failure::new("--docker was asked for, but no Docker Engine answers").hint("aifo-coder doctor"));
    }
    if docker {
        // What sessions need, and the agents as their registries have them.
        images::main(Vec::new())?;
        images::main(["agents", "--flavor", "slim"].map(OsString::from).into())?;
    }
    let absent = absent(plan.docker)?;
    if !absent.iter().any(|need| need.program == EMULATOR) {
        build::build(Arch::Arm64)?;
    }
    let mut skipped = Vec::new();
    if !docker {
        report::say("tests that need docker are skipped: no Docker Engine answers, or --quick was given");
        skipped.push("docker::");
    } else if !is_root() {
        report::say("tests that start a Docker Engine of their own are skipped: only root can");
        skipped.push("docker::bundle::");
    }
    for Need { tests, program, .. } in absent {
        report::say(format_args!("tests that need {program} are skipped: it is not installed"));
        skipped.extend(*tests);
    }
    let runs: [(&[&str], &[&str]); 3] = [
        (&["--workspace", "--lib", "--bins"], &[]),
        (&["--package", "aifo-provider", "--test", "program"], &[]),
        (&["--package", "aifo-coder", "--test", "it"], &skipped),
    ];
    let filter = plan.filter.as_deref();
    if let Some(filter) = filter {
        let listed = runs.iter().map(|(what, skipped)| cmd::capture(tests(what, Some(filter), skipped).arg("--list")));
        let listed = listed.collect::<Result<Vec<_>, _>>()?;
        if !listed.iter().flat_map(|text| text.lines()).any(|line| line.ends_with(": test")) {
            return Err(Failure::new(format!("no test that can run here has `{filter}` in its name")));
        }
    }
    runs.iter().try_for_each(|(what, skipped)| cmd::run(&mut tests(what, filter, skipped)))
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
fn tests(what: &[&str], filter: Option<&str>, skipped: &[&str]) -> Command {
    let mut command = with_default_signals(cmd::cargo());
    command.args(["test", "--quiet"]).args(what).arg("--").args(filter);
    command.arg("--include-ignored").args(skipped.iter().flat_map(|module| ["--skip", module]));
    // Tests have a home of their own, where no context of docker's client is kept.
    if let Some(host) = docker_host() {
        command.env("DOCKER_HOST", host);
    }
    command
}

/// Where the client's context has its engine.
fn docker_host() -> Option<String> {
    let mut asked = cmd::docker();
    cmd::capture(asked.args(["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])).ok()
}

/// A job that a shell runs in the background ignores interrupts, and so would every tool that a test starts and
/// interrupts. Only env(1) of GNU undoes that; without it such tests need a job in the foreground.
fn with_default_signals(cargo: Command) -> Command {
    if cmd::capture(Command::new("env").args(["--default-signal", "true"])).is_err() {
        return cargo;
    }
    let mut env = Command::new("env");
    env.arg("--default-signal").arg(cargo.get_program()).current_dir(root());
    env
}

/// A program that some tests need, and Debian's package that has it.
struct Need {
    tests: &'static [&'static str],
    program: &'static str,
    package: &'static str,
}

const EMULATOR: &str = "qemu-aarch64-static";

const NEEDS: &[Need] = &[
    Need { tests: &["emulated::"], program: EMULATOR, package: "qemu-user-static" },
    Need { tests: &["written::zsh_"], program: "zsh", package: "zsh" },
    Need { tests: &["written::fish_"], program: "fish", package: "fish" },
    Need { tests: &["written::the_manual_page_"], program: "groff", package: "groff-base" },
    Need { tests: &["routing::t31_"], program: "node", package: "nodejs" },
    Need { tests: &["shim::traced::"], program: "strace", package: "strace" },
    Need { tests: &["docker::tmux::", "docker::agents::outlive::"], program: "tmux", package: "tmux" },
    Need { tests: &["docker::push::"], program: "docker-registry", package: "docker-registry" },
    Need { tests: &["docker::signing::", "docker::bundle::"], program: "gpg-agent", package: "gpg-agent" },
    Need { tests: &["docker::bundle::"], program: "dockerd", package: "docker.io" },
    Need { tests: &["docker::bundle::"], program: "ip", package: "iproute2" },
];

/// What tests of all kinds call, as tools and as clients.
const BY_ALL: [&str; 4] = ["curl", "git", "make", "python3"];

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn is_root() -> bool {
    cmd::capture(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

fn needed_by_all() -> Result<(), Failure> {
    let missing: Vec<&str> = BY_ALL.into_iter().filter(|program| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(" ");
    Err(Failure::new(format!("the tests call programs that are not installed: {missing}"))
        .hint(format!("apt-get install {missing}")))
}

/// Of what only some need, what is not installed; where all is required, the first of it is the failure.
fn absent(required: bool) -> Result<Vec<&'static Need>, Failure> {
    let absent: Vec<&Need> = NEEDS.iter().filter(|need| !is_there(need.program)).collect();
    match absent.first() {
        Some(Need { program, package, .. }) if required => {
            Err(Failure::new(format!("--docker was asked for, but {program} is not installed"))
                .hint(format!("apt-get install {package}")))
        }
        _ => Ok(absent),
    }
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
