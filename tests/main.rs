//! The tests of what ships: the built programs, real tools, real docker. One binary, one module a topic.
//!
//! `cargo xtask test` builds the programs first and knows which modules this machine can run. Tests that need something
//! from outside are ignored with the reason and run by name; nothing here skips itself.

#![expect(clippy::unwrap_used, reason = "where a test cannot go on, it fails")]

mod answers;
mod calls;
mod clients;
mod config;
mod defects;
mod docker;
mod emulated;
mod exits;
mod faults;
mod http;
mod input;
mod lifetime;
mod limits;
mod load;
mod local;
mod memory;
mod places;
mod promises;
mod routing;
mod shim;
mod signals;
mod sockets;
mod streams;
mod support;
mod terminal;
mod users;
mod written;
