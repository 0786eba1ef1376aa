//! Images that cannot be built: what failed, on what, which log, what to type; and the name keeps what it named before.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::support::{Background, Ran, TempDir, docker::docker, xtask};

const NODE: &str = concat!("aifo-coder-toolchain-node:release-", env!("CARGO_PKG_VERSION"));

/// `cargo xtask images build …` that must fail; gives what it said.
#[track_caller]
fn fails(words: &[&str], program: Option<&Path>) -> Ran {
    let mut build = xtask(&[&["images", "build"][..], words].concat());
    build.envs(program.map(|program| ("AIFO_CODER_DOCKER", program)));
    let ran = Background::start(&mut build).end_within(Duration::from_secs(300));
    assert_eq!(ran.code(), 1, "{ran}");
    ran
}

/// The last two lines: why, and what to type.
#[track_caller]
fn expect_said(ran: &Ran, error: &str, hint: &str) {
    let err = ran.err();
    let line = |start: &str| err.lines().rfind(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("xtask: error: ").contains(error), "{error}: {ran}");
    assert!(line("xtask: hint: ").contains(hint), "{hint}: {ran}");
}

/// A docker whose builds end with these words; everything else is the real one's.
fn broken_docker(dir: &TempDir, words: &str) -> PathBuf {
    let path = dir.path().join("docker");
    let script = format!("#!/bin/sh\n[ \"$1\" != build ] || {{ echo '{words}' >&2; exit 1; }}\nexec docker \"$@\"\n");
    fs::write(&path, script).expect("room");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    path
}

/// What a name points to.
fn id() -> String {
    docker(&["image", "inspect", "--format", "{{.Id}}", NODE]).expect(0)
}

#[test]
#[ignore = "needs docker"]
fn what_is_missing_is_named_before_anything_is_built() {
    let ran = fails(&["shell"], Some(Path::new("/nowhere/docker")));
    expect_said(&ran, "docker is not installed: no program `/nowhere/docker`", "AIFO_CODER_DOCKER");
    let ran = fails(&["shell", "--ca", "/nowhere/ca.crt"], None);
    let err = ran.err();
    assert!(err.contains("xtask: error: cannot read `/nowhere/ca.crt`: No such file"), "{ran}");
    assert!(!err.contains(": building"), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn a_build_that_breaks_names_its_log_and_the_next_step_and_tags_nothing() {
    let (dir, before) = (TempDir::new(), id());
    // A download that is not the pinned one, in the middle of a real build.
    let wrong =
        format!("NODE_SHA512_{}={}", if cfg!(target_arch = "aarch64") { "ARM64" } else { "AMD64" }, "0".repeat(128));
    let ran = fails(&["toolchain-node", "--arg", &wrong], None);
    expect_said(&ran, "image `toolchain-node` is not built; the whole log: ", "images refresh");
    let (_, log) = ran.err().rsplit_once("the whole log: ").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a log");
    let log = fs::read_to_string(log.lines().next().expect("a path")).expect("a log that is there");
    assert!(log.starts_with("$ ") && log.to_lowercase().contains("hash sum mismatch"), "{log}");
    // A registry that refuses, and a disk that is full.
    let ran = fails(&["toolchain-node", "--base", "127.0.0.1:1/debian:12"], None);
    expect_said(&ran, "image `base-apt` is not built; the whole log: ", "--base REF");
    assert!(ran.err().contains("skipped"), "{ran}");
    let docker = broken_docker(&dir, "write /var/lib/docker/x: no space left on device");
    let ran = fails(&["toolchain-node", "--fresh"], Some(&docker));
    expect_said(&ran, "is not built; the whole log: ", "docker system df");
    assert_eq!(id(), before);
}
