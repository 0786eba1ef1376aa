//! What tests share: the built programs, folders that disappear, waiting with a deadline, and the [`Rig`].

mod answer;
pub(crate) mod docker;
mod fake;
pub(crate) mod process;
mod ran;
pub(crate) mod registry;
mod rig;
mod terminal;

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

pub(crate) use self::{
    answer::Answer,
    fake::Fake,
    process::is_alive,
    ran::{Background, Ran, shell_code, under},
    rig::{Plan, Rig, form, read_all},
    terminal::Terminal,
};

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

/// How docker is reached, where that is not its usual place.
const DOCKER: [&str; 3] = ["DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"];

/// A program that sees nothing of the environment that the tests run in but PATH and the way to docker: a CI has
/// variables, such as `CI`, that calls carry.
pub(crate) fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default());
    command.envs(DOCKER.into_iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command
}

/// `cargo xtask WORDS…`, in this checkout.
pub(crate) fn xtask(words: &[&str]) -> Command {
    xtask_in(Path::new(env!("CARGO_MANIFEST_DIR")), words)
}

/// The same in another.
pub(crate) fn xtask_in(checkout: &Path, words: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "xtask", "--"]).args(words);
    cargo.current_dir(checkout).env_remove("CARGO_TARGET_DIR").stdin(Stdio::null());
    cargo
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
pub(crate) fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(60), what, condition);
}

/// The same where the time is part of the promise.
#[track_caller]
pub(crate) fn wait_within(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {patience:?}: {what}");
        thread::sleep(Duration::from_millis(3));
    }
}
