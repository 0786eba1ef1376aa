//! The only place where xtask writes: results to stdout, everything else to stderr with one prefix.

use std::{
    fmt::Display,
    io::{self, Write},
};

use crate::cmd::Failure;

/// Writes a result; a reader that went away is not an error of ours.
pub(crate) fn out(text: &str) {
    drop(io::stdout().write_all(text.as_bytes()));
}

/// Says what is going on.
pub(crate) fn say(text: impl Display) {
    drop(writeln!(io::stderr(), "xtask: {text}"));
}

/// Shows what was done, as a table, where the task's result is something else.
pub(crate) fn show(table: &str) {
    drop(io::stderr().write_all(table.as_bytes()));
}

/// Says why a task ended early, and what to type.
pub(crate) fn failed(failure: &Failure) {
    say(format_args!("error: {failure}"));
    if let Some(hint) = failure.hint_text() {
        say(format_args!("hint: {hint}"));
    }
}
