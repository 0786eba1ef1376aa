//! From an [`Invocation`] to a running session: resolve, check, then act.

mod binaries;
mod local;
mod pod;
mod session;
mod tar;

use std::{
    env, fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
};

pub(crate) use self::{
    binaries::{Binaries, SessionImage},
    pod::Agent,
};
use self::{
    local::Folder,
    pod::{Pod, Request},
    session::{Identity, Parts},
};
use crate::{
    cli::{Options, Runtime},
    config::Config,
    docker::Docker,
    error::Error,
    report,
    toolchain::Spec,
};

/// The image of the shell agent.
pub(crate) fn shell_image() -> String {
    format!("aifo-coder-shell:{}", crate::RELEASE)
}

/// Runs `agent` with the sidecars that the options ask for. None after a dry run.
///
/// # Errors
/// Whatever keeps the session from running; the agent's own end is not an error.
pub(crate) fn run(agent: Agent, options: &Options, config: &Config) -> Result<Option<ExitStatus>, Error> {
    let request = request(agent, options, config)?;
    let identity = Identity::new()?;
    let Prepared { parts, _folder } = prepare(&request, &identity, options, config)?;
    if options.dry_run {
        let sidecars = parts.sidecars.iter().map(|(command, _)| command);
        for command in [&parts.proxy].into_iter().chain(sidecars).chain([&parts.agent]) {
            report::out(format_args!("{}\n", shown(command)));
        }
        return Ok(None);
    }
    if options.runtime == Runtime::Local {
        report::warn("--runtime local isolates nothing: agent and tools are plain processes of this host");
    }
    let kinds: Vec<&str> = request.sidecars.iter().map(|spec| spec.kind.name).collect();
    let with = if kinds.is_empty() { String::new() } else { format!(" with {}", kinds.join(", ")) };
    report::say(format_args!("session {}: {}{with}", identity.id, request.agent.name));
    session::run(parts, |mut agent| agent.wait()).map(Some)
}

/// Runs `agent` without a terminal and gives what it printed on standard output.
///
/// # Errors
/// As [`run`].
pub(crate) fn capture(agent: Agent, options: &Options, config: &Config) -> Result<Output, Error> {
    let request = Request { tty: false, ..request(agent, options, config)? };
    let Prepared { mut parts, _folder } = prepare(&request, &Identity::new()?, options, config)?;
    parts.agent.stdin(Stdio::null()).stdout(Stdio::piped());
    session::run(parts, Child::wait_with_output)
}

fn request(agent: Agent, options: &Options, config: &Config) -> Result<Request, Error> {
    let read = |path: &PathBuf| fs::read(path).map_err(|cause| Error::Read(path.clone(), cause));
    let is_set = |name: &&&str| env::var_os(name).is_some();
    Ok(Request {
        agent,
        sidecars: options.toolchains.clone(),
        tools: options.tools.clone(),
        workspace: workspace(config)?,
        ca: config.ca.as_ref().map(read).transpose()?,
        tty: io::stdin().is_terminal() && io::stdout().is_terminal(),
        inherited: pod::INHERITED.iter().filter(is_set).map(|name| (*name).to_owned()).collect(),
    })
}

/// A session that is ready to run, and the folder that a local one lives in.
struct Prepared {
    parts: Parts,
    _folder: Option<Folder>,
}

fn prepare(request: &Request, identity: &Identity, options: &Options, config: &Config) -> Result<Prepared, Error> {
    match options.runtime {
        Runtime::Docker => {
            let docker = Docker::find(config.docker.clone())?;
            let image = session_image(&docker, config)?;
            if !options.dry_run {
                provide_images(&docker, request, &image)?;
            }
            let pod = Pod::plan(request, identity, config, &image);
            let sidecars = pod.sidecars.into_iter().map(|(spec, settings)| (docker.run(&spec), settings)).collect();
            let (proxy, agent) = (docker.run(&pod.proxy), docker.run(&pod.agent));
            Ok(Prepared { parts: Parts { proxy, settings: pod.settings, sidecars, agent }, _folder: None })
        }
        Runtime::Local if cfg!(target_os = "linux") => {
            let binaries = Binaries::find(config.binaries.as_deref(), host_arch())?;
            let (parts, folder) = local::plan(request, identity, config, &binaries)?;
            Ok(Prepared { parts, _folder: Some(folder) })
        }
        Runtime::Local => Err(Error::LinuxOnly),
    }
}

/// The programs for the daemon's architecture. It is nearly always the host's, so those are read while docker is asked.
pub(crate) fn session_image(docker: &Docker, config: &Config) -> Result<SessionImage, Error> {
    let read = |arch: &str| Binaries::find(config.binaries.as_deref(), arch)?.read();
    let (platform, guessed) = thread::scope(|scope| {
        let guessed = scope.spawn(|| read(host_arch()));
        (docker.platform(), guessed.join())
    });
    let platform = platform?;
    let arch = platform.strip_prefix("linux/").ok_or_else(|| Error::Platform(platform.clone()))?;
    match guessed {
        Ok(guessed) if arch == host_arch() => guessed,
        _ => read(arch),
    }
}

/// Makes the session image where it is missing, and looks for the others.
fn provide_images(docker: &Docker, request: &Request, image: &SessionImage) -> Result<(), Error> {
    let reference = image.reference();
    let mut wanted: Vec<String> = vec![reference.clone(), request.agent.image.clone()];
    wanted.extend(request.sidecars.iter().map(Spec::image));
    wanted.dedup();
    let asked: Vec<&str> = wanted.iter().map(String::as_str).collect();
    for missing in docker.missing_images(&asked)? {
        if missing == reference {
            report::say(format_args!("making {reference}"));
            let label = format!("LABEL aifo.binaries={}", image.digest);
            let words = ["import", "--change", &label, "-", &reference].map(str::to_owned);
            docker.feed(&words, &image.archive)?;
        } else if is_ours(&missing) {
            return Err(Error::NoImage(missing));
        } else {
            pull(docker, &missing)?;
        }
    }
    Ok(())
}

/// Our names without a registry are built, never looked for at a public one, where anybody could own them.
fn is_ours(image: &str) -> bool {
    image.starts_with("aifo-coder-")
}

fn pull(docker: &Docker, image: &str) -> Result<(), Error> {
    report::say(format_args!("pulling {image}"));
    // Docker's own progress is talk, so it goes where talk goes.
    let output = docker.command().args(["pull", image]).stdout(io::stderr()).stderr(Stdio::piped()).spawn();
    let output = output.and_then(Child::wait_with_output).map_err(|cause| Error::Start("docker".into(), cause))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Pull { image: image.to_owned(), said: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}

/// The current folder, if an agent may have it.
fn workspace(config: &Config) -> Result<PathBuf, Error> {
    let folder = env::current_dir().and_then(fs::canonicalize).map_err(|cause| Error::Read(".".into(), cause))?;
    let refuse = |why| Err(Error::Workspace { folder: folder.clone(), why });
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    if folder == Path::new("/") {
        return refuse("it is the root of the file system");
    }
    if Some(&folder) == home.as_ref() && !config.allow_home {
        return refuse("it is your home directory");
    }
    match folder.to_str() {
        None => refuse("its name is not UTF-8, which docker cannot mount"),
        Some(name) if name.contains('\r') => refuse("its name holds a carriage return, which docker cannot mount"),
        Some(_) => Ok(folder),
    }
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
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
