//! Heads: what passes, and what is refused with which cause.

use super::{same_however_split, storms};
use crate::wire::{
    head::{Collector, Framing, HeadError, RequestHead, ResponseHead},
    limits::{MAX_FIELDS, MAX_HEAD, MAX_METHOD, MAX_TARGET},
};

fn collect(pieces: &[&[u8]]) -> Result<Option<(Vec<u8>, usize)>, HeadError> {
    let mut collector = Collector::head();
    let mut used_before = 0;
    for piece in pieces {
        let (used, head) = collector.feed(piece)?;
        if let Some(head) = head {
            return Ok(Some((head, used_before + used)));
        }
        used_before += piece.len();
    }
    Ok(None)
}

#[track_caller]
fn request(input: &[u8]) -> Result<RequestHead, HeadError> {
    same_however_split(input, |pieces| {
        let (head, _) = collect(pieces)?.expect("the input holds a whole head");
        RequestHead::parse(&head)
    })
}

fn with_field(field: &str) -> Result<RequestHead, HeadError> {
    request(format!("POST /exec HTTP/1.1\r\n{field}\r\n\r\n").as_bytes())
}

#[test]
fn a_plain_request_is_parsed() {
    let head =
        request(b"POST /exec HTTP/1.1\r\nHost: localhost\r\nX-Aifo-Proto:\t3 \r\nContent-Length: 12\r\n\r\n").unwrap();
    assert_eq!((head.method.as_str(), head.target.as_str()), ("POST", "/exec"));
    assert_eq!(head.fields.one("x-aifo-proto"), Ok(Some(b"3".as_slice())));
    assert_eq!(head.framing, Framing::Length(12));
}

#[test]
fn what_follows_the_head_is_left_alone() {
    let input = b"\r\nGET / HTTP/1.1\r\n\r\nbody";
    same_however_split(input, |pieces| {
        let (_, used) = collect(pieces).unwrap().unwrap();
        assert_eq!(&input[used..], b"body");
    });
}

#[test]
fn t1_length_together_with_coding_is_refused() {
    assert_eq!(with_field("Content-Length: 5\r\nTransfer-Encoding: chunked"), Err(HeadError::BadCoding));
    assert_eq!(with_field("Transfer-Encoding: chunked\r\nContent-Length: 0"), Err(HeadError::BadCoding));
}

#[test]
fn t2_t3_a_length_that_is_not_one_plain_number_is_refused() {
    for value in ["+5", "-0", "0x5", "5 0", "", "05", "00", "5, 5", "5,5", "18446744073709551616", "٥", "5\u{a0}"] {
        assert_eq!(with_field(&format!("Content-Length: {value}")), Err(HeadError::BadLength), "{value:?}");
    }
    assert_eq!(with_field("Content-Length: 5\r\nContent-Length: 5"), Err(HeadError::BadLength));
    assert_eq!(with_field("Content-Length: 0").unwrap().framing, Framing::Length(0));
    assert_eq!(with_field("Content-Length: 18446744073709551615").unwrap().framing, Framing::Length(u64::MAX));
}

#[test]
fn t4_codings_other_than_one_chunked_are_refused() {
    for value in ["identity, chunked", "chunked, chunked", "", "chunked;q=1"] {
        assert_eq!(with_field(&format!("Transfer-Encoding: {value}")), Err(HeadError::BadCoding), "{value}");
    }
    for value in ["xchunked", "gzip", "identity"] {
        assert_eq!(with_field(&format!("Transfer-Encoding: {value}")).unwrap_err().status(), 501, "{value}");
    }
    let twice = with_field("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked");
    assert_eq!(twice, Err(HeadError::BadCoding));
    assert_eq!(with_field("Transfer-Encoding: Chunked").unwrap().framing, Framing::Chunked);
    assert_eq!(request(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap_err().status(), 505);
}

#[test]
fn t5_malformed_fields_are_refused() {
    for field in [
        " folded: x",
        "\tfolded: x",
        "A: b\r\n folded",
        "Name : x",
        ": x",
        "no colon",
        "N\u{e4}me: x",
        "A: a\0b",
        "A: a\x7fb",
        "A: a\x01b",
        "A(b): x",
        "A\"b: x",
    ] {
        assert_eq!(with_field(field), Err(HeadError::BadField), "{field:?}");
    }
    assert!(with_field("A: b\u{e4}\tc").is_ok());
}

#[test]
fn t6_bare_line_ends_are_refused() {
    let cases: &[(&[u8], HeadError)] = &[
        (b"GET / HTTP/1.1\n\r\n", HeadError::BareLineFeed),
        (b"GET / HTTP/1.1\r\nA: b\n\r\n", HeadError::BareLineFeed),
        (b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", HeadError::BareCarriageReturn),
        (b"GET / HTTP/1.1\r\nA: b\r\r\n\r\n", HeadError::BareCarriageReturn),
        (b"\nGET / HTTP/1.1\r\n\r\n", HeadError::BareLineFeed),
    ];
    for (input, cause) in cases {
        assert_eq!(same_however_split(input, collect), Err(*cause), "{input:?}");
    }
    // One empty line before the request is passed over, a second one is a head without a start line.
    assert!(request(b"\r\nGET / HTTP/1.1\r\n\r\n").is_ok());
    assert_eq!(request(b"\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Err(HeadError::BadStartLine));
}

#[test]
fn t10_each_limit_passes_at_n_and_is_refused_at_n_plus_1() {
    let head = |length: usize| {
        let start = "GET / HTTP/1.1\r\nA: ";
        format!("{start}{}\r\n\r\n", "x".repeat(length - start.len() - 4)).into_bytes()
    };
    let parse = |input: &[u8]| collect(&[input]).and_then(|head| RequestHead::parse(&head.expect("whole").0));
    assert!(parse(&head(MAX_HEAD)).is_ok());
    assert_eq!(collect(&[&head(MAX_HEAD + 1)]), Err(HeadError::TooLong));

    let fields = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(count)).into_bytes();
    assert!(parse(&fields(MAX_FIELDS)).is_ok());
    assert_eq!(parse(&fields(MAX_FIELDS + 1)).unwrap_err().status(), 431);

    let target = |length: usize| format!("GET {} HTTP/1.1\r\n\r\n", "/".repeat(length)).into_bytes();
    assert!(parse(&target(MAX_TARGET)).is_ok());
    assert_eq!(parse(&target(MAX_TARGET + 1)).unwrap_err().status(), 414);

    let method = |length: usize| format!("{} / HTTP/1.1\r\n\r\n", "M".repeat(length)).into_bytes();
    assert!(parse(&method(MAX_METHOD)).is_ok());
    assert_eq!(parse(&method(MAX_METHOD + 1)).unwrap_err().status(), 400);
}

#[test]
fn malformed_start_lines_are_refused() {
    for line in [
        "GET /",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        " GET / HTTP/1.1",
        "GET / http/1.1",
        "GET / HTTP/1.11",
        "G(T / HTTP/1.1",
        "GET /\u{e4} HTTP/1.1",
        "GET \t HTTP/1.1",
        "GET / HTTP/x.y",
    ] {
        assert_eq!(request(format!("{line}\r\n\r\n").as_bytes()), Err(HeadError::BadStartLine), "{line:?}");
    }
    assert_eq!(request(b"GET / HTTP/2.0\r\n\r\n"), Err(HeadError::BadVersion));
}

#[test]
fn responses_are_parsed_and_held_to_the_same_rules() {
    let parse =
        |input: &[u8]| same_however_split(input, |pieces| ResponseHead::parse(&collect(pieces)?.expect("whole").0));
    let head = parse(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 3\r\n\r\n").unwrap();
    assert_eq!((head.status, head.framing), (426, Framing::Length(3)));
    assert!(parse(b"HTTP/1.1 200\r\n\r\n").is_ok());
    for line in ["HTTP/1.1 20 x", "HTTP/1.1 2000 x", "HTTP/1.1 -20 x", "HTTP/1.1  200 x", "200 OK", "HTTP/1.1 200 a\0"]
    {
        assert_eq!(parse(format!("{line}\r\n\r\n").as_bytes()), Err(HeadError::BadStartLine), "{line:?}");
    }
}

#[test]
fn random_heads_never_panic_and_never_depend_on_the_split() {
    storms(b"GET /HTP1.\r\n: a5Contet-Lgh\0\x80", |input| {
        let whole = collect(&[input]);
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(collect(&bytes), whole);
        if let Ok(Some((head, _))) = whole {
            drop((RequestHead::parse(&head), ResponseHead::parse(&head)));
        }
    });
}
