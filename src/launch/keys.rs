//! The terminal's interrupt and quit keys while a session runs.
//!
//! The kernel sends them to the terminal's whole foreground group, so the agent, or the docker client that passes it on,
//! has them as well. What they mean there is the agent's to say: many stop an answer with them and go on. So from the
//! agent's start to its end the launcher passes over a key, as system(3) does. Before and after that a key ends it, and
//! so does the same signal at any time when it is no key but was sent by a process.

#[cfg(target_os = "linux")]
use std::{os::fd::AsFd, thread};
use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

#[cfg(target_os = "linux")]
use aifo_shim::sys::{self, SIGINT, SIGQUIT, Signals, Want};

/// The keys of the terminal that this process was started at.
#[derive(Debug)]
pub(super) struct Keys(Arc<AtomicBool>);

impl Keys {
    /// Hears the keys from now on; where the system cannot do that, a key ends the launcher at any time. Called before any
    /// other thread starts, because all inherit what is blocked; these commands, which are run later, do not.
    pub(super) fn hear<'a>(commands: impl Iterator<Item = &'a mut Command>) -> Self {
        let keys = Self(Arc::new(AtomicBool::new(false)));
        #[cfg(target_os = "linux")]
        if let Ok(signals) = Signals::collect([SIGINT, SIGQUIT].into_iter()) {
            commands.for_each(sys::start_unblocked);
            let are_the_agents = Arc::clone(&keys.0);
            thread::spawn(move || watch(&signals, &are_the_agents));
        }
        #[cfg(not(target_os = "linux"))]
        drop(commands);
        keys
    }

    /// Runs what lasts as long as the agent does.
    pub(super) fn leave_to_agent<T>(&self, run: impl FnOnce() -> T) -> T {
        self.0.store(true, Ordering::SeqCst);
        let done = run();
        self.0.store(false, Ordering::SeqCst);
        done
    }
}

#[cfg(target_os = "linux")]
fn watch(signals: &Signals, are_the_agents: &AtomicBool) {
    while sys::wait([(signals.as_fd(), Want::Read)], None).is_ok() {
        while let Some(signal) = signals.next() {
            if !signal.from_kernel || !are_the_agents.load(Ordering::SeqCst) {
                sys::die_by(signal.number);
            }
        }
    }
}
