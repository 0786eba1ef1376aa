//! A call: check it, find its sidecar, start it, stay with it, tell how it ended.

use std::{
    io,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use aifo_shim::wire::{
    body::BodyReader,
    exec::{ExecDecoder, ExecRequest},
    exit::{FAILED, NOT_EXECUTABLE, Outcome},
};
use rustix::event::{PollFd, PollFlags};

use super::{
    State,
    admit::Admitted,
    calls,
    conn::Conn,
    fleet::Sidecar,
    output::Output,
    ready,
    refusal::Refusal,
    route,
    slots::{Slot, Slots},
    watch::{self, Ended, Running},
};
use crate::{
    channel::{self, Report, StartFailure, Usage},
    control::Notice,
    random,
};

/// A body up to this size is received without waiting for a place among the large ones.
const SMALL_BODY: u64 = 64 * 1024;
/// Between handing a call to a sidecar and hearing that its tool has started.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Serves one call.
pub(super) fn serve(conn: &mut Conn, body: BodyReader, admitted: Admitted, state: &State) -> Result<(), Refusal> {
    // Held until the tool runs and the request is gone.
    let is_large = body.most() > SMALL_BODY;
    let large = if is_large { Some(queue(conn, &state.large)?) } else { None };
    let mut decoder = ExecDecoder::default();
    conn.receive_body(body, |bytes| Ok(decoder.feed(bytes)?))?;
    let request = decoder.finish()?;
    let tool = String::from_utf8_lossy(&request.tool).into_owned();
    let kinds = route::kinds(&tool, &state.settings.tools)
        .ok_or_else(|| Refusal::Forbidden(format!("`{tool}` is on no list of tools; add it with --tool KIND:NAME")))?;
    let sidecars = settle(conn, state.fleet.of_kinds(&kinds))?;
    if sidecars.is_empty() {
        let kind = kinds.first().copied().unwrap_or_default();
        let reason = format!("no {} sidecar in this session; start it with --toolchain {kind}", kinds.join(" or "));
        return Err(Refusal::NotAvailable { tool, reason });
    }
    let slot = queue(conn, &state.slots)?;
    let begun = Instant::now();
    let (mut output, descriptors) = Output::prepare(admitted, conn.take_descriptors())?;
    let call = Call { exec_id: random::hex(16)?, begun, proto: admitted.proto, request, state, conn };
    let started = call.start(&descriptors, &sidecars).inspect_err(|_| state.calls.forget(&call.exec_id))?;
    // On record before the client hears of the end: the session may end with it.
    let tell = |exec_id: &str, outcome: &Outcome, usage: Usage| {
        let record = state.calls.end(exec_id, outcome, usage);
        record.into_iter().for_each(|record| state.notices.tell(Notice::Call(record)));
    };
    let (running, first) = match started {
        Started::Running(running, first) => (running, first),
        Started::Not(outcome) => {
            tell(&call.exec_id, &outcome, Usage::default());
            return output.answer_unstarted(conn, &outcome);
        }
    };
    // What is not needed any more must not be held as long as a tool runs, and its copies of the client's pipes least.
    drop((descriptors, call, large));
    let ended = watch::to_the_end(conn, &running, first, &mut output, state.limit(begun), slot);
    let Ended { outcome, usage, timed_out, unsent } = ended;
    tell(&running.exec_id, &outcome, usage);
    output.finish(conn, unsent?, &outcome, timed_out)
}

/// Waits for a place. A client that goes away meanwhile is not run.
fn queue<'a>(conn: &Conn, slots: &'a Slots) -> Result<Slot<'a>, Refusal> {
    slots.take(Some(conn.hangup()))?.ok_or(Refusal::Vanished)
}

/// Waits until it is known of each sidecar whether it has come: the first in order is to be taken, not the first to be
/// quick, or the same call could go to two compilers.
fn settle<'a>(conn: &Conn, sidecars: Vec<&'a Sidecar>) -> Result<Vec<&'a Sidecar>, Refusal> {
    for sidecar in &sidecars {
        while !sidecar.is_settled() {
            let settled = PollFd::from_borrowed_fd(sidecar.settled(), PollFlags::IN);
            let [gone, _] = ready::poll([Some(conn.hangup()), Some(settled)], None)?;
            if gone {
                return Err(Refusal::Vanished);
            }
        }
    }
    Ok(sidecars)
}

enum Started {
    /// It runs, or has already ended, as its sidecar's first report says.
    Running(Running, Report),
    /// For a reason that is the call's own end.
    Not(Outcome),
}

/// A call that may be run.
struct Call<'a> {
    exec_id: String,
    begun: Instant,
    proto: u8,
    request: ExecRequest,
    state: &'a State,
    conn: &'a Conn,
}

impl Call<'_> {
    /// Starts the tool in the first sidecar that has it: those that said so first, then the others, for a tool may have
    /// been installed since. What a sidecar was told to start is on record from then on.
    fn start(&self, descriptors: &[OwnedFd; 3], sidecars: &[&Sidecar]) -> Result<Started, Refusal> {
        let tool = String::from_utf8_lossy(&self.request.tool).into_owned();
        let encoded = channel::encode_start(&self.request);
        let (holders, others): (Vec<&Sidecar>, Vec<&Sidecar>) =
            sidecars.iter().partition(|sidecar| sidecar.holds(&tool));
        let mut reason = None;
        for sidecar in holders.into_iter().chain(others) {
            let Some(channel) = sidecar.open_call() else {
                reason = reason.or(sidecar.trouble());
                continue;
            };
            let running =
                Running { exec_id: self.exec_id.clone(), kind: sidecar.kind.clone(), call: Arc::new(channel) };
            let record = calls::record(&running, &self.request, self.proto);
            self.state.calls.begin(&running.call, self.begun, record);
            if let Err(error) = channel::send_start(&running.call, &encoded, descriptors) {
                reason = reason.or(Some(format!("the {} sidecar does not take calls: {error}", sidecar.kind)));
                continue;
            }
            match self.first_report(&running.call)? {
                Some(first @ (Report::Started | Report::Stopped | Report::Exited { .. } | Report::Signaled { .. })) => {
                    return Ok(Started::Running(running, first));
                }
                Some(Report::Failed(StartFailure::NotFound)) => {
                    let absent = format!("`{tool}` is not installed in the {} sidecar", sidecar.kind);
                    reason = reason.or(Some(absent));
                }
                Some(Report::Failed(failure)) => return not_started(&tool, &self.request.cwd, &sidecar.kind, failure),
                None => {
                    let outcome = Outcome::said(FAILED, format!("the {} sidecar lost the call", sidecar.kind));
                    return Ok(Started::Not(outcome));
                }
            }
        }
        Err(Refusal::NotAvailable { tool, reason: reason.unwrap_or_default() })
    }

    /// What the sidecar says first; none when it is gone or too slow. A call whose client has gone meanwhile may be
    /// running all the same, so it is watched to its end like any other.
    fn first_report(&self, call: &OwnedFd) -> Result<Option<Report>, Refusal> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let news = PollFd::new(call, PollFlags::IN);
            let [gone, report] = ready::poll([Some(self.conn.hangup()), Some(news)], Some(left))?;
            if report {
                let mut record = [0; 64];
                let length = channel::receive(call, &mut record).map_or(0, |(length, _)| length);
                return Ok(Report::decode(record.get(..length).unwrap_or_default()));
            }
            if gone {
                return Ok(Some(Report::Started));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}

fn not_started(tool: &str, cwd: &[u8], kind: &str, failure: StartFailure) -> Result<Started, Refusal> {
    let cwd = String::from_utf8_lossy(cwd);
    let said = |errno| io::Error::from_raw_os_error(errno);
    match failure {
        StartFailure::OutsideRoots => Err(Refusal::BadRequest(format!(
            "`{cwd}` is not shared with the sidecar; run `{tool}` below the workspace or /tmp"
        ))),
        StartFailure::Directory { errno } => {
            Err(Refusal::BadRequest(format!("cannot enter `{cwd}` in the {kind} sidecar: {}", said(errno))))
        }
        StartFailure::NoProcess { errno } => Ok(Started::Not(Outcome::said(
            FAILED,
            format!("the {kind} sidecar cannot start a process: {}", said(errno)),
        ))),
        StartFailure::NotExecutable { errno } => {
            Ok(Started::Not(Outcome::said(NOT_EXECUTABLE, format!("cannot execute `{tool}`: {}", said(errno)))))
        }
        StartFailure::NotFound => Err(Refusal::NotAvailable { tool: tool.to_owned(), reason: String::new() }),
    }
}
