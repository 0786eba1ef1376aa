//! Heads of requests and responses (RFC 9112 sections 2 to 6), strictly.
//!
//! A head is collected first and parsed when its empty line has come, so the result cannot depend on how the bytes were
//! split. Refused, with no attempt at repair: a bare CR or LF, obs-fold, whitespace before a colon, control characters,
//! Content-Length together with Transfer-Encoding, a length that is repeated, signed, padded or too long, and transfer
//! codings other than one plain `chunked`.

use std::{error::Error, fmt, mem};

use super::limits::{MAX_FIELDS, MAX_HEAD, MAX_METHOD, MAX_TARGET};

/// Why a head was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    BareCarriageReturn,
    BareLineFeed,
    TooLong,
    TooManyFields,
    TargetTooLong,
    BadStartLine,
    BadVersion,
    BadField,
    BadLength,
    BadCoding,
    UnknownCoding,
}

impl HeadError {
    /// The HTTP status that answers it.
    pub fn status(self) -> u16 {
        match self {
            Self::TooLong | Self::TooManyFields => 431,
            Self::TargetTooLong => 414,
            Self::UnknownCoding => 501,
            Self::BadVersion => 505,
            _ => 400,
        }
    }
}

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BareCarriageReturn => "carriage return without line feed",
            Self::BareLineFeed => "line feed without carriage return",
            Self::TooLong => "headers too large",
            Self::TooManyFields => "too many headers",
            Self::TargetTooLong => "target too long",
            Self::BadStartLine => "malformed start line",
            Self::BadVersion => "unsupported HTTP version",
            Self::BadField => "malformed header",
            Self::BadLength => "malformed content length",
            Self::BadCoding => "malformed transfer encoding",
            Self::UnknownCoding => "unknown transfer encoding",
        })
    }
}

impl Error for HeadError {}

/// Gathers the lines of a head, or of a trailer section, up to the empty line.
///
/// ```text
/// line bytes ──CR──▶ awaiting LF ──LF──▶ line ends ── empty? ──▶ complete
/// ```
#[derive(Debug)]
pub struct Collector {
    bytes: Vec<u8>,
    limit: usize,
    line_length: usize,
    after_return: bool,
    skippable: bool,
}

impl Collector {
    /// For a head. One empty line may come before it (RFC 9112 section 2.2).
    pub fn head() -> Self {
        Self { skippable: true, ..Self::section(MAX_HEAD) }
    }

    /// For a trailer section, which may be empty.
    pub fn section(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, line_length: 0, after_return: false, skippable: false }
    }

    /// Takes what belongs to the head; says how much that was, and with the last byte gives the lines without the
    /// empty one.
    ///
    /// # Errors
    /// [`HeadError::BareCarriageReturn`], [`HeadError::BareLineFeed`], [`HeadError::TooLong`].
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Option<Vec<u8>>), HeadError> {
        for (at, &byte) in input.iter().enumerate() {
            if self.take(byte)? {
                return Ok((at + 1, Some(mem::take(&mut self.bytes))));
            }
        }
        Ok((input.len(), None))
    }

    /// Takes one byte; true when it ended the head.
    fn take(&mut self, byte: u8) -> Result<bool, HeadError> {
        match (self.after_return, byte) {
            (true, b'\n') => return self.end_line(),
            (true, _) => return Err(HeadError::BareCarriageReturn),
            (false, b'\n') => return Err(HeadError::BareLineFeed),
            (false, b'\r') => self.after_return = true,
            (false, _) => {
                self.line_length += 1;
                self.bytes.push(byte);
            }
        }
        // Two bytes are kept free for the empty line, which is counted but not stored.
        if self.bytes.len() + 2 > self.limit { Err(HeadError::TooLong) } else { Ok(false) }
    }

    fn end_line(&mut self) -> Result<bool, HeadError> {
        self.after_return = false;
        let empty = mem::take(&mut self.line_length) == 0;
        if empty {
            return Ok(!mem::take(&mut self.skippable));
        }
        self.skippable = false;
        self.bytes.extend_from_slice(b"\r\n");
        if self.bytes.len() + 2 > self.limit { Err(HeadError::TooLong) } else { Ok(false) }
    }
}

/// The fields of a head, names in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Parses field lines, each with its line end.
    ///
    /// # Errors
    /// [`HeadError::BadField`], and [`HeadError::TooManyFields`] beyond `most`.
    pub fn parse(lines: &[u8], most: usize) -> Result<Self, HeadError> {
        let mut fields = Vec::new();
        for line in lines_of(lines) {
            if fields.len() == most {
                return Err(HeadError::TooManyFields);
            }
            fields.push(field(line)?);
        }
        Ok(Self(fields))
    }

    /// Every value under a name, which is given in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_slice())
    }

    /// The value under a name that may stand only once.
    ///
    /// # Errors
    /// [`HeadError::BadField`] when it stands twice.
    pub fn one<'a>(&'a self, name: &'a str) -> Result<Option<&'a [u8]>, HeadError> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() { Err(HeadError::BadField) } else { Ok(first) }
    }
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Neither length nor coding: no body in a request, up to the end of the connection in a response.
    Absent,
    Length(u64),
    Chunked,
}

/// A request's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub method: String,
    pub target: String,
    pub fields: Fields,
    pub framing: Framing,
}

impl RequestHead {
    /// Parses what a [`Collector`] gathered.
    ///
    /// # Errors
    /// Any [`HeadError`].
    pub fn parse(head: &[u8]) -> Result<Self, HeadError> {
        let (start, lines) = split_start_line(head)?;
        let mut words = start.split(|&byte| byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(HeadError::BadStartLine);
        };
        if method.is_empty() || method.len() > MAX_METHOD || !method.iter().all(|&byte| is_token(byte)) {
            return Err(HeadError::BadStartLine);
        }
        if target.len() > MAX_TARGET {
            return Err(HeadError::TargetTooLong);
        }
        if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
            return Err(HeadError::BadStartLine);
        }
        check_version(version)?;
        let fields = Fields::parse(lines, MAX_FIELDS)?;
        Ok(Self { method: ascii(method), target: ascii(target), framing: framing(&fields)?, fields })
    }
}

/// A response's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    pub fields: Fields,
    pub framing: Framing,
}

impl ResponseHead {
    /// Parses what a [`Collector`] gathered.
    ///
    /// # Errors
    /// Any [`HeadError`].
    pub fn parse(head: &[u8]) -> Result<Self, HeadError> {
        let (start, lines) = split_start_line(head)?;
        let mut words = start.splitn(3, |&byte| byte == b' ');
        let (Some(version), Some(status)) = (words.next(), words.next()) else {
            return Err(HeadError::BadStartLine);
        };
        check_version(version)?;
        if words.next().is_some_and(|reason| !reason.iter().all(|&byte| is_text(byte))) || status.len() != 3 {
            return Err(HeadError::BadStartLine);
        }
        let status = decimal(status).and_then(|code| u16::try_from(code).ok()).ok_or(HeadError::BadStartLine)?;
        let fields = Fields::parse(lines, MAX_FIELDS)?;
        Ok(Self { status, framing: framing(&fields)?, fields })
    }
}

/// A whole number as the protocol writes it: digits only, no sign, no leading zero.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    let padded = digits.len() > 1 && digits.first() == Some(&b'0');
    if digits.is_empty() || padded {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let value = u64::from(digit.wrapping_sub(b'0'));
        if value > 9 { None } else { number.checked_mul(10)?.checked_add(value) }
    })
}

fn framing(fields: &Fields) -> Result<Framing, HeadError> {
    let length = fields.one("content-length").map_err(|_twice| HeadError::BadLength)?;
    let coding = fields.one("transfer-encoding").map_err(|_twice| HeadError::BadCoding)?;
    match (length, coding) {
        (None, None) => Ok(Framing::Absent),
        (Some(digits), None) => decimal(digits).map(Framing::Length).ok_or(HeadError::BadLength),
        (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        (None, Some(coding)) if !coding.is_empty() && coding.iter().all(|&byte| is_token(byte)) => {
            Err(HeadError::UnknownCoding)
        }
        (_, Some(_)) => Err(HeadError::BadCoding),
    }
}

fn field(line: &[u8]) -> Result<(String, Vec<u8>), HeadError> {
    let colon = line.iter().position(|&byte| byte == b':').ok_or(HeadError::BadField)?;
    let (name, rest) = line.split_at_checked(colon).ok_or(HeadError::BadField)?;
    let value = rest.get(1..).unwrap_or_default();
    if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) || !value.iter().all(|&byte| is_text(byte)) {
        return Err(HeadError::BadField);
    }
    Ok((ascii(name).to_ascii_lowercase(), trim(value).to_vec()))
}

/// HTTP/1.1 and nothing else: 1.0 has neither chunks nor trailers, and so no way to carry an exit code.
fn check_version(version: &[u8]) -> Result<(), HeadError> {
    match version {
        b"HTTP/1.1" => Ok(()),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            Err(HeadError::BadVersion)
        }
        _ => Err(HeadError::BadStartLine),
    }
}

fn split_start_line(head: &[u8]) -> Result<(&[u8], &[u8]), HeadError> {
    let end = head.windows(2).position(|pair| pair == b"\r\n").ok_or(HeadError::BadStartLine)?;
    let (line, rest) = head.split_at_checked(end).ok_or(HeadError::BadStartLine)?;
    Ok((line, rest.get(2..).unwrap_or_default()))
}

/// The lines of a collected section; the collector guarantees that CR and LF come only as pairs.
fn lines_of(section: &[u8]) -> impl Iterator<Item = &[u8]> {
    section
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(first) = value.iter().position(|byte| !blank(byte)) else { return &[] };
    let last = value.iter().rposition(|byte| !blank(byte)).unwrap_or(first);
    value.get(first..=last).unwrap_or_default()
}

/// A token character of RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A field value character of RFC 9110 section 5.5: visible, blank or beyond ASCII.
pub(super) fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn ascii(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}
