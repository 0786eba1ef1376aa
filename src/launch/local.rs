//! A session of plain processes: the same proxy, execd and shim on this host, without any isolation.
//!
//! What only a container can be is refused where it was asked for by hand, and named where it was set for every session.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::fs::{DirBuilderExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use aifo_shim::{given, tools};

use super::{
    binaries::Binaries,
    identity::Identity,
    places::SHELL,
    pod::{CA_VARIABLES, Request},
    session::Parts,
};
use crate::{
    config::{Config, Origin, Resolved},
    control::{ProxySettings, SidecarSettings},
    docker::Env,
    error::Error,
    report,
};

/// Settings that only containers have a use for.
const OF_CONTAINERS: &[&str] = &[
    "session.volume",
    "session.publish",
    "session.network",
    "session.user",
    "image.agent",
    "image.flavor",
    "agent.apparmor",
];

/// Whether this session needs docker after all.
///
/// # Errors
/// [`Error::Usage`] for an option that plain processes cannot obey.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    let is_set = |resolved: &&Resolved| {
        let key = resolved.setting.key;
        // A sidecar is this host's own tools here, whatever the version or image.
        let names_image = || key == "session.toolchain" && resolved.values.iter().any(|it| it.contains(['@', '=']));
        resolved.origin != Origin::Default && (OF_CONTAINERS.contains(&key) || names_image())
    };
    for Resolved { setting, values, origin } in config.all().iter().filter(is_set) {
        match origin {
            Origin::Option(option) => {
                let value = values.last().map(String::as_str).unwrap_or_default();
                return Err(Error::Usage(format!(
                    "`--{option} {value}` needs a container, and --runtime local has none: leave one of the two out"
                )));
            }
            _ => report::warn(format_args!("{origin}: --runtime local has no container for `{}`", setting.key)),
        }
    }
    Ok(())
}

/// The folder of a local session: sockets and links. It disappears with the proxy, or with this value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    fn make(identity: &Identity, request: &Request, binaries: &Binaries) -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("aifo-{}", identity.id));
        let failed = |cause| Error::Write(path.clone(), cause);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let folder = Self(path.clone());
        fs::create_dir(path.join("bin")).map_err(failed)?;
        let shim = binaries.folder.join("aifo-shim");
        let own = found_by_path(&request.program.inside.env, |place| Path::new(place).exists());
        let listed = tools::names().filter(|name| !own.contains(name)).chain(["env"]);
        let added = request.tools.iter().map(|(_, name)| name.clone());
        let names: BTreeSet<String> = listed.map(str::to_owned).chain(added).collect();
        for name in names {
            symlink(&shim, path.join("bin").join(name)).map_err(failed)?;
        }
        symlink(binaries.folder.join("aifo-entrypoint"), folder.shell()).map_err(failed)?;
        Ok(folder)
    }

    /// Our shell, by the name that it has in containers.
    fn shell(&self) -> PathBuf {
        self.0.join("bin").join(Path::new(SHELL).file_name().unwrap_or_default())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The proxy has usually removed it already.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A local session's processes, and their folder.
pub(crate) fn plan(
    request: &Request,
    identity: &Identity,
    config: &Config,
    binaries: &Binaries,
) -> Result<(Parts, Folder), Error> {
    let folder = Folder::make(identity, request, binaries)?;
    let (exec, execd) = (folder.0.join("exec.sock"), folder.0.join("execd.sock"));
    let launcher = || Command::new(binaries.folder.join("aifo-coder"));
    let mut proxy = launcher();
    proxy.arg("proxy");
    let settings = ProxySettings {
        exec_socket: exec.clone(),
        execd_socket: execd.clone(),
        tcp: config.is_on("tool.tcp").then(|| "127.0.0.1:0".to_owned()),
        token: identity.token.clone(),
        uid: rustix::process::getuid().as_raw(),
        sidecars: request
            .sidecars
            .iter()
            .map(|(kind, _)| (kind.name.to_owned(), identity.secret_of(kind.name)))
            .collect(),
        tools: request.tools.clone(),
        max_secs: Some(config.number("tool.max-secs")).filter(|&secs| secs > 0),
        max_calls: usize::try_from(config.number("tool.max-calls")).unwrap_or(1),
        ca: None,
        remove: Some(folder.0.clone()),
    };
    let sidecars = request.sidecars.iter().map(|(kind, _)| {
        let mut command = launcher();
        command.arg("execd").envs(certificates(config));
        let settings = SidecarSettings {
            socket: execd.clone(),
            kind: kind.name.to_owned(),
            secret: identity.secret_of(kind.name),
            roots: vec![request.workspace.clone(), std::env::temp_dir()],
            login: false,
            env: Vec::new(),
            git: String::new(),
        };
        (command, settings)
    });
    let program = &request.program;
    let mut agent = Command::new(binaries.folder.join("aifo-entrypoint"));
    if program.toolchain.is_none() {
        agent.arg("--path").arg(folder.0.join("bin"));
    }
    agent.args(program.names.iter().skip(1).flat_map(|name| [OsStr::new("--or"), name]));
    agent.arg("--").args(program.names.first()).args(&program.args);
    agent.env("AIFO_TOOLEEXEC_URL", format!("unix://{}", exec.display()));
    agent.env("AIFO_TOOLEEXEC_TOKEN", &identity.token);
    agent.env("AIFO_AGENT_NAME", &program.name);
    agent.env("AIFO_WORKSPACE", &request.workspace);
    agent.envs(certificates(config));
    if config.is_on("tool.verbose") {
        agent.env("AIFO_TOOLCHAIN_VERBOSE", "1");
    }
    tell(&mut agent, request, &folder);
    let parts = Parts { proxy, settings, sidecars: sidecars.collect(), agent };
    Ok((parts, folder))
}

/// Gives the agent its variables. What is passed on by its name alone is there already.
fn tell(agent: &mut Command, request: &Request, folder: &Folder) {
    // There is no docker client in between that could obey them.
    for given in given::all() {
        agent.env_remove(given.before);
    }
    for (name, value) in request.program.inside.env.iter().chain(&request.variables).filter_map(Env::value) {
        if value == SHELL {
            agent.env(name, folder.shell())
        } else {
            agent.env(name, value)
        };
    }
}

/// The names of the agent's own runtime where no shim would find it in place, as a version manager installs it: without
/// a shim of that name PATH finds it. Its sidecar would run the very same program.
fn found_by_path(env: &[Env], is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let runtimes: [(&str, &[&str], &[&str]); 2] = [
        ("AIFO_SHIM_SMART_NODE", tools::LOCAL_NODE, &["node"]),
        ("AIFO_SHIM_SMART_PYTHON", tools::LOCAL_PYTHON, &["python", "python3"]),
    ];
    let is_own = |switch: &str| env.iter().any(|variable| variable.name() == switch);
    let lost =
        runtimes.iter().filter(|(switch, places, _)| is_own(switch) && !places.iter().any(|place| is_there(place)));
    lost.flat_map(|(_, _, names)| names.iter().copied()).collect()
}

fn certificates(config: &Config) -> Vec<(&'static str, PathBuf)> {
    let ca = config.path("session.ca");
    CA_VARIABLES.iter().flat_map(|name| ca.iter().map(move |ca| (*name, ca.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_runtime_that_no_shim_would_find_gets_none() {
        let switch = |name: &str| Env::Plain(name.to_owned(), "1".to_owned());
        let both = [switch("AIFO_SHIM_SMART_NODE"), switch("AIFO_SHIM_SMART_PYTHON")];
        assert_eq!(found_by_path(&both, |_| false), ["node", "python", "python3"]);
        assert_eq!(found_by_path(&both[..1], |_| false), ["node"]);
        assert_eq!(found_by_path(&both, |place| place == "/usr/bin/node"), ["python", "python3"]);
        assert_eq!(found_by_path(&[], |_| false), Vec::<&str>::new());
    }
}
