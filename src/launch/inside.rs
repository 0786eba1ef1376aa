//! What of the user enters an agent's container, and nothing else: state, configuration, identity, credentials.
//!
//! An agent's state is kept in a folder of its own, `~/.local/state/aifo-coder/AGENT`, and never in the folder that the
//! same agent uses outside: there it could leave a command in its configuration (a hook, a server to start) that runs on
//! the host the next time. What the user has there is copied in, file by file from a fixed list, where the state has none
//! yet; the sources are mounted read-only one by one. Nothing is created in HOME before the agent is really run.

use std::{
    env,
    ffi::OsString,
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, fchown, lchown},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{
    git::{Identity as GitIdentity, Keys},
    places::{CONFIG, COPIED, GNUPG, KEYS, SHELL, STATE},
};
use crate::{
    agent::{self, Agent, ShellHook},
    config::Config,
    docker::{Env, Mount},
    error::Error,
    toolchain::HOME,
};

/// What an agent's own file may weigh: its history may be in it, and a program's image is none.
const MAX_OWN_FILE: u64 = 16 * 1024 * 1024;

/// Mounts, variables and entrypoint options of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) env: Vec<Env>,
    pub(crate) options: Vec<OsString>,
    /// The state's folder, to be made when the agent is run.
    pub(crate) state: Option<PathBuf>,
    /// The folders of HOME that are kept in it.
    pub(crate) kept: &'static [&'static str],
    /// Whether the user's keys enter.
    pub(crate) keys: Keys,
    /// What of the user's does not enter, and why.
    pub(crate) warnings: Vec<String>,
}

impl Inside {
    /// Looks at what there is; changes nothing.
    ///
    /// # Errors
    /// [`Error::NoHome`], [`Error::Setting`] for a configuration folder that is not one.
    pub(crate) fn gather(agent: &dyn Agent, config: &Config, git: &GitIdentity) -> Result<Self, Error> {
        let mut inside = Self::bare(agent, config);
        inside.credentials(agent);
        inside.keys(git);
        if agent.state().is_empty() && agent.config().is_empty() {
            return Ok(inside);
        }
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).ok_or(Error::NoHome)?;
        inside.state(agent, config, &home);
        inside.configuration(agent, config, &home)?;
        Ok(inside)
    }

    /// What makes a container that agent's, without anything of the user in it.
    pub(crate) fn bare(agent: &dyn Agent, config: &Config) -> Self {
        let mut inside = Self::default();
        inside.shell(agent);
        inside.runtime(agent, config);
        inside
    }

    /// The same for an agent that runs on this host: HOME and all that is in it are the user's own there, git included,
    /// and places in a container mean nothing.
    pub(crate) fn on_host(agent: &dyn Agent, config: &Config) -> Self {
        let mut inside = Self::bare(agent, config);
        inside.env.retain(|variable| !variable.value().is_some_and(|(_, value)| value.starts_with(HOME)));
        inside.credentials(agent);
        Self { options: Vec::new(), ..inside }
    }

    /// Makes the state's folder, only now that the agent is run, and in it the mount points of these volumes; as root for
    /// the user (`uid:gid`) that the agent runs as.
    ///
    /// # Errors
    /// [`Error::NoState`], also where root has a state that this user could not use: it holds somebody's credentials,
    /// so it is nobody else's to get; [`Error::Write`].
    pub(crate) fn provide(&self, user: &str, volumes: &[Mount]) -> Result<(), Error> {
        let Some(state) = &self.state else { return Ok(()) };
        let failed = |cause| Error::NoState(state.clone(), cause);
        let is_new = make(state).map_err(failed)?;
        let owner = other_than_root(user);
        if let Some((uid, gid)) = owner {
            match fs::metadata(state).map_err(failed)?.uid() {
                _ if is_new => lchown(state, Some(uid), Some(gid)).map_err(failed)?,
                owner if owner == uid => {}
                owner => {
                    return Err(failed(io::Error::other(format!(
                        "it is user {owner}'s, and the agent runs as {user}"
                    ))));
                }
            }
        }
        for below in volumes.iter().filter_map(|volume| self.below_state(Path::new(&volume.target))) {
            make_below(state, below, owner).map_err(|cause| Error::Write(state.join(below), cause))?;
        }
        Ok(())
    }

    /// Where a volume is mounted in the agent's container. A kept folder is a link to the state, so what is to be in it is
    /// mounted there.
    pub(crate) fn place_of(&self, target: &str) -> String {
        let below = self.below_state(Path::new(target));
        below.map_or_else(|| target.to_owned(), |below| format!("{STATE}/{}", below.display()))
    }

    /// Where a place in a kept folder is on the host.
    pub(crate) fn host_place_of(&self, target: &Path) -> Option<PathBuf> {
        Some(self.state.as_ref()?.join(self.below_state(target)?))
    }

    /// The folders of HOME that are kept.
    pub(crate) fn kept_places(&self) -> impl Iterator<Item = PathBuf> {
        self.kept.iter().map(|folder| Path::new(HOME).join(folder))
    }

    /// What of HOME is neither the agent's nor the user's.
    pub(crate) fn own_places(&self) -> impl Iterator<Item = &'static Path> {
        let keys = self.mounts.iter().any(|mount| mount.target == GNUPG).then_some(KEYS);
        [STATE, CONFIG, GNUPG, COPIED].into_iter().chain(keys).map(Path::new)
    }

    fn below_state<'a>(&self, target: &'a Path) -> Option<&'a Path> {
        let below = target.strip_prefix(HOME).ok()?;
        self.kept.iter().any(|folder| below.starts_with(folder)).then_some(below)
    }

    fn shell(&mut self, agent: &dyn Agent) {
        let names: &[&str] = match agent.configure_shell() {
            ShellHook::Variables(names) => names,
            ShellHook::Setting { file, key } => {
                self.option("--shell-setting", format!("{key}={file}"));
                &[]
            }
        };
        self.env.extend(["SHELL"].iter().chain(names).map(|name| plain(name, SHELL)));
        self.env.extend(agent.env().iter().map(|(name, value)| plain(name, value)));
    }

    /// The smart switches (seed "smart shims", section 2), or what the user wants instead.
    fn runtime(&mut self, agent: &dyn Agent, config: &Config) {
        let runtime = match config.text("agent.smart") {
            Some("0") => agent::Runtime::None,
            _ => agent.runtime(),
        };
        let is_forced = config.text("agent.smart") == Some("1");
        let names: &[&str] = match runtime {
            agent::Runtime::Node => &["AIFO_SHIM_SMART", "AIFO_SHIM_SMART_NODE"],
            agent::Runtime::Python => &["AIFO_SHIM_SMART", "AIFO_SHIM_SMART_PYTHON"],
            agent::Runtime::None if is_forced => &["AIFO_SHIM_SMART", "AIFO_SHIM_SMART_NODE", "AIFO_SHIM_SMART_PYTHON"],
            agent::Runtime::None => &[],
        };
        self.env.extend(names.iter().map(|name| plain(name, "1")));
    }

    /// By name, never in argv: what the agent may see of the caller's environment, and what stands in for it.
    fn credentials(&mut self, agent: &dyn Agent) {
        for name in agent.credentials() {
            let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
            if is_set(name) {
                self.env.push(Env::Inherited((*name).to_owned()));
            } else if let Some(value) = stand_in(name).filter(|name| is_set(name)).and_then(|name| env::var(name).ok())
            {
                self.env.push(Env::Secret((*name).to_owned(), value));
            }
        }
    }

    fn keys(&mut self, git: &GitIdentity) {
        if !git.signs() {
            return;
        }
        // Without a folder of keys, too: a commit that was to be signed fails, and is not made unsigned.
        self.keys = Keys::Present;
        let Some(gnupg) = gnupg_home() else { return };
        self.mounts.push(read_only(gnupg, GNUPG.to_owned()));
        self.env.push(plain("GNUPGHOME", KEYS));
        self.option("--gnupg", GNUPG.to_owned());
    }

    fn state(&mut self, agent: &dyn Agent, config: &Config, home: &Path) {
        let xdg = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let root = config.path("agent.state").or_else(|| xdg.map(|xdg| xdg.join("aifo-coder")));
        let state = root.unwrap_or_else(|| home.join(".local/state/aifo-coder")).join(agent.name());
        self.mounts.push(Mount { source: state.clone(), target: STATE.to_owned(), read_only: false });
        agent.state().iter().for_each(|path| self.option("--state", format!("{STATE}/{path}")));
        self.state = Some(state);
        self.kept = agent.state();
    }

    fn configuration(&mut self, agent: &dyn Agent, config: &Config, home: &Path) -> Result<(), Error> {
        if !config.is_on("agent.config-enable") {
            return Ok(());
        }
        let most = config.number("agent.config-max-size");
        for file in agent.config() {
            let source = home.join(file.from);
            match fits(&source) {
                Ok(true) => self.mounts.push(read_only(source, format!("{CONFIG}/home/{}", file.to))),
                Ok(false) => {}
                Err(why) => self.warnings.push(format!("`{}` is not copied in: {why}", source.display())),
            }
        }
        let named = config.path("agent.config");
        let folder = match &named {
            Some(folder) if !folder.is_absolute() || !folder.is_dir() => {
                return Err(Error::Usage(format!("`{}` is no folder to copy configuration from", folder.display())));
            }
            Some(folder) => folder.clone(),
            None => {
                env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("aifo-coder")
            }
        };
        for part in ["global", agent.name()] {
            if fs::read_dir(folder.join(part)).is_ok_and(|mut entries| entries.next().is_some()) {
                self.mounts.push(read_only(folder.join(part), format!("{CONFIG}/{part}")));
            }
        }
        self.option("--config", CONFIG.to_owned());
        self.option("--config-max-size", most.to_string());
        self.option("--config-extensions", config.text("agent.config-extensions").unwrap_or_default().to_owned());
        Ok(())
    }

    fn option(&mut self, name: &str, value: String) {
        self.options.extend([name.into(), value.into()]);
    }
}

/// Makes a folder, and those above it that are missing. Each gets the owner of the one above, so that root leaves nothing
/// of its own in somebody's HOME. False where it was there.
fn make(folder: &Path) -> io::Result<bool> {
    let parent = folder.parent().unwrap_or(Path::new("/"));
    let create = || DirBuilder::new().mode(0o700).create(folder);
    let made = match create() {
        Err(error) if error.kind() == ErrorKind::NotFound && parent != folder => make(parent).and_then(|_| create()),
        made => made,
    };
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        Err(error) => Err(error),
        Ok(()) => {
            let owner = fs::metadata(parent)?;
            if rustix::process::geteuid().is_root() && owner.uid() != 0 {
                lchown(folder, Some(owner.uid()), Some(owner.gid()))?;
            }
            Ok(true)
        }
    }
}

/// Whom root makes something for.
fn other_than_root(user: &str) -> Option<(u32, u32)> {
    let (uid, gid) = user.split_once(':')?;
    let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
    (rustix::process::geteuid().is_root() && uid != 0).then_some((uid, gid))
}

/// Makes folders below the state, which is the agent's to write: no link in it may lead elsewhere.
fn make_below(state: &Path, below: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(state, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for name in below {
        let made = rustix::fs::mkdirat(&folder, name, Mode::RWXU);
        if let Err(errno) = made
            && errno != Errno::EXIST
        {
            return Err(errno.into());
        }
        folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
        if let (Ok(()), Some((uid, gid))) = (made, owner) {
            fchown(&folder, Some(uid), Some(gid))?;
        }
    }
    Ok(())
}

/// Whether an agent's own file of the user is there, to be copied.
fn fits(file: &Path) -> Result<bool, String> {
    match fs::metadata(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error.to_string()),
        Ok(about) if !about.is_file() => Err("it is no plain file".to_owned()),
        Ok(about) if about.len() > MAX_OWN_FILE => {
            Err(format!("it has {} bytes, and {MAX_OWN_FILE} are the most", about.len()))
        }
        Ok(_) => Ok(true),
    }
}

/// The one set of names under which a company may give everybody's credentials, and what each stands in for.
fn stand_in(name: &str) -> Option<&'static str> {
    match name {
        "OPENAI_API_KEY" | "AZURE_OPENAI_API_KEY" | "AZURE_API_KEY" => Some("AIFO_API_KEY"),
        "OPENAI_BASE_URL"
        | "OPENAI_API_BASE"
        | "OPENAI_API_ENDPOINT"
        | "AZURE_OPENAI_ENDPOINT"
        | "AZURE_OPENAI_API_ENDPOINT"
        | "AZURE_API_BASE" => Some("AIFO_API_BASE"),
        "OPENAI_API_VERSION" | "AZURE_OPENAI_API_VERSION" | "AZURE_API_VERSION" => Some("AIFO_API_VERSION"),
        _ => None,
    }
}

fn gnupg_home() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from);
    set("GNUPGHOME").or_else(|| set("HOME").map(|home| home.join(".gnupg"))).filter(|path| path.is_dir())
}

fn plain(name: &str, value: &str) -> Env {
    Env::Plain(name.to_owned(), value.to_owned())
}

fn read_only(source: PathBuf, target: String) -> Mount {
    Mount { source, target, read_only: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_file_may_be_large_and_is_not_left_out_in_silence() {
        let folder = env::temp_dir().join(format!("aifo-inside-{}", std::process::id()));
        fs::create_dir_all(folder.join("folder")).unwrap();
        let file = |size| {
            fs::File::create(folder.join("file")).unwrap().set_len(size).unwrap();
            fits(&folder.join("file"))
        };
        assert_eq!((file(300 * 1024), file(MAX_OWN_FILE)), (Ok(true), Ok(true)));
        assert!(file(MAX_OWN_FILE + 1).unwrap_err().contains("16777217 bytes, and 16777216 are the most"));
        assert_eq!((fits(&folder.join("none")), fits(&folder.join("file/below"))), (Ok(false), Ok(false)));
        assert!(fits(&folder.join("folder")).unwrap_err().contains("no plain file"));
        fs::remove_dir_all(folder).unwrap();
    }
}
