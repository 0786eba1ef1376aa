//! Messages on a Unix socket, the caller's descriptors with them, and who is at the other end.

use std::{
    ffi::{c_int, c_void},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::net::UnixStream,
    },
    ptr,
};

#[repr(C)]
struct IoVec {
    base: *const c_void,
    length: usize,
}

#[repr(C)]
struct MessageHeader {
    name: *const c_void,
    name_length: u32,
    vector: *const IoVec,
    vector_length: usize,
    control: *const c_void,
    control_length: usize,
    flags: c_int,
}

/// A control message that carries three descriptors (cmsg(3)).
#[repr(C)]
struct Rights {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptors: [c_int; 3],
}

unsafe extern "C" {
    fn sendmsg(socket: c_int, message: *const MessageHeader, flags: c_int) -> isize;
    fn getsockopt(socket: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut u32) -> c_int;
}

/// Sends `bytes` with descriptors 0, 1 and 2 attached to the first of them, `input` in the place of 0 where there is one;
/// says how many bytes went.
///
/// # Errors
/// What sendmsg(2) says; `WouldBlock` instead of waiting, [`is_too_many_in_flight`] with nothing sent.
pub fn send_with_standard_descriptors(
    socket: &UnixStream,
    bytes: &[u8],
    input: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let input = input.map_or(0, |input| input.as_raw_fd());
    // SOL_SOCKET and SCM_RIGHTS are both 1; the length is the header's 16 bytes and three descriptors of 4.
    send_message(socket.as_fd(), bytes, Some(&Rights { length: 28, level: 1, kind: 1, descriptors: [input, 1, 2] }))
}

/// Sends as much of `bytes` as goes now; says how much that was.
///
/// # Errors
/// What sendmsg(2) says; `WouldBlock` instead of waiting.
pub fn send_now(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    send_message(socket, bytes, None)
}

fn send_message(socket: BorrowedFd<'_>, bytes: &[u8], rights: Option<&Rights>) -> io::Result<usize> {
    const MSG_DONTWAIT: c_int = 0x40;
    const MSG_NOSIGNAL: c_int = 0x4000;
    let vector = IoVec { base: bytes.as_ptr().cast(), length: bytes.len() };
    let message = MessageHeader {
        name: ptr::null(),
        name_length: 0,
        vector: &raw const vector,
        vector_length: 1,
        control: rights.map_or(ptr::null(), ptr::from_ref).cast(),
        control_length: rights.map_or(0, size_of_val),
        flags: 0,
    };
    // SAFETY: every pointer in `message` leads to what outlives the call, with its true length beside it, or is null
    // with a length of 0.
    let sent = unsafe { sendmsg(socket.as_raw_fd(), &raw const message, MSG_DONTWAIT | MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_negative| io::Error::last_os_error())
}

/// Whether descriptors could not be sent because too many of this user's are on their way (unix(7), ETOOMANYREFS). The
/// measure is the limit on open descriptors of whoever sends.
pub fn is_too_many_in_flight(error: &io::Error) -> bool {
    const ETOOMANYREFS: i32 = 109;
    error.raw_os_error() == Some(ETOOMANYREFS)
}

/// The user at the other end of a Unix socket (unix(7), SO_PEERCRED). The process id beside it is 0 when the peer lives
/// in another container, so only the user is of any use.
pub fn peer_uid(socket: impl AsFd) -> Option<u32> {
    const SOL_SOCKET: c_int = 1;
    const SO_PEERCRED: c_int = 17;
    let mut credentials = [0u32; 3];
    let mut length = 12;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which is the size of the array.
    let done = unsafe { getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials.as_mut_ptr().cast(), &raw mut length) };
    (done == 0 && length == 12).then_some(credentials[1])
}
