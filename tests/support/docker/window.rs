//! A session in a window of a terminal, with a person at it.

use std::time::Duration;

use rustix::process::Signal;

use super::leftovers::{assert_nothing_left_soon, remove_containers};
use crate::support::{Background, Terminal, wait_until};

/// The window, and the launcher in it.
#[derive(Debug)]
pub(crate) struct Window {
    /// Closed when there is none.
    pub(super) terminal: Option<Terminal>,
    pub(super) launcher: Background,
    pub(crate) id: String,
    pub(super) marker: String,
}

impl Window {
    /// A container's name.
    pub(crate) fn name(&self, part: &str) -> String {
        format!("aifo-{}-{part}", self.id)
    }

    #[track_caller]
    pub(crate) fn terminal(&self) -> &Terminal {
        self.terminal.as_ref().expect("an open window")
    }

    /// How much was shown so far: the place behind which news stands.
    #[track_caller]
    pub(crate) fn now(&self) -> usize {
        self.terminal().screen().len()
    }

    #[track_caller]
    pub(crate) fn shown_since(&self, start: usize) -> String {
        self.terminal().screen().split_off(start)
    }

    /// Types a line, and waits until `answer` shows behind what was there before. The line must not show it itself.
    #[track_caller]
    pub(crate) fn ask(&self, line: &str, answer: &str) {
        let before = self.now();
        self.terminal().keys(&format!("{line}\r"));
        self.shows_since(before, answer);
    }

    #[track_caller]
    pub(crate) fn shows_since(&self, start: usize, text: &str) {
        wait_until(&format!("{text:?} on the screen"), || self.shown_since(start).contains(text));
    }

    /// Waits until a shell asks for the next line, behind what was there before. What is typed before it has taken an
    /// interrupt is lost, as anywhere.
    #[track_caller]
    pub(crate) fn shows_prompt_since(&self, start: usize) {
        wait_until("a prompt", || self.shown_since(start).trim_end().ends_with(['#', '$']));
    }

    /// Closes it, which hangs up whatever runs in it.
    pub(crate) fn close(&mut self) {
        drop(self.terminal.take());
    }

    pub(crate) fn kill_launcher(&self) {
        self.launcher.signal(Signal::KILL);
    }

    /// Waits for the launcher's end; its code, if it ended by itself. Nothing may be left soon after.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        let status = self.launcher.status_within(Duration::from_secs(60));
        assert_nothing_left_soon(&self.id, &self.marker);
        status.code()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.kill_launcher();
        remove_containers(&self.id);
    }
}
