//! What proxy and execd say to each other: records on `SOCK_SEQPACKET` sockets, descriptors attached.
//!
//! A sidecar dials in once and says [`Hello`]; that connection is then the proxy's way *into* the sidecar, and nothing
//! ever listens there. For each call the proxy makes a socket pair and passes one end over (a [`CALL`] record); on the
//! pair it sends the call and the tool's three descriptors, then signals, and hears how it started and ended. One pair
//! is one call: when either end closes, the call is over. Record boundaries are the kernel's, so there is no framing to
//! get wrong; what does not decode is dropped together with its connection.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use aifo_shim::wire::{
    exec::{CStrings, ExecRequest},
    form,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The longest record; the kernel's default buffer holds three of them.
pub(crate) const MAX_RECORD: usize = 64 * 1024;
/// A start that announces more than this is no start: the body it comes from is limited to less.
const MAX_START: usize = 16 * 1024 * 1024;

/// The record that hands over one end of a call's socket pair.
pub(crate) const CALL: &[u8] = b"call";
/// The record that ends a call: INT, TERM, KILL.
pub(crate) const CANCEL: &[u8] = b"cancel";

/// A sidecar's first record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) kind: String,
    pub(crate) secret: String,
    /// The carried tools that its PATH holds.
    pub(crate) tools: Vec<String>,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        form::encode("kind", self.kind.as_bytes(), &mut out);
        form::encode("secret", self.secret.as_bytes(), &mut out);
        self.tools.iter().for_each(|tool| form::encode("tool", tool.as_bytes(), &mut out));
        out
    }

    pub(crate) fn decode(record: &[u8]) -> Option<Self> {
        let mut hello = Self::default();
        for pair in form::decode(record).ok()? {
            let value = String::from_utf8(pair.value).ok()?;
            match pair.key.as_slice() {
                b"kind" => hello.kind = value,
                b"secret" => hello.secret = value,
                b"tool" => hello.tools.push(value),
                _ => return None,
            }
        }
        Some(hello)
    }
}

/// Why a tool was not started; `errno` as the sidecar's kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFailure {
    Directory { errno: i32 },
    OutsideRoots,
    NotFound,
    NotExecutable { errno: i32 },
    NoProcess { errno: i32 },
}

/// What a sidecar reports of a call. A tool has stopped by itself and at a terminal; of a stop that its caller asked for
/// nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Started,
    Stopped,
    Failed(StartFailure),
    Exited { code: u8, usage: Usage },
    Signaled { signal: u8, usage: Usage },
}

/// What a tool used up, its descendants that it waited for included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_us: u64,
    pub(crate) peak_kib: u64,
}

impl Report {
    pub(crate) fn encode(self) -> Vec<u8> {
        let (tag, number, usage) = match self {
            Self::Started => (0, 0, Usage::default()),
            Self::Failed(StartFailure::Directory { errno }) => (1, errno, Usage::default()),
            Self::Failed(StartFailure::OutsideRoots) => (2, 0, Usage::default()),
            Self::Failed(StartFailure::NotFound) => (3, 0, Usage::default()),
            Self::Failed(StartFailure::NotExecutable { errno }) => (4, errno, Usage::default()),
            Self::Failed(StartFailure::NoProcess { errno }) => (5, errno, Usage::default()),
            Self::Exited { code, usage } => (6, i32::from(code), usage),
            Self::Signaled { signal, usage } => (7, i32::from(signal), usage),
            Self::Stopped => (8, 0, Usage::default()),
        };
        let mut record = vec![tag];
        record.extend_from_slice(&number.to_le_bytes());
        record.extend_from_slice(&usage.cpu_us.to_le_bytes());
        record.extend_from_slice(&usage.peak_kib.to_le_bytes());
        record
    }

    pub(crate) fn decode(record: &[u8]) -> Option<Self> {
        let (&tag, rest) = record.split_first()?;
        let (number, rest) = rest.split_first_chunk::<4>()?;
        let (cpu, rest) = rest.split_first_chunk::<8>()?;
        let (peak, rest) = rest.split_first_chunk::<8>()?;
        let errno = i32::from_le_bytes(*number);
        let usage = Usage { cpu_us: u64::from_le_bytes(*cpu), peak_kib: u64::from_le_bytes(*peak) };
        let small = u8::try_from(errno);
        Some(match tag {
            _ if !rest.is_empty() => return None,
            0 => Self::Started,
            1 => Self::Failed(StartFailure::Directory { errno }),
            2 => Self::Failed(StartFailure::OutsideRoots),
            3 => Self::Failed(StartFailure::NotFound),
            4 => Self::Failed(StartFailure::NotExecutable { errno }),
            5 => Self::Failed(StartFailure::NoProcess { errno }),
            6 => Self::Exited { code: small.ok()?, usage },
            7 => Self::Signaled { signal: small.ok()?, usage },
            8 => Self::Stopped,
            _ => return None,
        })
    }
}

/// The record that passes a signal on.
pub(crate) fn signal_record(number: i32) -> Vec<u8> {
    [b"sig".as_slice(), &number.to_le_bytes()].concat()
}

/// The signal in a record, if it is one.
pub(crate) fn signal_in(record: &[u8]) -> Option<i32> {
    record.strip_prefix(b"sig")?.try_into().ok().map(i32::from_le_bytes)
}

/// A call, ready to be sent: its length, four section lengths, the sections.
pub(crate) fn encode_start(request: &ExecRequest) -> Vec<u8> {
    let sections = [&request.tool, &request.cwd, request.args.as_bytes(), request.env.as_bytes()];
    let mut out = vec![0; 4];
    for section in sections {
        out.extend_from_slice(&u32::try_from(section.len()).unwrap_or(u32::MAX).to_le_bytes());
    }
    sections.iter().for_each(|section| out.extend_from_slice(section));
    let total = u32::try_from(out.len()).unwrap_or(u32::MAX).to_le_bytes();
    if let Some(front) = out.first_chunk_mut() {
        *front = total;
    }
    out
}

fn decode_start(bytes: &[u8]) -> Option<ExecRequest> {
    let (_total, rest) = bytes.split_first_chunk::<4>()?;
    let (lengths, mut rest) = rest.split_first_chunk::<16>()?;
    let mut sections = lengths.chunks_exact(4).map(|length| {
        let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
        let (section, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(section.to_vec())
    });
    let mut next = || sections.next().flatten();
    let (tool, cwd, args, env) = (next()?, next()?, next()?, next()?);
    Some(ExecRequest { tool, cwd, args: CStrings::from_bytes(args)?, env: CStrings::from_bytes(env)? })
}

/// Two connected ends.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Sends one record with descriptors.
pub(crate) fn send(socket: impl AsFd, record: &[u8], descriptors: &[impl AsFd]) -> io::Result<()> {
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !borrowed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(&socket, &[IoSlice::new(record)], &mut control, SendFlags::NOSIGNAL)
    })?;
    if sent == record.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives one record; its length is 0 when the other end is gone.
pub(crate) fn receive(socket: impl AsFd, record: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, record, RecvFlags::empty())
}

/// As [`receive`], but fails with `WouldBlock` instead of waiting.
pub(crate) fn try_receive(socket: impl AsFd, record: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, record, RecvFlags::DONTWAIT)
}

/// Descriptors beyond what fits are closed by the kernel; a record or descriptors cut short make the record worthless.
pub(crate) fn receive_with(socket: impl AsFd, bytes: &mut [u8], flags: RecvFlags) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut vector = [IoSliceMut::new(bytes)];
    let message = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(&socket, &mut vector, &mut control, flags | RecvFlags::CMSG_CLOEXEC)
    })?;
    let descriptors = control
        .drain()
        .filter_map(|part| if let RecvAncillaryMessage::ScmRights(rights) = part { Some(rights) } else { None })
        .flatten()
        .collect();
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((message.bytes, descriptors))
}

/// Sends a call: as many records as it needs, the descriptors with the first.
pub(crate) fn send_start(socket: impl AsFd, start: &[u8], descriptors: &[impl AsFd]) -> io::Result<()> {
    let mut records = start.chunks(MAX_RECORD);
    send(&socket, records.next().unwrap_or_default(), descriptors)?;
    let none: [OwnedFd; 0] = [];
    records.try_for_each(|record| send(&socket, record, &none))
}

/// Receives a call and its descriptors; the record buffer is the caller's.
pub(crate) fn receive_start(socket: impl AsFd) -> io::Result<(ExecRequest, [OwnedFd; 3])> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let mut buffer = vec![0; MAX_RECORD];
    let (length, descriptors) = receive(&socket, &mut buffer)?;
    let mut start = buffer.get(..length).unwrap_or_default().to_vec();
    let total = start.first_chunk().map(|total| u32::from_le_bytes(*total)).ok_or_else(malformed)?;
    let total = usize::try_from(total).ok().filter(|&total| total <= MAX_START).ok_or_else(malformed)?;
    while start.len() < total {
        let (length, _none) = receive(&socket, &mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        start.extend_from_slice(buffer.get(..length).unwrap_or_default());
    }
    let descriptors = descriptors.try_into().map_err(|_other_count| malformed())?;
    Ok((decode_start(&start).ok_or_else(malformed)?, descriptors))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, thread};

    use super::*;

    fn request(bytes: usize) -> ExecRequest {
        let mut request = ExecRequest { tool: b"cc".to_vec(), cwd: b"/workspace/\xff".to_vec(), ..Default::default() };
        request.args.push(b"");
        request.args.push(&vec![b'x'; bytes]);
        request.env.push(b"CI=1");
        request
    }

    #[test]
    fn a_call_of_any_size_arrives_with_its_descriptors() {
        for bytes in [0, 1, MAX_RECORD - 50, MAX_RECORD, 2_000_000] {
            let (ours, theirs) = pair().unwrap();
            let files = [(); 3].map(|()| OwnedFd::from(File::open("/dev/null").unwrap()));
            let start = encode_start(&request(bytes));
            let sender = thread::spawn(move || send_start(&ours, &start, &files));
            assert_eq!(receive_start(&theirs).unwrap().0, request(bytes), "{bytes} bytes");
            sender.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_start_that_is_none_is_an_error() {
        let none: [OwnedFd; 0] = [];
        for record in [b"".as_slice(), b"abc", &[0; 4], &[0xff; 30], &[30, 0, 0, 0, 9, 9, 9, 9]] {
            let (ours, theirs) = pair().unwrap();
            send(&ours, record, &none).unwrap();
            drop(ours);
            assert!(receive_start(&theirs).is_err(), "{record:?}");
        }
        let (ours, theirs) = pair().unwrap();
        send(&ours, &encode_start(&request(1)), &none).unwrap();
        assert!(receive_start(&theirs).is_err(), "no descriptors");
    }

    #[test]
    fn reports_and_hellos_survive() {
        let usage = Usage { cpu_us: u64::MAX, peak_kib: 7 };
        for report in [
            Report::Started,
            Report::Stopped,
            Report::Failed(StartFailure::Directory { errno: 2 }),
            Report::Failed(StartFailure::OutsideRoots),
            Report::Failed(StartFailure::NotFound),
            Report::Failed(StartFailure::NotExecutable { errno: 13 }),
            Report::Failed(StartFailure::NoProcess { errno: 11 }),
            Report::Exited { code: 255, usage },
            Report::Signaled { signal: 64, usage },
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
        for record in [b"".as_slice(), &[0; 20], &[0; 22], &[9; 21]] {
            assert_eq!(Report::decode(record), None, "{record:?}");
        }
        let hello = Hello { kind: "c-cpp".into(), secret: "s".into(), tools: vec!["g++".into(), "cc".into()] };
        assert_eq!(Hello::decode(&hello.encode()), Some(hello));
        assert_eq!(Hello::decode(b"other=1"), None);
        assert_eq!(signal_in(&signal_record(15)), Some(15));
        assert_eq!(signal_in(CANCEL), None);
    }
}
