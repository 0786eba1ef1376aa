//! Threads that accept and serve: whoever accepts a connection serves it to its end.
//!
//! No hand-over stands between a client's connect and its answer. As long as fewer threads than the limit live, one of
//! them is free to accept; at the limit connections wait in the kernel's queue, and none is refused.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Free threads that are kept for the next connections.
const KEPT: usize = 4;
/// What a thread needs is small and known; the default of 2 MiB would be charged for each.
const STACK: usize = 192 * 1024;

struct Pool<A, H> {
    accept: A,
    handle: H,
    most: usize,
    free: AtomicUsize,
    alive: AtomicUsize,
}

/// Serves what `accept` yields with `handle`, on at most `most` threads, for ever.
pub(super) fn serve<T, A, H>(accept: A, handle: H, most: usize) -> io::Result<()>
where
    A: Fn() -> io::Result<T> + Send + Sync + 'static,
    H: Fn(T) + Send + Sync + 'static,
    T: 'static,
{
    let pool = Pool { accept, handle, most, free: AtomicUsize::new(0), alive: AtomicUsize::new(0) };
    start(&Arc::new(pool))
}

fn start<T, A, H>(pool: &Arc<Pool<A, H>>) -> io::Result<()>
where
    A: Fn() -> io::Result<T> + Send + Sync + 'static,
    H: Fn(T) + Send + Sync + 'static,
    T: 'static,
{
    pool.free.fetch_add(1, Ordering::SeqCst);
    pool.alive.fetch_add(1, Ordering::SeqCst);
    let own = Arc::clone(pool);
    let started = thread::Builder::new().stack_size(STACK).spawn(move || work(&own));
    if started.is_err() {
        pool.free.fetch_sub(1, Ordering::SeqCst);
        pool.alive.fetch_sub(1, Ordering::SeqCst);
    }
    started.map(drop)
}

fn work<T, A, H>(pool: &Arc<Pool<A, H>>)
where
    A: Fn() -> io::Result<T> + Send + Sync + 'static,
    H: Fn(T) + Send + Sync + 'static,
    T: 'static,
{
    loop {
        let Ok(connection) = (pool.accept)() else {
            // Out of descriptors or memory: those in use come back, and the connection waits meanwhile.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        let was_last_free = pool.free.fetch_sub(1, Ordering::SeqCst) == 1;
        if was_last_free && pool.alive.load(Ordering::SeqCst) < pool.most {
            // Without another thread the connections wait until this one is free again.
            drop(start(pool));
        }
        (pool.handle)(connection);
        // In one step: a thread that is leaving must not be counted as free by one that takes the last.
        let stays = |free| (free < KEPT).then_some(free + 1);
        if pool.free.fetch_update(Ordering::SeqCst, Ordering::SeqCst, stays).is_err() {
            pool.alive.fetch_sub(1, Ordering::SeqCst);
            return;
        }
    }
}
