//! Which signals a call passes on, and what each means for the caller itself.

use std::io;

use aifo_shim::sys::{self, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, Signals};

/// Passed on once for each time they come.
const PASSED: [i32; 9] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT];

/// What a signal means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caught {
    /// Would end it.
    Ends,
    /// Stops it, once the tool was told to stop too.
    Stops,
    Continues,
    /// Concerns only the tool.
    Informs,
}

pub(crate) fn meaning(number: i32) -> Caught {
    match number {
        SIGINT | SIGTERM | SIGHUP | SIGQUIT => Caught::Ends,
        SIGTSTP => Caught::Stops,
        SIGCONT => Caught::Continues,
        _ => Caught::Informs,
    }
}

/// Starts to collect them. What the caller was started to ignore (nohup(1), a background job) stays ignored; only the
/// signals that end or stop a process are worth asking for.
pub(crate) fn collect() -> io::Result<Signals> {
    let matters = |number| matches!(meaning(number), Caught::Ends | Caught::Stops);
    Signals::collect(PASSED.into_iter().filter(|&number| !(matters(number) && sys::is_ignored(number))))
}
