//! Heads of requests and responses, and sections of fields.

#![no_main]

mod pieces;

use aifo_shim::wire::{
    head::{Collector, Fields, Framing, HeadError, RequestHead, ResponseHead},
    limits::{MAX_FIELDS, MAX_HEAD, MAX_TRAILERS},
};
use libfuzzer_sys::fuzz_target;

/// How many bytes belonged to the section, and its lines, once it is complete.
fn collect(mut collector: Collector, pieces: &[&[u8]]) -> Result<Option<(usize, Vec<u8>)>, HeadError> {
    let mut used = 0;
    for piece in pieces {
        let (taken, lines) = collector.feed(piece)?;
        used += taken;
        if let Some(lines) = lines {
            return Ok(Some((used, lines)));
        }
        assert_eq!(taken, piece.len(), "what is not complete takes everything");
    }
    Ok(None)
}

fuzz_target!(|input: &[u8]| {
    let head = pieces::same_however_cut(input, |pieces| collect(Collector::head(), pieces));
    let section = pieces::same_however_cut(input, |pieces| collect(Collector::section(MAX_TRAILERS), pieces));
    if let Ok(Some((used, lines))) = head {
        assert!(used <= input.len() && lines.len() + 2 <= MAX_HEAD);
        if let Ok(request) = RequestHead::parse(&lines) {
            assert!(request.method.is_ascii() && request.target.bytes().all(|byte| byte.is_ascii_graphic()));
            check(&request.fields, request.framing);
        }
        if let Ok(response) = ResponseHead::parse(&lines) {
            assert!(response.status <= 999);
            check(&response.fields, response.framing);
        }
    }
    if let Ok(Some((_, lines))) = section {
        assert!(lines.len() + 2 <= MAX_TRAILERS);
        drop(Fields::parse(&lines, MAX_FIELDS));
    }
});

/// A body's end can be found in one way only, and no value can start a line of its own.
fn check(fields: &Fields, framing: Framing) {
    let (lengths, codings) = (fields.all("content-length").count(), fields.all("transfer-encoding").count());
    match framing {
        Framing::Absent => assert_eq!((lengths, codings), (0, 0)),
        Framing::Length(_) => assert_eq!((lengths, codings), (1, 0)),
        Framing::Chunked => assert_eq!((lengths, codings), (0, 1)),
    }
    for name in ["host", "x", "content-length", "authorization"] {
        assert!(fields.all(name).flatten().all(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
    }
}
