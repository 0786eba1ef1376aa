//! `aifo-entrypoint [OPTIONS] [--] COMMAND…`: the first process of an agent's container.
//!
//! It makes HOME ready, puts the shims first in PATH, starts the agent, reaps what the agent leaves, passes signals on,
//! and ends as the agent ended. It holds one request open at the proxy; when that breaks, the session is over, and so is
//! the agent: TERM, then KILL. Under `--runtime local` it is an ordinary process and clears up its own descendants
//! instead. Called `aifo-bash` it is the shell that agents are given.

mod gpg;
mod home;
mod plan;
mod setting;
mod shell;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{Read, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{self, Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use aifo_shim::{
    error::{self, ShimError},
    git, given,
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

use crate::{plan::Plan, setting::Setting};

/// Between TERM and KILL when the session has ended.
const GRACE: Duration = Duration::from_secs(1);
/// How long a container's terminal may be without a size before the agent starts all the same.
const SIZE_PATIENCE: Duration = Duration::from_millis(250);

/// The folders of the seed's uniform PATH, behind the shims and before what the image brings.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn main() -> ExitCode {
    let mut words = env::args_os();
    let own_name = words.next().unwrap_or_default();
    let args: Vec<OsString> = words.collect();
    // A login shell's name begins with a dash.
    let name = Path::new(&own_name).file_name().unwrap_or_default().as_encoded_bytes();
    match name.strip_prefix(b"-").unwrap_or(name) {
        b"aifo-bash" => error::end(OsStr::new("aifo-bash"), shell::run(&args)),
        _ => error::end(OsStr::new("aifo-entrypoint"), run(&args)),
    }
}

/// Runs the agent to its end.
fn run(args: &[OsString]) -> Result<Ended, ShimError> {
    let plan = Plan::parse(args)?;
    let mut lifeline = open_lifeline()?;
    let forwarded = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT];
    let signals = Signals::collect(forwarded.into_iter().chain([SIGCHLD])).map_err(ShimError::Transport)?;
    let is_first = process::id() == 1;
    if is_first {
        await_terminal_size();
    } else {
        sys::become_subreaper();
    }
    home::prepare(&plan)?;
    let setting = set_shell(&plan);
    let ended = start(&plan).and_then(|agent| watch(agent, &mut lifeline, &signals));
    if let Some(Err(error)) = setting.map(|setting| setting.put_back()) {
        // The next session of this agent puts it back.
        error::say(OsStr::new("aifo-entrypoint"), format_args!("cannot put the agent's settings back: {error}"));
    }
    if !is_first {
        clear_up();
    }
    ended
}

/// Tells the agent of its shell where that takes a file. One that cannot be told keeps its own shell.
fn set_shell(plan: &Plan) -> Option<Setting> {
    let (key, file) = plan.shell_setting.as_ref()?;
    let (home, shell) = (env::var_os("HOME")?, env::var("SHELL").ok()?);
    match Setting::set(Path::new(&home).join(file), key, &shell) {
        Ok(setting) => Some(setting),
        Err(error) => {
            error::say(
                OsStr::new("aifo-entrypoint"),
                format_args!("cannot set `{key}` in `{}`: {error}", file.display()),
            );
            None
        }
    }
}

/// Older engines start a container's terminal without a size, and the docker client sets it a moment later. An agent that
/// looks in between would draw for no columns at all, or for 80.
fn await_terminal_size() {
    let deadline = Instant::now() + SIZE_PATIENCE;
    while sys::has_no_size() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
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
    let mut path = env::var_os("PATH").unwrap_or_default();
    if !plan.first.is_empty() {
        path = first_in_path(&plan.first, &path);
    }
    let is_there = |name: &&OsString| env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let others = [program].into_iter().chain(&plan.other_names).find(is_there);
    let program = others.unwrap_or(program);
    let mut command = Command::new(program);
    command.args(args);
    for given in given::all() {
        command.env_remove(given.before).env(given.name, given.value);
    }
    command.env("PATH", &path).env_remove(git::TEXT);
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
    fn shims_come_first_and_nothing_twice() {
        let path = first_in_path(&["/opt/aifo/bin".into()], OsStr::new("/usr/bin::/opt/x:/opt/aifo/bin"));
        assert_eq!(path, *format!("/opt/aifo/bin:{SYSTEM_PATH}:/opt/x"));
    }
}
