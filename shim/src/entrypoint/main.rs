//! `aifo-entrypoint [--path FOLDER]… [--login-files] [--] COMMAND…`: the first process of an agent's container.
//!
//! It puts the shims first in PATH, starts the agent, reaps what the agent leaves, passes signals on, and ends as the
//! agent ended. It holds one request open at the proxy; when that breaks, the session is over, and so is the agent:
//! TERM, then KILL. Under `--runtime local` it is an ordinary process and clears up its own descendants instead.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{Read, Write},
    os::fd::AsFd,
    path::PathBuf,
    process::{self, Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use aifo_shim::{
    error::{self, ShimError},
    proxy::Proxy,
    settings::Settings,
    socket::Socket,
    sys::{
        self, Ended, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, Signals,
        Want,
    },
    tree,
    wire::PROTO_STREAMED,
};

/// Between TERM and KILL when the session has ended.
const GRACE: Duration = Duration::from_secs(1);
/// How long a container's terminal may be without a size before the agent starts all the same.
const SIZE_PATIENCE: Duration = Duration::from_millis(250);

/// The folders of the seed's uniform PATH, behind the shims and before what the image brings.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// What comes first in PATH.
    first: Vec<PathBuf>,
    login_files: bool,
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    error::end(OsStr::new("aifo-entrypoint"), run(&args))
}

/// Runs the agent to its end.
fn run(args: &[OsString]) -> Result<Ended, ShimError> {
    let plan = parse(args)?;
    let mut lifeline = open_lifeline()?;
    let forwarded = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT];
    let signals = Signals::collect(forwarded.into_iter().chain([SIGCHLD])).map_err(ShimError::Transport)?;
    let is_first = process::id() == 1;
    if is_first {
        await_terminal_size();
    } else {
        sys::become_subreaper();
    }
    let agent = start(&plan)?;
    let ended = watch(agent, &mut lifeline, &signals)?;
    if !is_first {
        clear_up();
    }
    Ok(ended)
}

/// Older engines start a container's terminal without a size, and the docker client sets it a moment later. An agent that
/// looks in between would draw for no columns at all, or for 80.
fn await_terminal_size() {
    let deadline = Instant::now() + SIZE_PATIENCE;
    while sys::has_no_size() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

fn parse(args: &[OsString]) -> Result<Plan, ShimError> {
    let mut plan = Plan::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--path") => plan.first.push(PathBuf::from(words.next().ok_or(ShimError::NoCommand)?)),
            Some("--login-files") => plan.login_files = true,
            Some("--") => break,
            _ => {
                plan.command.push(word.clone());
                break;
            }
        }
    }
    plan.command.extend(words.cloned());
    if plan.command.is_empty() { Err(ShimError::NoCommand) } else { Ok(plan) }
}

/// Asks the proxy for the session's end: the answer begins at once and lasts as long as the session.
fn open_lifeline() -> Result<Socket, ShimError> {
    let proxy = Proxy::from_settings(&Settings::from_env())?;
    let mut socket = proxy.connect()?;
    socket.write_all(&proxy.head("/session", PROTO_STREAMED, 0)).map_err(ShimError::Transport)?;
    match socket.read_head().map_err(ShimError::Transport)?.status {
        200 => Ok(socket),
        status => Err(ShimError::Refused { status, reason: "no session".to_owned() }),
    }
}

fn start(plan: &Plan) -> Result<u32, ShimError> {
    let (program, args) = plan.command.split_first().ok_or(ShimError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(args);
    if !plan.first.is_empty() {
        command.env("PATH", first_in_path(&plan.first, &env::var_os("PATH").unwrap_or_default()));
    }
    if plan.login_files {
        write_login_files(&plan.first);
    }
    sys::start_unblocked(&mut command);
    // The child is reaped by process id like every orphan, so the handle is not needed.
    let child = command.spawn().map_err(|cause| ShimError::Start(PathBuf::from(program), cause))?;
    Ok(child.id())
}

/// The seed's uniform PATH: shims, system folders, then the image's own, each once.
fn first_in_path(first: &[PathBuf], path: &OsStr) -> OsString {
    let mut folders: Vec<PathBuf> = first.to_vec();
    for folder in env::split_paths(SYSTEM_PATH).chain(env::split_paths(path)) {
        if !folder.as_os_str().is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    env::join_paths(folders).unwrap_or_else(|_colon| path.to_owned())
}

/// Login shells read `/etc/profile`, which resets PATH. Our images answer that in `/etc/profile.d`; in any other image
/// the session's own empty HOME is the only place left. Files that are there are left alone.
fn write_login_files(first: &[PathBuf]) {
    let (Some(home), Ok(first)) = (env::var_os("HOME").map(PathBuf::from), env::join_paths(first)) else { return };
    let text = format!("case $PATH in {0}:*) ;; *) PATH={0}:$PATH ;; esac\n", first.display());
    for name in [".profile", ".zprofile", ".zshrc"] {
        let file = fs::File::options().write(true).create_new(true).open(home.join(name));
        // A HOME that cannot be written keeps its login shells as they are; `doctor` tells.
        drop(file.and_then(|mut file| file.write_all(text.as_bytes())));
    }
}

/// Waits for the agent's end, or makes it when the session ends first.
fn watch(agent: u32, lifeline: &mut Socket, signals: &Signals) -> Result<Ended, ShimError> {
    let mut kill_at: Option<Instant> = None;
    loop {
        let limit = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        let alive = if kill_at.is_some() { Want::Nothing } else { Want::Read };
        let on = [(signals.as_fd(), Want::Read), (lifeline.as_fd(), alive)];
        let [signal, news] = sys::wait(on, limit).map_err(ShimError::Transport)?;
        if signal && let Some(ended) = take_signals(agent, signals) {
            return Ok(ended);
        }
        if news && is_over(lifeline) {
            signal_all(SIGTERM);
            kill_at = Some(Instant::now() + GRACE);
        }
        if kill_at.is_some_and(|at| at <= Instant::now()) {
            signal_all(SIGKILL);
            kill_at = Some(Instant::now() + GRACE);
        }
    }
}

/// Reaps and passes on. What the kernel sent went to the terminal's whole foreground group, the agent included; passing
/// it on would deliver it twice.
fn take_signals(agent: u32, signals: &Signals) -> Option<Ended> {
    let mut agent_ended = None;
    while let Some(signal) = signals.next() {
        if signal.number == SIGCHLD {
            while let Some((pid, ended)) = sys::reap() {
                if pid == agent {
                    agent_ended = Some(ended);
                }
            }
        } else if !signal.from_kernel {
            sys::send(agent, signal.number);
        }
    }
    agent_ended
}

/// The answer's body is empty for as long as the session lasts.
fn is_over(lifeline: &mut Socket) -> bool {
    !matches!(lifeline.read(&mut [0; 16]), Ok(1..))
}

fn signal_all(number: i32) {
    tree::descendants(process::id()).into_iter().for_each(|pid| sys::send(pid, number));
}

/// Leaves nothing running: kills and reaps until no descendant is left.
fn clear_up() {
    while !tree::descendants(process::id()).is_empty() {
        signal_all(SIGKILL);
        while sys::reap().is_some() {}
        thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_command() {
        let plan = |line: &str| parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        let full = plan("--path /a --login-files --path /b -- claude --path").unwrap();
        assert_eq!((full.first.len(), full.login_files, full.command.len()), (2, true, 2));
        assert_eq!(plan("bash --").unwrap(), Plan { command: vec!["bash".into(), "--".into()], ..Plan::default() });
        assert!(plan("--login-files").is_err() && plan("--path").is_err());
    }

    #[test]
    fn shims_come_first_and_nothing_twice() {
        let path = first_in_path(&["/opt/aifo/bin".into()], OsStr::new("/usr/bin::/opt/x:/opt/aifo/bin"));
        assert_eq!(path, *format!("/opt/aifo/bin:{SYSTEM_PATH}:/opt/x"));
    }
}
