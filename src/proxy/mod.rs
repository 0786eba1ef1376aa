//! `aifo-coder proxy`: the one program between agent and sidecars. Authenticates, routes, starts, tells.
//!
//! It runs in a container of its own that holds nothing but this binary: no shell, no files, no capabilities. It never
//! starts a process and never opens a path that a client named. What it must know comes from the launcher on standard
//! input, and when that stream ends, so does the session: the process exits, every connection closes, and everything
//! that hangs on one of them ends itself.

mod accept;
mod admit;
mod calls;
mod conn;
mod exec;
mod fleet;
mod listen;
mod notices;
mod output;
mod ready;
mod refusal;
mod route;
mod serve;
mod slots;
mod watch;

use std::{
    collections::BTreeSet,
    fs, io,
    net::TcpListener,
    os::{fd::AsFd, unix::fs::symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use aifo_shim::{
    socket::Socket,
    sys::{self, SIGINT, SIGTERM, Signals, Want},
};
use rustix::{net::SocketType, process::Resource};

use self::{calls::Calls, fleet::Fleet, notices::Notices, slots::Slots, watch::Limit};
use crate::{
    control::{Notice, ProxySettings, SidecarFailed},
    error::Error,
};

/// Connections that are served at once, waiting calls included.
const MOST_CONNECTIONS: usize = 1024;
/// Calls with a large body that are received and started at once: each may take some 24 MiB until its tool runs.
const MOST_LARGE: usize = 4;
/// Sidecars that dial in, and strangers that try.
const MOST_SIDECARS: usize = 32;

/// What all connections share.
#[derive(Debug)]
struct State {
    settings: ProxySettings,
    fleet: Fleet,
    slots: Slots,
    large: Slots,
    calls: Calls,
    notices: Notices,
}

impl State {
    /// When a tool that begins now has to end.
    fn limit(&self, begun: Instant) -> Option<Limit> {
        let secs = self.settings.max_secs?;
        begun.checked_add(Duration::from_secs(secs)).map(|at| Limit { at, secs })
    }
}

/// Runs until the launcher is gone or asks for the end.
pub(crate) fn run() -> Result<(), Error> {
    let failed = |what: &'static str| move |cause: io::Error| Error::Proxy(what, cause);
    sys::close_inherited();
    // Before any thread: all of them inherit the mask.
    let signals = Signals::collect([SIGTERM, SIGINT].into_iter()).map_err(failed("cannot collect signals"))?;
    raise_descriptor_limit();
    let mut input = Lines::default();
    let settings = input
        .next()
        .and_then(|line| ProxySettings::decode(&line).ok_or_else(|| io::ErrorKind::InvalidData.into()))
        .map_err(failed("cannot read its settings"))?;
    let state = listen_and_serve(settings).map_err(failed("cannot listen"))?;
    let _folder = RemovedAtEnd(state.settings.remove.clone());
    let ended = until_end(&signals, input, &state);
    state.calls.cut_off().into_iter().for_each(|record| state.notices.tell(Notice::Call(record)));
    state.notices.finish();
    ended.map_err(failed("cannot wait"))
}

/// Hears the launcher until it is gone, or a signal asks for the end.
fn until_end(signals: &Signals, mut input: Lines, state: &State) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let [news, asked] = sys::wait([(stdin.as_fd(), Want::Read), (signals.as_fd(), Want::Read)], None)?;
        if asked && signals.next().is_some() {
            return Ok(());
        }
        if news {
            let Ok(line) = input.next() else { return Ok(()) };
            if let Some(SidecarFailed { kind, reason }) = SidecarFailed::decode(&line) {
                state.fleet.fail(&kind, reason);
            }
        }
    }
}

/// The folder of a session without containers: the proxy is the last that is sure to know of it.
struct RemovedAtEnd(Option<PathBuf>);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // What is left of it is for `gc`.
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// Puts beside the sockets what agent and sidecars shall find there: certificates, and links for added tools.
fn furnish(settings: &ProxySettings) -> io::Result<()> {
    let folder = settings.exec_socket.parent().unwrap_or(Path::new("/"));
    if let Some(ca) = &settings.ca {
        fs::write(folder.join("ca.crt"), ca)?;
    }
    if settings.remove.is_none() && !settings.tools.is_empty() {
        fs::create_dir(folder.join("bin"))?;
        let names: BTreeSet<&String> = settings.tools.iter().map(|(_, tool)| tool).collect();
        for tool in names {
            symlink("/opt/aifo/bin/aifo-shim", folder.join("bin").join(tool))?;
        }
    }
    Ok(())
}

fn listen_and_serve(settings: ProxySettings) -> io::Result<Arc<State>> {
    furnish(&settings)?;
    let execs = listen::unix(&settings.exec_socket, SocketType::STREAM, settings.uid)?;
    let sidecars = listen::unix(&settings.execd_socket, SocketType::SEQPACKET, settings.uid)?;
    let tcp = settings.tcp.as_ref().map(TcpListener::bind).transpose()?;
    let tcp_address = tcp.as_ref().map(TcpListener::local_addr).transpose()?;
    if tcp_address.is_some_and(|address| !address.ip().is_loopback()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "TCP is served only on loopback"));
    }
    let tcp_address = tcp_address.map(|address| address.to_string());
    let state = Arc::new(State {
        fleet: Fleet::new(&settings.sidecars)?,
        slots: Slots::new(settings.max_calls),
        large: Slots::new(MOST_LARGE),
        calls: Calls::default(),
        notices: Notices::start()?,
        settings,
    });
    let shared = Arc::clone(&state);
    let from_user = move |socket: Socket| {
        let Socket::Unix(stream) = &socket else { return serve::request(socket, &shared) };
        if listen::is_user(stream, shared.settings.uid) {
            serve::request(socket, &shared);
        }
    };
    let serve_tcp = from_user.clone();
    accept::serve(move || Ok(Socket::Unix(execs.accept()?.0)), from_user, MOST_CONNECTIONS)?;
    if let Some(tcp) = tcp {
        let accept = move || {
            let (stream, _) = tcp.accept()?;
            // A tool's lines are small and somebody waits for them; where it cannot be, they come a little later.
            drop(stream.set_nodelay(true));
            Ok(Socket::Tcp(stream))
        };
        accept::serve(accept, serve_tcp, MOST_CONNECTIONS)?;
    }
    let shared = Arc::clone(&state);
    let serve_sidecar = move |connection| {
        let news = |kind: &str, is_up: bool| {
            let kind = kind.to_owned();
            shared.notices.tell(if is_up { Notice::Up { kind } } else { Notice::Gone { kind } });
        };
        // A stranger's connection is simply closed.
        let _served: Option<()> = shared.fleet.serve(connection, shared.settings.uid, news);
    };
    accept::serve(move || Ok(sidecars.accept()?.0), serve_sidecar, MOST_SIDECARS)?;
    state.notices.tell(Notice::Ready { tcp: tcp_address });
    Ok(state)
}

/// The launcher's lines. Standard input is read directly, because a buffer would hide from poll(2) what it holds.
#[derive(Debug, Default)]
struct Lines {
    ahead: Vec<u8>,
}

impl Lines {
    /// The next line without its end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut byte = [0];
        loop {
            if rustix::io::read(rustix::stdio::stdin(), &mut byte)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if byte == *b"\n" {
                return Ok(std::mem::take(&mut self.ahead));
            }
            self.ahead.extend_from_slice(&byte);
        }
    }
}

/// Each call takes a few descriptors; the soft limit is often far below what the system allows.
fn raise_descriptor_limit() {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, fewer calls run at once; the others wait.
    let _raised: bool = rustix::process::setrlimit(Resource::Nofile, limit).is_ok();
}
