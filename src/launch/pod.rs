//! A session's containers: from what was asked to what docker is told. Pure.
//!
//! ```text
//! proxy    owns the network namespace and three volumes: the programs, the sockets, /tmp
//! sidecar  joins both, mounts the workspace and its caches, runs execd
//! agent    joins both, mounts the workspace and its own state, runs aifo-entrypoint and under it the command
//! ```
//!
//! The proxy's volumes are anonymous, so the last container to go takes them with it, whoever it is.

use std::{ffi::OsString, path::PathBuf};

use aifo_shim::git;

use super::{
    binaries::{PROXY_UID, SessionImage},
    caches,
    git::{Identity as GitIdentity, Keys},
    identity::Identity,
    inside::Inside,
    places::{ADDED_BIN, BIN, CA, SOCKETS, USERS, WORKSPACE},
    volumes,
};
use crate::{
    config::Config,
    control::{ProxySettings, SidecarSettings},
    docker::{Env, Mount, Network, RunSpec, Stdin, Volume},
    toolchain::{HOME, Kind},
};

/// The session's own loopback has no other listener yet.
const TCP: &str = "127.0.0.1:8642";

/// What a session is to be, whatever it runs on.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) program: Program,
    pub(crate) sidecars: Vec<(Kind, String)>,
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) workspace: PathBuf,
    /// `uid:gid` in the containers.
    pub(crate) user: String,
    /// The bundle that the user wants trusted.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) stdin: Stdin,
    /// What every container gets: of the caller's variables those that concern all, and the time zone.
    pub(crate) common: Vec<Env>,
    /// The caller's proxies, for agent and tools.
    pub(crate) proxies: Vec<(String, OsString)>,
    /// Added by hand: for the agent alone, for agent and sidecars, for the session.
    pub(crate) variables: Vec<Env>,
    pub(crate) mounts: Vec<Mount>,
    /// What is to be said of user and workspace.
    pub(crate) warnings: Vec<String>,
    pub(crate) published: Vec<String>,
    /// Who commits, in every container.
    pub(crate) git: GitIdentity,
    pub(crate) apparmor: Option<String>,
}

/// The command whose end is the session's end.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// As `AIFO_AGENT_NAME` tells it.
    pub(crate) name: String,
    pub(crate) image: String,
    /// Its names, of which the first that is there is run, and its arguments.
    pub(crate) names: Vec<OsString>,
    pub(crate) args: Vec<OsString>,
    /// A toolchain's own shell has its tools in place, and their caches.
    pub(crate) toolchain: Option<Kind>,
    pub(crate) inside: Inside,
}

/// A session's containers and what proxy and sidecars are told.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) proxy: RunSpec,
    pub(crate) settings: ProxySettings,
    pub(crate) sidecars: Vec<(RunSpec, SidecarSettings)>,
    pub(crate) agent: RunSpec,
}

impl Pod {
    pub(crate) fn plan(request: &Request, identity: &Identity, config: &Config, image: &SessionImage) -> Self {
        let planner = Planner { request, identity, config };
        Self {
            proxy: planner.proxy(image),
            settings: planner.settings(),
            sidecars: request.sidecars.iter().map(|(kind, image)| planner.sidecar(*kind, image)).collect(),
            agent: planner.agent(),
        }
    }
}

struct Planner<'a> {
    request: &'a Request,
    identity: &'a Identity,
    config: &'a Config,
}

impl Planner<'_> {
    fn name(&self, part: &str) -> String {
        format!("aifo-{}-{part}", self.identity.id)
    }

    /// What every container of the session has.
    fn base(&self, part: &str, role: &str) -> RunSpec {
        let label = |name: &str, value: &str| (format!("aifo.{name}"), value.to_owned());
        RunSpec {
            name: self.name(part),
            labels: vec![
                label("session", &self.identity.id),
                label("role", role),
                label("part", if role == "agent" { &self.request.program.name } else { part }),
                label("workspace", &self.request.workspace.to_string_lossy()),
            ],
            selinux_level: self.identity.selinux_level(),
            apparmor: self.request.apparmor.clone(),
            user: self.request.user.clone(),
            ..RunSpec::default()
        }
    }

    fn proxy(&self, image: &SessionImage) -> RunSpec {
        let label = || Some(("aifo.session".to_owned(), self.identity.id.clone()));
        let own = |target| Volume { name: None, target, read_only: false, label: label() };
        RunSpec {
            image: image.reference(),
            entrypoint: format!("{BIN}/aifo-coder"),
            args: vec!["proxy".into()],
            user: format!("{PROXY_UID}:{PROXY_UID}"),
            network: Network::Own {
                network: self.config.text("session.network").unwrap_or("bridge").to_owned(),
                hostname: "aifo".to_owned(),
                published: self.request.published.clone(),
            },
            volumes: vec![image.volume(), own(SOCKETS), own("/tmp")],
            read_only: true,
            // A thread for each connection, some thousand at most.
            pids: 2048,
            memory: Some("256m".to_owned()),
            ..self.base("proxy", "proxy")
        }
    }

    fn settings(&self) -> ProxySettings {
        let secret = |(kind, _): &(Kind, String)| (kind.name.to_owned(), self.identity.secret_of(kind.name));
        let uid = self.request.user.split(':').next().and_then(|uid| uid.parse().ok());
        ProxySettings {
            exec_socket: format!("{SOCKETS}/exec.sock").into(),
            execd_socket: format!("{SOCKETS}/execd.sock").into(),
            tcp: self.config.is_on("tool.tcp").then(|| TCP.to_owned()),
            token: self.identity.token.clone(),
            uid: uid.unwrap_or(PROXY_UID),
            sidecars: self.request.sidecars.iter().map(secret).collect(),
            tools: self.request.tools.clone(),
            max_secs: Some(self.config.number("tool.max-secs")).filter(|&secs| secs > 0),
            max_calls: usize::try_from(self.config.number("tool.max-calls")).unwrap_or(1),
            ca: self.request.ca.clone(),
            remove: None,
        }
    }

    /// What agent and sidecars have in common: the proxy's network and volumes, the workspace, a HOME in memory.
    fn member(&self, part: &str, role: &str) -> RunSpec {
        let mut env = vec![plain("HOME", HOME), plain("USER", "coder"), plain("LOGNAME", "coder")];
        env.extend(self.request.common.iter().cloned());
        if self.request.ca.is_some() {
            env.extend(CA_VARIABLES.iter().map(|name| plain(name, CA)));
        }
        let workspace =
            Mount { source: self.request.workspace.clone(), target: WORKSPACE.to_owned(), read_only: false };
        RunSpec {
            network: Network::Of(self.name("proxy")),
            volumes_from: Some(self.name("proxy")),
            mounts: [workspace].into_iter().chain(self.request.mounts.iter().cloned()).collect(),
            tmpfs: vec![HOME.to_owned(), USERS.to_owned()],
            workdir: Some(WORKSPACE.to_owned()),
            pids: 8192,
            env,
            ..self.base(part, role)
        }
    }

    /// What the tools of a kind need, in a sidecar or in a shell of their own.
    fn equip(&self, run: &mut RunSpec, kind: Kind) {
        run.env.extend(kind.env.iter().map(|(name, value)| plain(name, value)));
        if self.config.is_on("toolchain.cache") {
            run.volumes.extend(caches::of(kind).map(|cache| cache.mount(&self.request.user)));
        }
    }

    /// Volumes in what the agent keeps go through its state; for those elsewhere in HOME the folders above are memory too.
    fn place_volumes(&self, run: &mut RunSpec, inside: &Inside) {
        run.mounts.iter_mut().for_each(|mount| mount.target = inside.place_of(&mount.target));
        let places: Vec<String> = self.request.mounts.iter().map(|volume| inside.place_of(&volume.target)).collect();
        let mounts = run.mounts.iter().map(|mount| mount.target.as_str());
        let mounted: Vec<&str> = mounts.chain(run.volumes.iter().map(|volume| volume.target)).collect();
        let folders = volumes::folders_above(places.iter().map(String::as_str), &mounted);
        run.tmpfs.extend(folders);
    }

    fn sidecar(&self, kind: Kind, image: &str) -> (RunSpec, SidecarSettings) {
        let mut run = RunSpec {
            image: image.to_owned(),
            entrypoint: format!("{BIN}/aifo-coder"),
            args: vec!["execd".into()],
            ..self.member(kind.name, "sidecar")
        };
        self.equip(&mut run, kind);
        self.place_volumes(&mut run, &Inside::default());
        run.env.extend(self.signing(Keys::Absent));
        let settings = SidecarSettings {
            socket: format!("{SOCKETS}/execd.sock").into(),
            kind: kind.name.to_owned(),
            secret: self.identity.secret_of(kind.name),
            roots: vec![WORKSPACE.into(), "/tmp".into()],
            login: true,
            // Docker would show them to everybody who may ask it.
            env: self.request.proxies.clone(),
            git: self.request.git.file(Keys::Absent),
        };
        (run, settings)
    }

    fn agent(&self) -> RunSpec {
        let program = &self.request.program;
        let mut run = RunSpec {
            image: program.image.clone(),
            entrypoint: format!("{BIN}/aifo-entrypoint"),
            args: self.entrypoint_words(),
            stdin: self.request.stdin,
            ..self.member("agent", "agent")
        };
        run.mounts.extend(program.inside.mounts.iter().cloned());
        let url = if self.config.is_on("tool.tcp") {
            format!("http://{TCP}/exec")
        } else {
            format!("unix://{SOCKETS}/exec.sock")
        };
        run.env.push(plain("AIFO_TOOLEEXEC_URL", &url));
        run.env.push(Env::Secret("AIFO_TOOLEEXEC_TOKEN".to_owned(), self.identity.token.clone()));
        run.env.push(plain("AIFO_AGENT_NAME", &program.name));
        if program.toolchain.is_none() {
            // The entrypoint makes it; a toolchain's own container is left as its image has it, as sidecars are.
            let uid = self.request.user.split(':').next().unwrap_or_default();
            run.env.push(plain("XDG_RUNTIME_DIR", &format!("/tmp/runtime-{uid}")));
        }
        if self.config.is_on("tool.verbose") {
            run.env.push(plain("AIFO_TOOLCHAIN_VERBOSE", "1"));
        }
        if let Some(kind) = program.toolchain {
            self.equip(&mut run, kind);
        }
        self.place_volumes(&mut run, &program.inside);
        run.env.extend(self.request.proxies.iter().map(|(name, _)| Env::Inherited(name.clone())));
        run.env.extend(self.signing(program.inside.keys));
        let who = self.request.git.file(program.inside.keys);
        if !who.is_empty() {
            run.env.push(Env::Secret(git::TEXT.to_owned(), who));
        }
        for variable in program.inside.env.iter().chain(&self.request.variables) {
            run.env.retain(|other| other.name() != variable.name());
            run.env.push(variable.clone());
        }
        run
    }

    fn signing(&self, keys: Keys) -> impl Iterator<Item = Env> {
        self.request.git.variables(keys).into_iter().map(|(name, value)| plain(name, value))
    }

    /// `aifo-entrypoint`'s options, and behind them the command.
    fn entrypoint_words(&self) -> Vec<OsString> {
        let program = &self.request.program;
        let mut words: Vec<OsString> = Vec::new();
        if program.toolchain.is_none() {
            let added = (!self.request.tools.is_empty()).then_some(ADDED_BIN);
            for folder in [BIN].into_iter().chain(added) {
                words.extend(["--path".into(), folder.into()]);
            }
            words.push("--login-files".into());
        }
        words.push("--git".into());
        words.extend(program.inside.options.iter().cloned());
        for name in program.names.iter().skip(1) {
            words.extend(["--or".into(), name.clone()]);
        }
        words.push("--".into());
        words.extend(program.names.first().cloned());
        words.extend(program.args.iter().cloned());
        words
    }
}

fn plain(name: &str, value: &str) -> Env {
    Env::Plain(name.to_owned(), value.to_owned())
}

/// How the common tools are told which certificates to trust.
pub(super) const CA_VARIABLES: &[&str] = &[
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
];
