//! One call in a sidecar, by a process of its own: start the tool, pass signals on, report how it ended.
//!
//! The supervisor is a subreaper, so everything that the tool ever starts stays below it, daemons that left group and
//! session included. When the call is cancelled, or the proxy's end of it closes, nothing below it survives: INT, TERM,
//! then KILL until no descendant is left. A tool that ends by itself may leave daemons; they pass to execd and live as
//! long as the session.

use std::{
    ffi::{CString, OsStr},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
    process, thread,
    time::{Duration, Instant},
};

use aifo_shim::{
    sys::{
        self as signals, Ended, SIGCHLD, SIGCONT, SIGINT, SIGKILL, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, Signals, Want,
    },
    tree,
    wire::exec::{CStrings, ExecRequest},
};
use rustix::{
    io::Errno,
    net::Shutdown,
    process::{Pid, WaitId, WaitIdOptions},
};

use super::{login, login::Variables, lookup, place, sys};
use crate::channel::{self, CANCEL, Report, StartFailure, Usage};

/// A tool that ends sooner is reported once, ended: half of all calls are short, and each report wakes two processes.
const BRIEF: Duration = Duration::from_millis(2);
/// From INT to TERM when a call is cancelled.
const AFTER_INT: Duration = Duration::from_millis(500);
/// From TERM to KILL.
const AFTER_TERM: Duration = Duration::from_millis(1500);
/// From the second INT to KILL, where no terminal makes INT an everyday key.
const AFTER_SECOND_INT: Duration = Duration::from_secs(2);

/// What every call of a sidecar shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) kind: String,
    pub(super) roots: Vec<PathBuf>,
    pub(super) env: Variables,
}

/// Serves one call on its end of the pair.
pub(super) fn serve(call: &OwnedFd, shared: &Shared) -> io::Result<()> {
    let (request, stdio) = channel::receive_start(call)?;
    signals::become_subreaper();
    let signals = Signals::collect([SIGCHLD, SIGTERM].into_iter())?;
    let interactive = rustix::termios::isatty(&stdio[0]);
    let tool = match start(&request, &stdio, shared) {
        Ok(tool) => tool,
        Err(failure) => return report(call, Report::Failed(failure)),
    };
    // The tool holds them now; ours would keep the caller's pipes open behind its end.
    drop(stdio);
    let mut watch = Watch {
        call,
        signals,
        tool,
        interactive,
        had_stopped: false,
        interrupts: 0,
        next: None,
        cancelled: false,
        gone: false,
    };
    if let Some(ended) = watch.until_end(Some(Instant::now() + BRIEF))? {
        return report(call, ended);
    }
    // A proxy that has gone meanwhile does not hear it; its tool must be seen to its end all the same.
    let _heard: bool = report(call, Report::Started).is_ok();
    match watch.until_end(None)? {
        Some(ended) => report(call, ended),
        None => Ok(()),
    }
}

fn start(request: &ExecRequest, stdio: &[OwnedFd; 3], shared: &Shared) -> Result<u32, StartFailure> {
    let cwd = place::enter(&request.cwd, &shared.roots)?;
    let path = shared.env.get(OsStr::new("PATH")).map_or(OsStr::new(""), |path| path.as_os_str());
    let found = lookup::find(&request.tool, &shared.kind, &cwd, &shared.roots, path)?;
    let path = lookup::joined(found.venv.as_ref().map(|venv| venv.join("bin")), path);
    let mut fixed = vec![("PWD", cwd.as_os_str()), ("PATH", path.as_os_str())];
    fixed.extend(found.venv.as_ref().map(|venv| ("VIRTUAL_ENV", venv.as_os_str())));
    let env = login::for_call(&shared.env, &request.env, &fixed);
    let mut argv = CStrings::default();
    // A tool that goes by another name here is told that name: Python finds itself by it.
    argv.push(found.program.file_name().map_or(request.tool.as_slice(), OsStrExt::as_bytes));
    request.args.iter().for_each(|arg| argv.push(arg));
    let program = CString::new(found.program.as_os_str().as_bytes()).map_err(|_nul| StartFailure::NotFound)?;
    sys::spawn(&program, &argv, &env, stdio).map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(0);
        match Errno::from_raw_os_error(errno) {
            Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => StartFailure::NoProcess { errno },
            _ => StartFailure::NotExecutable { errno },
        }
    })
}

fn report(call: &OwnedFd, report: Report) -> io::Result<()> {
    let none: [OwnedFd; 0] = [];
    channel::send(call, &report.encode(), &none)
}

/// What comes next on the way from INT to KILL.
#[derive(Debug, Clone, Copy)]
enum Step {
    Terminate,
    Kill,
}

struct Watch<'a> {
    call: &'a OwnedFd,
    signals: Signals,
    tool: u32,
    interactive: bool,
    /// The caller has sent the stop key's signal, and has not had the tool continued.
    had_stopped: bool,
    interrupts: u32,
    next: Option<(Instant, Step)>,
    cancelled: bool,
    gone: bool,
}

impl Watch<'_> {
    /// None when the tool still runs at `until`.
    fn until_end(&mut self, until: Option<Instant>) -> io::Result<Option<Report>> {
        loop {
            let nearest = self.next.map(|(at, _)| at).into_iter().chain(until).min();
            let limit = nearest.map(|at| at.saturating_duration_since(Instant::now()));
            let hear = if self.gone { Want::Nothing } else { Want::Read };
            let [signal, record] =
                signals::wait([(self.signals.as_fd(), Want::Read), (self.call.as_fd(), hear)], limit)?;
            if signal && let Some(report) = self.take_signals() {
                return Ok(Some(report));
            }
            if record {
                self.take_record();
            }
            if let Some((at, step)) = self.next
                && at <= Instant::now()
            {
                self.take_step(step);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(None);
            }
        }
    }

    fn take_signals(&mut self) -> Option<Report> {
        let mut report = None;
        while let Some(signal) = self.signals.next() {
            // TERM comes from the kernel when execd itself is gone, and with it the sidecar. How its calls end from here on
            // is not their own end, so the proxy hears of none.
            if signal.number == SIGTERM {
                self.gone |= rustix::net::shutdown(self.call, Shutdown::Both).is_ok();
                self.cancel();
            }
            while let Some((pid, ended, usage)) = sys::reap() {
                if pid == self.tool {
                    report = Some(ended_as(ended, usage));
                }
            }
        }
        if report.is_some() && self.cancelled {
            kill_tree();
        }
        if report.is_none() && self.interactive {
            self.tell_stop();
        }
        report
    }

    /// Tells of a tool that has stopped itself: at a terminal its caller has to stop with it, or the shell above would
    /// not take the keys back. Of a stop that it asked for it knows.
    fn tell_stop(&self) {
        let tool = i32::try_from(self.tool).ok().and_then(Pid::from_raw);
        let stops = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let stopped = tool.and_then(|tool| rustix::process::waitid(WaitId::Pid(tool), stops).ok().flatten());
        if stopped.is_some() && !self.had_stopped {
            let _heard: bool = report(self.call, Report::Stopped).is_ok();
        }
    }

    fn take_record(&mut self) {
        let mut record = [0; 64];
        match channel::try_receive(self.call, &mut record) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok((length @ 1.., _)) => match record.get(..length).unwrap_or_default() {
                CANCEL => self.cancel(),
                record => channel::signal_in(record).into_iter().for_each(|number| self.pass(number)),
            },
            Ok((0, _)) | Err(_) => {
                self.gone = true;
                self.cancel();
            }
        }
    }

    /// Passes a caller's signal on. KILL takes what the tool has started with it.
    fn pass(&mut self, number: i32) {
        if number == SIGKILL {
            self.cancelled = true;
            kill_tree();
            return;
        }
        match number {
            SIGTSTP => self.had_stopped = true,
            SIGCONT => self.had_stopped = false,
            _ => {}
        }
        match number {
            // Meant for the program that knows them; what it has started may not.
            SIGUSR1 | SIGUSR2 => signals::send(self.tool, number),
            _ => signals::send_to_group(self.tool, number),
        }
        if number == SIGINT && !self.interactive {
            self.interrupts += 1;
            if self.interrupts == 2 && self.next.is_none() {
                self.next = Some((Instant::now() + AFTER_SECOND_INT, Step::Kill));
            }
        }
    }

    fn cancel(&mut self) {
        if !self.cancelled {
            self.cancelled = true;
            self.signal_and_wake(SIGINT);
            self.next = Some((Instant::now() + AFTER_INT, Step::Terminate));
        }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Terminate => {
                self.signal_and_wake(SIGTERM);
                self.next = Some((Instant::now() + AFTER_TERM, Step::Kill));
            }
            Step::Kill => {
                self.cancelled = true;
                self.next = None;
                kill_tree();
            }
        }
    }

    /// A stopped tool takes no signal but these two.
    fn signal_and_wake(&self, number: i32) {
        signals::send_to_group(self.tool, number);
        signals::send_to_group(self.tool, SIGCONT);
    }
}

/// Kills until nothing is left below this process. The tool's own end stays to be reaped by the caller's loop, so only
/// processes that still live are counted.
fn kill_tree() {
    loop {
        let living = tree::descendants(process::id());
        if living.is_empty() {
            return;
        }
        living.into_iter().for_each(|pid| signals::send(pid, SIGKILL));
        thread::sleep(Duration::from_millis(1));
    }
}

fn ended_as(ended: Ended, usage: Usage) -> Report {
    match ended {
        Ended::Code(code) => Report::Exited { code, usage },
        Ended::Signal(number) => Report::Signaled { signal: u8::try_from(number).unwrap_or(u8::MAX), usage },
    }
}
