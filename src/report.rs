//! The only place where the launcher writes to the user: results on stdout, talk on stderr with one prefix.
//!
//! A reader that went away is not an error: `aifo-coder ps | head -1` ends quietly. Any other result that could not be
//! written is one, told once at the end of the run: a caller must not take half a list for all of it.

use std::{
    env,
    fmt::Display,
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
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

// Process-wide, because every thread speaks: set once, before anything is said.
static LEVEL: AtomicU8 = AtomicU8::new(Level::Normal as u8);

/// Sets the level for the rest of the run.
pub(crate) fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

fn hears(level: Level) -> bool {
    LEVEL.load(Ordering::Relaxed) >= level as u8
}

// Whether marks in what is printed may be coloured; set once, like the level.
static COLORED: AtomicBool = AtomicBool::new(false);

/// Decides on colour: as the user says, else by the terminal and by what its user has set (no-color.org).
pub(crate) fn set_color(wish: Option<&str>) {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let colored = match wish {
        Some("always") => true,
        Some("never") => false,
        _ if is_set("NO_COLOR") || env::var_os("TERM").is_some_and(|term| term == "dumb") => false,
        _ => is_set("CLICOLOR_FORCE") || io::stdout().is_terminal(),
    };
    COLORED.store(colored, Ordering::Relaxed);
}

/// A word in green or red, where colour is wanted.
pub(crate) fn mark(word: &str, is_good: bool) -> String {
    let code = if is_good { 32 } else { 31 };
    if COLORED.load(Ordering::Relaxed) { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() }
}

// Why a result could not be written, the first time that this happened.
static UNWRITTEN: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes a result. Whether all of them were written is what [`written`] tells.
pub(crate) fn out(text: impl Display) {
    let mut stdout = io::stdout();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        }
        _ => {}
    }
}

/// Whether every result has come out.
///
/// # Errors
/// [`Error::Output`].
pub(crate) fn written() -> Result<(), Error> {
    let unwritten = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    unwritten.map_or(Ok(()), |cause| Err(Error::Output(cause)))
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

/// Asks something; the answer is typed behind it.
pub(crate) fn ask(text: impl Display) {
    drop(io::stderr().write_all(format!("aifo-coder: {text}").as_bytes()));
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
