//! From what was asked to a running session: resolve, check, take the lock, then act.
//!
//! Nothing is started before everything that can be checked was checked, and nothing is created for the user before the
//! agent is really run.

mod apparmor;
mod binaries;
mod caches;
mod extras;
mod git;
mod identity;
mod images;
mod inside;
mod keys;
mod local;
mod lock;
mod mask;
mod member;
mod notices;
mod places;
mod pod;
mod seed;
mod session;
mod volumes;
mod workspace;
mod worktree;

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, IsTerminal},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
};

pub(crate) use self::{
    binaries::{Binaries, SessionImage},
    caches::{CACHES, LABEL as CACHE_LABEL},
    images::Wishes,
};
use self::{
    identity::{Account, Identity, User},
    inside::Inside,
    keys::Keys,
    local::Folder,
    lock::Lock,
    pod::{Pod, Program, Request},
    session::Parts,
    volumes::Taken,
};
use crate::{
    agent::{Agent, by_name},
    config::{Config, Runtime},
    docker::{Daemon, Docker, Stdin},
    error::Error,
    image::Image,
    report,
    toolchain::{Kind, Spec},
};

/// What is to run as the agent.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// An agent with its own arguments.
    Agent { agent: &'static dyn Agent, args: Vec<OsString> },
    /// Any command in an agent's place: in the container of that agent, but without its state.
    Command { name: String, agent: Option<&'static dyn Agent>, words: Vec<OsString> },
    /// A command in a toolchain's own container.
    Toolchain { spec: Spec, words: Vec<OsString> },
}

/// How a run goes, beyond what is configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) dry_run: bool,
    pub(crate) wishes: Wishes,
}

/// Runs a task with the sidecars that are asked for. None after a dry run.
///
/// # Errors
/// Whatever keeps the session from running; the agent's own end is not an error.
pub(crate) fn run(task: &Task, config: &Config, manner: Manner) -> Result<Option<ExitStatus>, Error> {
    let identity = Identity::new()?;
    let Prepared { mut parts, request, _folder, _lock } = prepare(task, &identity, config, manner)?;
    request.program.inside.warnings.iter().chain(&request.warnings).for_each(report::warn);
    request.git.notes.iter().for_each(report::say);
    if manner.dry_run {
        let sidecars = parts.sidecars.iter().map(|(command, _)| command);
        for command in [&parts.proxy].into_iter().chain(sidecars).chain([&parts.agent]) {
            report::out(format_args!("{}\n", shown(command)));
        }
        return Ok(None);
    }
    if config.runtime() == Runtime::Local {
        report::warn("--runtime local isolates nothing: agent and tools are plain processes of this host");
    }
    let kinds: Vec<&str> = request.sidecars.iter().map(|(kind, _)| kind.name).collect();
    let with = if kinds.is_empty() { String::new() } else { format!(" with {}", kinds.join(", ")) };
    report::say(format_args!("session {}: {}{with}", identity.id, request.program.name));
    let sidecars = parts.sidecars.iter_mut().map(|(command, _)| command);
    let keys = Keys::hear([&mut parts.proxy, &mut parts.agent].into_iter().chain(sidecars));
    session::run(parts, |mut agent| keys.leave_to_agent(|| agent.wait())).map(Some)
}

/// Runs a task without a terminal and gives what it printed on standard output.
///
/// # Errors
/// As [`run`].
pub(crate) fn capture(task: &Task, config: &Config) -> Result<Output, Error> {
    let identity = Identity::new()?;
    let Prepared { mut parts, _folder, _lock, .. } = prepare(task, &identity, config, Manner::default())?;
    parts.agent.stdin(Stdio::null()).stdout(Stdio::piped());
    session::run(parts, Child::wait_with_output)
}

/// A session that is ready to run, and what must last as long as it does.
struct Prepared {
    parts: Parts,
    request: Request,
    _folder: Option<Folder>,
    _lock: Option<Lock>,
}

fn prepare(task: &Task, identity: &Identity, config: &Config, manner: Manner) -> Result<Prepared, Error> {
    match config.runtime() {
        Runtime::Docker => in_docker(task, identity, config, manner),
        Runtime::Local if cfg!(target_os = "linux") => on_host(task, identity, config, manner),
        Runtime::Local => Err(Error::LinuxOnly),
    }
}

fn in_docker(task: &Task, identity: &Identity, config: &Config, manner: Manner) -> Result<Prepared, Error> {
    let docker = Docker::find(&config.docker())?;
    let workspace = workspace::current(config.is_on("session.allow-home"), true)?;
    // Docker takes its time to answer; git and the programs are read meanwhile.
    let (daemon, image, git) = thread::scope(|scope| {
        let git = scope.spawn(|| git::Identity::read(&workspace, config.text("agent.git-sign")));
        let image = scope.spawn(|| read_programs(host_arch(), config));
        (docker.daemon(), image.join(), git.join().unwrap_or_default())
    });
    let daemon = daemon?;
    let image = match image {
        Ok(image) if daemon.arch == host_arch() => image?,
        _ => read_programs(&daemon.arch, config)?,
    };
    let request = request(task, identity, config, workspace, Some((&daemon, &git)))?;
    let lock = lock(task, &request, identity, manner)?;
    if !manner.dry_run {
        images::provide(&docker, &request, (&image, &identity.id), config, manner.wishes)?;
        request.program.inside.provide(&request.user, &request.mounts)?;
        let kinds = request.sidecars.iter().map(|(kind, _)| *kind).chain(request.program.toolchain);
        caches::provide(&docker, &caches(kinds, config), &request.user, &identity.id)?;
    }
    let pod = Pod::plan(&request, identity, config, &image);
    let sidecars = pod.sidecars.into_iter().map(|(spec, settings)| (docker.run(&spec), settings)).collect();
    let (proxy, agent) = (docker.run(&pod.proxy), docker.run(&pod.agent));
    let parts = Parts { proxy, settings: pod.settings, sidecars, agent };
    Ok(Prepared { parts, request, _folder: None, _lock: lock })
}

fn on_host(task: &Task, identity: &Identity, config: &Config, manner: Manner) -> Result<Prepared, Error> {
    let binaries = Binaries::find(config.path("session.binaries").as_deref(), host_arch())?;
    local::check(config)?;
    let workspace = workspace::current(config.is_on("session.allow-home"), false)?;
    let request = request(task, identity, config, workspace, None)?;
    let lock = lock(task, &request, identity, manner)?;
    let (parts, folder) = local::plan(&request, identity, config, &binaries)?;
    Ok(Prepared { parts, request, _folder: Some(folder), _lock: lock })
}

/// Two agents that work on their own account would undo each other's work.
fn lock(task: &Task, request: &Request, identity: &Identity, manner: Manner) -> Result<Option<Lock>, Error> {
    match task {
        Task::Agent { agent, .. } if agent.is_exclusive() && !manner.dry_run => {
            Lock::take(&request.workspace, agent.name(), &identity.id).map(Some)
        }
        _ => Ok(None),
    }
}

/// The programs for an architecture, and the image made of them.
///
/// # Errors
/// [`Error::NoBinaries`], [`Error::Read`].
pub(crate) fn read_programs(arch: &str, config: &Config) -> Result<SessionImage, Error> {
    Binaries::find(config.path("session.binaries").as_deref(), arch)?.read()
}

/// `within` is what containers have to do with; none for plain processes of this host.
fn request(
    task: &Task,
    identity: &Identity,
    config: &Config,
    workspace: PathBuf,
    within: Option<(&Daemon, &git::Identity)>,
) -> Result<Request, Error> {
    let sidecars = config.toolchains()?.into_iter().map(|spec| (spec.kind, Image::of_sidecar(&spec, config).reference));
    let sidecars: Vec<(Kind, String)> = sidecars.collect();
    let read = |path: PathBuf| fs::read(&path).map_err(|cause| Error::Read(path, cause));
    let apparmor = |(daemon, _): (&Daemon, _)| apparmor::choose(config.text("agent.apparmor"), daemon);
    let owner = fs::metadata(&workspace).map_err(|cause| Error::Read(workspace.clone(), cause))?;
    let owner = Account { uid: owner.uid(), gid: owner.gid() };
    let user =
        |(daemon, _): (&Daemon, _)| User::choose(config.text("session.user"), identity.caller, owner, daemon.users);
    let User { name, warning } = within.map(user).unwrap_or_default();
    let program = program(task, config, within.map(|(_, git)| git))?;
    let kinds = sidecars.iter().map(|(kind, _)| *kind).chain(program.toolchain);
    let caches = caches(kinds, config).iter().map(|cache| cache.target).collect();
    let taken = Taken { inside: &program.inside, caches };
    let mounts = volumes::mounts(config.list("session.volume"), &taken)?;
    // Processes of this host find the repository wherever it lies.
    let worktree = within.and_then(|_| worktree::warning(&workspace, &mounts, &taken));
    Ok(Request {
        program,
        sidecars,
        tools: config.tools()?,
        workspace,
        user: name,
        warnings: warning.into_iter().chain(worktree).collect(),
        ca: config.path("session.ca").map(read).transpose()?,
        stdin: stdin(task),
        common: extras::common(),
        proxies: extras::proxies(),
        variables: extras::variables(config)?,
        mounts,
        published: extras::ports(config)?,
        apparmor: within.map(apparmor).transpose()?.flatten(),
        git: within.map(|(_, git)| git.clone()).unwrap_or_default(),
    })
}

/// An agent looks at its standard input before it reads it: from a terminal it wants keys, from anything else all there
/// is. A terminal that it cannot have for its own, because its output goes elsewhere, would be such a thing without end.
fn stdin(task: &Task) -> Stdin {
    match (io::stdin().is_terminal(), io::stdout().is_terminal(), task) {
        (true, true, _) => Stdin::Terminal,
        (true, false, Task::Agent { agent, .. }) if agent.is_exclusive() => Stdin::Empty,
        _ => Stdin::Callers,
    }
}

/// The caches that a session's tools have.
fn caches(kinds: impl Iterator<Item = Kind>, config: &Config) -> Vec<&'static caches::Cache> {
    if config.is_on("toolchain.cache") { kinds.flat_map(caches::of).collect() } else { Vec::new() }
}

fn program(task: &Task, config: &Config, git: Option<&git::Identity>) -> Result<Program, Error> {
    Ok(match task {
        Task::Agent { agent, args } => Program {
            name: agent.name().to_owned(),
            image: Image::of_agent(*agent, config).reference,
            names: agent.binary_names().iter().map(Into::into).collect(),
            args: agent.args().iter().map(Into::into).chain(args.iter().cloned()).collect(),
            toolchain: None,
            inside: match git {
                Some(git) => Inside::gather(*agent, config, git)?,
                None => Inside::on_host(*agent, config),
            },
        },
        Task::Command { name, agent, words } => Program {
            name: name.clone(),
            image: agent
                .or_else(|| by_name("shell"))
                .map(|agent| Image::of_agent(agent, config).reference)
                .unwrap_or_default(),
            names: words.first().cloned().into_iter().collect(),
            args: words.iter().skip(1).cloned().collect(),
            toolchain: None,
            inside: match (agent, git) {
                (None, _) => Inside::default(),
                (Some(agent), Some(_)) => Inside::bare(*agent, config),
                (Some(agent), None) => Inside::on_host(*agent, config),
            },
        },
        Task::Toolchain { spec, words } => Program {
            name: spec.kind.name.to_owned(),
            image: Image::of_sidecar(spec, config).reference,
            names: words.first().cloned().map_or_else(|| vec!["bash".into(), "sh".into()], |word| vec![word]),
            args: words.iter().skip(1).cloned().collect(),
            toolchain: Some(spec.kind),
            inside: Inside::default(),
        },
    })
}

/// Docker's name for this machine's architecture.
pub(crate) fn host_arch() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let Some(word) = word.to_str() else {
        let bytes = word.as_bytes().iter().flat_map(|byte| byte.escape_ascii()).map(char::from);
        return format!("$'{}'", bytes.collect::<String>());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
