//! One agent a workspace: a lock that the kernel releases.
//!
//! An exclusive lock on a file (flock(2)) ends with its process, however that ends, so it is never stale. The file lies
//! outside the project, is named after the workspace, and is never removed: removing it is how two holders come about.
//! What is written in it is only for the sentence that the other one reads.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io::{Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
};

use rustix::fs::FlockOperation;

use crate::{digest::sha256, error::Error};

/// A workspace that is ours until this value is gone.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held for its lock, which ends when it is closed")] File);

impl Lock {
    /// Takes a workspace for an agent in a session.
    ///
    /// # Errors
    /// [`Error::Locked`] with the holder's own words, or [`Error::Write`].
    pub(crate) fn take(workspace: &Path, agent: &str, session: &str) -> Result<Self, Error> {
        let folder = folder()?;
        let name: String = sha256(workspace.as_os_str().as_encoded_bytes()).chars().take(16).collect();
        let path = folder.join(format!("{name}.lock"));
        let failed = |cause| Error::Write(path.clone(), cause);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            // Whoever holds it may be about to write its name.
            let _read: bool = file.read_to_string(&mut holder).is_ok();
            return Err(Error::Locked { workspace: workspace.to_owned(), holder: holder.trim().to_owned() });
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        writeln!(file, "{agent} in session {session}, process {}", process::id()).map_err(failed)?;
        Ok(Self(file))
    }
}

/// The user's runtime folder; where there is none, one in the temporary folder that nobody else can have made.
fn folder() -> Result<PathBuf, Error> {
    let uid = rustix::process::getuid().as_raw();
    // Where the variable is missing, as under cron and sudo, the folder is often there: all launchers must look in one.
    let usual = || PathBuf::from(format!("/run/user/{uid}"));
    let runtime = env::var_os("XDG_RUNTIME_DIR").map_or_else(usual, PathBuf::from);
    let runtime = Some(runtime).filter(|path| path.is_dir());
    let folder =
        runtime.map_or_else(|| env::temp_dir().join(format!("aifo-coder-{uid}")), |path| path.join("aifo-coder"));
    let failed = |cause| Error::Write(folder.clone(), cause);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
    let about = fs::symlink_metadata(&folder).map_err(failed)?;
    if about.is_dir() && about.uid() == uid {
        Ok(folder)
    } else {
        Err(failed(std::io::Error::other("it belongs to somebody else")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t50_of_many_at_once_exactly_one_wins_and_is_named() {
        let workspace = PathBuf::from(format!("/nowhere/{}", process::id()));
        let first = Lock::take(&workspace, "claude", "ab").unwrap();
        let others: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(|| Lock::take(&workspace, "pi", "cd"))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for other in others {
            let said = other.unwrap_err().to_string();
            assert!(said.contains(&format!("claude in session ab, process {}", process::id())), "{said}");
        }
        assert!(Lock::take(Path::new("/elsewhere"), "pi", "cd").is_ok());
        drop(first);
        assert!(Lock::take(&workspace, "pi", "cd").is_ok(), "released with its file");
    }
}
