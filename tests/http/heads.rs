//! Request lines and fields (T5, T6, T10, T13 to T15).

use std::io::{Read, Write};

use super::{assert_refusal, refused, request, telltale};
use crate::support::{Answer, Plan, Rig, read_all};

fn with_fields(rig: &Rig, start: &str, fields: &str) -> Vec<u8> {
    let form = telltale();
    request(rig, start, &format!("{fields}Content-Length: {}", form.len()), &form)
}

fn with_field(rig: &Rig, field: &str) -> Vec<u8> {
    with_fields(rig, "POST /exec HTTP/1.1", &format!("Host: localhost\r\n{field}\r\n"))
}

#[test]
fn t5_t6_malformed_fields_are_refused() {
    let rig = Rig::start();
    for field in [
        "X: a\r\n folded",
        "X: a\r\n\tfolded",
        " X: a",
        "X : a",
        "X\t: a",
        ": a",
        "X Y: a",
        "X(: a",
        "X",
        "X: a\0b",
        "X: a\x01b",
        "X: a\x7fb",
        "X: a\rb",
        "X: a\nb",
        "X: a\nContent-Length: 1",
        "X: a\r\r\nY: b",
    ] {
        refused(&rig, &with_field(&rig, field), 400, &field.escape_debug().to_string());
    }
    for start in [
        "POST /exec",
        "POST  /exec HTTP/1.1",
        "POST /exec  HTTP/1.1",
        "POST /exec HTTP/1.1 ",
        "POST\t/exec HTTP/1.1",
        " POST /exec HTTP/1.1",
        "/exec HTTP/1.1",
        "PO(ST /exec HTTP/1.1",
        "POST /ex\x01ec HTTP/1.1",
        "POST /exec http/1.1",
        "POST /exec HTTP/1.1\r",
        "POST /exec HTTP/1.1\nX: y",
        "\r\n\r\nPOST /exec HTTP/1.1",
    ] {
        let request = with_fields(&rig, start, "Host: localhost\r\n");
        refused(&rig, &request, 400, &start.escape_debug().to_string());
    }
    let answer = rig.ask(&with_field(&rig, "X:\ta\u{e4}!\t\r\n~empty:"));
    assert_eq!((answer.status, answer.code().as_str()), (200, "0"), "{answer:?}");
}

#[test]
fn t10_heads_over_a_limit_are_refused_and_at_the_limit_taken() {
    let rig = Rig::start();
    // Five fields stand in every request; so much room is left for one more, or for 95.
    let plain = with_field(&rig, "X: ").len() - telltale().len();
    let room = 64 * 1024 - plain;
    let answer = rig.ask(&with_field(&rig, &format!("X: {}", "a".repeat(room))));
    assert_eq!(answer.code(), "0", "{answer:?}");
    std::fs::remove_file(rig.file("ran")).unwrap();
    let long = refused(&rig, &with_field(&rig, &format!("X: {}", "a".repeat(room + 1))), 431, "64 KiB");
    assert_eq!(long.text(), "request headers too large\n");
    let fields = |count: usize| (0..count).map(|number| format!("X{number}: y")).collect::<Vec<_>>().join("\r\n");
    assert_eq!(rig.ask(&with_field(&rig, &fields(96))).code(), "0");
    std::fs::remove_file(rig.file("ran")).unwrap();
    refused(&rig, &with_field(&rig, &fields(97)), 431, "101 fields");
    refused(&rig, &vec![b'A'; 200 * 1024], 431, "no line at all");
    for (length, status) in [(8192, 404), (8193, 414)] {
        let start = format!("POST /{} HTTP/1.1", "a".repeat(length - 1));
        refused(&rig, &with_fields(&rig, &start, "Host: localhost\r\n"), status, "target");
    }
    for (length, status) in [(32, 405), (33, 400)] {
        let start = format!("{} /exec HTTP/1.1", "A".repeat(length));
        refused(&rig, &with_fields(&rig, &start, "Host: localhost\r\n"), status, "method");
    }
}

#[test]
fn t13_only_the_target_itself_is_the_target() {
    let rig = Rig::start();
    for target in [
        "http://localhost/exec",
        "*",
        "localhost:80",
        "/exec#x",
        "/exec?x",
        "//exec",
        "/%65xec",
        "/x/%2e%2e/exec",
        "/x/../exec",
        "/./exec",
        "\\exec",
        "/EXEC",
        "/notify",
        "/",
    ] {
        let start = format!("POST {target} HTTP/1.1");
        refused(&rig, &with_fields(&rig, &start, "Host: localhost\r\n"), 404, target);
    }
    for target in ["/exec\u{e4}", "/\u{2215}exec", "/ex\0ec"] {
        let start = format!("POST {target} HTTP/1.1");
        refused(&rig, &with_fields(&rig, &start, "Host: localhost\r\n"), 400, target);
    }
}

#[test]
fn t14_expectations_upgrades_and_odd_methods() {
    let rig = Rig::start();
    refused(&rig, &with_field(&rig, "Expect: 200-maybe"), 417, "another expectation");
    refused(&rig, &with_field(&rig, "Expect: 100-continue\r\nExpect: 100-continue"), 400, "two expectations");
    for method in ["TRACE", "CONNECT", "GET", "PUT", "OPTIONS", "post"] {
        let answer =
            refused(&rig, &with_fields(&rig, &format!("{method} /exec HTTP/1.1"), "Host: localhost\r\n"), 405, method);
        assert_eq!(answer.field("allow"), "POST", "{method}");
    }
    let upgrade = rig.ask(&with_field(&rig, "Upgrade: websocket\r\nConnection: Upgrade"));
    assert_eq!((upgrade.status, upgrade.code().as_str()), (200, "0"));
    assert_eq!(rig.content("ran"), "ran\n");

    // A client that waits for the word before it sends its body gets the word, then the answer.
    let form = telltale();
    let mut waiting = rig.connect();
    let head = rig.request("/exec", 2, "Expect: 100-continue\r\n", &form);
    let (head, body) = head.split_at(head.len() - form.len());
    waiting.write_all(head).unwrap();
    let mut word = [0; 25];
    waiting.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    waiting.write_all(body).unwrap();
    assert_eq!(Answer::of(&read_all(waiting)).code(), "0");
    // A body that is too large, or no token: the final answer comes instead of the word.
    let too_large =
        request(&rig, "POST /exec HTTP/1.1", "Host: localhost\r\nExpect: 100-continue\r\nContent-Length: 9000000", b"");
    assert_eq!(rig.ask(&too_large).status, 413);
    let nobody = b"POST /exec HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
    assert_eq!(rig.ask(nobody).status, 401);
}

#[test]
fn t15_hosts_and_browsers() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let host = |line: &str| with_fields(&rig, "POST /exec HTTP/1.1", line);
    for (line, unix, tcp) in [
        ("", 400, 400),
        ("Host: localhost\r\nHost: localhost\r\n", 400, 400),
        ("Host: evil.example\r\n", 200, 403),
        ("Host: evil.example:80\r\n", 200, 403),
        ("Host: 127.0.0.1.evil.example\r\n", 200, 403),
        ("Host: localhost.evil.example\r\n", 200, 403),
        ("Host: localhost\r\nOrigin: http://localhost\r\n", 403, 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403, 403),
        ("Host: localhost:1234\r\n", 200, 200),
        ("Host: 127.0.0.1\r\n", 200, 200),
        ("Host: [::1]:80\r\n", 200, 200),
    ] {
        for (answer, expected) in [(rig.ask(&host(line)), unix), (rig.ask_by_tcp(&host(line)), tcp)] {
            assert_eq!(answer.status, expected, "{line}: {answer:?}");
            if expected != 200 {
                assert_refusal(&answer, line);
                assert_eq!(rig.content("ran"), "", "{line}");
            }
            drop(std::fs::remove_file(rig.file("ran")));
        }
    }
    rig.assert_serves();
}
