//! Whom containers run as, by what docker says of itself and whose the workspace is. A program that answers in docker's
//! place is all that this takes.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{Ran, clean, docker::Place, program};

/// A docker with these security options, whose every container ends at once.
fn docker_with(place: &Place, security: &str) -> PathBuf {
    let path = place.path().join("docker");
    let arch = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let script = format!(
        "#!/bin/sh\ncase $1 in\ninfo) echo '27.0|linux|{arch}|Debian|[{security}]' ;;\nrun) echo no >&2; exit 1 ;;\nesac\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// A launcher of whoever runs the tests, root or not, in a place that may be another's.
fn launcher(place: &Place, security: &str, args: &[&str]) -> Command {
    let mut command = clean(program("aifo-coder"));
    command.args(args).current_dir(place.workspace()).stdin(Stdio::null());
    command.env("AIFO_CODER_DOCKER", docker_with(place, security)).env("HOME", place.path().join("other-home"));
    command
}

/// Every value of an option in what a dry run printed, each once.
fn values(printed: &str, option: &str) -> Vec<String> {
    let mut values: Vec<String> = printed
        .split(&format!("{option} "))
        .skip(1)
        .map(|rest| rest.split([' ', '\n']).next().unwrap().to_owned())
        .collect();
    values.sort();
    values.dedup();
    values
}

const DRY: [&str; 4] = ["--toolchain", "rust", "--dry-run", "shell"];
const PROXY: &str = "65532:65532";

#[test]
fn under_a_rootless_docker_root_is_the_user() {
    let place = Place::new();
    let ran = Ran::of(&mut launcher(&place, r#""name=seccomp,profile=builtin","name=rootless""#, &DRY));
    let printed = ran.expect(0);
    assert_eq!(values(&printed, "--user"), ["0:0", PROXY]);
    assert!(
        printed.contains("XDG_RUNTIME_DIR=/tmp/runtime-0 ") && printed.contains("source=aifo-rust-cache-0,"),
        "{ran}"
    );
    assert_eq!(ran.err(), "");
    let mut wished = launcher(&place, r#""name=rootless""#, &DRY);
    let printed = Ran::of(wished.env("AIFO_CODER_USER", "7:8")).expect(0);
    assert_eq!(values(&printed, "--user"), [PROXY, "7:8"]);
}

#[test]
fn a_docker_that_remaps_users_is_warned_of_in_one_line() {
    let place = Place::new();
    let ran = Ran::of(&mut launcher(&place, r#""name=userns""#, &DRY));
    let own = rustix::process::getuid().as_raw();
    assert!(values(&ran.expect(0), "--user").iter().any(|user| user.starts_with(&format!("{own}:"))), "{ran}");
    assert!(ran.err().starts_with("aifo-coder: warning: docker gives containers other users (userns-remap)"), "{ran}");
    assert_eq!(ran.err().lines().count(), 1, "{ran}");
}

#[test]
fn roots_sessions_are_the_workspace_owners_and_so_is_the_state_that_they_make() {
    // Who is not root is the owner.
    let place = Place::of_plain_user();
    let (own, owner) = (rustix::process::getuid().as_raw(), place.uid());
    let ran = Ran::of(&mut launcher(&place, "", &DRY));
    assert_eq!(values(&ran.expect(0), "--user"), [format!("{owner}:{owner}"), PROXY.to_owned()]);
    let said = format!(
        "aifo-coder: warning: you are root, and the workspace is not: agent and tools run as its owner, {owner}:{owner}; \
         AIFO_CODER_USER=0:0 for root\n"
    );
    assert_eq!(ran.err(), if own == owner { String::new() } else { said });
    // No container comes up, but the state was made for one.
    let run = || Ran::of(launcher(&place, "", &["claude"]).env("AIFO_TOOLCHAIN_CACHE", "0"));
    run().expect(125);
    let state = place.path().join("other-home/.local/state/aifo-coder");
    let about = |path: &PathBuf| fs::metadata(path).map(|about| (about.uid(), about.mode() & 0o777)).unwrap();
    assert_eq!(about(&state.join("claude")), (owner, 0o700));
    // What is above it belongs to whom HOME belongs.
    assert_eq!(about(&state), (fs::metadata(place.path()).unwrap().uid(), 0o700));
    if own != owner {
        // Another's state is nobody else's to get.
        std::os::unix::fs::chown(state.join("claude"), Some(own), None).unwrap();
        let ran = run();
        let why = format!("it is user {own}'s, and the agent runs as {owner}:{owner}");
        assert!(ran.err().contains(&format!("/claude`: {why}\naifo-coder: hint: AIFO_CODER_STATE_DIR=")), "{ran}");
        assert_eq!((ran.code(), about(&state.join("claude")).0), (125, own));
    }
}

#[test]
fn a_toolchains_own_container_names_no_runtime_folder() {
    let place = Place::new();
    let printed = Ran::of(&mut launcher(&place, "", &["--dry-run", "toolchain", "go"])).expect(0);
    assert!(printed.contains("--entrypoint /opt/aifo/bin/aifo-entrypoint"), "{printed}");
    assert!(!printed.contains("XDG_RUNTIME_DIR"), "{printed}");
}
