//! How many tools run at once: a counter with a queue, first come, first served.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, Thread},
};

/// Places for running tools.
#[derive(Debug)]
pub(super) struct Slots(Mutex<Places>);

#[derive(Debug)]
struct Places {
    free: usize,
    waiting: VecDeque<(u64, Thread)>,
    next_ticket: u64,
    /// Tickets whose turn has come.
    called: Vec<u64>,
}

/// One place; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(places: usize) -> Self {
        Self(Mutex::new(Places { free: places, waiting: VecDeque::new(), next_ticket: 0, called: Vec::new() }))
    }

    /// Takes a place, waiting for one if need be.
    pub(super) fn take(&self) -> Slot<'_> {
        let mut places = self.lock();
        if places.free > 0 {
            places.free -= 1;
            return Slot(self);
        }
        let ticket = places.next_ticket;
        places.next_ticket += 1;
        places.waiting.push_back((ticket, thread::current()));
        loop {
            drop(places);
            thread::park();
            places = self.lock();
            if let Some(at) = places.called.iter().position(|&called| called == ticket) {
                places.called.swap_remove(at);
                return Slot(self);
            }
        }
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
            Some((ticket, thread)) => {
                places.called.push(ticket);
                thread.unpark();
            }
            None => places.free += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use super::*;

    #[test]
    fn never_more_than_the_places_and_everyone_gets_one() {
        let slots = Arc::new(Slots::new(3));
        let (inside, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _slot = slots.take();
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
}
