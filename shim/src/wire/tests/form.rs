//! Forms: every byte survives, guesses are not made.

use super::{same_however_split, storms};
use crate::wire::{
    form::{Decoder, FormError, Pair, decode, encode},
    limits::MAX_FORM_KEY,
};

fn pieces(pieces: &[&[u8]]) -> Result<Vec<Pair>, FormError> {
    let mut pairs = Vec::new();
    let mut decoder = Decoder::default();
    for piece in pieces {
        decoder.feed(piece, |pair| {
            pairs.push(pair);
            Ok::<(), FormError>(())
        })?;
    }
    pairs.extend(decoder.finish()?);
    Ok(pairs)
}

fn pair(key: &[u8], value: &[u8]) -> Pair {
    Pair { key: key.to_vec(), value: value.to_vec() }
}

#[test]
fn every_byte_but_nul_survives() {
    let value: Vec<u8> = (1..=255).collect();
    let mut form = Vec::new();
    encode("arg", &value, &mut form);
    encode("arg", b"", &mut form);
    assert!(form.is_ascii());
    assert_eq!(same_however_split(&form, pieces), Ok(vec![pair(b"arg", &value), pair(b"arg", b"")]));
}

#[test]
fn spaces_and_unreserved_bytes_are_written_as_the_predecessor_wrote_them() {
    let mut form = Vec::new();
    encode("arg", "a b-_.~/é".as_bytes(), &mut form);
    assert_eq!(form, b"arg=a+b-_.~%2F%C3%A9");
}

#[test]
fn what_foreign_clients_send_is_understood() {
    let read = |form: &[u8]| same_however_split(form, pieces);
    assert_eq!(
        read(b"a=1&&b=%2f%2F&c&=d&"),
        Ok(vec![pair(b"a", b"1"), pair(b"b", b"//"), pair(b"c", b""), pair(b"", b"d")])
    );
    assert_eq!(read(b"a=b=c&d=\xc3\xa4"), Ok(vec![pair(b"a", b"b=c"), pair(b"d", "ä".as_bytes())]));
    assert_eq!(read(b""), Ok(vec![]));
}

#[test]
fn t27_nul_and_broken_escapes_are_refused() {
    for form in ["a=%0", "a=%", "a=%g0", "a=%0g", "a=%%41", "a=%4&b=1", "%"] {
        assert_eq!(same_however_split(form.as_bytes(), pieces), Err(FormError::BadEscape), "{form}");
    }
    assert_eq!(same_however_split(b"a=%00", pieces), Err(FormError::NulByte));
    assert_eq!(same_however_split(b"a=\0", pieces), Err(FormError::NulByte));
}

#[test]
fn a_key_has_a_limit() {
    let form = |length: usize| format!("{}=v", "k".repeat(length)).into_bytes();
    assert!(decode(&form(MAX_FORM_KEY)).is_ok());
    assert_eq!(decode(&form(MAX_FORM_KEY + 1)), Err(FormError::KeyTooLong));
}

#[test]
fn random_forms_never_panic_and_never_depend_on_the_split() {
    storms(b"ab=&%+0fF\0\xff", |input| {
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(pieces(&bytes), decode(input));
    });
}
