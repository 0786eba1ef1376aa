//! The tool-exec protocol, sans-I/O: bytes in, events out.
//!
//! Both ends use this one implementation: the shim as a client, the proxy as a server. No socket, clock or thread lives
//! here, so a parser can be fed by a Unix socket, by TCP or by a test that splits its input at every byte. What is not
//! plainly right is refused: these bytes come from containers that run other people's programs.
//! `shim/PROTOCOL.md` describes the same for a reader without this code.

#![warn(clippy::indexing_slicing)]

pub mod body;
pub mod chunk;
pub mod endpoint;
pub mod env;
pub mod exec;
pub mod exit;
pub mod form;
pub mod head;
pub mod limits;
pub mod signal;

#[cfg(test)]
mod tests;

/// The newest protocol: descriptors travel with the request, so it needs a Unix socket.
pub const PROTO_DESCRIPTORS: u8 = 3;
/// Output streamed as chunks, the exit code in a trailer.
pub const PROTO_STREAMED: u8 = 2;
/// Output buffered, the exit code in a header.
pub const PROTO_BUFFERED: u8 = 1;
