//! A connection of either kind: a Unix socket, over which descriptors travel, or TCP.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use crate::{
    sys,
    wire::head::{Collector, ResponseHead},
};

/// A connection of either kind.
#[derive(Debug)]
pub enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Sends from the front of `bytes`, the caller's standard descriptors with it, or `input` for the first of them.
    ///
    /// # Errors
    /// What the kernel says, `WouldBlock` among it; `Unsupported` over TCP.
    pub fn send_with_standard_descriptors(&self, bytes: &[u8], input: Option<BorrowedFd<'_>>) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => sys::send_with_standard_descriptors(stream, bytes, input),
            Self::Tcp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Sends from the front of `bytes` what goes without waiting.
    ///
    /// # Errors
    /// What the kernel says, `WouldBlock` among it.
    pub fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        sys::send_now(self.as_fd(), bytes)
    }

    /// Lets reads and writes fail after this time.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn limit(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(limit)).and(stream.set_write_timeout(Some(limit))),
            Self::Tcp(stream) => stream.set_read_timeout(Some(limit)).and(stream.set_write_timeout(Some(limit))),
        }
    }

    /// Reads a response's head; what came behind it is dropped.
    ///
    /// # Errors
    /// When the connection breaks or what comes is no head.
    pub fn read_head(&mut self) -> io::Result<ResponseHead> {
        let mut collector = Collector::head();
        let mut buffer = [0; 512];
        loop {
            let count = self.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (_, head) = collector.feed(buffer.get(..count).unwrap_or_default()).map_err(io::Error::other)?;
            if let Some(head) = head {
                return ResponseHead::parse(&head).map_err(io::Error::other);
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&mut &*stream).write(bytes),
            Socket::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
