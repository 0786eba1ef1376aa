//! Where a tool's output goes, by protocol.
//!
//! By protocol 3 it is the client's own descriptors, and not a byte passes this process; the stream that is left empty
//! tells a client that asked for it when the tool has stopped itself. By protocol 2 it is one pipe,
//! which is pumped into chunks, never read faster than the client takes them. By protocol 1 it is two unlinked files,
//! because the whole length must be known before the first byte is sent, and no output may have to fit into memory.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    os::fd::OwnedFd,
};

use aifo_shim::wire::{PROTO_BUFFERED, PROTO_DESCRIPTORS, chunk, exit::Outcome};
use rustix::{fs::OFlags, pipe::PipeFlags};

use super::{
    admit::Admitted,
    conn::Conn,
    refusal::{Refusal, plain_head, stream_head},
};

/// What is read of a pipe at once; a pipe's default capacity.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) enum Output {
    /// With whether the client wants to hear of a tool that stops itself.
    Direct {
        accepts_stopped: bool,
    },
    /// None once the pipe has ended or nobody wants its content any more.
    Piped(Option<File>),
    Spooled {
        out: File,
        err: File,
    },
}

impl Output {
    /// The output for a request, and the descriptors that the tool gets.
    pub(super) fn prepare(admitted: Admitted, sent: Vec<OwnedFd>) -> Result<(Self, [OwnedFd; 3]), Refusal> {
        match admitted.proto {
            PROTO_DESCRIPTORS => {
                let three = sent.try_into().map_err(|_other_count| {
                    Refusal::BadRequest("protocol 3 needs descriptors 0, 1 and 2 with the first byte".to_owned())
                })?;
                Ok((Self::Direct { accepts_stopped: admitted.accepts_stopped }, three))
            }
            PROTO_BUFFERED => {
                let (out, err) = (spool_file()?, spool_file()?);
                let descriptors = [nothing()?, out.try_clone()?.into(), err.try_clone()?.into()];
                Ok((Self::Spooled { out, err }, descriptors))
            }
            _ => {
                let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
                rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK).map_err(io::Error::from)?;
                let descriptors = [nothing()?, writer.try_clone()?, writer];
                Ok((Self::Piped(Some(reader.into())), descriptors))
            }
        }
    }

    /// What an answer starts with as soon as the tool runs; nothing where the length must be known first.
    pub(super) fn head(&self, exec_id: &str) -> Vec<u8> {
        match self {
            Self::Direct { .. } | Self::Piped(_) => stream_head(exec_id),
            Self::Spooled { .. } => Vec::new(),
        }
    }

    /// The pipe to pump, if there is one.
    pub(super) fn pipe(&self) -> Option<&File> {
        if let Self::Piped(Some(pipe)) = self { Some(pipe) } else { None }
    }

    /// Reads at most `most` bytes of the pipe and appends them as a chunk; closes the pipe at its end.
    pub(super) fn pump(&mut self, most: u64, answer: &mut Vec<u8>) -> u64 {
        let Self::Piped(Some(pipe)) = self else { return 0 };
        let mut piece = [0; PIECE];
        let room = usize::try_from(most).unwrap_or(PIECE).min(PIECE);
        match pipe.read(piece.get_mut(..room).unwrap_or_default()) {
            Ok(count @ 1..) => {
                chunk::encode(piece.get(..count).unwrap_or_default(), answer);
                count as u64
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            Ok(_) | Err(_) => {
                self.close_pipe();
                0
            }
        }
    }

    /// Appends what tells the client that the tool has stopped itself.
    pub(super) fn tell_stopped(&self, answer: &mut Vec<u8>) {
        if let Self::Direct { accepts_stopped: true } = self {
            chunk::encode(b"stopped\n", answer);
        }
    }

    /// Nobody reads the pipe any more: the tool gets SIGPIPE or EPIPE, as from any closed pipe.
    pub(super) fn close_pipe(&mut self) {
        if let Self::Piped(pipe) = self {
            *pipe = None;
        }
    }

    /// Tells how a tool ended, behind what is still `unsent` of its answer. One write where it is short: that wakes the
    /// client once.
    pub(super) fn finish(
        &mut self,
        conn: &Conn,
        mut unsent: Vec<u8>,
        outcome: &Outcome,
        timed_out: bool,
    ) -> Result<(), Refusal> {
        match self {
            Self::Spooled { .. } if timed_out => Err(Refusal::TimedOut(outcome.reason.clone())),
            Self::Spooled { out, err } => {
                let length = out.metadata()?.len() + err.metadata()?.len();
                conn.send_slowly(&plain_head("200 OK", outcome, "", length))?;
                send_file(conn, out)?;
                send_file(conn, err)
            }
            Self::Direct { .. } | Self::Piped(_) => {
                if timed_out && matches!(self, Self::Piped(_)) {
                    chunk::encode(b"aifo-coder proxy timeout\n", &mut unsent);
                }
                let trailers = outcome.trailers();
                let trailers: Vec<(&str, &str)> =
                    trailers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                chunk::encode_end(&trailers, &mut unsent);
                conn.send_slowly(&unsent)
            }
        }
    }

    /// Tells that a tool did not start, in the shape that an answer of this protocol has.
    pub(super) fn answer_unstarted(&mut self, conn: &Conn, outcome: &Outcome) -> Result<(), Refusal> {
        let head = self.head("none");
        self.finish(conn, head, outcome, false)
    }
}

fn nothing() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(Into::into)
}

/// A file without a name: nobody else can open it, and it is gone with its last descriptor. The tool appends.
fn spool_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!(".aifo-{}", crate::random::hex(16)?));
    let file = File::options().read(true).append(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Sends a file as far as it goes now; what a daemon appends later is nobody's output any more.
fn send_file(conn: &Conn, file: &mut File) -> Result<(), Refusal> {
    let mut left = file.metadata()?.len();
    file.rewind()?;
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let room = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let count = file.read(piece.get_mut(..room).unwrap_or_default())?;
        if count == 0 {
            return Err(Refusal::Vanished);
        }
        conn.send_slowly(piece.get(..count).unwrap_or_default())?;
        left -= count as u64;
    }
    Ok(())
}
