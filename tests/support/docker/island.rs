//! A Docker Engine of a test's own, with no way out: its network namespace has no route, its images are its own.
//!
//! It lives in namespaces whose first process dies with the test, and everything in them with that process; its files lie
//! in a folder that disappears with the value. Needs root, as any engine does.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

use super::processes;
use crate::support::{Background, Ran, TempDir, wait_until};

/// What runs as the first process of the namespaces: nothing of the host's `/run` is seen or written, and the settings of
/// the host's engine are not this one's.
const START: &str = r#"
mount -t tmpfs none /run && ip link set lo up || exit 1
echo '{}' >"$1/daemon.json"
exec dockerd --data-root "$1/data" --config-file "$1/daemon.json" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/docker.sock"
"#;

/// The engine.
#[derive(Debug)]
pub(crate) struct Island {
    // Ends before its folder goes.
    engine: Option<Background>,
    pid: u32,
    dir: TempDir,
}

impl Island {
    /// Starts one and waits until it answers.
    #[track_caller]
    pub(crate) fn new() -> Self {
        assert!(rustix::process::getuid().is_root(), "an engine of its own needs root");
        let dir = TempDir::new();
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", START, "sh"]);
        let engine = Background::start(command.arg(dir.path()).stdin(Stdio::null()));
        let mut island = Self { engine: Some(engine), pid: 0, dir };
        wait_until("an engine of its own answers", || {
            assert!(!island.engine.as_mut().expect("started").has_ended(), "{}", island.last_words());
            island.docker(&["version"]).code() == 0
        });
        let own = format!("dockerd\0--data-root\0{}\0", island.dir.path().join("data").display());
        let first = processes().into_iter().find(|process| process.command.starts_with(&own));
        island.pid = first.expect("the engine runs").pid;
        island
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.dir.path().join("docker.sock").display())
    }

    /// A folder that goes with it.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What the engine said before it ended.
    fn last_words(&mut self) -> String {
        self.engine.take().map(|engine| engine.end().err()).unwrap_or_default()
    }

    /// Asks this engine.
    #[track_caller]
    pub(crate) fn docker(&self, args: &[&str]) -> Ran {
        let mut docker = Command::new("docker");
        Ran::of(docker.args(args).env("DOCKER_HOST", self.socket()).stdin(Stdio::null()))
    }

    /// A program on the island: without a way out, and this engine as its docker.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.pid.to_string()]).arg(program);
        command.env("DOCKER_HOST", self.socket()).stdin(Stdio::null());
        command
    }
}
