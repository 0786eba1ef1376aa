//! Chunked bodies with their trailers, taken apart and put together.

#![no_main]

mod pieces;

use aifo_shim::wire::{
    body::{BodyError, BodyReader},
    chunk::{self, ChunkError, Decoded, Decoder},
    exit::Outcome,
    head::{Fields, Framing},
};
use libfuzzer_sys::fuzz_target;

/// The data, where the body ended and with what, or what was wrong.
type Body = (Vec<u8>, Result<Option<(usize, Fields)>, ChunkError>);

fn decode(pieces: &[&[u8]]) -> Body {
    let (mut decoder, mut data, mut used) = (Decoder::default(), Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (taken, decoded) = match decoder.decode(rest) {
                Ok(result) => result,
                Err(error) => return (data, Err(error)),
            };
            assert!(taken > 0, "every step takes something");
            used += taken;
            rest = &rest[taken..];
            match decoded {
                Decoded::Data(bytes) => data.extend_from_slice(bytes),
                Decoded::Nothing => {}
                Decoded::End(trailers) => return (data, Ok(Some((used, trailers)))),
            }
        }
    }
    (data, Ok(None))
}

/// The same as the proxy reads it; says whether the body was whole.
fn read(pieces: &[&[u8]]) -> (Vec<u8>, Result<bool, BodyError>) {
    let mut body = BodyReader::new(Framing::Chunked).expect("no length that could be too large");
    let mut data = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !body.is_done() {
            match body.read(rest) {
                Ok((taken, bytes)) => {
                    data.extend_from_slice(bytes);
                    rest = &rest[taken..];
                }
                Err(error) => return (data, Err(error)),
            }
        }
    }
    (data, Ok(body.is_done()))
}

fuzz_target!(|input: &[u8]| {
    let (data, end) = pieces::same_however_cut(input, decode);
    let (same_data, done) = pieces::same_however_cut(input, read);
    assert_eq!(data, same_data);
    assert_eq!(done, end.as_ref().map(Option::is_some).map_err(|error| BodyError::Chunk(*error)));
    if let Ok(Some((_, trailers))) = end {
        // An exit code is one number that fits, or there is none.
        drop(Outcome::from_fields(&trailers));
    }
    // What is put together in any pieces comes apart as it was.
    let mut encoded = Vec::new();
    input.chunks(usize::from(input.first().copied().unwrap_or(0)) + 1).for_each(|piece| chunk::encode(piece, &mut encoded));
    chunk::encode_end(&[("X-Exit-Code", "0")], &mut encoded);
    let (data, end) = decode(&[&encoded]);
    assert_eq!(data, input);
    assert!(matches!(end, Ok(Some((used, _))) if used == encoded.len()));
});
