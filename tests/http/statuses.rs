//! Every status that PROTOCOL.md names for a refusal, in the order in which a request is judged.

use std::io::{Read, Write};

use super::{refused, request, telltale};
use crate::support::{Answer, Plan, Rig, form, read_all};

/// A good call with these words as its tool and more.
fn call(rig: &Rig, pairs: &[(&str, &str)]) -> Vec<u8> {
    rig.request("/exec", 2, "", &form(pairs))
}

#[test]
fn t19_defect_41_first_the_token_then_the_protocol_then_the_rest() {
    let rig = Rig::start();
    let starts = ["POST /exec HTTP/1.1", "GET /nowhere HTTP/1.1", "CONNECT a:1 HTTP/1.1", "POST /signal HTTP/1.1"];
    let length = telltale().len();
    for start in starts {
        // Without the token: always the same words, whatever else is wrong, and the body is not waited for.
        for fields in
            ["", "X-Aifo-Proto: 9\r\n", "Origin: http://x\r\n", "Expect: magic\r\n", "Content-Length: 9000000\r\n"]
        {
            let request = format!("{start}\r\nHost: x\r\n{fields}\r\n");
            let answer = refused(&rig, request.as_bytes(), 401, &request);
            assert_eq!((answer.text().as_str(), answer.reason().as_str()), ("unauthorized\n", ""), "{request}");
        }
        // With it: the protocol is next, before method, path and browser.
        for proto in
            ["", "X-Aifo-Proto: 0\r\n", "X-Aifo-Proto: 4\r\n", "X-Aifo-Proto: 02\r\n", "X-Aifo-Proto: 2, 1\r\n"]
        {
            let request = format!(
                "{start}\r\nHost: x\r\n{proto}Origin: http://x\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\n\r\n",
                rig.token()
            );
            let answer = refused(&rig, request.as_bytes(), 426, &request);
            assert_eq!(answer.text(), "Unsupported shim protocol; expected 1 or 2\n");
        }
    }
}

#[test]
fn t19_only_the_token_itself_is_the_token() {
    let rig = Rig::start();
    let form = telltale();
    let with = |value: &str| {
        let head = format!("POST /exec HTTP/1.1\r\nHost: x\r\nX-Aifo-Proto: 2\r\nContent-Length: {}\r\n", form.len());
        rig.ask(&[head.as_bytes(), value.as_bytes(), b"\r\n\r\n", &form].concat())
    };
    let token = rig.token();
    let (start, end) = (&token[1..], &token[..token.len() - 1]);
    for value in [
        String::new(),
        "Authorization:".to_owned(),
        "Authorization: Bearer".to_owned(),
        format!("Authorization: Bearer x{start}"),
        format!("Authorization: Bearer {end}x"),
        format!("Authorization: Bearer {end}"),
        format!("Authorization: Bearer {token}0"),
        format!("Authorization: Bearer x {token} y"),
        format!("Authorization: Bearer {token}, Basic x"),
        format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}"),
        format!("Authorization: Bearer x\r\nAuthorization: Bearer {token}"),
        format!("Proxy-Authorization: Bearer {token}"),
    ] {
        let answer = with(&value);
        assert_eq!((answer.status, answer.text().as_str()), (401, "unauthorized\n"), "{value}");
    }
    assert_eq!(rig.content("ran"), "");
    for value in
        [format!("Bearer {token}"), format!("basic  {token} "), format!("Token token={token}"), token.to_owned()]
    {
        assert_eq!(with(&format!("authorization: {value}")).code(), "0", "{value}");
    }
}

#[test]
fn the_refusals_of_a_call_say_what_is_wrong() {
    let rig = Rig::start();
    let no_tool = refused(&rig, &call(&rig, &[("cwd", "/tmp")]), 400, "no tool");
    assert!(no_tool.text().starts_with("bad request: "), "{no_tool:?}");
    let outside = refused(&rig, &call(&rig, &[("tool", "bash"), ("cwd", "/etc")]), 400, "a directory outside");
    assert!(outside.text().contains("/etc") && outside.text().contains("not shared"), "{outside:?}");
    let forbidden = refused(&rig, &call(&rig, &[("tool", "perl")]), 403, "on no list");
    assert_eq!(forbidden.text(), "forbidden\n");
    assert!(forbidden.reason().contains("--tool KIND:NAME"), "{forbidden:?}");
    let missing = refused(&rig, &call(&rig, &[("tool", "cargo")]), 409, "no sidecar");
    assert!(missing.text().contains("tool 'cargo' not available in running sidecars"), "{missing:?}");
    assert!(missing.reason().contains("start it with --toolchain rust"), "{missing:?}");
    for body in ["tool=bash&arg=%", "tool=bash&arg=%2", "tool=bash&arg=%zz", "tool=bash&arg=%00", "tool=%62ash%00"] {
        refused(&rig, &rig.request("/exec", 2, "", body.as_bytes()), 400, body);
    }
    for body in ["tool=bash&tool=cat", "tool=bash&env==x", "tool=bash&env=x", "tool=bash&cwd=/tmp&cwd=/tmp"] {
        refused(&rig, &rig.request("/exec", 2, "", body.as_bytes()), 400, body);
    }
    let empty = request(&rig, "POST /exec HTTP/1.1", "Host: localhost", b"");
    refused(&rig, &empty, 400, "no body");
    let too_much = format!("tool=bash&{}=x", "k".repeat(65));
    refused(&rig, &rig.request("/exec", 2, "", too_much.as_bytes()), 400, "a key of 65 bytes");
}

#[test]
fn signals_for_calls_that_do_not_run_are_refused() {
    let rig = Rig::start();
    let signal = |body: &str| rig.request("/signal", 2, "", body.as_bytes());
    for (body, status) in [
        ("exec_id=0123456789abcdef0123456789abcdef&signal=TERM", 404),
        ("exec_id=../../etc/passwd", 404),
        ("exec_id=none", 404),
        ("exec_id=x&signal=STOP", 400),
        ("exec_id=x&signal=9", 400),
        ("exec_id=x&signal=", 400),
        ("signal=TERM", 400),
        ("", 400),
        ("exec_id=", 400),
    ] {
        refused(&rig, &signal(body), status, body);
    }
    let long = format!("exec_id={}", "x".repeat(5000));
    refused(&rig, &signal(&long), 413, "a long id");
}

#[test]
fn a_proxy_that_cannot_do_its_part_says_500_and_runs_nothing() {
    // Protocol 1 needs a file for the output.
    let rig = Rig::with(Plan { proxy_env: vec![("TMPDIR", "/proc/none".to_owned())], ..Plan::default() });
    let body = telltale();
    let answer = refused(&rig, &rig.request("/exec", 1, "", &body), 500, "no place for output");
    assert!(answer.text().starts_with("aifo-coder proxy error: "), "{answer:?}");
}

#[test]
fn the_session_stream_lasts_until_the_client_or_the_session_ends() {
    let mut rig = Rig::start();
    let head =
        format!("GET /session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nX-Aifo-Proto: 2\r\n\r\n", rig.token());
    let mut stream = rig.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    rig.finish();
    let rest = [status.as_slice(), &read_all(stream)].concat();
    let answer = Answer::of(&rest);
    assert!(answer.body.is_empty() && answer.trailers.is_none(), "cut off, not ended: {answer:?}");
}
