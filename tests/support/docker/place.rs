//! Where a launcher is started, by whom, and with what.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Launcher,
    leftovers::{Process, assert_nothing_left_soon, processes},
};
use crate::support::{Ran, TempDir, clean, program};

/// Who a plain user is, where the tests run as root.
const PLAIN: u32 = 1234;

/// A folder with a workspace and a home, and the user that they belong to.
#[derive(Debug)]
pub(crate) struct Place {
    dir: TempDir,
    workspace: PathBuf,
    user: Option<u32>,
    program: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::named("workspace")
    }

    /// With a workspace of that name.
    pub(crate) fn named(workspace: impl AsRef<Path>) -> Self {
        let dir = TempDir::new();
        let workspace = dir.path().join(workspace);
        fs::create_dir(&workspace).expect("a folder of that name");
        fs::create_dir(dir.path().join("home")).expect("a home");
        Self { dir, workspace, user: None, program: program("aifo-coder") }
    }

    /// One that belongs to a plain user, who may use docker by the group of its socket.
    pub(crate) fn of_plain_user() -> Self {
        let mut place = Self::new();
        if rustix::process::getuid().is_root() {
            place.user = Some(PLAIN);
            [place.dir.path(), &place.workspace, &place.home()].iter().for_each(|folder| own(folder, PLAIN));
            place.program = reachable_program(place.dir.path());
        }
        place
    }

    /// With another launcher.
    pub(crate) fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.workspace.clone()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Whom files and sessions belong to.
    pub(crate) fn uid(&self) -> u32 {
        self.user.unwrap_or_else(|| rustix::process::getuid().as_raw())
    }

    /// Puts a file into the workspace.
    #[track_caller]
    pub(crate) fn put(&self, name: &str, content: &str) {
        let path = self.workspace.join(name);
        fs::create_dir_all(path.parent().expect("a path below the workspace")).expect("its folder");
        fs::write(&path, content).expect("a file");
        let folders = path.ancestors().take_while(|folder| *folder != self.workspace);
        self.user.iter().for_each(|user| folders.clone().for_each(|folder| own(folder, *user)));
    }

    /// Everything that was put into home by hand belongs to the place's user.
    #[track_caller]
    pub(crate) fn own_all(&self) {
        let owner = format!("{0}:{0}", self.uid());
        Ran::of(Command::new("chown").args(["-R", &owner]).arg(self.home())).expect(0);
    }

    /// Everything below the folder, by name, sorted.
    pub(crate) fn listing(&self) -> Vec<String> {
        let ran = Ran::of(Command::new("find").arg(self.path()).args(["-mindepth", "1", "-printf", "%P\n"]));
        let mut names: Vec<String> = ran.expect(0).lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// `aifo-coder ARGS…` in the workspace, by this place's user, with a clean environment.
    #[track_caller]
    pub(crate) fn launcher(&self, args: &[&str]) -> Launcher {
        self.launcher_of(docker_group(), args)
    }

    /// The same for a user without a way to docker.
    #[track_caller]
    pub(crate) fn launcher_without_docker_group(&self, args: &[&str]) -> Launcher {
        self.launcher_of(PLAIN, args)
    }

    fn launcher_of(&self, group: u32, args: &[&str]) -> Launcher {
        let mut command = match self.user {
            None => clean(&self.program),
            Some(user) => {
                // By its path, so that a test may take PATH away.
                let mut command = clean("/usr/bin/setpriv");
                let user = user.to_string();
                command.args(["--reuid", &user, "--regid", &user, "--groups", &group.to_string()]);
                command.arg(&self.program);
                command
            }
        };
        command.args(args).current_dir(&self.workspace).env("HOME", self.home());
        Launcher { command, marker: self.marker() }
    }

    /// The launcher that runs in this place.
    #[track_caller]
    pub(crate) fn launcher_pid(&self) -> u32 {
        let is_ours = |process: &Process| {
            let folder = fs::read_link(format!("/proc/{}/cwd", process.pid));
            folder.is_ok_and(|folder| folder == self.workspace)
                && process.command.split('\0').next().is_some_and(|program| program.ends_with("/aifo-coder"))
        };
        processes().into_iter().find(is_ours).expect("a launcher in this place").pid
    }

    /// Proves, within the stated time, that a session of this place has left nothing behind.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self, id: &str) {
        assert_nothing_left_soon(id, &self.marker());
    }

    /// What the mount table of every container with this workspace shows, whatever its name holds.
    fn marker(&self) -> String {
        self.dir.path().file_name().expect("a folder with a name").to_string_lossy().into_owned()
    }
}

fn own(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("root may give files away");
}

/// The group that may use docker.
fn docker_group() -> u32 {
    fs::metadata("/var/run/docker.sock").map_or(PLAIN, |socket| socket.gid())
}

/// The launcher, with what it carries beside it, where every user can read it: a checkout may lie in root's own home.
fn reachable_program(place: &Path) -> PathBuf {
    let source = program("aifo-coder");
    let is_open = |folder: &Path| fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o1 != 0);
    if source.ancestors().all(is_open) {
        return source;
    }
    let folder = place.join("programs");
    fs::create_dir(&folder).expect("a folder for programs");
    for name in ["aifo-coder", "aifo-shim", "aifo-entrypoint"] {
        fs::copy(program(name), folder.join(name)).expect("a copy");
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("its owner may");
    folder.join("aifo-coder")
}
