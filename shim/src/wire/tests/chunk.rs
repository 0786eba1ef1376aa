//! The chunked coding: round trips, refusals, limits.

use super::{same_however_split, storms};
use crate::wire::{
    chunk::{ChunkError, Decoded, Decoder, encode, encode_end},
    head::{Fields, HeadError},
    limits::{MAX_CHUNK_EXTENSION, MAX_HEAD, MAX_TRAILER_FIELDS, MAX_TRAILERS},
};

type Body = (Vec<u8>, Option<Fields>, usize);

fn decode(pieces: &[&[u8]]) -> Result<Body, ChunkError> {
    let mut decoder = Decoder::default();
    let (mut data, mut total) = (Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (used, decoded) = decoder.decode(rest)?;
            (rest, total) = (&rest[used..], total + used);
            match decoded {
                Decoded::Data(bytes) => data.extend_from_slice(bytes),
                Decoded::End(fields) => return Ok((data, Some(fields), total)),
                Decoded::Nothing => {}
            }
        }
    }
    Ok((data, None, total))
}

#[track_caller]
fn refused(input: &[u8]) -> ChunkError {
    same_however_split(input, decode).expect_err("the input is malformed")
}

#[test]
fn what_is_encoded_is_decoded_with_its_trailers() {
    let mut wire = Vec::new();
    encode(b"hello ", &mut wire);
    encode(b"", &mut wire);
    encode(&[0, 255, b'\r', b'\n'], &mut wire);
    encode_end(&[("X-Exit-Code", "7")], &mut wire);
    assert_eq!(wire, b"6\r\nhello \r\n4\r\n\0\xff\r\n\r\n0\r\nX-Exit-Code: 7\r\n\r\n");
    wire.extend_from_slice(b"behind");
    let (data, trailers, used) = same_however_split(&wire, decode).unwrap();
    assert_eq!(data, b"hello \0\xff\r\n");
    assert_eq!(trailers.unwrap().one("x-exit-code"), Ok(Some(b"7".as_slice())));
    assert_eq!(&wire[used..], b"behind");
}

#[test]
fn an_unfinished_body_has_no_end() {
    let wire = b"1\r\na\r\n0\r\nX-Exit-Code: 0\r\n\r\n";
    for length in 0..wire.len() {
        assert_eq!(decode(&[&wire[..length]]).unwrap().1, None, "{length} bytes");
    }
}

#[test]
fn t6_t7_malformed_sizes_and_line_ends_are_refused() {
    for input in ["x\r\n", "0x1\r\n", "+1\r\n", "-1\r\n", "1_0\r\n", " 1\r\n", "\r\n", ";a\r\n", "1 \r\n", "1\n"] {
        assert_eq!(refused(input.as_bytes()), ChunkError::BadSize, "{input:?}");
    }
    for input in ["1\r\r", "1\r\nab", "1\r\na\n", "1\r\na\r\r", "1;a\rb"] {
        assert_eq!(refused(input.as_bytes()), ChunkError::BadLineEnd, "{input:?}");
    }
    assert_eq!(refused(b"00000000000000001\r\n"), ChunkError::SizeTooLong);
    assert!(decode(&[b"0000000000000001\r\na\r\n"]).is_ok());
    assert!(decode(&[b"ffffffffffffffff\r\nabc"]).is_ok());
}

#[test]
fn t8_extensions_are_passed_over_within_their_limits() {
    let extended = |length: usize| format!("1;{}\r\na\r\n", "e".repeat(length)).into_bytes();
    assert_eq!(decode(&[&extended(MAX_CHUNK_EXTENSION)]).unwrap().0, b"a");
    assert_eq!(decode(&[&extended(MAX_CHUNK_EXTENSION + 1)]), Err(ChunkError::ExtensionTooLong));
    assert_eq!(refused(b"1;a\0\r\n"), ChunkError::BadExtension);
    assert_eq!(refused(b"1;a\n"), ChunkError::BadExtension);
    let total = |bytes: usize| [extended(128).repeat(bytes / 128), extended(bytes % 128)].concat();
    assert!(decode(&[&total(MAX_HEAD)]).is_ok());
    assert_eq!(decode(&[&total(MAX_HEAD + 1)]), Err(ChunkError::ExtensionTooLong));
}

#[test]
fn t9_trailers_are_held_to_their_limits() {
    let many = |count: usize| format!("0\r\n{}\r\n", "A: b\r\n".repeat(count)).into_bytes();
    assert!(decode(&[&many(MAX_TRAILER_FIELDS)]).unwrap().1.is_some());
    assert_eq!(decode(&[&many(MAX_TRAILER_FIELDS + 1)]), Err(ChunkError::BadTrailer(HeadError::TooManyFields)));
    let long = |length: usize| format!("0\r\nA: {}\r\n\r\n", "b".repeat(length - 7)).into_bytes();
    assert!(decode(&[&long(MAX_TRAILERS)]).unwrap().1.is_some());
    assert_eq!(decode(&[&long(MAX_TRAILERS + 1)]), Err(ChunkError::BadTrailer(HeadError::TooLong)));
    assert_eq!(refused(b"0\r\nA : b\r\n\r\n"), ChunkError::BadTrailer(HeadError::BadField));
    assert_eq!(refused(b"0\r\nA: b\n\r\n"), ChunkError::BadTrailer(HeadError::BareLineFeed));
}

#[test]
fn random_bodies_never_panic_and_never_depend_on_the_split() {
    storms(b"0123af;\r\n: X", |input| {
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        match (decode(&[input]), decode(&bytes)) {
            (Err(whole), Err(split)) => assert_eq!(whole, split),
            (whole, split) => assert_eq!(whole, split),
        }
    });
}
