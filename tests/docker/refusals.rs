//! Promise 7: without docker there is no session, and each way of not having it has a sentence of its own.

use std::{
    fs::Permissions,
    os::unix::{fs::PermissionsExt, net::UnixListener},
};

use crate::support::docker::Place;

const MISSING: &str = "`docker` is not installed";
const NOT_RUNNING: &str = "docker is installed, but its daemon does not answer";
const DENIED: &str = "docker's daemon is running, but you may not use it";

#[test]
#[ignore = "needs docker"]
fn promise_7_docker_missing_not_running_and_denied_are_three_sentences() {
    let place = Place::of_plain_user();
    let args = ["--toolchain", "rust", "run", "--", "true"];

    let (said, hint) = place.launcher(&args).env("PATH", "/nonexistent").refused();
    assert_eq!((said.as_str(), hint.is_some()), (MISSING, true));
    let (said, _) = place.launcher(&args).env("AIFO_CODER_DOCKER", "/nowhere/podman").refused();
    assert_eq!(said, "`/nowhere/podman` is not installed");

    for host in ["unix:///nonexistent.sock", "tcp://127.0.0.1:1"] {
        let (said, hint) = place.launcher(&args).env("DOCKER_HOST", host).refused();
        assert_eq!((said.as_str(), hint.is_some()), (NOT_RUNNING, true), "{host}");
    }

    let (said, hint) = place.launcher_without_docker_group(&args).refused();
    assert_eq!(said, DENIED);
    assert!(hint.is_some_and(|hint| hint.contains("usermod -aG docker")));
    // A socket that is somebody else's.
    let closed = place.path().join("closed.sock");
    let _listener = UnixListener::bind(&closed).unwrap();
    std::fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let (said, _) = place.launcher(&args).env("DOCKER_HOST", format!("unix://{}", closed.display())).refused();
    assert_eq!(said, DENIED);
}

#[test]
#[ignore = "needs docker"]
fn a_docker_that_fails_is_quoted() {
    let place = Place::new();
    let (said, _) = place.launcher(&["run", "--", "true"]).env("AIFO_CODER_DOCKER", "/bin/false").refused();
    assert!(said.starts_with("`docker info --format") && said.ends_with("failed: it said nothing"), "{said}");
    let (said, _) = place.launcher(&["run", "--", "true"]).env("AIFO_CODER_DOCKER", "/bin/cat").refused();
    assert!(said.starts_with("`docker info --format"), "{said}");
}

#[test]
#[ignore = "needs docker"]
fn programs_for_containers_that_are_missing_are_named_with_how_to_make_them() {
    let place = Place::new();
    let folder = place.path().join("nowhere");
    let (said, hint) = place.launcher(&["run", "--", "true"]).env("AIFO_CODER_BINARIES", &folder).refused();
    assert!(said.starts_with("no static programs for linux-") && said.contains(folder.to_str().unwrap()), "{said}");
    assert_eq!(hint.as_deref(), Some("cargo xtask build"));
}

#[test]
#[ignore = "needs docker"]
fn a_network_that_is_not_there_is_named() {
    let place = Place::new();
    let ran = place
        .launcher(&["--toolchain", "c-cpp", "run", "--", "true"])
        .env("AIFO_SESSION_NETWORK", "aifo-it-nowhere")
        .run();
    ran.expect(125);
    assert!(
        ran.err().contains("error: the proxy ended before the session did: ") && ran.err().contains("aifo-it-nowhere"),
        "{ran}"
    );
}
