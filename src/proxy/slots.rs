//! How many tools run at once: a counter with a queue, first come, first served.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags};

use super::ready;

/// Places for running tools.
#[derive(Debug)]
pub(super) struct Slots(Mutex<Places>);

#[derive(Debug)]
struct Places {
    free: usize,
    /// An event descriptor each, written to when its turn has come: a waiting call watches its client at the same time.
    waiting: VecDeque<Arc<OwnedFd>>,
}

/// One place; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(places: usize) -> Self {
        Self(Mutex::new(Places { free: places, waiting: VecDeque::new() }))
    }

    /// Takes a place, waiting for one if need be. None when `gone` is ready first: a caller that has gone leaves the
    /// queue at once, with everything that it had brought.
    ///
    /// # Errors
    /// What the kernel says of the waiting.
    pub(super) fn take(&self, gone: Option<PollFd<'_>>) -> io::Result<Option<Slot<'_>>> {
        let turn = {
            let mut places = self.lock();
            if places.free > 0 {
                places.free -= 1;
                return Ok(Some(Slot(self)));
            }
            let turn = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?);
            places.waiting.push_back(Arc::clone(&turn));
            turn
        };
        let waited = ready::poll([gone, Some(PollFd::new(&*turn, PollFlags::IN))], None);
        if let Ok([false, true]) = waited {
            return Ok(Some(Slot(self)));
        }
        let mut places = self.lock();
        let before = places.waiting.len();
        places.waiting.retain(|waiting| !Arc::ptr_eq(waiting, &turn));
        let was_called = places.waiting.len() == before;
        drop(places);
        if was_called {
            // The place came all the same, and goes on to the next.
            drop(Slot(self));
        }
        waited.map(|_ready| None)
    }

    /// A thread that panicked while it held the lock has aborted the process, so the data is whole.
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut places = self.0.lock();
        // A place goes straight to whoever waits longest, so nobody can overtake.
        match places.waiting.pop_front() {
            // The counter is 0 and takes a 1 without blocking.
            Some(turn) => drop(rustix::io::write(&*turn, &1u64.to_ne_bytes()).ok()),
            None => places.free += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn never_more_than_the_places_and_everyone_gets_one() {
        let slots = Slots::new(3);
        let (inside, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _slot = slots.take(None).unwrap().unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 2000);
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn whoever_has_gone_holds_nobody_up() {
        let slots = Slots::new(1);
        let (gone, here) = rustix::pipe::pipe().unwrap();
        drop(here);
        let hangup = || Some(PollFd::new(&gone, PollFlags::empty()));
        let held = slots.take(hangup()).unwrap();
        assert!(held.is_some(), "a free place is taken without a look");
        for _ in 0..3 {
            assert!(slots.take(hangup()).unwrap().is_none());
        }
        drop(held);
        assert!(slots.take(None).unwrap().is_some());
        assert!(slots.lock().waiting.is_empty() && slots.lock().free == 1);
    }
}
