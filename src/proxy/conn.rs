//! One client's connection: bytes in and out, under the clock.
//!
//! A client gets a bounded time for its head and for its body; a running tool is never under a clock of this kind. What
//! is asked for, and by whom, is nobody's business here.

use std::{
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use aifo_shim::{
    socket::Socket,
    sys::{self, Want},
    wire::{
        body::BodyReader,
        head::{Collector, RequestHead},
    },
};
use rustix::{
    event::{PollFd, PollFlags},
    net::{RecvFlags, SendFlags, Shutdown},
};

use super::{admit::Transport, ready, refusal::Refusal};
use crate::channel;

/// For a whole head.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// For a whole body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// For a client to take an answer that does not depend on a tool.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How long the rest of a refused request is read away, so that the client gets to read the answer.
const LINGER: Duration = Duration::from_millis(500);

/// A connection, and what was read of it ahead.
#[derive(Debug)]
pub(super) struct Conn {
    socket: Socket,
    ahead: Vec<u8>,
    /// What came with the first bytes; descriptors that come later are closed.
    descriptors: Option<Vec<OwnedFd>>,
}

impl Conn {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, ahead: Vec::new(), descriptors: None }
    }

    pub(super) fn transport(&self) -> Transport {
        match self.socket {
            Socket::Unix(_) => Transport::Unix,
            Socket::Tcp(_) => Transport::Tcp,
        }
    }

    /// The descriptors that came with the request.
    pub(super) fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        self.descriptors.take().unwrap_or_default()
    }

    pub(super) fn receive_head(&mut self) -> Result<RequestHead, Refusal> {
        let deadline = Instant::now() + HEAD_PATIENCE;
        let mut collector = Collector::head();
        loop {
            self.fill(deadline)?;
            let (used, head) = collector.feed(&self.ahead)?;
            self.ahead.drain(..used);
            if let Some(head) = head {
                return Ok(RequestHead::parse(&head)?);
            }
        }
    }

    /// Hands the body to `take`, piece by piece.
    pub(super) fn receive_body(
        &mut self,
        mut body: BodyReader,
        mut take: impl FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let deadline = Instant::now() + BODY_PATIENCE;
        while !body.is_done() {
            if self.ahead.is_empty() {
                self.fill(deadline)?;
            }
            let (used, data) = body.read(&self.ahead)?;
            take(data)?;
            self.ahead.drain(..used);
        }
        Ok(())
    }

    /// Reads more, until the deadline at the latest.
    fn fill(&mut self, deadline: Instant) -> Result<(), Refusal> {
        let left = deadline.saturating_duration_since(Instant::now());
        let [readable] = sys::wait([(self.socket.as_fd(), Want::Read)], Some(left))?;
        if !readable {
            return Err(Refusal::TooSlow);
        }
        let mut buffer = [0; 16 * 1024];
        let count = match &mut self.socket {
            Socket::Tcp(stream) => stream.read(&mut buffer),
            Socket::Unix(stream) => {
                channel::receive_with(stream, &mut buffer, RecvFlags::empty()).map(|(count, descriptors)| {
                    self.descriptors.get_or_insert(descriptors);
                    count
                })
            }
        };
        match count {
            Ok(count @ 1..) => {
                self.ahead.extend_from_slice(buffer.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Refusal::BadRequest("too many descriptors".to_owned()))
            }
            Ok(_) | Err(_) => Err(Refusal::Vanished),
        }
    }

    /// Ready when the client is gone. A peer that shut down only its sending side still listens; over a Unix socket the
    /// two can be told apart, over TCP a half-closed client counts as gone.
    pub(super) fn hangup(&self) -> PollFd<'_> {
        match self.socket {
            Socket::Unix(_) => PollFd::new(&self.socket, PollFlags::empty()),
            Socket::Tcp(_) => PollFd::new(&self.socket, PollFlags::RDHUP),
        }
    }

    /// Ready when the client can take more of the answer.
    pub(super) fn writable(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, PollFlags::OUT)
    }

    /// Sends what the client takes now.
    pub(super) fn try_send(&self, bytes: &[u8]) -> Result<usize, Refusal> {
        match rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            Err(_gone) => Err(Refusal::Vanished),
        }
    }

    /// Sends a short answer whole, to a client that gets a bounded time to take it.
    pub(super) fn send_all(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let deadline = Instant::now() + ANSWER_PATIENCE;
        let mut left = bytes;
        loop {
            left = left.get(self.try_send(left)?..).unwrap_or_default();
            if left.is_empty() {
                return Ok(());
            }
            let patience = deadline.saturating_duration_since(Instant::now());
            let [writable] = sys::wait([(self.socket.as_fd(), Want::Write)], Some(patience))?;
            if !writable {
                return Err(Refusal::Vanished);
            }
        }
    }

    /// Sends to a client that may take as long as it likes, as long as it is there.
    pub(super) fn send_slowly(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let mut left = bytes;
        loop {
            left = left.get(self.try_send(left)?..).unwrap_or_default();
            if left.is_empty() {
                return Ok(());
            }
            ready::poll([Some(self.writable())], None)?;
        }
    }

    /// Sends a refusal. Closing with unread input would reset the connection and take the answer with it, so what the
    /// client still sends is read away for a moment.
    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        if self.send_all(&refusal.answer()).is_err() || rustix::net::shutdown(&self.socket, Shutdown::Write).is_err() {
            return;
        }
        let deadline = Instant::now() + LINGER;
        while self.fill(deadline).is_ok() {
            self.ahead.clear();
        }
    }
}
