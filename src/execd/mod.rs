//! `aifo-coder execd`: the first process of a sidecar. Starts what the proxy asks for, and reaps.
//!
//! It dials the proxy with a secret of its own, which it reads from standard input, forgets once it was said, and keeps
//! out of reach of the tools by not being dumpable. Calls are served by forked supervisors, a few of which always wait,
//! so that a call costs one message and one spawn. One that is done waits for the next call, unless its call has left
//! daemons behind: those pass to this process. This process itself only forks and reaps: it has one thread, holds no
//! state of a call, and nothing that a tool does can reach it but its own death.
//!
//! When the proxy is gone, the supervisors end their calls, and then this process ends and with it the sidecar.

mod login;
mod lookup;
mod place;
mod supervise;
mod sys;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io::{self, Read},
    iter, mem,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process,
    time::{Duration, Instant},
};

use aifo_shim::{
    git,
    sys::{self as signals, SIGCHLD, SIGKILL, SIGTERM, Signals, Want},
    tools, tree, user,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::OFlags,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt::Timeout},
    pipe::PipeFlags,
};

pub(crate) use self::login::print as print_environment;
use self::supervise::Shared;
use crate::{
    channel::{self, CALL, Hello},
    control::SidecarSettings,
    error::Error,
};

/// Supervisors that wait for a call, at least.
const SPARE: usize = 2;
/// How long one waits before it ends; a burst of calls leaves more of them than are ever needed again.
const IDLE: Duration = Duration::from_secs(60);
/// How long the calls of a session that is over may take to end; longer than INT, TERM and KILL together.
const LAST_CALLS: Duration = Duration::from_secs(3);

/// Reads the settings up to the line's end and not a byte further: the stream stays open as long as the launcher lives.
fn read_settings() -> io::Result<SidecarSettings> {
    let mut line = Vec::new();
    let mut byte = [0];
    while io::stdin().read(&mut byte)? == 1 && byte != *b"\n" {
        line.extend_from_slice(&byte);
    }
    SidecarSettings::decode(&line).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Runs until the proxy is gone.
pub(crate) fn run() -> Result<(), Error> {
    signals::close_inherited();
    leave_terminal();
    // From here on nobody of the same user can read this process's memory or descriptors (prctl(2), PR_SET_DUMPABLE).
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|errno| Error::Execd("cannot hide its memory", errno.into()))?;
    let mut settings = read_settings().map_err(|cause| Error::Execd("cannot read its settings", cause))?;
    let env = login::of_sidecar(settings.login, mem::take(&mut settings.env));
    if let Some(home) = env.get(OsStr::new("HOME")) {
        // A tool that needs one of them will say so itself.
        let _named: bool = user::name(Path::new(home)).is_ok();
        let _known: bool = settings.git.is_empty() || git::configure(Path::new(home), &settings.git).is_ok();
    }
    let path = env.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let known = lookup::installed(tools::names(), &settings.kind, &path);
    let hello = Hello {
        kind: settings.kind.clone(),
        secret: settings.secret.clone(),
        tools: known.into_iter().map(str::to_owned).collect(),
    };
    let control = dial(&settings, &hello).map_err(|cause| Error::Execd("cannot reach the proxy", cause))?;
    let shared = Shared { kind: settings.kind, roots: settings.roots, env };
    if process::id() != 1 {
        signals::become_subreaper();
    }
    Pool::new(control).and_then(|pool| pool.run(&shared)).map_err(|cause| Error::Execd("cannot serve calls", cause))
}

/// Leaves the session of the user's terminal where it is part of one, as under `--runtime local`. There the kernel would
/// stop every tool that reads the terminal or sets its modes, for none of them is in the foreground. A group's leader may
/// not leave, so it goes back to its parent's group first; a container's first process has nothing to leave.
fn leave_terminal() {
    let parents = rustix::process::getppid().and_then(|parent| rustix::process::getpgid(Some(parent)).ok());
    let _joined: bool = rustix::process::setpgid(None, parents).is_ok();
    let _left: bool = rustix::process::setsid().is_ok();
}

fn dial(settings: &SidecarSettings, hello: &Hello) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(&settings.socket)?)?;
    let none: [OwnedFd; 0] = [];
    channel::send(&socket, &hello.encode(), &none)?;
    Ok(socket)
}

/// What a supervisor says of itself, behind its process id.
const SERVES: u8 = 1;
const WAITS: u8 = 0;

/// The supervisors. Each says through a pipe when it takes a call and when it waits again.
struct Pool {
    control: OwnedFd,
    news: OwnedFd,
    announce: OwnedFd,
    waiting: BTreeSet<u32>,
    serving: BTreeSet<u32>,
}

impl Pool {
    fn new(control: OwnedFd) -> io::Result<Self> {
        let (news, announce) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&news, OFlags::NONBLOCK)?;
        rustix::net::sockopt::set_socket_timeout(&control, Timeout::Recv, Some(IDLE))?;
        Ok(Self { control, news, announce, waiting: BTreeSet::new(), serving: BTreeSet::new() })
    }

    fn run(mut self, shared: &Shared) -> io::Result<()> {
        self.refill(shared);
        let signals = Signals::collect([SIGCHLD, SIGTERM].into_iter())?;
        loop {
            // The control socket is watched for its end only: its records are the supervisors' to take.
            let mut on = [
                PollFd::new(&signals, PollFlags::IN),
                PollFd::new(&self.news, PollFlags::IN),
                PollFd::new(&self.control, PollFlags::RDHUP),
            ];
            let retry = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            // With no supervisor left, a fork has failed: try again soon, for calls are waiting.
            rustix::io::retry_on_intr(|| rustix::event::poll(&mut on, self.waiting.is_empty().then_some(&retry)))?;
            let [_, _, control] = on.map(|fd| !fd.revents().is_empty());
            if control || self.take_signals(&signals) {
                return self.finish(&signals);
            }
            self.take_announcements();
            self.refill(shared);
        }
    }

    fn refill(&mut self, shared: &Shared) {
        while self.waiting.len() < SPARE {
            match sys::fork() {
                Ok(Some(pid)) => drop(self.waiting.insert(pid)),
                Ok(None) => {
                    let code = i32::from(self.supervise(shared).is_err());
                    end_now(code);
                }
                Err(_no_process) => return,
            }
        }
    }

    /// In the child: wait for a call, say that it is taken, serve it, and again.
    fn supervise(&self, shared: &Shared) -> io::Result<()> {
        // Orphaned by a killed execd, a supervisor must not live on.
        let end = rustix::process::Signal::TERM;
        rustix::process::set_parent_process_death_signal(Some(end))?;
        loop {
            signals::unblock([SIGTERM].into_iter());
            let mut record = [0; 16];
            let (length, descriptors) = channel::receive(&self.control, &mut record)?;
            if record.get(..length) != Some(CALL) {
                return Ok(());
            }
            self.announce(SERVES)?;
            descriptors.first().map_or(Ok(()), |call| supervise::serve(call, shared))?;
            if sys::has_children() {
                return Ok(());
            }
            rustix::process::chdir("/")?;
            self.announce(WAITS)?;
        }
    }

    fn announce(&self, state: u8) -> io::Result<()> {
        let [a, b, c, d] = process::id().to_le_bytes();
        rustix::io::write(&self.announce, &[a, b, c, d, state])?;
        Ok(())
    }

    fn take_announcements(&mut self) {
        let mut said = [0; 5];
        while let Ok(5) = rustix::io::read(&self.news, &mut said) {
            let [a, b, c, d, state] = said;
            let pid = u32::from_le_bytes([a, b, c, d]);
            let (from, to) = match state {
                SERVES => (&mut self.waiting, &mut self.serving),
                _ => (&mut self.serving, &mut self.waiting),
            };
            from.remove(&pid);
            to.insert(pid);
        }
    }

    /// Reaps supervisors and orphans; true when this process was asked to end.
    fn take_signals(&mut self, signals: &Signals) -> bool {
        let mut asked = false;
        while let Some(signal) = signals.next() {
            asked |= signal.number == SIGTERM;
        }
        self.reap();
        asked
    }

    fn reap(&mut self) {
        let ended: Vec<u32> = iter::from_fn(sys::reap).map(|(pid, _, _)| pid).collect();
        // Whoever has ended has announced itself before.
        self.take_announcements();
        for pid in ended {
            self.waiting.remove(&pid);
            self.serving.remove(&pid);
        }
    }

    /// Lets the supervisors end their calls, then kills what is left.
    fn finish(mut self, signals: &Signals) -> io::Result<()> {
        let deadline = Instant::now() + LAST_CALLS;
        self.take_announcements();
        self.waiting.iter().for_each(|&pid| signals::send(pid, SIGKILL));
        while !self.serving.is_empty() && Instant::now() < deadline {
            signals::wait([(signals.as_fd(), Want::Read)], Some(Duration::from_millis(50)))?;
            self.take_signals(signals);
        }
        loop {
            let left = tree::descendants(process::id());
            if left.is_empty() {
                return Ok(());
            }
            left.into_iter().for_each(|pid| signals::send(pid, SIGKILL));
            self.reap();
        }
    }
}

#[expect(clippy::exit, reason = "a forked child must not return into its parent's code")]
fn end_now(code: i32) -> ! {
    process::exit(code)
}
