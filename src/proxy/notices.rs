//! The proxy's voice: notices to the launcher on standard output, by a thread of its own.
//!
//! A launcher that does not read must not hold up a tool call, so the queue is bounded; what does not fit is counted,
//! and the count is told. Notices wait a moment for each other: on their way through docker every single write wakes
//! four processes, which costs more than the call that it tells of.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::control::Notice;

/// Notices that wait while the launcher does not read.
const QUEUED: usize = 4096;
/// How long a notice waits for others.
const GATHER: Duration = Duration::from_millis(20);
/// How long the end waits for the launcher to take the last ones.
const LAST_WORDS: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Notices {
    queue: SyncSender<Notice>,
    shared: Arc<Shared>,
    writer: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    lost: AtomicU64,
    ending: AtomicBool,
}

impl Notices {
    pub(super) fn start() -> io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel(QUEUED);
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let writer = thread::Builder::new().stack_size(64 * 1024).spawn(move || write(&waiting, &own))?;
        Ok(Self { queue, shared, writer })
    }

    /// Tells; never waits.
    pub(super) fn tell(&self, notice: Notice) {
        if self.queue.try_send(notice).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gets out what was told. A launcher that does not read keeps nobody from ending.
    pub(super) fn finish(&self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.tell(Notice::Lost { count: 0 });
        self.writer.thread().unpark();
        let deadline = Instant::now() + LAST_WORDS;
        while !self.writer.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Ends when the launcher has gone, or everything was told at the end.
fn write(waiting: &Receiver<Notice>, shared: &Shared) {
    let mut out = io::stdout();
    while let Ok(first) = waiting.recv() {
        let is_awaited = matches!(first, Notice::Ready { .. });
        if !is_awaited && !shared.ending.load(Ordering::SeqCst) {
            thread::park_timeout(GATHER);
        }
        let lost = Notice::Lost { count: shared.lost.swap(0, Ordering::Relaxed) };
        let all = [first].into_iter().chain(waiting.try_iter()).chain([lost]);
        let lines: Vec<u8> =
            all.filter(|notice| *notice != Notice::Lost { count: 0 }).flat_map(|notice| notice.encode()).collect();
        let is_last = shared.ending.load(Ordering::SeqCst);
        if out.write_all(&lines).and_then(|()| out.flush()).is_err() || is_last {
            return;
        }
    }
}
