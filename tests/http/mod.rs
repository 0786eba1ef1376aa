//! What clients may send and what the proxy answers, at the real socket. The parsers' own tests are in the shim's
//! library; here it counts that nothing is run, that the answer says why, and that the session goes on.

mod framing;
mod heads;
mod slow;
mod statuses;

use crate::support::{Answer, Rig, form};

/// The form of a call that leaves a line in a file of the workspace.
fn telltale() -> Vec<u8> {
    form(&[("tool", "bash"), ("arg", "-c"), ("arg", "echo ran >> ran")])
}

/// A request with this start line and these fields, good ones for token and protocol before them.
fn request(rig: &Rig, start: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("{start}\r\nAuthorization: Bearer {}\r\nX-Aifo-Proto: 2\r\n{fields}\r\n\r\n", rig.token());
    [head.as_bytes(), body].concat()
}

/// Sends what must be refused, and holds the refusal to what PROTOCOL.md promises of one.
#[track_caller]
fn refused(rig: &Rig, request: &[u8], status: u16, shown: &str) -> Answer {
    let answer = rig.ask(request);
    assert_eq!(answer.status, status, "{shown}: {answer:?}");
    assert_refusal(&answer, shown);
    assert_eq!(rig.content("ran"), "", "{shown}: something was run");
    rig.assert_serves();
    answer
}

#[track_caller]
fn assert_refusal(answer: &Answer, shown: &str) {
    assert_eq!(answer.code(), if matches!(answer.status, 408 | 500) { "125" } else { "86" }, "{shown}: {answer:?}");
    assert_eq!(answer.field("connection"), "close", "{shown}");
    assert_eq!(answer.field("content-type"), "text/plain; charset=utf-8", "{shown}");
    let text = answer.text();
    assert_eq!(text.trim_matches(['\r', '\n']).lines().count(), 1, "{shown}: {text}");
    assert!(!text.contains(['\0', '\x1b']) && text.ends_with('\n'), "{shown}: {text}");
}
