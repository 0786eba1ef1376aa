//! The shim's allocator: a fixed arena that is filled from the front and given back by exiting.
//!
//! A call lives for a moment, and musl's allocator answers small needs with a pair of system calls each, which made up
//! half of all that a call did. What does not fit the arena (a megabyte of arguments) goes to the system's allocator.

#![expect(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::UnsafeCell,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

const SIZE: usize = 256 * 1024;

#[global_allocator]
static ARENA: Arena = Arena { bytes: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

/// Zeroed memory of the program's image: no page of it is real before it is touched.
#[repr(align(16))]
struct Arena {
    bytes: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

// SAFETY: the only shared state is `used`, which is atomic; every range of `bytes` is handed out once.
unsafe impl Sync for Arena {}

impl Arena {
    fn base(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    fn holds(&self, block: *mut u8) -> bool {
        (self.base().addr()..self.base().addr() + SIZE).contains(&block.addr())
    }
}

// SAFETY: blocks from the arena are disjoint (`used` only grows past each of them), aligned and within `bytes`; all other
// blocks are the system allocator's, and each goes back to where it came from.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let place = |used: usize| {
            let start = used.checked_next_multiple_of(layout.align())?;
            let end = start.checked_add(layout.size()).filter(|&end| end <= SIZE && layout.align() <= 16)?;
            Some((start, end))
        };
        let taken =
            self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| place(used).map(|(_, end)| end));
        match taken.ok().and_then(place) {
            // SAFETY: `start` lies within the arena, as `place` has checked.
            Some((start, _)) => unsafe { self.base().add(start) },
            // SAFETY: the caller's layout is passed on as it is.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.holds(block) {
            // SAFETY: what is not ours came from the system allocator with this layout.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !self.holds(block) {
            // SAFETY: what is not ours came from the system allocator with this layout.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: the caller guarantees a valid new size for the old alignment.
        let grown = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: as for any allocation.
        let fresh = unsafe { self.alloc(grown) };
        if !fresh.is_null() {
            // SAFETY: both blocks are at least this long and distinct, because nothing is handed out twice.
            unsafe { ptr::copy_nonoverlapping(block, fresh, layout.size().min(new_size)) };
        }
        fresh
    }
}
