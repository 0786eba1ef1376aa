//! Where a call may run: below a root, proved on opened folders and not on text.
//!
//! The roots are what agent and sidecar share (`/workspace`, `/tmp`). A directory is entered folder by folder with
//! openat(2) and O_NOFOLLOW, so nothing that is swapped for a symbolic link between check and use can lead out. A
//! client's own `getcwd` never holds symbolic links, so refusing them costs nothing.

use std::{
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use crate::channel::StartFailure;

/// Makes `cwd` this process's directory; an empty one means the first root. Gives the path without `.` and `//`.
pub(super) fn enter(cwd: &[u8], roots: &[PathBuf]) -> Result<PathBuf, StartFailure> {
    let (root, folders) = below(cwd, roots).ok_or(StartFailure::OutsideRoots)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut place: OwnedFd = rustix::fs::open(root, flags, Mode::empty()).map_err(failure)?;
    let mut path = root.to_owned();
    for folder in folders {
        place = rustix::fs::openat(&place, folder, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(failure)?;
        path.push(std::ffi::OsStr::from_bytes(folder));
    }
    rustix::process::fchdir(&place).map_err(failure)?;
    Ok(path)
}

/// The root and the folders below it; none for a path that is relative, climbs, or lies elsewhere.
fn below<'a>(cwd: &'a [u8], roots: &'a [PathBuf]) -> Option<(&'a Path, Vec<&'a [u8]>)> {
    if cwd.is_empty() {
        return roots.first().map(|root| (root.as_path(), Vec::new()));
    }
    let root = roots.iter().find(|root| {
        let root = root.as_os_str().as_bytes();
        cwd.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || root == b"/")
    })?;
    let rest = cwd.get(root.as_os_str().len()..)?;
    let folders: Vec<&[u8]> = rest.split(|&byte| byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    if folders.contains(&b"..".as_slice()) { None } else { Some((root, folders)) }
}

fn failure(errno: Errno) -> StartFailure {
    match errno {
        // With O_NOFOLLOW and O_DIRECTORY a symbolic link shows as one of these two.
        Errno::LOOP | Errno::NOTDIR => StartFailure::Directory { errno: Errno::NOTDIR.raw_os_error() },
        other => StartFailure::Directory { errno: other.raw_os_error() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t28_only_paths_below_a_root_are_taken() {
        let roots = [PathBuf::from("/workspace"), PathBuf::from("/tmp")];
        let shown = |cwd: &str| {
            below(cwd.as_bytes(), &roots).map(|(root, folders)| {
                let folders: Vec<_> = folders.iter().map(|folder| String::from_utf8_lossy(folder)).collect();
                format!("{} {}", root.display(), folders.join(","))
            })
        };
        for (cwd, expected) in [
            ("", "/workspace "),
            ("/workspace", "/workspace "),
            ("/workspace/", "/workspace "),
            ("/workspace/a//b/./c", "/workspace a,b,c"),
            ("/tmp/x", "/tmp x"),
        ] {
            assert_eq!(shown(cwd).as_deref(), Some(expected), "{cwd}");
        }
        for cwd in [
            "/",
            "/workspaces",
            "/workspace2/a",
            "workspace",
            ".",
            "/workspace/..",
            "/workspace/a/../b",
            "/tmp/../etc",
            "/proc/self/fd/3",
        ] {
            assert_eq!(shown(cwd), None, "{cwd}");
        }
    }
}
