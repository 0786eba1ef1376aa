//! Real sessions: a launcher as a person would start it, and the proof that nothing of it is left.
//!
//! Every session is counted by what it cannot hide: docker's label and name of it, and the processes of this host that
//! run in its containers or speak of it. Whatever a test does, its own session is ended with it and no other.

pub(crate) mod agents;
mod island;
mod launcher;
mod leftovers;
mod place;
mod session;
mod window;

use std::process::{Command, Stdio};

pub(crate) use self::{
    island::Island,
    launcher::Launcher,
    leftovers::{processes, session_id},
    place::Place,
    session::Session,
    window::Window,
};
use super::Ran;

/// Runs docker and gives what it prints.
#[track_caller]
pub(crate) fn docker(args: &[&str]) -> Ran {
    Ran::of(Command::new("docker").args(args).stdin(Stdio::null()))
}
