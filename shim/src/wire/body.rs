//! The body of a request, whichever way its end is marked, held to [`MAX_BODY`].

use std::{error::Error, fmt};

use super::{
    chunk::{ChunkError, Decoded, Decoder},
    head::Framing,
    limits::MAX_BODY,
};

/// Why a body was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    TooLarge,
    Chunk(ChunkError),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("body too large"),
            Self::Chunk(cause) => cause.fmt(f),
        }
    }
}

impl Error for BodyError {}

/// Finds the bytes of a body in what follows a head.
#[derive(Debug)]
pub enum BodyReader {
    Length { left: u64 },
    Chunked { decoder: Decoder, total: u64 },
    Done,
}

impl BodyReader {
    /// Refuses a body that announces itself as too large, before a byte of it is read.
    ///
    /// # Errors
    /// [`BodyError::TooLarge`].
    pub fn new(framing: Framing) -> Result<Self, BodyError> {
        match framing {
            Framing::Absent | Framing::Length(0) => Ok(Self::Done),
            Framing::Length(length) if length > MAX_BODY => Err(BodyError::TooLarge),
            Framing::Length(left) => Ok(Self::Length { left }),
            Framing::Chunked => Ok(Self::Chunked { decoder: Decoder::default(), total: 0 }),
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// How many bytes it may still bring.
    pub fn most(&self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Length { left } => *left,
            Self::Chunked { total, .. } => MAX_BODY - total,
        }
    }

    /// Takes bytes from the front of `input`: how many it used, and those among them that are body. What stands behind
    /// the body's end is left alone.
    ///
    /// # Errors
    /// Any [`BodyError`].
    pub fn read<'a>(&mut self, input: &'a [u8]) -> Result<(usize, &'a [u8]), BodyError> {
        match self {
            Self::Done => Ok((0, &[])),
            Self::Length { left } => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= take as u64;
                if *left == 0 {
                    *self = Self::Done;
                }
                Ok((take, input.get(..take).unwrap_or_default()))
            }
            Self::Chunked { decoder, total } => {
                let (used, decoded) = decoder.decode(input).map_err(BodyError::Chunk)?;
                match decoded {
                    Decoded::Nothing => Ok((used, &[])),
                    Decoded::Data(data) => {
                        *total += data.len() as u64;
                        if *total > MAX_BODY { Err(BodyError::TooLarge) } else { Ok((used, data)) }
                    }
                    Decoded::End(_ignored) => {
                        *self = Self::Done;
                        Ok((used, &[]))
                    }
                }
            }
        }
    }
}
