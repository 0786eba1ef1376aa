//! One call to the proxy: connect, send, pass signals on, read the end.
//!
//! ```text
//! connect ─▶ send request (3: with descriptors 0, 1, 2) ─▶ head ─▶ chunks ─▶ trailers ─▶ end
//!                                                           ├─ 426 to 3 ─▶ the same by 2, on a new connection
//!                                                           └─ anything but 200 ─▶ refused, with the reason given
//! ```
//!
//! One thread, one loop: signals are blocked and read from a descriptor beside the socket, also while the request is on
//! its way. A call is sent once; the only second request is the one after 426, which says that nothing was run. Whatever
//! breaks is never a success.

use std::{
    fs::File,
    io::{self, Read, Write},
    mem,
    ops::RangeInclusive,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use aifo_shim::{
    error::ShimError,
    proxy::Proxy,
    socket::Socket,
    sys::{self, Ended, Signals, Want},
    wire::{
        PROTO_DESCRIPTORS, PROTO_STREAMED,
        chunk::{Decoded, Decoder},
        endpoint::Endpoint,
        exec::ExecRequest,
        exit::Outcome,
        head::{Collector, Fields, Framing, ResponseHead},
        limits::{MAX_BODY, MAX_REASON},
    },
};

use crate::signals::{self, Caught};

/// How long a signal that ends or stops the caller waits for the tool's id: the tool may run and the answer be on its way.
const ANSWER_ON_ITS_WAY: Duration = Duration::from_millis(250);

/// Between two tries to send descriptors where too many of the user's are on their way: at first, and at most.
const CROWDED: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(50);

/// Carries a call; gives its end and what the proxy has to say about it. The tool's standard input is `input`, or else
/// our own.
///
/// # Errors
/// Any [`ShimError`] of transport or refusal.
pub(crate) fn carry(proxy: &Proxy, request: &ExecRequest, input: Option<&File>) -> Result<(Ended, String), ShimError> {
    let body = request.encode();
    if body.len() as u64 > MAX_BODY {
        return Err(ShimError::TooManyArguments);
    }
    let newest = match proxy.endpoint {
        Endpoint::Unix(_) => PROTO_DESCRIPTORS,
        Endpoint::Tcp(_) => PROTO_STREAMED,
    };
    match Exchange::start(proxy, newest, &body, input)?.run()? {
        End::Is(ended, reason) => Ok((ended, reason)),
        End::UpgradeRefused => match Exchange::start(proxy, PROTO_STREAMED, &body, None)?.run()? {
            End::Is(ended, reason) => Ok((ended, reason)),
            End::UpgradeRefused => Err(ShimError::NotAProxy),
        },
    }
}

/// How an exchange ended.
enum End {
    Is(Ended, String),
    /// 426 to protocol 3: nothing was run, an older protocol is asked for.
    UpgradeRefused,
}

/// How far the answer has come.
enum Stage {
    Head(Collector),
    Stream(Decoder),
    /// The text of a refusal, up to its announced length or the end of the connection.
    Reason {
        status: u16,
        left: Option<u64>,
        text: Vec<u8>,
    },
}

struct Exchange<'a> {
    proxy: &'a Proxy,
    proto: u8,
    socket: Socket,
    signals: Signals,
    /// The whole request, and how much of it went.
    message: Vec<u8>,
    sent: usize,
    /// What the tool gets for our standard input, if not that.
    input: Option<BorrowedFd<'a>>,
    /// Until the next try to send; none unless too many descriptors are on their way.
    pause: Option<Duration>,
    stage: Stage,
    /// Known once the tool runs; signals can be passed on from then.
    exec_id: Option<String>,
    /// Signals that came before.
    early: Vec<i32>,
    /// The one among them that is not for the tool any more if no answer has come by then.
    held: Option<(Instant, i32)>,
    /// The tool has stopped itself.
    tool_stopped: bool,
    /// Our standard output, opened when there is something to write.
    output: Option<File>,
}

impl<'a> Exchange<'a> {
    fn start(proxy: &'a Proxy, proto: u8, body: &[u8], input: Option<&'a File>) -> Result<Self, ShimError> {
        let socket = proxy.connect()?;
        let mut message = proxy.head("/exec", proto, body.len());
        message.extend_from_slice(body);
        let mut exchange = Self {
            proxy,
            proto,
            socket,
            signals: signals::collect().map_err(ShimError::Transport)?,
            message,
            sent: 0,
            input: input.map(File::as_fd),
            pause: None,
            stage: Stage::Head(Collector::head()),
            exec_id: None,
            early: Vec::new(),
            held: None,
            tool_stopped: false,
            output: None,
        };
        exchange.send()?;
        Ok(exchange)
    }

    /// Sends what goes without waiting.
    fn send(&mut self) -> Result<(), ShimError> {
        let left = self.message.get(self.sent..).unwrap_or_default();
        let sent = if self.sent == 0 && self.proto == PROTO_DESCRIPTORS {
            self.socket.send_with_standard_descriptors(left, self.input)
        } else {
            self.socket.send_now(left)
        };
        match sent {
            Ok(count) => (self.sent, self.pause) = (self.sent + count, None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Nothing of the request has left, so it may be tried until there is room.
            Err(error) if sys::is_too_many_in_flight(&error) => {
                if self.pause.is_none() {
                    sys::raise_descriptor_limit();
                }
                let longer = |pause: Duration| (pause * 2).min(*CROWDED.end());
                self.pause = Some(self.pause.map_or(*CROWDED.start(), longer));
            }
            // Between two tries; that the connection has ended shows in the loop.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.pause.is_some() => {}
            // The proxy may have refused before it took everything; then its answer says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.sent = self.message.len(),
            Err(error) => return Err(ShimError::Transport(error)),
        }
        Ok(())
    }

    fn is_sent(&self) -> bool {
        self.sent >= self.message.len()
    }

    fn run(mut self) -> Result<End, ShimError> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let [signal, answer, room] = self.wait().map_err(ShimError::Transport)?;
            if signal && let Some(end) = self.pass_signals()? {
                return Ok(end);
            }
            if let Some((at, number)) = self.held
                && at <= Instant::now()
                && let Some(end) = self.take_held(number)
            {
                return Ok(end);
            }
            if answer && self.pause.is_some() {
                // The proxy has waited for a head as long as it does, and has not seen a byte of this one.
                self.socket = self.proxy.connect()?;
                continue;
            }
            if room || self.pause.is_some() {
                self.send()?;
            }
            if !answer {
                continue;
            }
            let count = match self.socket.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ShimError::Transport(error)),
            };
            if count == 0 {
                return Err(self.cut_off());
            }
            if let Some(end) = self.take(buffer.get(..count).unwrap_or_default())? {
                return Ok(end);
            }
            if mem::take(&mut self.tool_stopped) {
                sys::stop();
            }
        }
    }

    /// Waits for a signal, for the answer, and for room for the rest of the request.
    fn wait(&self) -> io::Result<[bool; 3]> {
        let rest = if self.is_sent() || self.pause.is_some() { Want::Nothing } else { Want::Write };
        let held = self.held.map(|(at, _)| at.saturating_duration_since(Instant::now()));
        let socket = self.socket.as_fd();
        let ready = [(self.signals.as_fd(), Want::Read), (socket, Want::Read), (socket, rest)];
        sys::wait(ready, held.into_iter().chain(self.pause).min())
    }

    /// Takes bytes of the answer.
    fn take(&mut self, mut bytes: &[u8]) -> Result<Option<End>, ShimError> {
        while !bytes.is_empty() {
            match &mut self.stage {
                Stage::Head(collector) => {
                    let (used, head) = collector.feed(bytes).map_err(ShimError::BadHead)?;
                    bytes = bytes.get(used..).unwrap_or_default();
                    if let Some(head) = head
                        && let Some(end) = self.take_head(&head)?
                    {
                        return Ok(Some(end));
                    }
                }
                Stage::Stream(decoder) => {
                    let (used, decoded) = decoder.decode(bytes).map_err(ShimError::BadBody)?;
                    bytes = bytes.get(used..).unwrap_or_default();
                    match decoded {
                        Decoded::End(_) if !bytes.is_empty() => return Err(ShimError::Trailing),
                        Decoded::End(trailers) => return outcome(&trailers).map(Some),
                        Decoded::Data(data) if self.proto == PROTO_STREAMED => {
                            if let Some(end) = self.write_out(data)? {
                                return Ok(Some(end));
                            }
                        }
                        // By protocol 3 the tool writes to our descriptors itself; here is only the line that we asked for.
                        Decoded::Data(data) => self.tool_stopped |= data.contains(&b'\n'),
                        Decoded::Nothing => {}
                    }
                }
                Stage::Reason { left, text, .. } => {
                    let room = MAX_REASON - text.len();
                    let announced = left.map_or(bytes.len(), |left| usize::try_from(left).unwrap_or(usize::MAX));
                    let take = room.min(announced).min(bytes.len());
                    text.extend_from_slice(bytes.get(..take).unwrap_or_default());
                    *left = left.map(|left| left - take as u64);
                    if text.len() == MAX_REASON || *left == Some(0) {
                        return Err(self.cut_off());
                    }
                    bytes = bytes.get(take..).unwrap_or_default();
                }
            }
        }
        Ok(None)
    }

    fn take_head(&mut self, head: &[u8]) -> Result<Option<End>, ShimError> {
        let head = ResponseHead::parse(head).map_err(ShimError::BadHead)?;
        let reason = one_line(head.fields.one("x-exit-reason").ok().flatten().unwrap_or_default());
        match (head.status, head.framing) {
            (200, Framing::Chunked) => {
                let id = head.fields.one("x-exec-id").map_err(ShimError::BadHead)?;
                self.exec_id = id.and_then(|id| str::from_utf8(id).ok()).map(str::to_owned);
                self.stage = Stage::Stream(Decoder::default());
                self.held = None;
                for early in mem::take(&mut self.early) {
                    if let Some(end) = self.pass(early)? {
                        return Ok(Some(end));
                    }
                }
                Ok(None)
            }
            (200..=299, _) | (..200, _) => Err(ShimError::NotAProxy),
            (426, _) if self.proto == PROTO_DESCRIPTORS => Ok(Some(End::UpgradeRefused)),
            // What helps a person stands in the head; the body is the sentence that older clients know.
            (status, _) if !reason.is_empty() => Err(ShimError::Refused { status, reason }),
            (status, Framing::Length(0)) => Err(ShimError::Refused { status, reason: "no reason given".to_owned() }),
            (status, framing) => {
                let left = if let Framing::Length(length) = framing { Some(length) } else { None };
                self.stage = Stage::Reason { status, left, text: Vec::new() };
                Ok(None)
            }
        }
    }

    /// What the end of the connection means at this point.
    fn cut_off(&self) -> ShimError {
        match &self.stage {
            Stage::Reason { status, text, .. } => ShimError::Refused { status: *status, reason: one_line(text) },
            Stage::Head(_) | Stage::Stream(_) => ShimError::Lost,
        }
    }

    /// Passes on what has come; an end where a signal takes the caller down.
    fn pass_signals(&mut self) -> Result<Option<End>, ShimError> {
        while let Some(signal) = self.signals.next() {
            if let Some(end) = self.pass(signal.number)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn pass(&mut self, number: i32) -> Result<Option<End>, ShimError> {
        let caught = signals::meaning(number);
        // To stop the tool and have it go on at once is not the same: a process that it forks at that moment may stay
        // stopped (the kernel delivers to it what came meanwhile, TSTP, but not the CONT behind it).
        if caught == Caught::Stops && sys::is_in_leaders_group() {
            return Ok(None);
        }
        let Some(id) = &self.exec_id else {
            match caught {
                // Whoever asks twice means it. What has started by then finds the connection closed and ends with us.
                Caught::Ends if self.held.is_some() || !self.is_sent() => return Ok(self.take_held(number)),
                Caught::Ends | Caught::Stops => {
                    self.held = Some((Instant::now() + ANSWER_ON_ITS_WAY, number));
                    self.early.push(number);
                }
                Caught::Continues => {}
                Caught::Informs => self.early.push(number),
            }
            return Ok(None);
        };
        match (self.proxy.signal(id, number, self.proto), caught) {
            (Err(_unreachable), Caught::Ends) => return Ok(Some(End::Is(Ended::Signal(number), String::new()))),
            (_, Caught::Stops) => sys::stop(),
            _ => {}
        }
        Ok(None)
    }

    /// Nothing runs yet, so the signal is for this process alone.
    fn take_held(&mut self, number: i32) -> Option<End> {
        self.held = None;
        self.early.retain(|&early| early != number);
        match signals::meaning(number) {
            Caught::Ends => Some(End::Is(Ended::Signal(number), String::new())),
            _ => {
                sys::stop();
                None
            }
        }
    }

    /// Writes output of protocol 2 and still hears signals while the reader is slow.
    fn write_out(&mut self, mut data: &[u8]) -> Result<Option<End>, ShimError> {
        // A pipe that poll(2) calls writable takes PIPE_BUF bytes without blocking.
        const PIPE_BUF: usize = 4096;
        let mut output = match self.output.take() {
            Some(output) => output,
            None => io::stdout().as_fd().try_clone_to_owned().map_err(ShimError::Output)?.into(),
        };
        while !data.is_empty() {
            let ready = [(self.signals.as_fd(), Want::Read), (output.as_fd(), Want::Write)];
            let [signal, writable] = sys::wait(ready, None).map_err(ShimError::Transport)?;
            if signal && let Some(end) = self.pass_signals()? {
                return Ok(Some(end));
            }
            if writable {
                match output.write(data.get(..PIPE_BUF).unwrap_or(data)) {
                    Ok(count) => data = data.get(count..).unwrap_or_default(),
                    // The reader has gone, as in `tool | head -1`: end as the tool itself would have.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(Some(End::Is(Ended::Signal(sys::SIGPIPE), String::new())));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(ShimError::Output(error)),
                }
            }
        }
        self.output = Some(output);
        Ok(None)
    }
}

fn outcome(trailers: &Fields) -> Result<End, ShimError> {
    let Outcome { code, signal, reason } = Outcome::from_fields(trailers).ok_or(ShimError::NoExitCode)?;
    let ended = signal.map_or(Ended::Code(code), |signal| Ended::Signal(i32::from(signal)));
    Ok(End::Is(ended, one_line(reason.as_bytes())))
}

/// Text from the other side, fit for a terminal: the control characters in it are not ours to print.
fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
