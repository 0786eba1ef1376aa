//! With a running tool to its end: hear the sidecar, hear the client, pump what has to be pumped.
//!
//! ```text
//! client gone ─▶ cancel ─┐
//! limit reached ─▶ cancel ┴▶ (INT, TERM, KILL in the sidecar) ─▶ report ─▶ rest of the output ─▶ trailers
//! tool ends ────────────────────────────────────────────────────▲
//! ```

use std::{io, os::fd::OwnedFd, sync::Arc, time::Instant};

use aifo_shim::wire::exit::{FAILED, Outcome, TIMEOUT};
use rustix::event::{PollFd, PollFlags};

use super::{conn::Conn, output::Output, ready, refusal::Refusal, slots::Slot};
use crate::channel::{self, CANCEL, Report, Usage};

/// A tool that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) exec_id: String,
    pub(super) kind: String,
    pub(super) call: Arc<OwnedFd>,
}

/// When a tool has run long enough, and how long that was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) at: Instant,
    pub(super) secs: u64,
}

/// A tool's end.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) usage: Usage,
    pub(super) timed_out: bool,
    /// What of the answer the client has not got yet, or why there is nobody to answer.
    pub(super) unsent: Result<Vec<u8>, Refusal>,
}

struct Watch<'a> {
    conn: &'a Conn,
    running: &'a Running,
    output: &'a mut Output,
    /// Of the answer, what the client has not taken yet.
    unsent: Vec<u8>,
    client_gone: bool,
    limit: Option<Limit>,
    timed_out: bool,
    ended: Option<(Outcome, Usage)>,
    /// Bytes that were in the pipe when the tool ended; a daemon may go on writing behind them.
    rest: u64,
}

/// Stays with a tool until it has ended and its output was taken; `first` is what its sidecar said first. The slot is
/// free as soon as the tool has ended.
pub(super) fn to_the_end(
    conn: &Conn,
    running: &Running,
    first: Report,
    output: &mut Output,
    limit: Option<Limit>,
    slot: Slot<'_>,
) -> Ended {
    let unsent = output.head(&running.exec_id);
    let (client_gone, timed_out) = (false, false);
    let mut watch = Watch { conn, running, output, unsent, client_gone, limit, timed_out, ended: None, rest: u64::MAX };
    watch.take_report(Some(first));
    let mut slot = Some(slot);
    let trouble = loop {
        if watch.ended.is_some() {
            slot = None;
        }
        if watch.is_finished() {
            break None;
        }
        if let Err(error) = watch.step() {
            break Some(error);
        }
    };
    drop(slot);
    let lost = || (Outcome::said(FAILED, "the proxy cannot watch the call"), Usage::default());
    let (mut outcome, usage) = watch.ended.take().unwrap_or_else(lost);
    if let (true, Some(limit)) = (watch.timed_out, limit) {
        outcome = Outcome::said(TIMEOUT, format!("stopped after its limit of {} s", limit.secs));
    }
    let unsent = match trouble {
        Some(error) => Err(Refusal::Internal(error)),
        None if watch.client_gone => Err(Refusal::Vanished),
        None => Ok(watch.unsent),
    };
    Ended { outcome, usage, timed_out: watch.timed_out, unsent }
}

impl Watch<'_> {
    /// Nothing more will come; what is still unsent goes out together with the end.
    fn is_finished(&self) -> bool {
        let drained = self.rest == 0 || self.output.pipe().is_none();
        self.ended.is_some() && (self.client_gone || drained)
    }

    /// Sends what can be sent, waits for news, takes them.
    fn step(&mut self) -> io::Result<()> {
        self.send();
        let can_pump = self.unsent.is_empty() && self.rest > 0;
        let list = [
            (!self.client_gone).then(|| self.conn.hangup()),
            (!self.unsent.is_empty()).then(|| self.conn.writable()),
            self.ended.is_none().then(|| PollFd::new(&*self.running.call, PollFlags::IN)),
            self.output.pipe().filter(|_| can_pump).map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        ];
        // Once the tool has ended, its client may take as long as it likes.
        let limit = self.limit.filter(|_| self.ended.is_none());
        let left = limit.map(|limit| limit.at.saturating_duration_since(Instant::now()));
        let [gone, _, report, pipe] = ready::poll(list, left)?;
        if gone {
            self.lose_client();
        }
        if report {
            self.hear();
        }
        if pipe {
            self.rest -= self.output.pump(self.rest, &mut self.unsent);
        }
        if self.ended.is_none() && limit.is_some_and(|limit| limit.at <= Instant::now()) {
            (self.limit, self.timed_out) = (None, true);
            self.cancel();
        }
        Ok(())
    }

    fn send(&mut self) {
        if self.unsent.is_empty() {
            return;
        }
        match self.conn.try_send(&self.unsent) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(_gone) => self.lose_client(),
        }
    }

    fn lose_client(&mut self) {
        if !self.client_gone {
            self.client_gone = true;
            self.unsent.clear();
            self.output.close_pipe();
            self.cancel();
        }
    }

    /// A call that is ending needs no cancelling.
    fn cancel(&self) {
        let none: [OwnedFd; 0] = [];
        drop(channel::send(&*self.running.call, CANCEL, &none));
    }

    fn hear(&mut self) {
        let mut record = [0; 64];
        let length = channel::receive(&*self.running.call, &mut record).map_or(0, |(length, _)| length);
        self.take_report(Report::decode(record.get(..length).unwrap_or_default()));
    }

    /// None is what remains of a sidecar that is gone.
    fn take_report(&mut self, report: Option<Report>) {
        self.ended = match report {
            Some(Report::Exited { code, usage }) => Some((Outcome::exited(code), usage)),
            Some(Report::Signaled { signal, usage }) => Some((Outcome::signaled(signal), usage)),
            Some(Report::Stopped) if !self.client_gone => return self.output.tell_stopped(&mut self.unsent),
            Some(Report::Started | Report::Stopped) => return,
            // Its client did not wait for this.
            Some(Report::Failed(_)) => Some((Outcome::said(FAILED, "it could not be started"), Usage::default())),
            None => {
                let reason = format!("the {} sidecar is gone; the call's end is unknown", self.running.kind);
                Some((Outcome::said(FAILED, reason), Usage::default()))
            }
        };
        self.rest = self.output.pipe().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok()).unwrap_or(0);
    }
}
