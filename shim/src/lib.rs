//! What the programs around a tool call share: the wire protocol, the table of tools, and what a client needs.
//!
//! `wire`, `tools`, `elf`, `tar` and `json` do no I/O, and nothing in them grows beyond a limit that it names; the launcher
//! uses them, and `given`, on every platform. The rest belongs to the programs in the containers, most of it to Linux alone. This library
//! depends on nothing, never on the launcher.

pub mod elf;
pub mod git;
pub mod given;
pub mod json;
pub mod tar;
pub mod tools;
pub mod wire;

#[cfg(target_os = "linux")]
pub mod error;
#[cfg(target_os = "linux")]
pub mod proxy;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod tree;
#[cfg(target_os = "linux")]
pub mod user;
