//! Request bodies: where they end, and how long they may be.

use super::same_however_split;
use crate::wire::{
    body::{BodyError, BodyReader},
    head::Framing,
    limits::MAX_BODY,
};

fn read(framing: Framing, pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), BodyError> {
    let mut reader = BodyReader::new(framing)?;
    let mut body = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !reader.is_done() {
            let (used, data) = reader.read(rest)?;
            body.extend_from_slice(data);
            rest = &rest[used..];
        }
    }
    Ok((body, reader.is_done()))
}

#[test]
fn a_body_ends_where_its_framing_says() {
    let length = |pieces: &[&[u8]]| read(Framing::Length(3), pieces);
    assert_eq!(same_however_split(b"abcdef", length), Ok((b"abc".to_vec(), true)));
    assert_eq!(same_however_split(b"ab", length), Ok((b"ab".to_vec(), false)));
    let chunked = |pieces: &[&[u8]]| read(Framing::Chunked, pieces);
    assert_eq!(same_however_split(b"2\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\nx", chunked), Ok((b"abc".to_vec(), true)));
    assert_eq!(read(Framing::Absent, &[b"abc"]), Ok((Vec::new(), true)));
    assert_eq!(read(Framing::Length(0), &[b"abc"]), Ok((Vec::new(), true)));
}

#[test]
fn t10_a_body_has_a_limit_announced_or_not() {
    assert!(BodyReader::new(Framing::Length(MAX_BODY)).is_ok());
    assert_eq!(BodyReader::new(Framing::Length(MAX_BODY + 1)).err(), Some(BodyError::TooLarge));
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'a'; 1 << 20], b"\r\n".to_vec()].concat();
    let pieces: Vec<&[u8]> = vec![&chunk; 8];
    assert_eq!(read(Framing::Chunked, &pieces).map(|(body, _)| body.len() as u64), Ok(MAX_BODY));
    let more: Vec<&[u8]> = [pieces, vec![b"1\r\na\r\n".as_slice()]].concat();
    assert_eq!(read(Framing::Chunked, &more), Err(BodyError::TooLarge));
}
