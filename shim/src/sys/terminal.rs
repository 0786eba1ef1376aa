//! The caller's terminal: its modes, its size, and whose its keys are.

use std::{
    ffi::{c_int, c_ulong},
    os::fd::RawFd,
};

unsafe extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// A terminal's modes, to put them back when a tool died with the terminal in its own.
#[derive(Debug)]
pub struct TerminalModes {
    fd: RawFd,
    modes: [u8; 64],
}

impl TerminalModes {
    /// None when standard input is no terminal.
    pub fn of_stdin() -> Option<Self> {
        const TCGETS: c_ulong = 0x5401;
        let mut modes = [0u8; 64];
        // SAFETY: the kernel writes its 36-byte termios into the 64 bytes.
        let done = unsafe { ioctl(0, TCGETS, modes.as_mut_ptr()) };
        (done == 0).then_some(Self { fd: 0, modes })
    }

    /// Puts the modes back. A process in the background must leave the terminal alone.
    pub fn restore(&mut self) {
        const TCSETSW: c_ulong = 0x5403;
        if self.foreground() == Some(process_group()) {
            // SAFETY: the kernel reads its 36-byte termios, which it wrote there itself.
            unsafe { ioctl(self.fd, TCSETSW, self.modes.as_mut_ptr()) };
        }
    }

    /// Whether the terminal's keys are now for others. Not known, and so not so, of a terminal that does not control
    /// this process.
    pub fn is_in_background(&self) -> bool {
        self.foreground().is_some_and(|group| group != process_group())
    }

    /// The process group that the keys are for; none where this process may not ask, or cannot see it.
    fn foreground(&self) -> Option<c_int> {
        const TIOCGPGRP: c_ulong = 0x540f;
        let mut group: c_int = 0;
        // SAFETY: the kernel writes one int.
        let known = unsafe { ioctl(self.fd, TIOCGPGRP, &raw mut group) } == 0;
        Some(group).filter(|&group| known && group > 0)
    }
}

/// Whether standard output is a terminal whose size nobody has set yet.
pub fn has_no_size() -> bool {
    const TIOCGWINSZ: c_ulong = 0x5413;
    let mut size = [1u16; 4];
    // SAFETY: the kernel writes its 8-byte winsize into the array.
    let done = unsafe { ioctl(1, TIOCGWINSZ, size.as_mut_ptr()) };
    done == 0 && size.starts_with(&[0, 0])
}

fn process_group() -> c_int {
    unsafe extern "C" {
        fn getpgrp() -> c_int;
    }
    // SAFETY: getpgrp(2) takes nothing and cannot fail.
    unsafe { getpgrp() }
}

/// Whether the stop key stops nobody here: the group of the session's own leader has no parent above it that could
/// continue it (an agent in its container, a command of its own in a window).
pub fn is_in_leaders_group() -> bool {
    unsafe extern "C" {
        fn getsid(pid: c_int) -> c_int;
    }
    // SAFETY: getsid(2) takes a number; 0 is this process.
    let session = unsafe { getsid(0) };
    session == process_group()
}
