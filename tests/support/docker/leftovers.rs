//! What a session may leave behind, and the proof that it does not.

use std::{
    fmt, fs, thread,
    time::{Duration, Instant},
};

use super::docker;

/// After a failed test: the session's own containers, by their label.
pub(crate) fn remove_containers(id: &str) {
    for container in docker(&["ps", "-aq", "--filter", &format!("label=aifo.session={id}")]).out().lines() {
        docker(&["rm", "--force", "--volumes", container]);
    }
}

/// The id in the line with which a launcher announces its session.
pub(crate) fn session_id(err: &str) -> Option<String> {
    let (_, rest) = err.split_once("aifo-coder: session ")?;
    rest.split_once(": ").map(|(id, _)| id.to_owned())
}

/// Proves that a launcher has come back only when nothing of its session was left.
#[track_caller]
pub(crate) fn assert_nothing_left(id: &str, marker: &str) {
    assert_eq!(leftovers(id, marker), Vec::<String>::new(), "left of session {id}");
}

/// Proves that nothing is left soon after a session, or its launcher, was killed.
#[track_caller]
pub(crate) fn assert_nothing_left_soon(id: &str, marker: &str) {
    let mut times = 0;
    let deadline = Instant::now() + Duration::from_secs(10);
    // Twice in a row: what was still on its way to be started would show in between.
    while times < 2 {
        let left = leftovers(id, marker);
        times = if left.is_empty() { times + 1 } else { 0 };
        assert!(Instant::now() < deadline, "left of session {id}: {left:#?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Containers, volumes, networks and processes of a session.
fn leftovers(id: &str, marker: &str) -> Vec<String> {
    let label = format!("label=aifo.session={id}");
    let name = format!("name=aifo-{id}");
    let mut left = Vec::new();
    for (what, args) in [
        ("container", ["ps", "-a", "--filter", &label, "--format", "{{.Names}} {{.Status}}"]),
        ("container", ["ps", "-a", "--filter", &name, "--format", "{{.Names}} {{.Status}}"]),
        ("volume", ["volume", "ls", "--filter", &label, "--format", "{{.Name}}"]),
        ("network", ["network", "ls", "--filter", &name, "--format", "{{.Name}}"]),
    ] {
        left.extend(docker(&args).expect(0).lines().map(|line| format!("{what} {line}")));
    }
    let own = format!("aifo-{id}");
    left.extend(processes().iter().filter(|process| process.command.contains(&own)).map(Process::to_string));
    if !marker.is_empty() {
        left.extend(processes_in(marker));
    }
    left
}

/// Processes in containers that have a workspace below a folder of this name.
fn processes_in(marker: &str) -> Vec<String> {
    let is_inside = |process: &Process| {
        let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", process.pid)).unwrap_or_default();
        mounts.lines().any(|line| line.contains(marker) && line.contains(" /workspace "))
    };
    processes().iter().filter(|process| is_inside(process)).map(Process::to_string).collect()
}

/// A living process of this host.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Its arguments, each ended by a NUL.
    pub(crate) command: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}: {}", self.pid, self.command.replace('\0', " "))
    }
}

/// Every process of this host, those of containers included.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let read = |pid: u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(Process { pid, command: String::from_utf8_lossy(&command).into_owned() })
    };
    pids.filter_map(read).collect()
}
