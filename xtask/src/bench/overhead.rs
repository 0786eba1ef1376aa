//! What the launcher itself takes: from its start to the agent's `docker run`, without the time that docker took.
//!
//! This program stands in front of docker under the name `docker-clock`, and writes down when each of docker's commands
//! began and when it had done what the launcher waits for: its end, or, where the proxy is started, the proxy's first
//! word. What the clock itself takes counts as the launcher's.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::symlink,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Plan, figures::Figure, workspace};
use crate::{
    build::Arch,
    cmd::{self, Failure, io_failure},
    report,
};

/// The name under which this program is a clock.
pub(crate) const CLOCK: &str = "docker-clock";
/// Where the clock writes, and whom it stands for.
const LOG: &str = "AIFO_BENCH_LOG";
const DOCKER: &str = "AIFO_BENCH_DOCKER";

pub(super) fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let folder = workspace("overhead")?;
    let clock = folder.with_file_name(CLOCK);
    drop(fs::remove_file(&clock));
    symlink(folder.join("bench"), &clock).map_err(io_failure("link", clock.display()))?;
    let home = folder.with_file_name("overhead-home");
    fs::create_dir_all(&home).map_err(io_failure("create", home.display()))?;
    let (mut whole, mut own) = (Vec::new(), Vec::new());
    // The first one makes what later ones find.
    for at in 0..=plan.samples(20) {
        let (all, docker) = once(&folder, &clock, &home)?;
        if at > 0 {
            whole.push(all);
            own.push(all - docker);
        }
    }
    Ok(vec![
        Figure::of("from the launcher's start to the agent's docker run", "ms", &whole),
        Figure::of("the same without the time that docker took", "ms", &own).at_most(25.0),
    ])
}

/// Milliseconds to the agent's docker run, and how many of them docker took.
fn once(folder: &Path, clock: &Path, home: &Path) -> Result<(f64, f64), Failure> {
    let log = folder.with_file_name("overhead.log");
    drop(fs::remove_file(&log));
    let mut launcher = Command::new(Arch::host().dist().join("aifo-coder"));
    let image = concat!("aifo-coder-shell:release-", env!("CARGO_PKG_VERSION"));
    // An agent with a state and files of its own, whose program ends at once.
    launcher.args(["-q", "--toolchain", "c-cpp", "--image", image]);
    launcher.args(["--volume", "/bin/true:/usr/local/bin/claude:ro", "claude"]).current_dir(folder);
    let docker = cmd::docker().get_program().to_owned();
    launcher.env("AIFO_CODER_DOCKER", clock).env(DOCKER, docker).env(LOG, &log).env("HOME", home);
    launcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = now();
    let output = launcher.output().map_err(io_failure("start", "aifo-coder"))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let text = fs::read_to_string(&log).map_err(io_failure("read", log.display()))?;
    read(&text, begun).ok_or_else(|| Failure::new(format!("the clock has not seen the agent's start: {text}")))
}

/// Lines of `what began ended`, in microseconds: the time to the agent, and docker's part of it.
fn read(log: &str, begun: u64) -> Option<(f64, f64)> {
    let rows: Vec<(&str, u64, u64)> = log
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            Some((fields.next()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        })
        .collect();
    let agent = rows.iter().find(|(what, ..)| *what == "agent")?.1;
    let before = rows.iter().filter(|(what, _, ended)| *what == "done" && *ended <= agent);
    let docker: u64 = before.map(|(_, began, ended)| ended - began).sum();
    #[expect(clippy::cast_precision_loss, reason = "less than a minute")]
    let ms = |micros: u64| micros as f64 / 1e3;
    Some((ms(agent.saturating_sub(begun)), ms(docker)))
}

/// Docker, with the time taken down.
pub(crate) fn clock(args: &[OsString]) -> ExitCode {
    match watched(args) {
        Ok(code) => ExitCode::from(code),
        Err(cause) => {
            report::say(format_args!("{CLOCK}: {cause}"));
            ExitCode::FAILURE
        }
    }
}

fn watched(args: &[OsString]) -> io::Result<u8> {
    let began = now();
    let is = |word: &str| args.iter().any(|arg| arg == word);
    let mut docker = Command::new(env::var_os(DOCKER).unwrap_or_default());
    docker.args(args);
    if is("aifo.role=agent") {
        note("agent", began, began)?;
    } else if is("aifo.role=proxy") {
        let mut proxy = docker.stdout(Stdio::piped()).spawn()?;
        copy(proxy.stdout.take(), began)?;
        return proxy.wait().map(code);
    }
    let status = docker.status()?;
    if !is("run") {
        note("done", began, now())?;
    }
    Ok(code(status))
}

/// Passes the proxy's words on; with the first of them its start is done.
fn copy(from: Option<impl Read>, began: u64) -> io::Result<()> {
    let (mut piece, mut is_first) = ([0; 4096], true);
    let Some(mut from) = from else { return Ok(()) };
    while let count @ 1.. = from.read(&mut piece)? {
        if std::mem::take(&mut is_first) {
            note("done", began, now())?;
        }
        io::stdout().write_all(piece.get(..count).unwrap_or_default())?;
        io::stdout().flush()?;
    }
    Ok(())
}

fn note(what: &str, began: u64, ended: u64) -> io::Result<()> {
    let mut log = File::options().create(true).append(true).open(env::var_os(LOG).unwrap_or_default())?;
    log.write_all(format!("{what} {began} {ended}\n").as_bytes())
}

fn code(status: std::process::ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Microseconds of the clock that all processes share.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_docker_took_before_the_agent_is_taken_off() {
        let log = "done 1000 51000\ndone 52000 60000\nagent 70000 70000\ndone 71000 99000\n";
        assert_eq!(read(log, 0), Some((70.0, 58.0)));
        assert_eq!(read("done 1 2\n", 0), None);
    }
}
