//! Processes as the kernel shows them: alive or not, what they hold, which belong to a rig.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal};

/// Whether a process lives; one that has ended and was not yet reaped does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The letter of proc_pid_stat(5); none when there is no such process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(entry(pid, "stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// The parent of a process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(entry(pid, "stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}

/// Sends a signal to one process; that it is gone already is no error.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("not 0");
    let _was_there: bool = rustix::process::kill_process(pid, signal).is_ok();
}

/// A number from `/proc/PID/status`, such as `VmHWM` in KiB.
#[track_caller]
pub(crate) fn status(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(entry(pid, "status")).expect("a live process");
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":"));
    let number = line.and_then(|line| line.split_whitespace().next()).expect("a field of that name");
    number.parse().expect("a number")
}

/// A signal mask from `/proc/PID/status`, such as `SigBlk`; bit n - 1 is signal n. 0 for a process that is gone.
pub(crate) fn mask(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(entry(pid, "status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":"));
    line.map_or(0, |line| u64::from_str_radix(line.trim(), 16).expect("a mask"))
}

/// The words of a process's command line; empty for one that is gone.
pub(crate) fn command_line(pid: u32) -> String {
    let line = fs::read(entry(pid, "cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}

/// How many descriptors a process has open.
#[track_caller]
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(entry(pid, "fd")).expect("a live process").count()
}

/// Every live process that was started with this variable in its environment, by whatever detour.
pub(crate) fn with_variable(variable: &str) -> Vec<u32> {
    let has_it = |pid: &u32| {
        fs::read(entry(*pid, "environ")).is_ok_and(|env| env.split(|&byte| byte == 0).any(|v| v == variable.as_bytes()))
    };
    all().filter(has_it).collect()
}

/// The process ids in a file, one a line, as `echo $$ >> file` writes them.
pub(crate) fn pids_in(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// The children of a process, zombies aside.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(entry(pid, &format!("task/{pid}/children"))).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(|pid| is_alive(*pid)).collect()
}

/// The ended children of a process that it has not reaped.
pub(crate) fn zombies(parent: u32) -> usize {
    let list = fs::read_to_string(entry(parent, &format!("task/{parent}/children"))).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| state(pid.parse().ok()?)).filter(|state| *state == 'Z').count()
}

/// Every process.
fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn entry(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}
