//! As much of HTTP/1.1 as an agent's client needs: one request, one answer, and the connection is closed.
//!
//! Written apart from the product's own HTTP on purpose: what tests it must not share its mistakes.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// No agent says more in one request.
const LONGEST_BODY: u64 = 64 << 20;

/// A request, whole.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads one; none where nothing came.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let line = line(from)?;
        let mut words = line.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let mut request = Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() };
        loop {
            let header = self::line(from)?;
            let Some((name, value)) = header.split_once(':') else { break };
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        request.body = request.read_body(from)?;
        Ok(Some(request))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    fn read_body(&self, from: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = line(from)?;
                let size =
                    u64::from_str_radix(size.split(';').next().unwrap_or_default(), 16).map_err(io::Error::other)?;
                from.take(size.min(LONGEST_BODY)).read_to_end(&mut body)?;
                line(from)?;
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        from.take(LONGEST_BODY.min(length)).read_to_end(&mut body)?;
        Ok(body)
    }
}

/// A line without its end; empty at the end of the stream.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(65_536).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, kind: "application/json", body: body.to_string() }
    }

    /// A stream of events; one that has a name is told it.
    pub(crate) fn events<'a>(events: impl IntoIterator<Item = (Option<&'a str>, String)>) -> Self {
        let line = |(name, data): (Option<&str>, String)| {
            let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
            format!("{name}data: {data}\n\n")
        };
        Self { status: 200, kind: "text/event-stream", body: events.into_iter().map(line).collect() }
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { status, kind, body } = self;
        write!(
            to,
            "HTTP/1.1 {status} Told\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_by_length_and_by_chunks() {
        for (text, body) in [
            ("POST /v1/x?y HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd", "abc"),
            ("POST /v1/x?y HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n", "abc"),
            ("POST /v1/x?y HTTP/1.1\r\nX-Key:  k \r\n\r\n", ""),
        ] {
            let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/x?y"));
            assert_eq!(String::from_utf8(request.body).unwrap(), body, "{text}");
        }
        assert!(Request::read(&mut &b""[..]).unwrap().is_none());
    }

    #[test]
    fn an_answer_states_its_length() {
        let mut written = Vec::new();
        Answer::events([(Some("a"), "1".to_owned()), (None, "[DONE]".to_owned())]).write(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(written.ends_with("\r\n\r\nevent: a\ndata: 1\n\ndata: [DONE]\n\n"), "{written}");
        assert!(written.contains("\r\nContent-Length: 32\r\n"), "{written}");
    }
}
