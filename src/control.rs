//! What the launcher says to proxy and sidecars, and the proxy to the launcher, on their standard input and output: one
//! form-encoded line a message.
//!
//! Everything secret travels here, never in argv, the environment or a label, so that neither `ps` nor `docker inspect`
//! shows it. The stream is also the lifeline: when the launcher is gone, the proxy reads its end and ends too.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use aifo_shim::wire::{
    env,
    form::{self, Pair},
};

/// The first line: all that a proxy needs to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProxySettings {
    /// Where agents ask.
    pub(crate) exec_socket: PathBuf,
    /// Where sidecars dial in.
    pub(crate) execd_socket: PathBuf,
    /// A loopback address for protocols 1 and 2 as well, `127.0.0.1:0` for any port.
    pub(crate) tcp: Option<String>,
    pub(crate) token: String,
    /// The user that agent and sidecars run as; nobody else is listened to.
    pub(crate) uid: u32,
    /// Each expected sidecar's kind and secret.
    pub(crate) sidecars: Vec<(String, String)>,
    /// Tools beyond the table, with the kind that holds them.
    pub(crate) tools: Vec<(String, String)>,
    /// The limit on a tool's run time, in seconds.
    pub(crate) max_secs: Option<u64>,
    /// How many tools run at once; the others wait.
    pub(crate) max_calls: usize,
    /// Certificates to put beside the sockets, where agent and sidecars find them.
    pub(crate) ca: Option<Vec<u8>>,
    /// A folder that the proxy removes when it ends, because everybody else may be gone by then; only ever the folder
    /// of a session without containers.
    pub(crate) remove: Option<PathBuf>,
}

impl ProxySettings {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut line = Vec::new();
        let mut put = |key, value: &[u8]| form::encode(key, value, &mut line);
        put("exec_socket", self.exec_socket.as_os_str().as_encoded_bytes());
        put("execd_socket", self.execd_socket.as_os_str().as_encoded_bytes());
        self.tcp.iter().for_each(|tcp| put("tcp", tcp.as_bytes()));
        put("token", self.token.as_bytes());
        put("uid", self.uid.to_string().as_bytes());
        self.sidecars.iter().for_each(|(kind, secret)| put("sidecar", format!("{kind}:{secret}").as_bytes()));
        self.tools.iter().for_each(|(kind, tool)| put("tool", format!("{kind}:{tool}").as_bytes()));
        self.max_secs.iter().for_each(|secs| put("max_secs", secs.to_string().as_bytes()));
        put("max_calls", self.max_calls.to_string().as_bytes());
        self.ca.iter().for_each(|ca| put("ca", ca));
        self.remove.iter().for_each(|folder| put("remove", folder.as_os_str().as_encoded_bytes()));
        put("version", env!("CARGO_PKG_VERSION").as_bytes());
        line.push(b'\n');
        line
    }

    /// None for settings of another version: launcher and proxy are one program, and never guess at each other.
    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let mut settings = Self::default();
        let mut same_version = false;
        for Pair { key, value } in form::decode(line).ok()? {
            if key == b"ca" {
                settings.ca = Some(value);
                continue;
            }
            let value = String::from_utf8(value).ok()?;
            let two = || value.split_once(':').map(|(kind, rest)| (kind.to_owned(), rest.to_owned()));
            match key.as_slice() {
                b"exec_socket" => settings.exec_socket = value.into(),
                b"execd_socket" => settings.execd_socket = value.into(),
                b"tcp" => settings.tcp = Some(value),
                b"token" => settings.token = value,
                b"uid" => settings.uid = value.parse().ok()?,
                b"sidecar" => settings.sidecars.push(two()?),
                b"tool" => settings.tools.push(two()?),
                b"max_secs" => settings.max_secs = Some(value.parse().ok()?),
                b"max_calls" => settings.max_calls = value.parse().ok()?,
                b"remove" => settings.remove = Some(value.into()),
                b"version" => same_version = value == env!("CARGO_PKG_VERSION"),
                _ => return None,
            }
        }
        (same_version && !settings.token.is_empty() && settings.max_calls > 0).then_some(settings)
    }
}

/// The one line that a sidecar's execd gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SidecarSettings {
    /// Where the proxy takes sidecars in.
    pub(crate) socket: PathBuf,
    pub(crate) kind: String,
    pub(crate) secret: String,
    /// What agent and sidecar share: where calls may run. The first is the workspace.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether a login shell is asked for its environment.
    pub(crate) login: bool,
    /// Variables of its tools that may hold a secret, as a proxy's address does.
    pub(crate) env: Vec<(String, OsString)>,
    /// Git's settings for the tools; empty where the user's own are in place.
    pub(crate) git: String,
}

impl SidecarSettings {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut line = Vec::new();
        let mut put = |key, value: &[u8]| form::encode(key, value, &mut line);
        put("socket", self.socket.as_os_str().as_encoded_bytes());
        put("kind", self.kind.as_bytes());
        put("secret", self.secret.as_bytes());
        self.roots.iter().for_each(|root| put("root", root.as_os_str().as_encoded_bytes()));
        put("login", if self.login { b"1" } else { b"0" });
        let joined = |(name, value): &(String, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        self.env.iter().for_each(|variable| put("env", &joined(variable)));
        put("git", self.git.as_bytes());
        line.push(b'\n');
        line
    }

    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let mut settings = Self::default();
        for Pair { key, value } in form::decode(line).ok()? {
            match key.as_slice() {
                b"root" => settings.roots.push(path(value)),
                b"socket" => settings.socket = path(value),
                b"kind" => settings.kind = String::from_utf8(value).ok()?,
                b"secret" => settings.secret = String::from_utf8(value).ok()?,
                b"login" => settings.login = value == b"1",
                b"env" => settings.env.push(variable(&value)?),
                b"git" => settings.git = String::from_utf8(value).ok()?,
                _ => return None,
            }
        }
        (!settings.roots.is_empty() && !settings.secret.is_empty()).then_some(settings)
    }
}

/// A path is bytes, not text.
fn path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// So is a variable's value.
fn variable(bytes: &[u8]) -> Option<(String, OsString)> {
    let name = env::name_of(bytes)?;
    let value = bytes.get(name.len() + 1..)?.to_vec();
    Some((String::from_utf8(name.to_vec()).ok()?, OsString::from_vec(value)))
}

/// A later line: a sidecar will not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SidecarFailed {
    pub(crate) kind: String,
    pub(crate) reason: String,
}

impl SidecarFailed {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut line = Vec::new();
        form::encode("failed", self.kind.as_bytes(), &mut line);
        form::encode("reason", self.reason.as_bytes(), &mut line);
        line.push(b'\n');
        line
    }

    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let mut pairs = form::decode(line).ok()?.into_iter();
        let mut next = |key: &[u8]| {
            let pair = pairs.next().filter(|pair| pair.key == key)?;
            String::from_utf8(pair.value).ok()
        };
        Some(Self { kind: next(b"failed")?, reason: next(b"reason")? })
    }
}

/// What the proxy tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It listens; the TCP address where one was asked for.
    Ready {
        tcp: Option<String>,
    },
    Up {
        kind: String,
    },
    Gone {
        kind: String,
    },
    Call(CallRecord),
    /// So many notices were lost because nobody read them.
    Lost {
        count: u64,
    },
}

/// One call, when it has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallRecord {
    pub(crate) exec_id: String,
    pub(crate) kind: String,
    pub(crate) tool: String,
    /// The arguments as far as they fit [`CallRecord::MAX_ARGS`], not text.
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) args_total: usize,
    pub(crate) cwd: Vec<u8>,
    pub(crate) proto: u8,
    pub(crate) code: u8,
    pub(crate) signal: Option<u8>,
    pub(crate) reason: String,
    pub(crate) wall_us: u64,
    pub(crate) cpu_us: u64,
    pub(crate) peak_kib: u64,
}

impl CallRecord {
    /// Bytes of arguments that a record keeps.
    pub(crate) const MAX_ARGS: usize = 1024;
}

impl Notice {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut line = Vec::new();
        let mut put = |key, value: &[u8]| form::encode(key, value, &mut line);
        match self {
            Self::Ready { tcp } => put("ready", tcp.as_deref().unwrap_or_default().as_bytes()),
            Self::Up { kind } => put("up", kind.as_bytes()),
            Self::Gone { kind } => put("gone", kind.as_bytes()),
            Self::Lost { count } => put("lost", count.to_string().as_bytes()),
            Self::Call(call) => {
                put("call", call.exec_id.as_bytes());
                put("kind", call.kind.as_bytes());
                put("tool", call.tool.as_bytes());
                call.args.iter().for_each(|arg| put("arg", arg));
                put("cwd", &call.cwd);
                put("reason", call.reason.as_bytes());
                let signal = call.signal.map_or(0, u64::from);
                let numbers: [(&str, u64); 7] = [
                    ("args_total", call.args_total as u64),
                    ("proto", call.proto.into()),
                    ("code", call.code.into()),
                    ("signal", signal),
                    ("wall_us", call.wall_us),
                    ("cpu_us", call.cpu_us),
                    ("peak_kib", call.peak_kib),
                ];
                numbers.iter().for_each(|(key, number)| put(key, number.to_string().as_bytes()));
            }
        }
        line.push(b'\n');
        line
    }

    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let mut pairs = form::decode(line).ok()?.into_iter();
        let Pair { key, value } = pairs.next()?;
        let value = String::from_utf8(value).ok()?;
        Some(match key.as_slice() {
            b"ready" => Self::Ready { tcp: Some(value).filter(|tcp| !tcp.is_empty()) },
            b"up" => Self::Up { kind: value },
            b"gone" => Self::Gone { kind: value },
            b"lost" => Self::Lost { count: value.parse().ok()? },
            b"call" => Self::Call(decode_call(value, pairs)?),
            _ => return None,
        })
    }
}

fn decode_call(exec_id: String, pairs: impl Iterator<Item = Pair>) -> Option<CallRecord> {
    let mut call = CallRecord { exec_id, ..CallRecord::default() };
    for Pair { key, value } in pairs {
        let text = || String::from_utf8(value.clone()).ok();
        let number = || text()?.parse::<u64>().ok();
        match key.as_slice() {
            b"kind" => call.kind = text()?,
            b"tool" => call.tool = text()?,
            b"arg" => call.args.push(value),
            b"cwd" => call.cwd = value,
            b"reason" => call.reason = text()?,
            b"args_total" => call.args_total = number()?.try_into().ok()?,
            b"proto" => call.proto = number()?.try_into().ok()?,
            b"code" => call.code = number()?.try_into().ok()?,
            b"signal" => call.signal = Some(number()?.try_into().ok()?).filter(|&signal| signal > 0),
            b"wall_us" => call.wall_us = number()?,
            b"cpu_us" => call.cpu_us = number()?,
            b"peak_kib" => call.peak_kib = number()?,
            _ => return None,
        }
    }
    Some(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way_there() {
        let settings = ProxySettings {
            exec_socket: "/run/aifo/exec.sock".into(),
            execd_socket: "/run/aifo/a b.sock".into(),
            tcp: Some("127.0.0.1:0".into()),
            token: "t".into(),
            uid: 1000,
            sidecars: vec![("c-cpp".into(), "s:1".into()), ("go".into(), "s2".into())],
            tools: vec![("node".into(), "vite".into())],
            max_secs: Some(9),
            max_calls: 4,
            ca: Some(b"-----BEGIN\n\xff".to_vec()),
            remove: Some("/tmp/x".into()),
        };
        let line = settings.encode();
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(ProxySettings::decode(line.trim_ascii_end()), Some(settings));
        assert_eq!(ProxySettings::decode(b"max_calls=1"), None, "no token, no proxy");
        let settings = SidecarSettings {
            socket: "/run/aifo/execd.sock".into(),
            kind: "go".into(),
            secret: "s".into(),
            roots: vec!["/workspace".into(), "/tmp".into()],
            login: true,
            git: "[user]\n\tname = A\n".into(),
            env: vec![("HTTP_PROXY".into(), OsString::from_vec(b"http://u:p=x@h\n\xff".to_vec()))],
        };
        assert_eq!(SidecarSettings::decode(settings.encode().trim_ascii_end()), Some(settings));
        let failed = SidecarFailed { kind: "rust".into(), reason: "no such image: a\nb".into() };
        assert_eq!(SidecarFailed::decode(failed.encode().trim_ascii_end()), Some(failed));
    }

    #[test]
    fn notices_survive_the_way_back() {
        let call = CallRecord {
            exec_id: "ab".into(),
            kind: "rust".into(),
            tool: "cargo".into(),
            args: vec![b"\xff\n".to_vec(), Vec::new()],
            args_total: 20_000,
            cwd: b"/workspace/\xfe".to_vec(),
            proto: 3,
            code: 137,
            signal: Some(9),
            reason: "x".into(),
            wall_us: 1,
            cpu_us: 2,
            peak_kib: 3,
        };
        for notice in [
            Notice::Ready { tcp: None },
            Notice::Ready { tcp: Some("127.0.0.1:1".into()) },
            Notice::Up { kind: "go".into() },
            Notice::Gone { kind: "go".into() },
            Notice::Lost { count: 3 },
            Notice::Call(CallRecord { signal: None, ..call.clone() }),
            Notice::Call(call),
        ] {
            assert_eq!(Notice::decode(notice.encode().trim_ascii_end()), Some(notice));
        }
    }
}
