//! The processes of a session besides the agent: told their settings on standard input, heard to their last words, and
//! waited for, but never for ever.

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use crate::{error::Error, report};

/// What is kept of the last words of a container.
const LAST_WORDS: usize = 4096;

/// A child process that is told its settings on standard input, which then stays open as its lifeline.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) child: Child,
    pub(super) input: Option<ChildStdin>,
    last_words: Receiver<Vec<u8>>,
}

impl Member {
    /// # Errors
    /// [`Error::Start`].
    pub(super) fn start(part: &str, mut command: Command, settings: &[u8]) -> Result<Self, Error> {
        // A group of its own: the terminal's interrupt key is meant for the agent.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| Error::Start(command.get_program().to_owned(), cause))?;
        report::detail(format_args!("starting {part}"));
        let mut input = child.stdin.take();
        let (heard, last_words) = mpsc::channel();
        if let Some(errors) = child.stderr.take() {
            thread::spawn(move || heard.send(keep_last(errors)));
        }
        // When it has already ended, its last words tell more than a broken pipe.
        let _told: bool = input.as_mut().is_some_and(|input| input.write_all(settings).is_ok());
        Ok(Self { child, input, last_words })
    }

    /// Closes its input and waits for its end. One that lives until then ends without an error; the last words of any
    /// other are the error.
    pub(super) fn finish(mut self, deadline: Instant) -> Result<(), String> {
        drop(self.input.take());
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if !status.success() => return Err(self.said()),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => return Ok(()),
            }
        }
        drop(self.child.kill());
        drop(self.child.wait());
        Ok(())
    }

    /// Its last line, when it has ended.
    pub(super) fn said(&self) -> String {
        // Whoever it has left behind may hold the stream open.
        let words = self.last_words.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let text = String::from_utf8_lossy(&words);
        let line = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("Run 'docker"));
        line.map(|line| line.trim().trim_start_matches("docker: ").to_owned()).unwrap_or_default()
    }
}

/// Reads all there is and keeps the end of it.
fn keep_last(mut from: impl Read) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_end() {
        let kept = keep_last([vec![b'a'; 10_000], b"end".to_vec()].concat().as_slice());
        assert!(kept.len() == LAST_WORDS && kept.ends_with(b"end"));
    }
}
