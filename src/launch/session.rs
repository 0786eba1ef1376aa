//! A session's life: proxy up, sidecars and agent started side by side, the agent waited for, nothing left.
//!
//! The same for containers and for plain processes: both are child processes here, and what they need to know goes to
//! their standard input. Those inputs are the lifelines. When this process ends, however it ends, they close; the proxy
//! ends, with it every sidecar's execd and the agent's entrypoint, and docker removes what was theirs. So there is no
//! clean-up that a SIGKILL could prevent; `finish` only waits until it has happened.

use std::{
    io::{self, Write},
    process::{Child, ChildStdin, Command},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{member::Member, notices};
use crate::{
    control::{Notice, ProxySettings, SidecarFailed, SidecarSettings},
    error::Error,
    report,
};

/// From starting the proxy to its first word. Docker's first start after boot can be slow.
const PROXY_PATIENCE: Duration = Duration::from_secs(60);
/// For the containers to be gone after the agent has ended.
const END_PATIENCE: Duration = Duration::from_secs(15);

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) proxy: Command,
    pub(crate) settings: ProxySettings,
    pub(crate) sidecars: Vec<(Command, SidecarSettings)>,
    pub(crate) agent: Command,
}

/// Runs a session to its end: `wait` stays with the agent and gives what it ended with.
///
/// # Errors
/// [`Error::Start`], [`Error::ProxyDown`].
pub(crate) fn run<T>(parts: Parts, wait: impl FnOnce(Child) -> io::Result<T>) -> Result<T, Error> {
    let begun = Instant::now();
    let Parts { proxy, settings, sidecars, mut agent } = parts;
    let mut proxy = Member::start("proxy", proxy, &settings.encode())?;
    let ending = Arc::new(AtomicBool::new(false));
    let notices = proxy.child.stdout.take().map(|out| notices::listen(out, Arc::clone(&ending)));
    let ready = notices.as_ref().and_then(|notices| notices.recv_timeout(PROXY_PATIENCE).ok());
    let Some(Notice::Ready { tcp }) = ready else {
        let said = proxy.finish(Instant::now() + Duration::from_secs(1)).err().unwrap_or_default();
        return Err(Error::ProxyDown { said });
    };
    report::detail(format_args!("proxy ready after {} ms", begun.elapsed().as_millis()));
    if let Some(address) = tcp {
        agent.env("AIFO_TOOLEEXEC_URL", format!("http://{address}/exec"));
    }
    let input = Arc::new(Mutex::new(proxy.input.take()));
    let sidecars = sidecars.into_iter().map(|(command, settings)| {
        let member = Member::start(&settings.kind, command, &settings.encode())?;
        Ok::<_, Error>(watch(settings.kind, member, &input, &ending))
    });
    let sidecars = sidecars.collect::<Result<Vec<_>, Error>>()?;
    let program = agent.spawn().map_err(|cause| Error::Start(agent.get_program().to_owned(), cause))?;
    report::detail(format_args!("agent started after {} ms", begun.elapsed().as_millis()));
    let ended = wait(program).map_err(|cause| Error::Start(agent.get_program().to_owned(), cause))?;
    ending.store(true, Ordering::SeqCst);
    drop(lock(&input).take());
    let deadline = Instant::now() + END_PATIENCE;
    sidecars.into_iter().for_each(|sidecar| sidecar.finish(deadline));
    // Whether it was there until now shows only here: when a proxy dies, the agent often ends before its docker client.
    let ended = proxy.finish(deadline).map(|()| ended).map_err(|said| Error::ProxyDown { said });
    // The listener has only one notice to give; after it, this ends when all that the proxy said was told.
    drop(notices.map(|notices| notices.recv_timeout(deadline.saturating_duration_since(Instant::now()))));
    ended
}

/// A sidecar, and the thread that waits for its end.
struct Watched {
    kind: String,
    lifeline: Option<ChildStdin>,
    watcher: thread::JoinHandle<()>,
}

impl Watched {
    /// Waits for its end, but not for ever: a container may be paused, or its daemon hang.
    fn finish(self, deadline: Instant) {
        drop(self.lifeline);
        while !self.watcher.is_finished() {
            if Instant::now() >= deadline {
                report::warn(format_args!("the {} sidecar does not end; aifo-coder gc removes it", self.kind));
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Keeps a sidecar's lifeline, and tells the proxy when the sidecar ends before the session does.
fn watch(
    kind: String,
    mut member: Member,
    proxy: &Arc<Mutex<Option<ChildStdin>>>,
    ending: &Arc<AtomicBool>,
) -> Watched {
    let (lifeline, name) = (member.input.take(), kind.clone());
    let (proxy, ending) = (Arc::clone(proxy), Arc::clone(ending));
    let watcher = thread::spawn(move || {
        let status = member.child.wait();
        if ending.load(Ordering::SeqCst) {
            return;
        }
        let silent = || status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let reason = Some(member.said()).filter(|said| !said.is_empty()).unwrap_or_else(silent);
        report::warn(format_args!("the {kind} sidecar ended: {reason}"));
        let failed = SidecarFailed { kind, reason };
        // Where the proxy is gone too, there is nobody left to be told.
        let _told: bool = lock(&proxy).as_mut().is_some_and(|input| input.write_all(&failed.encode()).is_ok());
    });
    Watched { kind: name, lifeline, watcher }
}

/// A thread that panicked with the lock has aborted the process, so the data is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
