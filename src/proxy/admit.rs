//! Who may ask, and for what: the head of a request, judged before a byte of its body is read. Pure.
//!
//! The order is fixed: the token first, compared in constant time, then the protocol, then everything else. So a client
//! without the token learns nothing, not even which paths exist.

use std::hint;

use aifo_shim::wire::{
    PROTO_BUFFERED, PROTO_DESCRIPTORS, PROTO_STREAMED,
    head::{Fields, RequestHead},
};

use super::refusal::Refusal;

/// Over what a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Unix,
    Tcp,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Exec,
    Signal,
    Session,
}

/// A request whose head is in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admitted {
    pub(super) target: Target,
    pub(super) proto: u8,
    /// The client waits for a `100 Continue` before it sends its body.
    pub(super) expects_continue: bool,
    /// The client wants to hear of a tool that stops itself.
    pub(super) accepts_stopped: bool,
}

/// Judges a request.
///
/// # Errors
/// The [`Refusal`] to answer with.
pub(super) fn admit(head: &RequestHead, token: &str, transport: Transport) -> Result<Admitted, Refusal> {
    let fields = &head.fields;
    if !is_authorized(fields, token) {
        return Err(Refusal::Unauthorized);
    }
    let proto = protocol(fields, transport).ok_or(Refusal::Protocol)?;
    // A browser says where its script came from; no client of ours does.
    if fields.all("origin").next().is_some() {
        return Err(Refusal::Forbidden("requests from browsers are not taken".to_owned()));
    }
    check_host(fields, transport)?;
    let expects_continue = match fields.one("expect")? {
        None => false,
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => true,
        Some(_) => return Err(Refusal::Expectation),
    };
    let (target, allowed) = match head.target.as_str() {
        "/exec" => (Target::Exec, "POST"),
        "/signal" => (Target::Signal, "POST"),
        "/session" => (Target::Session, "GET"),
        _ if matches!(head.method.as_str(), "TRACE" | "CONNECT") => {
            return Err(Refusal::MethodNotAllowed { allowed: "POST" });
        }
        _ => return Err(Refusal::NotFound("no such path")),
    };
    if head.method == allowed {
        let accepts_stopped = fields.all("x-aifo-accept").any(|value| value == b"stopped");
        Ok(Admitted { target, proto, expects_continue, accepts_stopped })
    } else {
        Err(Refusal::MethodNotAllowed { allowed })
    }
}

/// The token is the last word of the field, whatever the scheme (seed "toolexec protocol", Authentication).
fn is_authorized(fields: &Fields, token: &str) -> bool {
    let Ok(Some(value)) = fields.one("authorization") else { return false };
    let mut words = value.split(|byte| byte.is_ascii_whitespace() || *byte == b'=').filter(|word| !word.is_empty());
    words.next_back().is_some_and(|word| is_same(word, token.as_bytes()))
}

/// Takes the same time wherever the difference is; only the length, which is no secret, shows. Empty is never right.
pub(super) fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let differing = given.iter().zip(expected).fold(0, |all, (a, b)| hint::black_box(all | (a ^ b)));
    given.len() == expected.len() && !expected.is_empty() && differing == 0
}

/// Descriptors cannot travel over TCP, so protocol 3 is refused there like any unknown one.
fn protocol(fields: &Fields, transport: Transport) -> Option<u8> {
    match (fields.one("x-aifo-proto").ok()??, transport) {
        (b"1", _) => Some(PROTO_BUFFERED),
        (b"2", _) => Some(PROTO_STREAMED),
        (b"3", Transport::Unix) => Some(PROTO_DESCRIPTORS),
        _ => None,
    }
}

/// Over TCP a name that is not this machine's own is how DNS rebinding looks.
fn check_host(fields: &Fields, transport: Transport) -> Result<(), Refusal> {
    let bad = |what: &str| Refusal::BadRequest(what.to_owned());
    let host = fields.one("host").map_err(|_twice| bad("Host given twice"))?.ok_or_else(|| bad("no Host"))?;
    let name = host.iter().rposition(|&byte| byte == b':').and_then(|colon| host.get(..colon)).unwrap_or(host);
    let own = [b"localhost".as_slice(), b"127.0.0.1", b"[::1]"];
    if transport == Transport::Unix || own.iter().any(|own| name.eq_ignore_ascii_case(own)) || host == b"[::1]" {
        Ok(())
    } else {
        Err(Refusal::Forbidden("Host is not this machine".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aifo_shim::wire::head::Collector;

    const TOKEN: &str = "0123456789abcdef";

    fn judge(start: &str, fields: &str, transport: Transport) -> u16 {
        let text = format!("{start} HTTP/1.1\r\n{fields}\r\n\r\n");
        let (_, head) = Collector::head().feed(text.as_bytes()).unwrap();
        match admit(&RequestHead::parse(&head.unwrap()).unwrap(), TOKEN, transport) {
            Ok(_) => 200,
            Err(refusal) => {
                let answer = String::from_utf8(refusal.answer()).unwrap();
                answer[9..12].parse().unwrap()
            }
        }
    }

    fn exec(fields: &str) -> u16 {
        judge("POST /exec", fields, Transport::Unix)
    }

    const GOOD: &str = "Host: localhost\r\nX-Aifo-Proto: 2\r\nAuthorization: Bearer 0123456789abcdef";

    #[test]
    fn t19_the_token_is_the_last_word_and_nothing_else() {
        for value in
            ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", "Token token=0123456789abcdef", "0123456789abcdef"]
        {
            assert_eq!(exec(&format!("Host: x\r\nX-Aifo-Proto: 1\r\nAuthorization: {value}")), 200, "{value}");
        }
        for value in [
            "Bearer 1123456789abcdef",
            "Bearer 0123456789abcdee",
            "Bearer 0123456789abcdef y",
            "Bearer 0123456789abcde",
            "",
            "Bearer",
            "Bearer =",
            "Bearer 0123456789ABCDEF",
            "Bearer 0123456789abcdef0",
        ] {
            assert_eq!(exec(&format!("Host: x\r\nX-Aifo-Proto: 1\r\nAuthorization: {value}")), 401, "{value}");
        }
        assert_eq!(exec(&format!("{GOOD}\r\nAuthorization: Bearer 0123456789abcdef")), 401, "twice");
        assert!(!is_same(b"", b""));
    }

    #[test]
    fn without_the_token_nothing_can_be_learned() {
        for start in ["POST /exec", "GET /exec", "POST /nowhere", "CONNECT a:1"] {
            assert_eq!(judge(start, "Host: x", Transport::Unix), 401, "{start}");
            assert_eq!(judge(start, "Host: x\r\nX-Aifo-Proto: 9\r\nOrigin: http://x", Transport::Tcp), 401, "{start}");
        }
    }

    #[test]
    fn then_the_protocol_then_the_rest() {
        let authorized = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef";
        for proto in ["", "X-Aifo-Proto: 4\r\n", "X-Aifo-Proto: 02\r\n", "X-Aifo-Proto: 1\r\nX-Aifo-Proto: 1\r\n"] {
            assert_eq!(judge("GET /nowhere", &format!("{proto}{authorized}"), Transport::Unix), 426, "{proto}");
        }
        let three = format!("{authorized}\r\nX-Aifo-Proto: 3");
        assert_eq!(judge("POST /exec", &three, Transport::Unix), 200);
        assert_eq!(judge("POST /exec", &three, Transport::Tcp), 426);
    }

    #[test]
    fn t13_t14_targets_and_methods() {
        for target in [
            "/",
            "/exec/",
            "//exec",
            "/exec?tool=x",
            "/exec#x",
            "/%65xec",
            "/EXEC",
            "http://localhost/exec",
            "*",
            "/notify",
            "/..",
            "\\exec",
        ] {
            assert_eq!(judge(&format!("POST {target}"), GOOD, Transport::Unix), 404, "{target}");
        }
        for start in ["GET /exec", "PUT /exec", "POST /session", "TRACE /", "CONNECT host:1", "OPTIONS /signal"] {
            assert_eq!(judge(start, GOOD, Transport::Unix), 405, "{start}");
        }
        assert_eq!(judge("GET /session", GOOD, Transport::Unix), 200);
        assert_eq!(exec(&format!("{GOOD}\r\nExpect: 100-Continue")), 200);
        assert_eq!(exec(&format!("{GOOD}\r\nExpect: 200-maybe")), 417);
        assert_eq!(exec(&format!("{GOOD}\r\nUpgrade: websocket")), 200);
    }

    #[test]
    fn t15_hosts_and_browsers() {
        let host = |line: &str| format!("{line}X-Aifo-Proto: 2\r\nAuthorization: Bearer 0123456789abcdef");
        let tcp = |line: &str| judge("POST /exec", &host(line), Transport::Tcp);
        for name in ["localhost", "LOCALHOST:80", "127.0.0.1:80", "[::1]:80", "[::1]"] {
            assert_eq!(tcp(&format!("Host: {name}\r\n")), 200, "{name}");
        }
        for name in ["evil.example", "evil.example:80", "127.0.0.1.evil:80", "localhost.evil"] {
            assert_eq!(tcp(&format!("Host: {name}\r\n")), 403, "{name}");
        }
        assert_eq!(tcp(""), 400);
        assert_eq!(tcp("Host: localhost\r\nHost: localhost\r\n"), 400);
        assert_eq!(tcp("Host: localhost\r\nOrigin: http://evil\r\n"), 403);
        assert_eq!(exec(&format!("{GOOD}\r\nOrigin: null")), 403);
    }
}
