//! Where a body ends: lengths, chunks, limits (T1 to T4, T6 to T10).

use super::{refused, request, telltale};
use crate::support::Rig;

/// A call whose body is framed so.
fn framed(rig: &Rig, framing: &str, body: &[u8]) -> Vec<u8> {
    request(rig, "POST /exec HTTP/1.1", &format!("Host: localhost\r\n{framing}"), body)
}

fn chunked(rig: &Rig, body: &[u8]) -> Vec<u8> {
    framed(rig, "Transfer-Encoding: chunked", body)
}

/// The whole form as one chunk, `size` written as given, with these bytes as its last chunk and behind.
fn one_chunk(size: impl Fn(usize) -> String, end: &str) -> Vec<u8> {
    let form = telltale();
    [size(form.len()).as_bytes(), b"\r\n", &form, b"\r\n", end.as_bytes()].concat()
}

#[test]
fn t1_t2_t3_t4_a_length_that_could_be_read_in_two_ways_is_refused() {
    let rig = Rig::start();
    let form = telltale();
    let length = form.len();
    let padded = format!("0{length}");
    let twice = format!("Content-Length: {length}\r\nContent-Length: {length}");
    let both = format!("Content-Length: {length}\r\nTransfer-Encoding: chunked");
    let list = format!("{length}, {length}");
    refused(&rig, &framed(&rig, &twice, &form), 400, "twice the same");
    refused(&rig, &framed(&rig, "Content-Length: 5\r\ncontent-length: 6", &form), 400, "twice, differing");
    refused(&rig, &framed(&rig, &both, &form), 400, "length and coding");
    refused(&rig, &framed(&rig, "Transfer-Encoding: chunked\r\nContent-Length: 0", &form), 400, "coding and length");
    for value in [&list, &padded, "+5", "-0", "0x5", "5 0", "", "18446744073709551616", "5;", "five"] {
        refused(&rig, &framed(&rig, &format!("Content-Length: {value}"), &form), 400, value);
    }
    let body = one_chunk(|size| format!("{size:x}"), "0\r\n\r\n");
    for (coding, status) in [
        ("identity, chunked", 400),
        ("chunked, chunked", 400),
        ("chunked;q=1", 400),
        ("", 400),
        ("chunked\r\nTransfer-Encoding: chunked", 400),
        ("xchunked", 501),
        ("gzip", 501),
        ("identity", 501),
    ] {
        refused(&rig, &framed(&rig, &format!("Transfer-Encoding: {coding}"), &body), status, coding);
    }
    for version in ["HTTP/1.0", "HTTP/2.0", "HTTP/0.9"] {
        let old = request(&rig, &format!("POST /exec {version}"), "Host: x\r\nTransfer-Encoding: chunked", &body);
        refused(&rig, &old, 505, version);
    }
}

#[test]
fn t6_t7_t8_chunks_that_are_not_plainly_right_are_refused() {
    let rig = Rig::start();
    let end = "0\r\n\r\n";
    let form = telltale();
    for size in ["0x20", "+20", "-20", "_20", " 20", "20 ", "", ";a", "00000000000000020", "g", "2.0", "20;a\x01b"] {
        refused(&rig, &chunked(&rig, &one_chunk(|_| size.to_owned(), end)), 400, size);
    }
    let size = format!("{:x}", form.len());
    for (what, body) in [
        ("an extension of 257 bytes", one_chunk(|_| format!("{size};{}", "e".repeat(257)), end)),
        ("a chunk longer than it says", one_chunk(|length| format!("{:x}", length - 1), end)),
        ("a bare line feed behind the size", [size.as_bytes(), b"\n", &form, b"\r\n0\r\n\r\n"].concat()),
        ("a bare carriage return behind the size", [size.as_bytes(), b"\r", &form, b"\r\n0\r\n\r\n"].concat()),
        ("a bare line feed behind the data", [size.as_bytes(), b"\r\n", &form, b"\n0\r\n\r\n"].concat()),
        ("a bare line feed at the end", one_chunk(|_| size.clone(), "0\n\n")),
        ("a trailer that is none", one_chunk(|_| size.clone(), "0\r\nno colon\r\n\r\n")),
        ("33 trailers", one_chunk(|_| size.clone(), &format!("0\r\n{}\r\n", "A: b\r\n".repeat(33)))),
        ("8 KiB of trailers", one_chunk(|_| size.clone(), &format!("0\r\nA: {}\r\n\r\n", "b".repeat(8192)))),
    ] {
        refused(&rig, &chunked(&rig, &body), 400, what);
    }
}

#[test]
fn t6_t8_t9_what_is_in_order_is_taken_however_it_is_cut() {
    let rig = Rig::start();
    let form = telltale();
    let bytewise: Vec<u8> = form.iter().flat_map(|byte| [b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat()).collect();
    let size = |length: usize| format!("{length:X}");
    let long = |length| format!("{length:016x};{}", "e".repeat(256));
    // Framing, routing and authentication come from the head alone; a trailer can change none of them.
    let trailers = "0\r\nContent-Length: 99\r\nAuthorization: Bearer no\r\nHost: evil\r\nX-Aifo-Proto: 1\r\n\r\n";
    let good = [
        one_chunk(size, "0\r\n\r\n"),
        one_chunk(long, "000\r\n\r\n"),
        one_chunk(size, trailers),
        [&bytewise, b"0\r\n\r\n".as_slice()].concat(),
    ];
    for body in &good {
        let answer = rig.ask(&chunked(&rig, body));
        assert_eq!((answer.status, answer.code().as_str()), (200, "0"), "{}", String::from_utf8_lossy(body));
    }
    let behind_an_empty_line = [b"\r\n".as_slice(), &chunked(&rig, &good[0])].concat();
    assert_eq!(rig.ask(&behind_an_empty_line).code(), "0");
    assert_eq!(rig.content("ran").lines().count(), good.len() + 1);
}

#[test]
fn t10_a_body_over_the_limit_is_refused_before_it_is_read() {
    const LIMIT: usize = 8 * 1024 * 1024;
    let rig = Rig::start();
    // Not a byte of the body is sent, and the answer comes all the same.
    for length in ["8388609", "18446744073709551615"] {
        refused(&rig, &framed(&rig, &format!("Content-Length: {length}"), b""), 413, length);
    }
    let padding = |bytes: usize| [telltale(), b"&other=".to_vec(), vec![b'x'; bytes]].concat();
    let rest = LIMIT - padding(0).len();
    let too_long = [format!("{:x}\r\n", LIMIT + 1).into_bytes(), padding(rest + 1), b"\r\n0\r\n\r\n".to_vec()].concat();
    refused(&rig, &chunked(&rig, &too_long), 413, "chunks over the limit");
    let fits = padding(rest);
    let answer = rig.ask(&framed(&rig, &format!("Content-Length: {}", fits.len()), &fits));
    assert_eq!((answer.status, answer.code().as_str()), (200, "0"), "{answer:?}");
    assert_eq!(rig.content("ran"), "ran\n");
}
