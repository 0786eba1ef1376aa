//! A session's containers: from what was asked to what docker is told. Pure.
//!
//! ```text
//! proxy    owns the network namespace and three volumes: the programs, the sockets, /tmp
//! sidecar  joins both, mounts the workspace, runs execd
//! agent    joins both, mounts the workspace, runs aifo-entrypoint and under it the command
//! ```
//!
//! The proxy's volumes are anonymous, so the last container to go takes them with it, whoever it is.

use std::{ffi::OsString, path::PathBuf};

use super::{
    binaries::{PROXY_UID, SessionImage},
    session::Identity,
};
use crate::{
    config::Config,
    control::{ProxySettings, SidecarSettings},
    docker::{Env, Mount, Network, RunSpec, Volume},
    toolchain::{HOME, Spec},
};

/// Where the workspace is in every container.
const WORKSPACE: &str = "/workspace";
const BIN: &str = "/opt/aifo/bin";
const SOCKETS: &str = "/run/aifo";
/// Links for tools that the user added, made by the proxy beside its sockets.
const ADDED_BIN: &str = "/run/aifo/bin";
const CA: &str = "/run/aifo/ca.crt";
/// The session's own loopback has no other listener yet.
const TCP: &str = "127.0.0.1:8642";

/// What a session is to be, whatever it runs on.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) agent: Agent,
    pub(crate) sidecars: Vec<Spec>,
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) workspace: PathBuf,
    /// The bundle that the user wants trusted.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) tty: bool,
    /// Of the caller's variables, those that every container gets.
    pub(crate) inherited: Vec<String>,
}

/// The command whose end is the session's end.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    /// As `AIFO_AGENT_NAME` tells it.
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) command: Vec<OsString>,
    /// A toolchain's own shell has its tools in place.
    pub(crate) shims: bool,
    pub(crate) env: Vec<(String, String)>,
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
        let user = config.user.clone().unwrap_or_else(|| identity.user.clone());
        let planner = Planner { request, identity, user };
        Self {
            proxy: planner.proxy(config, image),
            settings: planner.settings(config),
            sidecars: request.sidecars.iter().map(|spec| planner.sidecar(spec)).collect(),
            agent: planner.agent(config),
        }
    }
}

struct Planner<'a> {
    request: &'a Request,
    identity: &'a Identity,
    user: String,
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
                label("part", if role == "agent" { &self.request.agent.name } else { part }),
                label("workspace", &self.request.workspace.to_string_lossy()),
            ],
            selinux_level: self.identity.selinux_level(),
            user: self.user.clone(),
            ..RunSpec::default()
        }
    }

    fn proxy(&self, config: &Config, image: &SessionImage) -> RunSpec {
        let label = || Some(("aifo.session".to_owned(), self.identity.id.clone()));
        let own = |target| Volume { name: None, target, read_only: false, label: label() };
        RunSpec {
            image: image.reference(),
            entrypoint: format!("{BIN}/aifo-coder"),
            args: vec!["proxy".into()],
            user: format!("{PROXY_UID}:{PROXY_UID}"),
            network: Network::Own {
                network: config.network.clone().unwrap_or_else(|| "bridge".to_owned()),
                hostname: "aifo".to_owned(),
            },
            volumes: vec![
                Volume {
                    name: Some(image.volume()),
                    target: BIN,
                    read_only: true,
                    label: Some(("aifo.binaries".to_owned(), image.digest.clone())),
                },
                own(SOCKETS),
                own("/tmp"),
            ],
            read_only: true,
            // A thread for each connection, some thousand at most.
            pids: 2048,
            memory: Some("256m".to_owned()),
            ..self.base("proxy", "proxy")
        }
    }

    fn settings(&self, config: &Config) -> ProxySettings {
        let secret = |spec: &Spec| (spec.kind.name.to_owned(), self.identity.secret_of(spec.kind.name));
        let uid = self.user.split(':').next().and_then(|uid| uid.parse().ok());
        ProxySettings {
            exec_socket: format!("{SOCKETS}/exec.sock").into(),
            execd_socket: format!("{SOCKETS}/execd.sock").into(),
            tcp: config.tcp.then(|| TCP.to_owned()),
            token: self.identity.token.clone(),
            uid: uid.unwrap_or(PROXY_UID),
            sidecars: self.request.sidecars.iter().map(secret).collect(),
            tools: self.request.tools.clone(),
            max_secs: config.max_secs,
            max_calls: config.max_calls,
            ca: self.request.ca.clone(),
            remove: None,
        }
    }

    /// What agent and sidecars have in common: the proxy's network and volumes, the workspace, a HOME in memory.
    fn member(&self, part: &str, role: &str) -> RunSpec {
        let plain = |name: &str, value: &str| Env::Plain(name.to_owned(), value.to_owned());
        let mut env = vec![plain("HOME", HOME), plain("USER", "coder"), plain("LOGNAME", "coder")];
        env.extend(self.request.inherited.iter().cloned().map(Env::Inherited));
        if self.request.ca.is_some() {
            env.extend(CA_VARIABLES.iter().map(|name| plain(name, CA)));
        }
        RunSpec {
            network: Network::Of(self.name("proxy")),
            volumes_from: Some(self.name("proxy")),
            mounts: vec![Mount {
                source: self.request.workspace.clone(),
                target: WORKSPACE.to_owned(),
                read_only: false,
            }],
            tmpfs: vec![HOME.to_owned()],
            workdir: Some(WORKSPACE.to_owned()),
            pids: 8192,
            env,
            ..self.base(part, role)
        }
    }

    fn sidecar(&self, spec: &Spec) -> (RunSpec, SidecarSettings) {
        let kind = spec.kind.name;
        let mut run = RunSpec {
            image: spec.image(),
            entrypoint: format!("{BIN}/aifo-coder"),
            args: vec!["execd".into()],
            ..self.member(kind, "sidecar")
        };
        run.env.extend(spec.kind.env.iter().map(|(name, value)| Env::Plain((*name).to_owned(), (*value).to_owned())));
        let settings = SidecarSettings {
            socket: format!("{SOCKETS}/execd.sock").into(),
            kind: kind.to_owned(),
            secret: self.identity.secret_of(kind),
            roots: vec![WORKSPACE.into(), "/tmp".into()],
            login: true,
        };
        (run, settings)
    }

    fn agent(&self, config: &Config) -> RunSpec {
        let agent = &self.request.agent;
        let mut run = RunSpec {
            image: agent.image.clone(),
            entrypoint: format!("{BIN}/aifo-entrypoint"),
            tty: self.request.tty,
            ..self.member("agent", "agent")
        };
        if agent.shims {
            let added = (!self.request.tools.is_empty()).then_some(ADDED_BIN);
            for folder in [BIN].into_iter().chain(added) {
                run.args.extend(["--path".into(), folder.into()]);
            }
            run.args.push("--login-files".into());
        }
        run.args.push("--".into());
        run.args.extend(agent.command.iter().cloned());
        let plain = |name: &str, value: String| Env::Plain(name.to_owned(), value);
        let url = if config.tcp { format!("http://{TCP}/exec") } else { format!("unix://{SOCKETS}/exec.sock") };
        run.env.push(plain("AIFO_TOOLEEXEC_URL", url));
        run.env.push(Env::Secret("AIFO_TOOLEEXEC_TOKEN".to_owned(), self.identity.token.clone()));
        run.env.push(plain("AIFO_AGENT_NAME", agent.name.clone()));
        if config.shim_verbose {
            run.env.push(plain("AIFO_TOOLCHAIN_VERBOSE", "1".to_owned()));
        }
        run.env.extend(agent.env.iter().map(|(name, value)| plain(name, value.clone())));
        run
    }
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

/// The caller's variables that every container gets, where they are set.
pub(crate) const INHERITED: &[&str] = &[
    "TERM",
    "COLORTERM",
    "LANG",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];
