//! The way to the proxy: where it is, request heads, and the small request that passes a signal on.

use std::{
    io::{self, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

use crate::{
    error::ShimError,
    settings::Settings,
    socket::Socket,
    wire::{endpoint::Endpoint, form, signal},
};

/// A signal that is not taken within this time will not be: the proxy answers it from memory.
const SIGNAL_PATIENCE: Duration = Duration::from_secs(2);

/// Where the proxy is, and what it knows us by.
#[derive(Debug)]
pub struct Proxy {
    pub endpoint: Endpoint,
    token: String,
}

impl Proxy {
    /// # Errors
    /// [`ShimError::NotConfigured`], [`ShimError::BadUrl`], [`ShimError::BadToken`].
    pub fn from_settings(settings: &Settings) -> Result<Self, ShimError> {
        let (Some(url), Some(token)) = (&settings.url, &settings.token) else {
            return Err(ShimError::NotConfigured);
        };
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ShimError::BadToken);
        }
        Ok(Self { endpoint: Endpoint::parse(url).map_err(ShimError::BadUrl)?, token: token.clone() })
    }

    pub fn connect(&self) -> Result<Socket, ShimError> {
        let (whom, socket) = match &self.endpoint {
            Endpoint::Unix(path) => (path, UnixStream::connect(path).map(Socket::Unix)),
            Endpoint::Tcp(authority) => (authority, TcpStream::connect(authority).map(Socket::Tcp)),
        };
        socket.map_err(|cause| ShimError::Connect(whom.clone(), cause))
    }

    /// The head of a request; `length` bytes of form follow.
    pub fn head(&self, target: &str, proto: u8, length: usize) -> Vec<u8> {
        let method = if target == "/session" { "GET" } else { "POST" };
        let (host, token) = (self.endpoint.host(), &self.token);
        let client = concat!("aifo-shim/", env!("CARGO_PKG_VERSION"));
        format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nX-Aifo-Proto: {proto}\r\n\
             X-Aifo-Client: {client}\r\nX-Aifo-Accept: stopped\r\nTE: trailers\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    }

    /// Passes a signal on to a running call.
    ///
    /// # Errors
    /// When the proxy does not say that it took it.
    pub fn signal(&self, exec_id: &str, number: i32, proto: u8) -> io::Result<()> {
        let name = signal::name(number).unwrap_or("TERM");
        let mut form = Vec::new();
        form::encode("exec_id", exec_id.as_bytes(), &mut form);
        form::encode("signal", name.as_bytes(), &mut form);
        let mut message = self.head("/signal", proto, form.len());
        message.extend_from_slice(&form);
        let mut socket = self.connect().map_err(io::Error::other)?;
        socket.limit(SIGNAL_PATIENCE)?;
        socket.write_all(&message)?;
        match socket.read_head()?.status {
            204 => Ok(()),
            status => Err(io::Error::other(format!("status {status}"))),
        }
    }
}
