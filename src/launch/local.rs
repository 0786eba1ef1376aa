//! A session of plain processes: the same proxy, execd and shim on this host, without any isolation.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::fs::{DirBuilderExt, symlink},
    path::PathBuf,
    process::Command,
};

use aifo_shim::tools;

use super::{
    binaries::Binaries,
    identity::Identity,
    pod::{CA_VARIABLES, Request},
    session::Parts,
};
use crate::{
    config::Config,
    control::{ProxySettings, SidecarSettings},
    docker::Env,
    error::Error,
};

/// The folder of a local session: sockets and links. It disappears with the proxy, or with this value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    fn make(identity: &Identity, extra: &[(String, String)], binaries: &Binaries) -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("aifo-{}", identity.id));
        let failed = |cause| Error::Write(path.clone(), cause);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let folder = Self(path.clone());
        fs::create_dir(path.join("bin")).map_err(failed)?;
        let shim = binaries.folder.join("aifo-shim");
        let added = extra.iter().map(|(_, name)| name.clone());
        let names: BTreeSet<String> = tools::names().chain(["env"]).map(str::to_owned).chain(added).collect();
        for name in names {
            symlink(&shim, path.join("bin").join(name)).map_err(failed)?;
        }
        Ok(folder)
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
    let folder = Folder::make(identity, &request.tools, binaries)?;
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
    let own = request.variables.iter().filter_map(Env::value);
    agent.envs(own);
    let parts = Parts { proxy, settings, sidecars: sidecars.collect(), agent };
    Ok((parts, folder))
}

fn certificates(config: &Config) -> Vec<(&'static str, PathBuf)> {
    let ca = config.path("session.ca");
    CA_VARIABLES.iter().flat_map(|name| ca.iter().map(move |ca| (*name, ca.clone()))).collect()
}
