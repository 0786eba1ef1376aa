//! A terminal of a test's own: what a person at a keyboard is to a program.

#![expect(unsafe_code, reason = "the calls that make a terminal have no safe API in the dependencies")]

use std::{
    cell::RefCell,
    fs::File,
    io::{Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    process::{Command, Stdio},
};

use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{Background, clean, wait_until};

/// A terminal and what was shown on it.
#[derive(Debug)]
pub(crate) struct Terminal {
    keyboard: File,
    line: OwnedFd,
    shown: RefCell<Vec<u8>>,
}

impl Terminal {
    /// One of 80 columns and 24 rows. Nobody else inherits it, however many programs are started at the same time.
    pub(crate) fn open() -> Self {
        let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
        let keyboard =
            File::options().read(true).write(true).custom_flags(flags).open("/dev/ptmx").expect("a terminal");
        let unlocked: libc::c_int = 0;
        // SAFETY: ioctl_tty(2), TIOCSPTLCK reads one int.
        let done = unsafe { libc::ioctl(keyboard.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) };
        assert_eq!(done, 0, "unlocked");
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        // SAFETY: ioctl_tty(2), TIOCGPTPEER takes a number.
        let line = unsafe { libc::ioctl(keyboard.as_raw_fd(), libc::TIOCGPTPEER, flags) };
        assert!(line >= 0, "the other end");
        // SAFETY: the kernel has just made this descriptor and nobody else knows it.
        let line = unsafe { OwnedFd::from_raw_fd(line) };
        let terminal = Self { keyboard, line, shown: RefCell::default() };
        terminal.resize(80, 24);
        terminal
    }

    /// Changes its size, as dragging a window's corner does.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keyboard, size).expect("a size");
    }

    /// Runs a program with this terminal for its own, as the first of a session.
    #[track_caller]
    pub(crate) fn run(&self, call: &Command) -> Background {
        let mut command = clean("setsid");
        command.arg("--ctty").arg(call.get_program()).args(call.get_args());
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "dumb");
        command.current_dir(call.get_current_dir().expect("calls have a directory"));
        let line = || Stdio::from(self.line.try_clone().expect("a descriptor"));
        Background::with_output_as_set(command.stdin(line()).stdout(line()).stderr(line()))
    }

    /// The end that programs have, for descriptors that a test hands over itself.
    pub(crate) fn line(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// Types.
    pub(crate) fn keys(&self, keys: &str) {
        (&self.keyboard).write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Everything shown so far.
    pub(crate) fn screen(&self) -> String {
        let (mut shown, mut piece) = (self.shown.borrow_mut(), [0; 4096]);
        while let Ok(count @ 1..) = (&self.keyboard).read(&mut piece) {
            shown.extend_from_slice(&piece[..count]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until this is shown.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        wait_until(&format!("{text:?} on the screen"), || self.screen().contains(text));
    }

    /// Whether keys are echoed, edited in lines and taken for signals, as everyone expects to find a terminal.
    pub(crate) fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.line).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}
