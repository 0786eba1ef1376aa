//! A session's life: proxy up, sidecars and agent started side by side, the agent waited for, nothing left.
//!
//! The same for containers and for plain processes: both are child processes here, and what they need to know goes to
//! their standard input. Those inputs are the lifelines. When this process ends, however it ends, they close; the proxy
//! ends, with it every sidecar's execd and the agent's entrypoint, and docker removes what was theirs. So there is no
//! clean-up that a SIGKILL could prevent; `finish` only waits until it has happened.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    control::{CallRecord, Notice, ProxySettings, SidecarFailed, SidecarSettings},
    error::Error,
    report,
};

/// From starting the proxy to its first word. Docker's first start after boot can be slow.
const PROXY_PATIENCE: Duration = Duration::from_secs(60);
/// For the containers to be gone after the agent has ended.
const END_PATIENCE: Duration = Duration::from_secs(15);
/// What is kept of the last words of a container.
const LAST_WORDS: usize = 4096;

/// Who a session is, and its secrets: known to launcher and proxy, each to one other.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) token: String,
    secrets: String,
    /// `uid:gid` of the caller.
    pub(crate) user: String,
}

impl Identity {
    /// # Errors
    /// [`Error::Random`]: without randomness there is no session.
    pub(crate) fn new() -> Result<Self, Error> {
        let random = |bytes: usize| {
            let mut buffer = vec![0; bytes];
            let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut buffer));
            read.map_err(Error::Random)?;
            Ok::<String, Error>(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
        };
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Ok(Self { id: random(4)?, token: random(32)?, secrets: random(32)?, user: format!("{uid}:{gid}") })
    }

    /// Each sidecar has a secret of its own, so that none can pass for another.
    pub(crate) fn secret_of(&self, kind: &str) -> String {
        crate::digest::sha256(format!("{}:{kind}", self.secrets).as_bytes())
    }

    /// Two categories out of 1024 (SELinux MCS), from the session's id.
    pub(crate) fn selinux_level(&self) -> String {
        let number = u32::from_str_radix(&self.id, 16).unwrap_or(1);
        let (low, high) = (number % 511, 512 + number / 511 % 511);
        format!("s0:c{low},c{high}")
    }
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) proxy: Command,
    pub(crate) settings: ProxySettings,
    pub(crate) sidecars: Vec<(Command, SidecarSettings)>,
    pub(crate) agent: Command,
}

/// Runs a session to its end: `wait` stays with the agent and gives what it ended with.
///
/// # Errors
/// [`Error::Start`], [`Error::ProxyDown`].
pub(crate) fn run<T>(parts: Parts, wait: impl FnOnce(Child) -> io::Result<T>) -> Result<T, Error> {
    let begun = Instant::now();
    let Parts { proxy, settings, sidecars, mut agent } = parts;
    let mut proxy = Member::start("proxy", proxy, &settings.encode())?;
    let ending = Arc::new(AtomicBool::new(false));
    let notices = proxy.child.stdout.take().map(|out| listen(out, Arc::clone(&ending)));
    let ready = notices.as_ref().and_then(|notices| notices.recv_timeout(PROXY_PATIENCE).ok());
    let Some(Notice::Ready { tcp }) = ready else {
        let said = proxy.finish(Instant::now() + Duration::from_secs(1)).err().unwrap_or_default();
        return Err(Error::ProxyDown { said });
    };
    report::detail(format_args!("proxy ready after {} ms", begun.elapsed().as_millis()));
    if let Some(address) = tcp {
        agent.env("AIFO_TOOLEEXEC_URL", format!("http://{address}/exec"));
    }
    let input = Arc::new(Mutex::new(proxy.input.take()));
    let sidecars = sidecars.into_iter().map(|(command, settings)| {
        let member = Member::start(&settings.kind, command, &settings.encode())?;
        Ok::<_, Error>(watch(settings.kind, member, &input, &ending))
    });
    let sidecars = sidecars.collect::<Result<Vec<_>, Error>>()?;
    let program = agent.spawn().map_err(|cause| Error::Start(agent.get_program().to_owned(), cause))?;
    report::detail(format_args!("agent started after {} ms", begun.elapsed().as_millis()));
    let ended = wait(program).map_err(|cause| Error::Start(agent.get_program().to_owned(), cause))?;
    ending.store(true, Ordering::SeqCst);
    drop(lock(&input).take());
    let deadline = Instant::now() + END_PATIENCE;
    sidecars.into_iter().for_each(|sidecar| sidecar.finish(deadline));
    // Whether it was there until now shows only here: when a proxy dies, the agent often ends before its docker client.
    let ended = proxy.finish(deadline).map(|()| ended).map_err(|said| Error::ProxyDown { said });
    // The listener has only one notice to give; after it, this ends when all that the proxy said was told.
    drop(notices.map(|notices| notices.recv_timeout(deadline.saturating_duration_since(Instant::now()))));
    ended
}

/// A child process that is told its settings on standard input, which then stays open as its lifeline.
struct Member {
    child: Child,
    input: Option<ChildStdin>,
    last_words: Receiver<Vec<u8>>,
}

impl Member {
    fn start(part: &str, mut command: Command, settings: &[u8]) -> Result<Self, Error> {
        // A group of its own: the terminal's interrupt key is meant for the agent.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| Error::Start(command.get_program().to_owned(), cause))?;
        report::detail(format_args!("starting {part}"));
        let mut input = child.stdin.take();
        let (heard, last_words) = mpsc::channel();
        if let Some(errors) = child.stderr.take() {
            thread::spawn(move || heard.send(keep_last(errors)));
        }
        // When it has already ended, its last words tell more than a broken pipe.
        let _told: bool = input.as_mut().is_some_and(|input| input.write_all(settings).is_ok());
        Ok(Self { child, input, last_words })
    }

    /// Closes its input and waits for its end. One that lives until then ends without an error; the last words of any
    /// other are the error.
    fn finish(mut self, deadline: Instant) -> Result<(), String> {
        drop(self.input.take());
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if !status.success() => return Err(self.said()),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => return Ok(()),
            }
        }
        drop(self.child.kill());
        drop(self.child.wait());
        Ok(())
    }

    /// Its last line, when it has ended.
    fn said(&self) -> String {
        // Whoever it has left behind may hold the stream open.
        let words = self.last_words.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let text = String::from_utf8_lossy(&words);
        let line = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("Run 'docker"));
        line.map(|line| line.trim().trim_start_matches("docker: ").to_owned()).unwrap_or_default()
    }
}

/// A sidecar, and the thread that waits for its end.
struct Watched {
    kind: String,
    lifeline: Option<ChildStdin>,
    watcher: thread::JoinHandle<()>,
}

impl Watched {
    /// Waits for its end, but not for ever: a container may be paused, or its daemon hang.
    fn finish(self, deadline: Instant) {
        drop(self.lifeline);
        while !self.watcher.is_finished() {
            if Instant::now() >= deadline {
                report::warn(format_args!("the {} sidecar does not end; aifo-coder gc removes it", self.kind));
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Keeps a sidecar's lifeline, and tells the proxy when the sidecar ends before the session does.
fn watch(
    kind: String,
    mut member: Member,
    proxy: &Arc<Mutex<Option<ChildStdin>>>,
    ending: &Arc<AtomicBool>,
) -> Watched {
    let (lifeline, name) = (member.input.take(), kind.clone());
    let (proxy, ending) = (Arc::clone(proxy), Arc::clone(ending));
    let watcher = thread::spawn(move || {
        let status = member.child.wait();
        if ending.load(Ordering::SeqCst) {
            return;
        }
        let silent = || status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let reason = Some(member.said()).filter(|said| !said.is_empty()).unwrap_or_else(silent);
        report::warn(format_args!("the {kind} sidecar ended: {reason}"));
        let failed = SidecarFailed { kind, reason };
        // Where the proxy is gone too, there is nobody left to be told.
        let _told: bool = lock(&proxy).as_mut().is_some_and(|input| input.write_all(&failed.encode()).is_ok());
    });
    Watched { kind: name, lifeline, watcher }
}

/// Reads the proxy's notices; the first one goes to whoever waits for it, the others are told with `-v`. What the end of
/// a session takes down is not worth a word.
fn listen(out: impl Read + Send + 'static, ending: Arc<AtomicBool>) -> Receiver<Notice> {
    let (first, waiting) = mpsc::channel();
    thread::spawn(move || {
        let mut is_first = true;
        for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
            let Some(notice) = Notice::decode(&line) else { continue };
            match notice {
                _ if is_first => drop(first.send(notice)),
                Notice::Gone { .. } if ending.load(Ordering::SeqCst) => {}
                _ => tell(&notice),
            }
            is_first = false;
        }
    });
    waiting
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Ready { .. } => {}
        Notice::Up { kind } => report::detail(format_args!("the {kind} sidecar is up")),
        Notice::Gone { kind } => report::detail(format_args!("the {kind} sidecar is gone")),
        Notice::Lost { count } => report::detail(format_args!("{count} notices were lost")),
        Notice::Call(call) => report::detail(shown(call)),
    }
}

/// A call in one line, without what may be secret in it.
fn shown(call: &CallRecord) -> String {
    let mut words = vec![call.tool.clone()];
    let mut hide_next = false;
    for arg in &call.args {
        let text = String::from_utf8_lossy(arg);
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
        let is_secret = ["token", "password", "api-key", "key", "secret"].contains(&name.trim_start_matches('-'));
        words.push(match value {
            _ if hide_next => "***".to_owned(),
            Some(_) if is_secret => format!("{name}=***"),
            _ => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        });
        hide_next = is_secret && value.is_none() && name.starts_with('-');
    }
    if call.args_total > call.args.len() {
        words.push(format!("… {} more", call.args_total - call.args.len()));
    }
    let end = match (call.signal, call.reason.as_str()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, "") => call.code.to_string(),
        (None, reason) => format!("{} ({reason})", call.code),
    };
    let ms = call.wall_us / 1000;
    format!(
        "{}: {} in {} ended with {end} after {ms} ms",
        call.kind,
        words.join(" "),
        String::from_utf8_lossy(&call.cwd)
    )
}

/// Reads all there is and keeps the end of it.
fn keep_last(mut from: impl Read) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
    kept
}

/// A thread that panicked with the lock has aborted the process, so the data is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_without_its_secrets() {
        let call = CallRecord {
            kind: "node".into(),
            tool: "npm".into(),
            args: ["publish", "--token", "abc", "--api-key=def", "a\nb"].map(|arg| arg.as_bytes().to_vec()).to_vec(),
            args_total: 7,
            cwd: b"/workspace".to_vec(),
            code: 1,
            wall_us: 2_500,
            ..CallRecord::default()
        };
        let line = "node: npm publish --token *** --api-key=*** a b … 2 more in /workspace ended with 1 after 2 ms";
        assert_eq!(shown(&call), line);
    }

    #[test]
    fn t23_every_session_and_sidecar_has_secrets_of_its_own() {
        let (one, two) = (Identity::new().unwrap(), Identity::new().unwrap());
        let all = [&one.token, &two.token, &one.secret_of("rust"), &one.secret_of("go"), &two.secret_of("rust")];
        assert!((0..all.len()).all(|a| (0..a).all(|b| all[a] != all[b])));
        assert!(all.iter().all(|secret| secret.len() == 64));
        assert!(one.selinux_level().starts_with("s0:c"));
    }

    #[test]
    fn last_words_are_the_end() {
        let kept = keep_last([vec![b'a'; 10_000], b"end".to_vec()].concat().as_slice());
        assert!(kept.len() == LAST_WORDS && kept.ends_with(b"end"));
    }
}
