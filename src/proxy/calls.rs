//! The calls that run: how each is reached, and what will be told of it.
//!
//! A call is on record exactly once, by whoever takes it out of here: the thread that serves it when its tool has ended,
//! or the proxy's end.

use std::{
    collections::HashMap,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use aifo_shim::wire::{
    exec::ExecRequest,
    exit::{FAILED, Outcome},
};

use super::watch::Running;
use crate::{channel::Usage, control::CallRecord};

#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<HashMap<String, Call>>);

#[derive(Debug)]
struct Call {
    channel: Arc<OwnedFd>,
    begun: Instant,
    /// As far as it is known while the tool runs.
    record: CallRecord,
}

impl Calls {
    /// Takes note of a call that a sidecar is told to start.
    pub(super) fn begin(&self, channel: &Arc<OwnedFd>, begun: Instant, record: CallRecord) {
        let call = Call { channel: Arc::clone(channel), begun, record };
        self.lock().insert(call.record.exec_id.clone(), call);
    }

    /// The channel of a call that runs.
    pub(super) fn channel(&self, id: &str) -> Option<Arc<OwnedFd>> {
        self.lock().get(id).map(|call| Arc::clone(&call.channel))
    }

    /// The record of a call that has ended; none where the proxy's end was quicker.
    pub(super) fn end(&self, id: &str, outcome: &Outcome, usage: Usage) -> Option<CallRecord> {
        self.lock().remove(id).map(|call| call.ended(outcome, usage))
    }

    /// Of a call that was not started there is nothing to tell.
    pub(super) fn forget(&self, id: &str) {
        drop(self.lock().remove(id));
    }

    /// The records of all calls that run, whose ends nobody will see.
    pub(super) fn cut_off(&self) -> Vec<CallRecord> {
        let outcome = Outcome::said(FAILED, "the session has ended; the call's end is unknown");
        self.lock().drain().map(|(_, call)| call.ended(&outcome, Usage::default())).collect()
    }

    /// A thread that panicked with the lock has aborted the process, so the data is whole.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    fn ended(self, outcome: &Outcome, usage: Usage) -> CallRecord {
        CallRecord {
            code: outcome.code,
            signal: outcome.signal,
            reason: outcome.reason.clone(),
            wall_us: u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            cpu_us: usage.cpu_us,
            peak_kib: usage.peak_kib,
            ..self.record
        }
    }
}

/// What is known of a call when it starts.
pub(super) fn record(running: &Running, request: &ExecRequest, proto: u8) -> CallRecord {
    let mut room = CallRecord::MAX_ARGS;
    let fits = |arg: &&[u8]| {
        let fits = arg.len() <= room;
        room -= arg.len().min(room);
        fits
    };
    CallRecord {
        exec_id: running.exec_id.clone(),
        kind: running.kind.clone(),
        tool: String::from_utf8_lossy(&request.tool).into_owned(),
        args: request.args.iter().take_while(fits).map(<[u8]>::to_vec).collect(),
        args_total: request.args.len(),
        cwd: request.cwd.clone(),
        proto,
        ..CallRecord::default()
    }
}
