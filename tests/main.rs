//! The tests of what ships: the built programs, real tools, real docker. One binary, one module a topic.
//!
//! `cargo xtask test` builds the programs first and knows which modules this machine can run. Tests that need something
//! from outside are ignored with the reason and run by name; nothing here skips itself.

mod promises;
mod support;
