//! The C calls that std lacks, each behind a safe function: the shim's only unsafe code.
//!
//! The declarations follow Linux's ABI on 64-bit little-endian machines, where musl and glibc agree with the kernel
//! (`size_t` lengths in `msghdr`, a 128-byte `sigset_t`). Nothing here decides anything.

#![expect(unsafe_code, reason = "descriptor passing, signal masks and terminal modes have no safe std API")]

mod message;
mod terminal;

use std::{
    ffi::{c_char, c_int, c_long, c_ulong, c_void},
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{self, Command},
    ptr,
    time::Duration,
};

pub use self::{
    message::{is_too_many_in_flight, peer_uid, send_now, send_with_standard_descriptors},
    terminal::{TerminalModes, has_no_size, is_in_leaders_group},
};
use crate::wire::exec::CStrings;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("the shim runs on 64-bit little-endian Linux");

pub const SIGHUP: i32 = 1;
pub const SIGINT: i32 = 2;
pub const SIGQUIT: i32 = 3;
pub const SIGUSR1: i32 = 10;
pub const SIGUSR2: i32 = 12;
pub const SIGPIPE: i32 = 13;
pub const SIGTERM: i32 = 15;
pub const SIGCHLD: i32 = 17;
pub const SIGCONT: i32 = 18;
pub const SIGSTOP: i32 = 19;
pub const SIGTSTP: i32 = 20;
pub const SIGWINCH: i32 = 28;
pub const SIGKILL: i32 = 9;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

type SignalSet = [u64; 16];

unsafe extern "C" {
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn signalfd(fd: c_int, set: *const SignalSet, flags: c_int) -> c_int;
    fn sigaction(signal: c_int, new: *const c_void, old: *mut c_void) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
}

/// Raises this process's limit on open descriptors as far as it may itself.
pub fn raise_descriptor_limit() {
    const RLIMIT_NOFILE: c_int = 7;
    let mut limit = [0, 0];
    // SAFETY: the kernel writes a whole rlimit, which is these two words.
    let known = unsafe { getrlimit(RLIMIT_NOFILE, &raw mut limit) } == 0;
    let [soft, hard] = limit;
    let highest = [hard, hard];
    if known && soft < hard {
        // SAFETY: `highest` is a whole rlimit.
        unsafe { setrlimit(RLIMIT_NOFILE, &raw const highest) };
    }
}

/// What a descriptor is waited for.
#[derive(Debug, Clone, Copy)]
pub enum Want {
    Read,
    Write,
    Nothing,
}

/// Waits until one of the descriptors is ready (or has an error, or hung up); says which are. None of them when the
/// time is up. A signal that is not blocked only makes it wait again.
pub fn wait<const N: usize>(on: [(BorrowedFd<'_>, Want); N], limit: Option<Duration>) -> io::Result<[bool; N]> {
    let mut fds = on.map(|(fd, want)| {
        let events = match want {
            Want::Read => 1,
            Want::Write => 4,
            Want::Nothing => 0,
        };
        // A negative descriptor is passed over by poll(2), error states included.
        let fd = if events == 0 { -1 } else { fd.as_raw_fd() };
        PollFd { fd, events, revents: 0 }
    });
    let timeout = limit.map_or(-1, |limit| c_int::try_from(limit.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX));
    loop {
        // SAFETY: `fds` is a live array of exactly N entries.
        let ready = unsafe { poll(fds.as_mut_ptr(), N as c_ulong, timeout) };
        if ready >= 0 {
            return Ok(fds.map(|fd| fd.revents != 0));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Signals that were blocked and are read like a file, so that nothing ever runs in signal context.
#[derive(Debug)]
pub struct Signals(File);

/// One signal.
#[derive(Debug, Clone, Copy)]
pub struct Signal {
    pub number: i32,
    /// Sent by the kernel, as a terminal does to its whole foreground group, not by a process to us alone.
    pub from_kernel: bool,
}

impl Signals {
    /// Blocks these signals and collects them from now on.
    pub fn collect(numbers: impl Iterator<Item = i32>) -> io::Result<Self> {
        const SFD_CLOEXEC_NONBLOCK: c_int = 0o2_000_000 | 0o4000;
        let set = set_of(numbers);
        block(&set)?;
        // SAFETY: as above; -1 asks for a new descriptor.
        let fd = check(unsafe { signalfd(-1, &raw const set, SFD_CLOEXEC_NONBLOCK) })?;
        // SAFETY: signalfd has just made this descriptor and nobody else knows it.
        Ok(Self(File::from(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// The next signal that has come, if any.
    pub fn next(&self) -> Option<Signal> {
        const SI_KERNEL: i32 = 0x80;
        let mut info = [0u8; 128];
        (&self.0).read_exact(&mut info).ok()?;
        let word = |at: usize| i32::from_le_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        Some(Signal { number: word(0), from_kernel: word(8) == SI_KERNEL })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether this process was started with the signal ignored, as nohup(1) does.
pub fn is_ignored(number: i32) -> bool {
    const SIG_IGN: usize = 1;
    // A sigaction is 152 bytes on both libraries and starts with the handler.
    let mut old = [0usize; 32];
    // SAFETY: a null `new` changes nothing, and `old` is larger than what is written.
    let done = unsafe { sigaction(number, ptr::null(), old.as_mut_ptr().cast()) };
    done == 0 && old[0] == SIG_IGN
}

/// Ends this process by a signal, without a core file of it: the caller sees what happened to the tool. Comes back only
/// where the kernel does not deliver it, as in a container's first process, and for a number that ends nothing: what
/// only stops would leave the caller hanging.
pub fn die_by(number: i32) {
    const RLIMIT_CORE: c_int = 4;
    const SIG_DFL: usize = 0;
    const SIGTTOU: i32 = 22;
    if !(1..=64).contains(&number) || (SIGSTOP..=SIGTTOU).contains(&number) {
        return;
    }
    let none = [0, 0];
    // SAFETY: `none` is a whole rlimit.
    unsafe { setrlimit(RLIMIT_CORE, &raw const none) };
    // SAFETY: restoring a default handler touches no memory of ours.
    unsafe { signal(number, SIG_DFL) };
    send(process::id(), number);
    // The signal is delivered here at the latest.
    unblock([number].into_iter());
}

/// Stops this process as the terminal's stop key does; comes back when it is continued, or at once where nobody could
/// continue it: in a process group with no parent of its session above it the kernel drops TSTP. So it does where the
/// caller has it ignored. STOP would hold the process for good.
///
/// Both ways out look the same to whoever collects signals: one CONT has come.
pub fn stop() {
    send(process::id(), SIGTSTP);
    // It acts here, with whatever the caller wants of it.
    unblock([SIGTSTP].into_iter());
    drop(block(&set_of([SIGTSTP].into_iter())));
    // Merged with the one that is pending where somebody has sent it.
    send(process::id(), SIGCONT);
}

/// Becomes another program; its path is the first of `argv`. Comes back only with the reason why not.
pub fn exec(argv: &CStrings, envp: &CStrings) -> io::Error {
    const SIG_DFL: usize = 0;
    // std ignores SIGPIPE for itself; a program that is started expects the default.
    // SAFETY: restoring a default handler touches no memory of ours.
    unsafe { signal(SIGPIPE, SIG_DFL) };
    let (argv, envp) = (pointers(argv), pointers(envp));
    // SAFETY: both lists hold pointers to NUL-ended strings and end with a null pointer; the strings live in the
    // caller's `CStrings`, and the first of `argv` is the path.
    unsafe { execve(argv.first().copied().unwrap_or(ptr::null()), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

fn pointers(strings: &CStrings) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr().cast()).chain([ptr::null()]).collect()
}

/// Sends a signal to one process; that it may be gone already is no error.
pub fn send(pid: u32, number: i32) {
    if let Ok(pid) = c_int::try_from(pid) {
        // SAFETY: kill(2) takes two numbers.
        unsafe { kill(pid, number) };
    }
}

/// Sends a signal to a whole process group, named by its first process.
pub fn send_to_group(leader: u32, number: i32) {
    if let Ok(group) = c_int::try_from(leader) {
        // SAFETY: kill(2) takes two numbers; a negative one means the group.
        unsafe { kill(-group, number) };
    }
}

fn block(set: &SignalSet) -> io::Result<()> {
    const SIG_BLOCK: c_int = 0;
    // SAFETY: `set` is a whole sigset_t; a null `old` asks for nothing back.
    check(unsafe { sigprocmask(SIG_BLOCK, ptr::from_ref(set), ptr::null_mut()) }).map(drop)
}

/// Lets these signals act again.
pub fn unblock(numbers: impl Iterator<Item = i32>) {
    const SIG_UNBLOCK: c_int = 1;
    let set = set_of(numbers);
    // SAFETY: `set` is a whole sigset_t; a null `old` asks for nothing back.
    unsafe { sigprocmask(SIG_UNBLOCK, &raw const set, ptr::null_mut()) };
}

/// Closes every descriptor but the standard three: whatever the caller had open is no business of a server.
pub fn close_inherited() {
    // The number is the same on every architecture (close_range(2)).
    const SYS_CLOSE_RANGE: c_long = 436;
    // SAFETY: called before this process has opened anything, so nothing of ours is closed.
    let closed = unsafe { syscall(SYS_CLOSE_RANGE, 3 as c_ulong, c_ulong::from(u32::MAX), 0 as c_ulong) };
    if closed == 0 {
        return;
    }
    // Older kernels say ENOSYS, older container engines EPERM: one by one, then.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in numbers.into_iter().filter(|&fd| fd > 2) {
        // SAFETY: as above; the descriptor of the listing itself is already closed and only gives EBADF.
        unsafe { syscall(SYS_CLOSE, fd) };
    }
}

/// close(2), which std offers only for descriptors that it owns.
#[cfg(target_arch = "x86_64")]
const SYS_CLOSE: c_long = 3;
#[cfg(target_arch = "aarch64")]
const SYS_CLOSE: c_long = 57;

/// Lets a program that is started begin with no signal blocked. std passes our own mask on, and with it a program would
/// never hear of what we collect.
pub fn start_unblocked(command: &mut Command) {
    const SIG_SETMASK: c_int = 2;
    let unblock = || {
        let none: SignalSet = [0; 16];
        // SAFETY: `none` is a whole sigset_t; a null `old` asks for nothing back.
        check(unsafe { sigprocmask(SIG_SETMASK, &raw const none, ptr::null_mut()) }).map(drop)
    };
    // SAFETY: between fork and exec only sigprocmask(2) is called, which takes no lock and no memory.
    unsafe { command.pre_exec(unblock) };
}

/// Makes orphans among the descendants children of this process instead of the system's first one.
pub fn become_subreaper() {
    const PR_SET_CHILD_SUBREAPER: c_int = 36;
    // SAFETY: prctl(2) takes numbers; where the kernel refuses, only daemons of a tree escape the last clean-up.
    unsafe { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(u8),
    Signal(i32),
}

/// Takes one ended child off the list: its process id and its end. None when no child has ended.
pub fn reap() -> Option<(u32, Ended)> {
    const WNOHANG: c_int = 1;
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let pid = unsafe { waitpid(-1, &raw mut status, WNOHANG) };
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0)?;
    let [low, code, ..] = status.to_le_bytes();
    let signal = i32::from(low & 0x7f);
    Some((pid, if signal == 0 { Ended::Code(code) } else { Ended::Signal(signal) }))
}

fn set_of(numbers: impl Iterator<Item = i32>) -> SignalSet {
    let mut set = [0; 16];
    for number in numbers {
        set[0] |= 1 << (number - 1);
    }
    set
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
