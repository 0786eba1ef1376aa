//! Who descends from whom, read from `/proc`.
//!
//! The kernel offers no call that kills a tree. A process that has made itself a subreaper (prctl(2),
//! PR_SET_CHILD_SUBREAPER) keeps every descendant below it, daemons that left group and session included, so scanning,
//! killing and scanning again until nothing is left does reach all of them. Reads only; killing is the caller's.

use std::{collections::BTreeSet, fs};

/// Every process below `root`, `root` itself not included. Empty where `/proc` cannot be read.
pub fn descendants(root: u32) -> BTreeSet<u32> {
    let pairs = parents();
    let mut below = BTreeSet::new();
    // A child may stand before its parent in the list, so go on until a pass finds nothing new.
    loop {
        let before = below.len();
        below.extend(
            pairs
                .iter()
                .filter(|(_, parent)| *parent == root || below.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if below.len() == before {
            return below;
        }
    }
}

/// (process, parent) for all that live.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read(entry.path().join("stat")).ok()?;
            Some((pid, parent_in(&stat)?))
        })
        .collect()
}

/// The fourth field of proc_pid_stat(5). The second is a file name in parentheses and may itself hold blanks and
/// parentheses, so the last closing one counts. A zombie has ended and is nobody's to kill, unless
/// only its first thread has: others (field 20) then go on.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = stat.get(name_end + 1..)?.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let state = fields.next()?;
    let parent = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let threads = fields.nth(15).and_then(|field| str::from_utf8(field).ok()?.parse::<u32>().ok());
    if state == b"Z" && threads.is_none_or(|threads| threads <= 1) { None } else { Some(parent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_in(b"12 (a) b (c)) S 7 12 12"), Some(7));
        assert_eq!(parent_in(b"12 (sleep) Z 7 12 12"), None);
        let zombie = |threads| format!("12 (sleep) Z 7 12 12 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 99").into_bytes();
        assert_eq!((parent_in(&zombie(1)), parent_in(&zombie(2))), (None, Some(7)));
        assert_eq!(parent_in(b"12 sleep S 7"), None);
    }

    #[test]
    fn children_and_grandchildren_are_found() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & sleep 30; :"]).spawn().unwrap();
        let me = std::process::id();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while descendants(child.id()).len() < 2 && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let grandchildren = descendants(child.id());
        assert_eq!(grandchildren.len(), 2);
        assert!(descendants(me).is_superset(&grandchildren));
        for pid in grandchildren {
            crate::sys::send(pid, crate::sys::SIGKILL);
        }
        child.wait().unwrap();
    }
}
