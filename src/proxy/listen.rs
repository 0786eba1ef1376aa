//! Listening: sockets that nobody else can have put there, and connections only from the session's user.

use std::{
    io,
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
};

use aifo_shim::wire::endpoint::MAX_SOCKET_PATH;
use rustix::{
    fs::Mode,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};

/// Listens at a path where nothing is yet. What is there is never removed: it is not ours. Called before any thread is
/// started, for the umask belongs to the whole process.
pub(super) fn unix(path: &Path, kind: SocketType, peer: u32) -> io::Result<UnixListener> {
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "socket path longer than 107 bytes"));
    }
    // Another user connects only where the launcher said so; connecting needs write permission.
    let closed_to = if peer == rustix::process::geteuid().as_raw() { 0o177 } else { 0o111 };
    let before = rustix::process::umask(Mode::from_raw_mode(closed_to));
    let bound = bind(path, kind);
    rustix::process::umask(before);
    bound
}

fn bind(path: &Path, kind: SocketType) -> io::Result<UnixListener> {
    const BACKLOG: i32 = 4096;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Whether the other end is the user that this session serves (unix(7), SO_PEERCRED).
pub(super) fn is_user(stream: &UnixStream, uid: u32) -> bool {
    aifo_shim::sys::peer_uid(stream) == Some(uid)
}
