//! The session's sidecars: which are expected, which are up, what they hold, and the way into each.
//!
//! A sidecar may come up while a call already waits for it. Each has an event descriptor that becomes readable for good
//! when it is settled, up or failed, so that a waiting call can watch it together with its own client.

use std::{
    collections::BTreeSet,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aifo_shim::sys::{self, Want};
use rustix::event::EventfdFlags;

use super::{admit::is_same, listen};
use crate::channel::{self, CALL, Hello, MAX_RECORD};

/// How long a sidecar that has dialled in may take to say who it is.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// All sidecars of a session.
#[derive(Debug)]
pub(super) struct Fleet(Vec<Sidecar>);

/// One of them.
#[derive(Debug)]
pub(super) struct Sidecar {
    pub(super) kind: String,
    secret: String,
    standing: Mutex<Standing>,
    settled: OwnedFd,
}

#[derive(Debug)]
enum Standing {
    Expected,
    Up(Up),
    /// Did not come, or is gone again; the sentence says which.
    Down(String),
}

#[derive(Debug, Clone)]
struct Up {
    control: Arc<OwnedFd>,
    tools: Arc<BTreeSet<String>>,
}

impl Fleet {
    pub(super) fn new(expected: &[(String, String)]) -> io::Result<Self> {
        let sidecar = |(kind, secret): &(String, String)| {
            let settled = rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?;
            let standing = Mutex::new(Standing::Expected);
            Ok(Sidecar { kind: kind.clone(), secret: secret.clone(), standing, settled })
        };
        expected.iter().map(sidecar).collect::<io::Result<_>>().map(Self)
    }

    /// The sidecars of these kinds, in their order.
    pub(super) fn of_kinds<'a>(&'a self, kinds: &'a [&str]) -> Vec<&'a Sidecar> {
        kinds.iter().filter_map(|kind| self.0.iter().find(|sidecar| sidecar.kind == **kind)).collect()
    }

    /// Notes that a sidecar will not come.
    pub(super) fn fail(&self, kind: &str, reason: String) {
        if let Some(sidecar) = self.0.iter().find(|sidecar| sidecar.kind == kind) {
            sidecar.settle(Standing::Down(format!("the {kind} sidecar did not start: {reason}")));
        }
    }

    /// Serves one sidecar's connection: hears who it is, then waits until it is gone. `news` is told its kind and
    /// whether it is up. None of it happens for a connection that does not know an expected sidecar's secret.
    pub(super) fn serve(&self, connection: UnixStream, uid: u32, news: impl Fn(&str, bool)) -> Option<()> {
        if !listen::is_user(&connection, uid) {
            return None;
        }
        let control = Arc::new(OwnedFd::from(connection));
        let [in_time] = sys::wait([(control.as_fd(), Want::Read)], Some(HELLO_PATIENCE)).ok()?;
        if !in_time {
            return None;
        }
        let mut record = vec![0; MAX_RECORD];
        let (length, _none) = channel::receive(&control, &mut record).ok()?;
        let hello = Hello::decode(record.get(..length)?)?;
        let known = |sidecar: &&Sidecar| {
            sidecar.kind == hello.kind && is_same(hello.secret.as_bytes(), sidecar.secret.as_bytes())
        };
        let sidecar = self.0.iter().find(known)?;
        let tools = Arc::new(hello.tools.into_iter().collect());
        if !sidecar.settle(Standing::Up(Up { control: Arc::clone(&control), tools })) {
            return None;
        }
        drop(record);
        news(&sidecar.kind, true);
        // It never sends again, so anything to read is its end.
        drop(sys::wait([(control.as_fd(), Want::Read)], None));
        *sidecar.lock() = Standing::Down(format!("the {} sidecar is gone", sidecar.kind));
        news(&sidecar.kind, false);
        Some(())
    }
}

impl Sidecar {
    /// Readable once it is known whether this sidecar has come.
    pub(super) fn settled(&self) -> BorrowedFd<'_> {
        self.settled.as_fd()
    }

    pub(super) fn is_settled(&self) -> bool {
        !matches!(*self.lock(), Standing::Expected)
    }

    /// Whether it is up and has said that it holds the tool.
    pub(super) fn holds(&self, tool: &str) -> bool {
        matches!(&*self.lock(), Standing::Up(up) if up.tools.contains(tool))
    }

    /// Why no call can be made of it; none when it is up.
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.lock() {
            Standing::Expected => Some(format!("the {} sidecar is not up yet", self.kind)),
            Standing::Down(reason) => Some(reason.clone()),
            Standing::Up(_) => None,
        }
    }

    /// Opens a call: gives our end of its pair. None when the sidecar is gone.
    pub(super) fn open_call(&self) -> Option<OwnedFd> {
        let Standing::Up(up) = &*self.lock() else { return None };
        let (ours, theirs) = channel::pair().ok()?;
        channel::send(&up.control, CALL, &[theirs]).ok()?;
        Some(ours)
    }

    /// Only the first settlement counts: a second sidecar with the same secret is not let in.
    fn settle(&self, standing: Standing) -> bool {
        let mut now = self.lock();
        let first = matches!(*now, Standing::Expected);
        if first {
            *now = standing;
            // The counter is 0 and takes a 1 without blocking.
            let _written: bool = rustix::io::write(&self.settled, &1u64.to_ne_bytes()).is_ok();
        }
        first
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
