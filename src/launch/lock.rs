//! One agent a workspace: a lock that the kernel releases.
//!
//! The lock (flock(2)) is on the workspace's folder itself, so everybody who works there meets it: any user, with whatever
//! variables. It ends with its process, however that ends, so it is never stale, and nothing is written into the project.
//! It counts on one machine: of a folder that the network brings, the kernels of others know nothing.
//!
//! Who holds it stands in a note elsewhere, for the sentence that the other one reads and for nothing else. Anybody may
//! have written a note, and a killed holder leaves one, so only its shape is believed, and only while its process lives.

use std::{
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
    process::Pid,
};

use crate::{agent, error::Error, report};

/// Where notes lie: the same for every user, whatever TMPDIR says.
const NOTES: &str = "/tmp";
/// No note is longer.
const MAX_NOTE: u64 = 256;
/// How often, and how far apart, a note is looked for whose writer may just have taken the lock.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// A workspace that is ours until this value is gone.
#[derive(Debug)]
pub(crate) struct Lock {
    #[expect(dead_code, reason = "held for its lock, which ends when it is closed")]
    folder: File,
    note: Option<PathBuf>,
}

impl Lock {
    /// Takes a workspace for an agent in a session. Where the file system has no locks, that is said and nobody is kept
    /// out.
    ///
    /// # Errors
    /// [`Error::Locked`] with what is known of the holder, or [`Error::Read`].
    pub(crate) fn take(workspace: &Path, agent: &str, session: &str) -> Result<Self, Error> {
        let failed = |cause| Error::Read(workspace.to_owned(), cause);
        let folder = open(workspace, OFlags::DIRECTORY).map_err(failed)?;
        let about = folder.metadata().map_err(failed)?;
        let name = format!("aifo-coder-{:x}-{:x}-", about.dev(), about.ino());
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Locked { workspace: workspace.to_owned(), holder: holder(&name) });
            }
            Err(cause) => {
                let place = workspace.display();
                report::warn(format_args!("`{place}` cannot be locked ({cause}): a second agent is not kept out"));
                return Ok(Self { folder, note: None });
            }
        }
        let note = Path::new(NOTES).join(format!("{name}{}", rustix::process::getuid().as_raw()));
        let written = write_note(&note, &format!("{agent} {session} {}\n", process::id()));
        Ok(Self { folder, note: written.is_ok().then_some(note) })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.note.iter().for_each(|note| drop(fs::remove_file(note)));
    }
}

/// For reading, and closed to the programs that are started meanwhile: a lock lasts as long as any copy of it.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty())?.into())
}

fn write_note(path: &Path, text: &str) -> io::Result<()> {
    // One that a killed holder has left, or nothing.
    drop(fs::remove_file(path));
    let mut file = File::create_new(path)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(text.as_bytes())
}

/// Who has left a note for this workspace, and lives.
fn holder(name: &str) -> Option<String> {
    (0..LOOKS).find_map(|look| {
        if look > 0 {
            thread::sleep(PAUSE);
        }
        let is_ours = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|found| found.starts_with(name));
        let mut notes = fs::read_dir(NOTES).ok()?.flatten().filter(is_ours);
        notes.find_map(|note| described(&read_note(&note.path()).ok()?))
    })
}

/// Whatever somebody has put there: a pipe would keep a reader waiting, and a link lead elsewhere.
fn read_note(path: &Path) -> io::Result<String> {
    let file = open(path, OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
    let mut text = String::new();
    if file.metadata()?.is_file() {
        file.take(MAX_NOTE).read_to_string(&mut text)?;
    }
    Ok(text)
}

/// A note in words, when it is one of ours and its process lives.
fn described(note: &str) -> Option<String> {
    let mut words = note.split_whitespace();
    let (agent, session, process) = (words.next()?, words.next()?, words.next()?);
    let agent = agent::by_name(agent)?.name();
    let is_session = session.len() <= 16 && session.chars().all(|c| c.is_ascii_hexdigit());
    let pid = Pid::from_raw(process.parse().ok().filter(|pid| *pid > 0)?)?;
    let lives = matches!(rustix::process::test_kill_process(pid), Ok(()) | Err(Errno::PERM));
    (is_session && lives).then(|| format!("{agent} in session {session}, process {}", pid.as_raw_nonzero()))
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    /// A workspace that disappears with the value.
    struct Workspace(PathBuf);

    impl Workspace {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("aifo-lock-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn t50_of_many_at_once_exactly_one_wins_and_is_named() {
        let (workspace, other) = (Workspace::new("many"), Workspace::new("other"));
        let first = Lock::take(&workspace.0, "claude", "ab").unwrap();
        let others: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(|| Lock::take(&workspace.0, "pi", "cd"))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for other in others {
            let said = other.unwrap_err().to_string();
            assert!(said.contains(&format!("claude in session ab, process {}", process::id())), "{said}");
        }
        assert!(Lock::take(&other.0, "pi", "cd").is_ok());
        let note = first.note.clone().unwrap();
        assert!(note.exists());
        drop(first);
        assert!(!note.exists());
        assert!(Lock::take(&workspace.0, "pi", "cd").is_ok(), "released with its descriptor");
        assert_eq!(fs::read_dir(&workspace.0).unwrap().count(), 0, "nothing of it is in the project");
    }

    #[test]
    fn a_holder_without_a_note_holds_it_all_the_same() {
        let workspace = Workspace::new("silent");
        let first = Lock::take(&workspace.0, "claude", "ab").unwrap();
        fs::remove_file(first.note.as_ref().unwrap()).unwrap();
        let said = Lock::take(&workspace.0, "pi", "cd").unwrap_err().to_string();
        assert_eq!(said, format!("`{}` already has an agent, which has left no name", workspace.0.display()));
    }

    #[test]
    fn a_note_is_believed_only_in_its_own_shape_and_while_its_process_lives() {
        let own = process::id();
        assert_eq!(described(&format!("pi 1f {own}\n")), Some(format!("pi in session 1f, process {own}")));
        for note in [
            String::new(),
            format!("\u{1b}[2J 1f {own}"),
            format!("pi \u{1b}[2J {own}"),
            format!("nobody 1f {own}"),
            "pi 1f 0".to_owned(),
            "pi 1f -1".to_owned(),
            "pi 1f 999999999".to_owned(),
        ] {
            assert_eq!(described(&note), None, "{note:?}");
        }
    }
}
