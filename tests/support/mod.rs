//! What tests share: the built programs, folders that disappear, waiting with a deadline, and the [`Rig`].

mod rig;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

pub(crate) use rig::Rig;

/// One of the programs that ship, as `cargo xtask build` made it.
#[track_caller]
pub(crate) fn program(name: &str) -> PathBuf {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    dist(arch).join(name)
}

/// The folder of the programs for an architecture.
#[track_caller]
pub(crate) fn dist(arch: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/dist").join(format!("linux-{arch}"));
    assert!(folder.is_dir(), "{} is missing: cargo xtask build", folder.display());
    folder
}

/// A folder of its own for a test; it disappears with the value.
#[derive(Debug)]
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("aifo-it-{}-{number}", std::process::id()));
        fs::create_dir(&path).expect("a fresh folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Waits until `condition` holds; fails the test, naming what was waited for, when it does not in time.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process lives; one that has ended and was not yet reaped does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with(['Z', 'X'])))
}

/// A command's output, with a report that says everything when the expectation fails.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) command: String,
    pub(crate) output: Output,
}

impl Ran {
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot start: {error}"));
        Self { command: format!("{command:?}"), output }
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// As a shell tells it: the code, or 128 + n for signal n.
    pub(crate) fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.output.status;
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    /// Expects an exit code and gives stdout without its last line end.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> String {
        assert_eq!(self.code(), code, "{self}");
        self.out().trim_end_matches('\n').to_owned()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\nended with {}\n-- stdout\n{}\n-- stderr\n{}", self.command, self.code(), self.out(), self.err())
    }
}
