//! Forms, byte for byte.

#![no_main]

mod pieces;

use aifo_shim::wire::form::{self, Decoder, FormError, Pair};
use libfuzzer_sys::fuzz_target;

fn decode(pieces: &[&[u8]]) -> (Vec<Pair>, Option<FormError>) {
    let (mut decoder, mut pairs) = (Decoder::default(), Vec::new());
    for piece in pieces {
        let fed = decoder.feed(piece, |pair| {
            pairs.push(pair);
            Ok::<(), FormError>(())
        });
        if let Err(error) = fed {
            return (pairs, Some(error));
        }
    }
    match decoder.finish() {
        Ok(last) => {
            pairs.extend(last);
            (pairs, None)
        }
        Err(error) => (pairs, Some(error)),
    }
}

fuzz_target!(|input: &[u8]| {
    let (pairs, error) = pieces::same_however_cut(input, decode);
    assert_eq!(form::decode(input).err(), error);
    for Pair { key, value } in &pairs {
        assert!(!key.contains(&0) && !value.contains(&0));
        assert!(value.len() <= input.len());
    }
    // What an encoder writes is read as it was, whatever bytes it holds.
    let value: Vec<u8> = input.iter().copied().filter(|&byte| byte != 0).collect();
    let mut encoded = Vec::new();
    form::encode("first", &value, &mut encoded);
    form::encode("second", b"", &mut encoded);
    let expected =
        vec![Pair { key: b"first".to_vec(), value }, Pair { key: b"second".to_vec(), value: Vec::new() }];
    assert_eq!(form::decode(&encoded), Ok(expected));
});
