//! Where a proxy listens, as `AIFO_TOOLEEXEC_URL` says it.

use std::{error::Error, fmt};

/// Linux's limit for a socket's path, without the NUL.
pub const MAX_SOCKET_PATH: usize = 107;

/// A way to reach a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `unix:///path`.
    Unix(String),
    /// `http://host:port/exec`; the path is always `/exec`.
    Tcp(String),
}

/// Why a URL is not an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointError {
    Scheme,
    Path,
    PathTooLong,
    Authority,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "expected unix:///path or http://host:port/exec",
            Self::Path => "expected an absolute socket path",
            Self::PathTooLong => "socket path longer than 107 bytes",
            Self::Authority => "expected http://host:port/exec",
        })
    }
}

impl Error for EndpointError {}

impl Endpoint {
    /// # Errors
    /// Any [`EndpointError`].
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        if let Some(path) = url.strip_prefix("unix://") {
            return match path {
                _ if !path.starts_with('/') => Err(EndpointError::Path),
                _ if path.len() > MAX_SOCKET_PATH => Err(EndpointError::PathTooLong),
                _ => Ok(Self::Unix(path.to_owned())),
            };
        }
        let rest = url.strip_prefix("http://").ok_or(EndpointError::Scheme)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, "exec"));
        let (host, port) = authority.rsplit_once(':').ok_or(EndpointError::Authority)?;
        let plain = host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
        if host.is_empty() || !plain || port.parse::<u16>().is_err() || path != "exec" {
            return Err(EndpointError::Authority);
        }
        Ok(Self::Tcp(authority.to_owned()))
    }

    /// What the Host field says.
    pub fn host(&self) -> &str {
        match self {
            Self::Unix(_) => "localhost",
            Self::Tcp(authority) => authority,
        }
    }
}
