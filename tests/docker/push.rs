//! Images on their way to a registry and back: a real one (Debian's `docker-registry`), on this machine's loopback.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    time::Duration,
};

use crate::support::{
    Background, Ran, TempDir,
    docker::{Place, docker},
    wait_until, xtask,
};

const SHELL: &str = concat!("aifo-coder-shell:release-", env!("CARGO_PKG_VERSION"));

/// A registry, gone with the value.
#[derive(Debug)]
struct Registry {
    address: String,
    _server: Background,
    _dir: TempDir,
}

impl Registry {
    #[track_caller]
    fn new() -> Self {
        let dir = TempDir::new();
        let address = free_address();
        let data = dir.path().join("data");
        let config = dir.path().join("config.yml");
        let text = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"{address}\"}}\n",
            data.display()
        );
        fs::write(&config, text).expect("room");
        let mut command = Command::new("docker-registry");
        let server = Background::start(command.arg("serve").arg(config).stdin(Stdio::null()));
        wait_until("the registry answers", || TcpStream::connect(&address).is_ok());
        Self { address, _server: server, _dir: dir }
    }

    /// An image in it.
    fn name(&self, image: &str) -> String {
        format!("{}/team/{image}", self.address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        docker(&["image", "rm", "--no-prune", &self.name(SHELL)]);
    }
}

/// One at which nobody listens.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").to_string()
}

#[track_caller]
fn push(registry: &str, words: &[&str]) -> Ran {
    let mut push = xtask(&[&["images", "push", "--registry", registry][..], words].concat());
    Background::start(&mut push).end_within(Duration::from_secs(300))
}

#[test]
#[ignore = "needs docker"]
fn what_was_pushed_is_what_a_launcher_pulls_from_the_internal_registry() {
    let registry = Registry::new();
    let ran = push(&format!("{}/team/", registry.address), &["shell", "claude"]);
    let name = registry.name(SHELL);
    let said = ran.expect(0);
    assert!(said.starts_with(&format!("{name} sha256:")) && said.lines().count() == 1, "{ran}");
    assert!(ran.err().contains("left out: aifo-coder-claude:"), "{ran}");
    // The name was lent for the push only.
    docker(&["image", "inspect", &name]).expect(1);
    let place = Place::new();
    let launcher = place.launcher(&["run", "--", "bash", "-c", "echo pulled"]);
    let ran = launcher.env("AIFO_CODER_INTERNAL_REGISTRY_PREFIX", format!("{}/team", registry.address)).run();
    assert_eq!(ran.expect(0), "pulled");
    assert!(ran.err().contains(&format!("pulling {name}")), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn a_registry_that_refuses_is_named_with_what_to_type() {
    let address = free_address();
    let ran = push(&address, &["shell"]);
    assert_eq!(ran.expect(1), "");
    let error = format!("xtask: error: `{address}/{SHELL}` is not pushed: ");
    let err = ran.err();
    assert!(err.lines().any(|line| line.starts_with(&error) && line.contains("refused")), "{ran}");
    assert!(err.contains(&format!("hint: does `{address}` answer?")), "{ran}");
    docker(&["image", "inspect", &format!("{address}/{SHELL}")]).expect(1);
}
