//! What the proxy says instead of running a tool: status, exit code and body of each case, in one place.
//!
//! The bodies are those that older clients know. What a person needs to hear beyond them stands in `X-Exit-Reason`.

use std::io;

use aifo_shim::wire::{
    body::BodyError,
    exec::ExecError,
    exit::{EXIT_CODE, FAILED, Outcome, REFUSED, TIMEOUT},
    head::HeadError,
};

/// A call that was not run, or not to its end.
#[derive(Debug)]
pub(super) enum Refusal {
    BadRequest(String),
    Head(HeadError),
    Unauthorized,
    Forbidden(String),
    NotFound(&'static str),
    MethodNotAllowed {
        allowed: &'static str,
    },
    TooSlow,
    NotAvailable {
        tool: String,
        reason: String,
    },
    BodyTooLarge,
    Expectation,
    Protocol,
    Internal(io::Error),
    TimedOut(String),
    /// The client has gone; there is nobody to tell.
    Vanished,
}

impl Refusal {
    fn status(&self) -> (u16, &'static str) {
        match self {
            Self::BadRequest(_) => (400, "Bad Request"),
            Self::Head(cause) => match cause.status() {
                414 => (414, "URI Too Long"),
                431 => (431, "Request Header Fields Too Large"),
                501 => (501, "Not Implemented"),
                505 => (505, "HTTP Version Not Supported"),
                _ => (400, "Bad Request"),
            },
            Self::Unauthorized => (401, "Unauthorized"),
            Self::Forbidden(_) => (403, "Forbidden"),
            Self::NotFound(_) => (404, "Not Found"),
            Self::MethodNotAllowed { .. } => (405, "Method Not Allowed"),
            Self::TooSlow | Self::Vanished => (408, "Request Timeout"),
            Self::NotAvailable { .. } => (409, "Conflict"),
            Self::BodyTooLarge => (413, "Content Too Large"),
            Self::Expectation => (417, "Expectation Failed"),
            Self::Protocol => (426, "Upgrade Required"),
            Self::Internal(_) => (500, "Internal Server Error"),
            Self::TimedOut(_) => (504, "Gateway Timeout"),
        }
    }

    fn body(&self) -> String {
        match self {
            Self::BadRequest(cause) => format!("bad request: {cause}\n"),
            Self::Head(HeadError::TooLong | HeadError::TooManyFields) => "request headers too large\n".to_owned(),
            Self::Head(cause) => format!("bad request: {cause}\n"),
            Self::Unauthorized => "unauthorized\n".to_owned(),
            Self::Forbidden(_) => "forbidden\n".to_owned(),
            Self::NotFound(_) => "not found\n".to_owned(),
            Self::MethodNotAllowed { .. } => "method not allowed\n".to_owned(),
            Self::TooSlow | Self::Vanished => "request too slow\n".to_owned(),
            Self::NotAvailable { tool, .. } => format!(
                "\r\ntool '{tool}' not available in running sidecars; start an appropriate toolchain \
                 (e.g., --toolchain c-cpp or --toolchain rust)\n"
            ),
            Self::BodyTooLarge => "request body too large\n".to_owned(),
            Self::Expectation => "unknown expectation\n".to_owned(),
            Self::Protocol => "Unsupported shim protocol; expected 1 or 2\n".to_owned(),
            Self::Internal(cause) => format!("aifo-coder proxy error: {cause}\n"),
            Self::TimedOut(_) => "timeout\n".to_owned(),
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Forbidden(reason) | Self::NotAvailable { reason, .. } => Outcome::said(REFUSED, reason),
            Self::NotFound(reason) => Outcome::said(REFUSED, *reason),
            Self::TimedOut(reason) => Outcome::said(TIMEOUT, reason),
            Self::TooSlow | Self::Vanished | Self::Internal(_) => Outcome::said(FAILED, ""),
            _ => Outcome::said(REFUSED, ""),
        }
    }

    /// The whole answer.
    pub(super) fn answer(&self) -> Vec<u8> {
        let (status, phrase) = self.status();
        let extra = match self {
            Self::MethodNotAllowed { allowed } => format!("Allow: {allowed}\r\n"),
            _ => String::new(),
        };
        plain(&format!("{status} {phrase}"), &self.outcome(), &extra, &self.body())
    }
}

impl From<HeadError> for Refusal {
    fn from(cause: HeadError) -> Self {
        Self::Head(cause)
    }
}

impl From<BodyError> for Refusal {
    fn from(cause: BodyError) -> Self {
        match cause {
            BodyError::TooLarge => Self::BodyTooLarge,
            BodyError::Chunk(cause) => Self::BadRequest(cause.to_string()),
        }
    }
}

impl From<ExecError> for Refusal {
    fn from(cause: ExecError) -> Self {
        Self::BadRequest(cause.to_string())
    }
}

impl From<io::Error> for Refusal {
    fn from(cause: io::Error) -> Self {
        Self::Internal(cause)
    }
}

/// A buffered answer up to its body, of which `length` bytes follow.
pub(super) fn plain_head(status: &str, outcome: &Outcome, extra: &str, length: u64) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n");
    for (name, value) in outcome.trailers() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("{extra}Content-Length: {length}\r\nConnection: close\r\n\r\n"));
    head.into_bytes()
}

fn plain(status: &str, outcome: &Outcome, extra: &str, body: &str) -> Vec<u8> {
    let mut answer = plain_head(status, outcome, extra, body.len() as u64);
    answer.extend_from_slice(body.as_bytes());
    answer
}

/// The head of a streamed answer.
pub(super) fn stream_head(exec_id: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\
         Trailer: {EXIT_CODE}\r\nConnection: close\r\nX-Exec-Id: {exec_id}\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_that_older_clients_know() {
        let text = |refusal: Refusal| String::from_utf8(refusal.answer()).unwrap();
        assert_eq!(
            text(Refusal::Unauthorized),
            "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain; charset=utf-8\r\nX-Exit-Code: 86\r\n\
             Content-Length: 13\r\nConnection: close\r\n\r\nunauthorized\n"
        );
        assert!(text(Refusal::Protocol).ends_with("\r\n\r\nUnsupported shim protocol; expected 1 or 2\n"));
        assert!(text(Refusal::TimedOut("x".into())).contains("X-Exit-Code: 124\r\n"));
        let not_available = Refusal::NotAvailable { tool: "go".into(), reason: "start it\nnow".into() };
        let shown = text(not_available);
        assert!(shown.contains("X-Exit-Reason: start it now\r\n"), "{shown}");
        assert!(text(Refusal::MethodNotAllowed { allowed: "POST" }).contains("Allow: POST\r\n"));
    }
}
