//! `application/x-www-form-urlencoded`, byte for byte.
//!
//! Values are bytes, not text: what goes in as `\xff` comes out as `\xff`. A percent sign without two hex digits is
//! refused rather than guessed at, and so is NUL, which no argument, path or variable can hold.

use std::{error::Error, fmt, mem};

use super::{chunk::hex_value, limits::MAX_FORM_KEY};

/// Why a form was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormError {
    BadEscape,
    NulByte,
    KeyTooLong,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadEscape => "malformed percent escape in form",
            Self::NulByte => "NUL byte in form",
            Self::KeyTooLong => "form key too long",
        })
    }
}

impl Error for FormError {}

/// Appends `key=value`, with `&` before it where it is not the first.
pub fn encode(key: &str, value: &[u8], out: &mut Vec<u8>) {
    const HEX: [u8; 16] = *b"0123456789ABCDEF";
    if !out.is_empty() {
        out.push(b'&');
    }
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    for &byte in value {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => {
                let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or_default();
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

/// One `key=value`, decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct Pair {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Escape {
    #[default]
    None,
    Percent,
    High(u8),
}

/// Decodes a form as it arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    key: Vec<u8>,
    value: Vec<u8>,
    in_value: bool,
    escape: Escape,
}

impl Decoder {
    /// Takes bytes and hands every pair that they complete to `pair`.
    ///
    /// # Errors
    /// Any [`FormError`], or what `pair` returns.
    pub fn feed<E: From<FormError>>(
        &mut self,
        input: &[u8],
        mut pair: impl FnMut(Pair) -> Result<(), E>,
    ) -> Result<(), E> {
        for &byte in input {
            if let Some(complete) = self.take(byte)? {
                pair(complete)?;
            }
        }
        Ok(())
    }

    /// The pair that the end of the form completes.
    ///
    /// # Errors
    /// [`FormError::BadEscape`] when the form ends inside an escape.
    pub fn finish(mut self) -> Result<Option<Pair>, FormError> {
        match self.escape {
            Escape::None => Ok(self.end_pair()),
            _ => Err(FormError::BadEscape),
        }
    }

    fn take(&mut self, byte: u8) -> Result<Option<Pair>, FormError> {
        match (self.escape, byte) {
            (Escape::None, b'&') => return Ok(self.end_pair()),
            (Escape::None, b'=') if !self.in_value => self.in_value = true,
            (Escape::None, b'%') => self.escape = Escape::Percent,
            (Escape::None, b'+') => self.put(b' ')?,
            (Escape::None, _) => self.put(byte)?,
            (_, _) if !byte.is_ascii_hexdigit() => return Err(FormError::BadEscape),
            (Escape::Percent, _) => self.escape = Escape::High(hex_value(byte)),
            (Escape::High(high), _) => {
                self.escape = Escape::None;
                self.put(high << 4 | hex_value(byte))?;
            }
        }
        Ok(None)
    }

    fn put(&mut self, byte: u8) -> Result<(), FormError> {
        if byte == 0 {
            return Err(FormError::NulByte);
        }
        if self.in_value {
            self.value.push(byte);
        } else if self.key.len() == MAX_FORM_KEY {
            return Err(FormError::KeyTooLong);
        } else {
            self.key.push(byte);
        }
        Ok(())
    }

    /// An empty segment (`a=1&&b=2`) is no pair.
    fn end_pair(&mut self) -> Option<Pair> {
        let had_value = mem::take(&mut self.in_value);
        let pair = Pair { key: mem::take(&mut self.key), value: mem::take(&mut self.value) };
        if pair.key.is_empty() && !had_value { None } else { Some(pair) }
    }
}

/// Decodes a whole form.
///
/// # Errors
/// Any [`FormError`].
pub fn decode(form: &[u8]) -> Result<Vec<Pair>, FormError> {
    let mut pairs = Vec::new();
    let mut decoder = Decoder::default();
    decoder.feed(form, |pair| {
        pairs.push(pair);
        Ok::<(), FormError>(())
    })?;
    pairs.extend(decoder.finish()?);
    Ok(pairs)
}
