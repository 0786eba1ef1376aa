//! What a proxy answered to bytes that a test wrote itself, taken apart.

use aifo_shim::wire::{
    chunk::{Decoded, Decoder},
    head::{Collector, Fields, Framing, ResponseHead},
};

/// One answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
    /// None where the body was no chunked one, or had no end.
    pub(crate) trailers: Option<Fields>,
}

impl Answer {
    /// Takes bytes apart; an answer of status 0 where nothing came before the connection was closed.
    #[track_caller]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let shown = || String::from_utf8_lossy(bytes.get(..bytes.len().min(2000)).unwrap_or_default()).into_owned();
        if bytes.is_empty() {
            return Self::default();
        }
        let (used, head) = Collector::head().feed(bytes).unwrap_or_else(|error| panic!("{error}: {}", shown()));
        let head = head.unwrap_or_else(|| panic!("no head: {}", shown()));
        let head = ResponseHead::parse(&head).unwrap_or_else(|error| panic!("{error}: {}", shown()));
        let rest = &bytes[used..];
        let (body, trailers) = match head.framing {
            Framing::Chunked => decode(rest),
            Framing::Length(length) => {
                assert_eq!(rest.len() as u64, length, "a body of the announced length: {}", shown());
                (rest.to_vec(), None)
            }
            Framing::Absent => (rest.to_vec(), None),
        };
        Self { status: head.status, fields: head.fields, body, trailers }
    }

    /// A header field's value as text; empty where there is none.
    pub(crate) fn field(&self, name: &str) -> String {
        text(&self.fields, name)
    }

    /// The exit code: of the trailers where there are some, else of the header.
    pub(crate) fn code(&self) -> String {
        text(self.trailers.as_ref().unwrap_or(&self.fields), "x-exit-code")
    }

    /// The same for the reason.
    pub(crate) fn reason(&self) -> String {
        text(self.trailers.as_ref().unwrap_or(&self.fields), "x-exit-reason")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[track_caller]
fn text(fields: &Fields, name: &str) -> String {
    let value = fields.one(name).unwrap_or_else(|_twice| panic!("{name} stands twice"));
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

#[track_caller]
fn decode(mut bytes: &[u8]) -> (Vec<u8>, Option<Fields>) {
    let (mut decoder, mut body) = (Decoder::default(), Vec::new());
    while !bytes.is_empty() {
        let (used, decoded) = decoder.decode(bytes).expect("well-formed chunks");
        bytes = &bytes[used..];
        match decoded {
            Decoded::Data(data) => body.extend_from_slice(data),
            Decoded::Nothing => {}
            Decoded::End(trailers) => {
                assert!(bytes.is_empty(), "nothing stands behind the answer");
                return (body, Some(trailers));
            }
        }
    }
    (body, None)
}
