//! Starting and reaping processes: what neither std nor rustix offers safely.
//!
//! posix_spawn(3) instead of fork and exec: it shares the parent's memory until the new program has started, so it costs
//! the same however large the parent is, and it returns the reason when the program could not be executed.

#![expect(unsafe_code, reason = "fork, posix_spawn and wait4 have no safe API")]

use std::{
    ffi::{CStr, c_char, c_int},
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd},
    ptr,
};

use aifo_shim::{sys::Ended, wire::exec::CStrings};

use crate::channel::Usage;

/// Splits this process in two; the child gets `None`. Only for a process with one thread: in any other the child would
/// inherit locks that nobody will release.
pub(super) fn fork() -> io::Result<Option<u32>> {
    // SAFETY: execd has one thread, so the child may do whatever the parent could.
    let pid = unsafe { libc::fork() };
    match u32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) => Ok(Some(pid)),
        Err(_negative) => Err(io::Error::last_os_error()),
    }
}

/// Starts a program in a process group of its own, with these three descriptors and no others, every signal at its
/// default and none blocked. Every other descriptor of ours is close-on-exec.
pub(super) fn spawn(path: &CStr, argv: &CStrings, envp: &CStrings, stdio: &[OwnedFd; 3]) -> io::Result<u32> {
    let actions = FileActions::new(stdio)?;
    let attributes = Attributes::new()?;
    let (argv, envp) = (pointers(argv), pointers(envp));
    let mut pid = 0;
    // SAFETY: path and both lists are NUL-ended and null-ended as posix_spawn wants them and live until it returns;
    // actions and attributes were initialised by their constructors. The strings are only read.
    check(unsafe {
        libc::posix_spawn(
            &raw mut pid,
            path.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv.as_ptr(),
            envp.as_ptr(),
        )
    })?;
    u32::try_from(pid).map_err(io::Error::other)
}

/// The next child that has ended: its process id, its end and what it used up. None while all still run.
pub(super) fn reap() -> Option<(u32, Ended, Usage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers lead to locals of the right type.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0)?;
    // SAFETY: all-zero is a valid rusage, and the kernel has filled it in.
    let usage = unsafe { usage.assume_init() };
    let micros = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0);
    let used = Usage {
        cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    };
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Code(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
    };
    Some((pid, ended, used))
}

/// Whether any child is left, after those that have ended were reaped.
pub(super) fn has_children() -> bool {
    while reap().is_some() {}
    // SAFETY: a null status and usage ask for nothing back.
    let found = unsafe { libc::wait4(-1, ptr::null_mut(), libc::WNOHANG, ptr::null_mut()) };
    found >= 0
}

struct FileActions(libc::posix_spawn_file_actions_t);

impl FileActions {
    fn new(stdio: &[OwnedFd; 3]) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: init writes the whole value.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: it was initialised by the call above.
        let mut actions = Self(unsafe { actions.assume_init() });
        for (fd, target) in stdio.iter().zip(0..) {
            // SAFETY: the value is initialised and the descriptor stays open until after the spawn.
            check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut actions.0, fd.as_raw_fd(), target) })?;
        }
        Ok(actions)
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: init writes the whole value.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: it was initialised by the call above.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset writes the whole set.
        check(unsafe { libc::sigfillset(set.as_mut_ptr()) })?;
        // SAFETY: attributes and set are initialised.
        check(unsafe { libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, set.as_ptr()) })?;
        // SAFETY: sigemptyset writes the whole set.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        // SAFETY: attributes and set are initialised.
        check(unsafe { libc::posix_spawnattr_setsigmask(&raw mut attributes.0, set.as_ptr()) })?;
        // SAFETY: attributes are initialised; group 0 means a new one.
        check(unsafe { libc::posix_spawnattr_setpgroup(&raw mut attributes.0, 0) })?;
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETPGROUP;
        // SAFETY: attributes are initialised.
        check(unsafe {
            libc::posix_spawnattr_setflags(&raw mut attributes.0, libc::c_short::try_from(flags).unwrap_or(0))
        })?;
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

fn pointers(strings: &CStrings) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut().cast()).chain([ptr::null_mut()]).collect()
}

/// The posix_spawn family returns the error number itself.
fn check(error: c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
