//! Exit codes: what a caller can read from them, and nothing else is ever invented.
//!
//! A tool's own code passes through. The codes below are said by this system, each together with a line on stderr.

/// The call was refused, or no proxy is configured: nothing was run.
pub const REFUSED: u8 = 86;
/// The run time limit that the user set was reached.
pub const TIMEOUT: u8 = 124;
/// The way to the tool failed; the tool may not have run, or its end is unknown.
pub const FAILED: u8 = 125;
/// The tool was found but could not be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The tool was not found where it should have been.
pub const NOT_FOUND: u8 = 127;
/// Death by signal n is 128 + n where it cannot be passed on as a signal.
pub const SIGNAL_BASE: u8 = 128;

/// How a call ended, as the trailers tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// 0 to 255; 128 + n where a signal ended the tool.
    pub code: u8,
    pub signal: Option<u8>,
    /// What this system has to say about it; empty when the tool simply ended.
    pub reason: String,
}

impl Outcome {
    pub fn exited(code: u8) -> Self {
        Self { code, signal: None, reason: String::new() }
    }

    pub fn signaled(signal: u8) -> Self {
        Self { code: SIGNAL_BASE.saturating_add(signal), signal: Some(signal), reason: String::new() }
    }

    /// A code of this system's own.
    pub fn said(code: u8, reason: impl Into<String>) -> Self {
        Self { code, signal: None, reason: reason.into() }
    }

    /// The trailers that carry it: the exit code always, the rest where there is something to say.
    pub fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut trailers = vec![(EXIT_CODE, self.code.to_string())];
        trailers.extend(self.signal.map(|signal| (EXIT_SIGNAL, signal.to_string())));
        if !self.reason.is_empty() {
            // One line of plain text is all that a field can hold.
            let line = self.reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            trailers.push((EXIT_REASON, line));
        }
        trailers
    }

    /// Reads trailers, or the header of protocol 1. None unless there is exactly one exit code from 0 to 255.
    pub fn from_fields(fields: &super::head::Fields) -> Option<Self> {
        let number = |name| fields.one(name).ok().flatten().and_then(super::head::decimal);
        let code = u8::try_from(number("x-exit-code")?).ok()?;
        let signal = number("x-exit-signal").and_then(|signal| u8::try_from(signal).ok());
        let reason = fields.one("x-exit-reason").ok().flatten().unwrap_or_default();
        Some(Self { code, signal, reason: String::from_utf8_lossy(reason).into_owned() })
    }
}

/// The exit code, decimal.
pub const EXIT_CODE: &str = "X-Exit-Code";
/// The number of the signal that ended the tool.
pub const EXIT_SIGNAL: &str = "X-Exit-Signal";
/// One line for people.
pub const EXIT_REASON: &str = "X-Exit-Reason";
