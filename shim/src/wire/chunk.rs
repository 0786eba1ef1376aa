//! The chunked coding with trailers (RFC 9112 section 7), both ways.
//!
//! ```text
//! Size ─;─▶ Extension ─CR─▶ SizeEnd ─LF─▶ Data(n) ─▶ DataReturn ─▶ DataFeed ─▶ Size
//!   └──────────CR──────────────▲   └─ n = 0 ─▶ Trailers ─empty line─▶ Ended
//! ```
//!
//! The decoder hands out slices of its input and holds nothing but the trailers.

use std::{error::Error, fmt};

use super::{
    head::{Collector, Fields, HeadError, is_text},
    limits::{MAX_CHUNK_DIGITS, MAX_CHUNK_EXTENSION, MAX_HEAD, MAX_TRAILER_FIELDS, MAX_TRAILERS},
};

/// Why a chunked body was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkError {
    BadSize,
    SizeTooLong,
    BadExtension,
    ExtensionTooLong,
    BadLineEnd,
    BadTrailer(HeadError),
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSize => f.write_str("malformed chunk size"),
            Self::SizeTooLong => f.write_str("chunk size too long"),
            Self::BadExtension => f.write_str("malformed chunk extension"),
            Self::ExtensionTooLong => f.write_str("chunk extensions too long"),
            Self::BadLineEnd => f.write_str("malformed chunk end"),
            Self::BadTrailer(cause) => write!(f, "bad trailer: {cause}"),
        }
    }
}

impl Error for ChunkError {}

/// What a piece of input meant.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// Body bytes.
    Data(&'a [u8]),
    /// Everything was framing; more input is needed.
    Nothing,
    /// The body has ended; what follows is not part of it.
    End(Fields),
}

#[derive(Debug)]
enum State {
    Size { value: u64, digits: usize },
    Extension { size: u64, length: usize },
    SizeEnd { size: u64 },
    Data { left: u64 },
    DataReturn,
    DataFeed,
    Trailers(Collector),
    Ended,
}

const FRESH: State = State::Size { value: 0, digits: 0 };

/// Takes a chunked body apart.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    extensions: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { state: FRESH, extensions: 0 }
    }
}

impl Decoder {
    /// Decodes from the front of `input`; says how many bytes it used. Call again with the rest until it is used up.
    ///
    /// # Errors
    /// Any [`ChunkError`]; the decoder must not be used after one.
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Decoded<'a>), ChunkError> {
        let mut used = 0;
        while let Some((&byte, _)) = input.get(used..).and_then(<[u8]>::split_first) {
            match &mut self.state {
                State::Data { left } => {
                    let rest = input.get(used..).unwrap_or_default();
                    let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= take as u64;
                    if *left == 0 {
                        self.state = State::DataReturn;
                    }
                    return Ok((used + take, Decoded::Data(rest.get(..take).unwrap_or_default())));
                }
                State::Trailers(collector) => {
                    let rest = input.get(used..).unwrap_or_default();
                    let (taken, lines) = collector.feed(rest).map_err(ChunkError::BadTrailer)?;
                    used += taken;
                    if let Some(lines) = lines {
                        self.state = State::Ended;
                        let fields = Fields::parse(&lines, MAX_TRAILER_FIELDS).map_err(ChunkError::BadTrailer)?;
                        return Ok((used, Decoded::End(fields)));
                    }
                }
                State::Ended => return Ok((used, Decoded::Nothing)),
                _ => {
                    self.step(byte)?;
                    used += 1;
                }
            }
        }
        Ok((used, Decoded::Nothing))
    }

    /// One byte of framing.
    fn step(&mut self, byte: u8) -> Result<(), ChunkError> {
        self.state = match (&self.state, byte) {
            (&State::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == MAX_CHUNK_DIGITS {
                    return Err(ChunkError::SizeTooLong);
                }
                State::Size { value: value << 4 | u64::from(hex_value(byte)), digits: digits + 1 }
            }
            (&State::Size { value, digits: 1.. }, b'\r') => State::SizeEnd { size: value },
            (&State::Size { value, digits: 1.. }, b';') => State::Extension { size: value, length: 0 },
            (State::Size { .. }, _) => return Err(ChunkError::BadSize),
            (&State::Extension { size, .. }, b'\r') => State::SizeEnd { size },
            (&State::Extension { size, length }, _) => {
                self.extensions += 1;
                if length == MAX_CHUNK_EXTENSION || self.extensions > MAX_HEAD {
                    return Err(ChunkError::ExtensionTooLong);
                }
                if !is_text(byte) {
                    return Err(ChunkError::BadExtension);
                }
                State::Extension { size, length: length + 1 }
            }
            (State::SizeEnd { size: 0 }, b'\n') => State::Trailers(Collector::section(MAX_TRAILERS)),
            (&State::SizeEnd { size }, b'\n') => State::Data { left: size },
            (State::DataReturn, b'\r') => State::DataFeed,
            (State::DataFeed, b'\n') => FRESH,
            _ => return Err(ChunkError::BadLineEnd),
        };
        Ok(())
    }
}

/// Appends one chunk; an empty one would end the body, so it is left out.
pub fn encode(data: &[u8], out: &mut Vec<u8>) {
    if data.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:X}\r\n", data.len()).as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Appends the last chunk and its trailers. Names and values are the caller's own and hold no line ends.
pub fn encode_end(trailers: &[(&str, &str)], out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// The value of a hex digit, which the caller has checked to be one.
pub(super) fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
