//! The proxy's voice: notices to the launcher on standard output, by a thread of its own.
//!
//! A launcher that does not read must not hold up a tool call, so the queue is bounded; what does not fit is counted,
//! and the count is told.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
};

use crate::control::Notice;

/// Notices that wait while the launcher does not read.
const QUEUED: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Notices {
    queue: SyncSender<Notice>,
    lost: Arc<AtomicU64>,
}

impl Notices {
    pub(super) fn start() -> io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel(QUEUED);
        let lost = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&lost);
        thread::Builder::new().stack_size(64 * 1024).spawn(move || write(&waiting, &counter))?;
        Ok(Self { queue, lost })
    }

    /// Tells; never waits.
    pub(super) fn tell(&self, notice: Notice) {
        if self.queue.try_send(notice).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Ends when the launcher has gone; the lifeline on standard input ends the rest.
fn write(waiting: &Receiver<Notice>, lost: &AtomicU64) {
    let mut out = io::stdout();
    while let Ok(notice) = waiting.recv() {
        let count = lost.swap(0, Ordering::Relaxed);
        let gap = if count > 0 { Notice::Lost { count }.encode() } else { Vec::new() };
        let line = [gap, notice.encode()].concat();
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
