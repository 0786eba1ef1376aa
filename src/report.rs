//! The only place where the launcher writes to the user: results on stdout, talk on stderr with one prefix.
//!
//! A reader that went away is not an error: `aifo-coder ps | head -1` ends quietly.

use std::{
    fmt::Display,
    io::{self, Write},
    sync::atomic::{AtomicU8, Ordering},
};

use crate::error::Error;

/// How much the user wants to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Level {
    Quiet,
    Normal,
    Verbose,
}

// The one piece of process-wide state: the level is set once, before anything is said, and read by every thread.
static LEVEL: AtomicU8 = AtomicU8::new(Level::Normal as u8);

/// Sets the level for the rest of the run.
pub(crate) fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

fn hears(level: Level) -> bool {
    LEVEL.load(Ordering::Relaxed) >= level as u8
}

/// Writes a result.
pub(crate) fn out(text: impl Display) {
    drop(write!(io::stdout(), "{text}"));
}

/// Says what a user wants to know without asking.
pub(crate) fn say(text: impl Display) {
    if hears(Level::Normal) {
        line(text);
    }
}

/// Says what only `-v` wants to know.
pub(crate) fn detail(text: impl Display) {
    if hears(Level::Verbose) {
        line(text);
    }
}

/// Says what must not be missed, `-q` or not.
pub(crate) fn warn(text: impl Display) {
    line(format_args!("warning: {text}"));
}

/// Says why the run ends, and what to type.
pub(crate) fn error(error: &Error) {
    line(format_args!("error: {error}"));
    if let Some(hint) = error.hint() {
        line(format_args!("hint: {hint}"));
    }
}

/// One write a line, so that lines of several threads do not mix. The carriage return is for terminals that an agent has
/// left in raw mode.
fn line(text: impl Display) {
    drop(io::stderr().write_all(format!("aifo-coder: {text}\n").as_bytes()));
}
