//! A tar archive (POSIX ustar) in memory, the same bytes for the same content. Enough for what engines read: `docker
//! import`, `docker load`, `ADD` in a Dockerfile.
//!
//! Pure. Names are our own: relative, shorter than 100 bytes.

/// An archive that is being written, and who owns the next entries.
#[derive(Debug, Default)]
pub struct Tar {
    bytes: Vec<u8>,
    uid: u32,
    gid: u32,
}

const FILE: u8 = b'0';
const LINK: u8 = b'2';
const FOLDER: u8 = b'5';

impl Tar {
    /// Whose entries are not root's.
    #[must_use]
    pub fn owned_by(uid: u32, gid: u32) -> Self {
        Self { uid, gid, ..Self::default() }
    }

    /// The following entries belong to somebody else.
    pub fn set_owner(&mut self, uid: u32, gid: u32) {
        (self.uid, self.gid) = (uid, gid);
    }

    /// A folder.
    pub fn folder(&mut self, name: &str, mode: u32) {
        self.header(name, FOLDER, mode, 0, "");
    }

    /// A program that everybody may run.
    pub fn program(&mut self, name: &str, content: &[u8]) {
        self.file(name, 0o755, content);
    }

    /// A file.
    pub fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.header(name, FILE, mode, content.len(), "");
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
    }

    /// A symbolic link.
    pub fn link(&mut self, name: &str, target: &str) {
        self.header(name, LINK, 0o777, 0, target);
    }

    /// The archive, ended by two empty blocks.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[0; 1024]);
        self.bytes
    }

    fn header(&mut self, name: &str, kind: u8, mode: u32, size: usize, target: &str) {
        self.bytes.extend_from_slice(&header(name, kind, mode, (self.uid, self.gid), size as u64, target));
    }
}

/// What stands before a file of root's in an archive that is written piece by piece: then come its bytes, and zeros up to
/// a multiple of 512. Nothing when it is larger than the format can say (8 GiB).
#[must_use]
pub fn file_header(name: &str, size: u64) -> Option<[u8; 512]> {
    (size < 1 << 33).then(|| header(name, FILE, 0o644, (0, 0), size, ""))
}

/// Seven octal digits; numbers out of a company's directory are often larger.
const MAX_OCTAL_ID: u32 = 0o7_777_777;

fn id(number: u32) -> String {
    if number > MAX_OCTAL_ID { String::new() } else { format!("{number:07o}") }
}

fn header(name: &str, kind: u8, mode: u32, (uid, gid): (u32, u32), size: u64, target: &str) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &str| {
        header.iter_mut().skip(at).zip(text.bytes()).for_each(|(to, from)| *to = from);
    };
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, &id(uid));
    put(116, &id(gid));
    put(124, &format!("{size:011o}"));
    // The time is always the epoch: it is not content.
    put(136, "00000000000");
    put(148, "        ");
    put(157, target);
    put(257, "ustar\x0000");
    header[156] = kind;
    for (at, id) in [(108, uid), (116, gid)].into_iter().filter(|(_, id)| *id > MAX_OCTAL_ID) {
        // What the digits cannot say is written in binary, marked by the first bit (GNU's extension, which engines read).
        header[at] = 0x80;
        header[at + 4..at + 8].copy_from_slice(&id.to_be_bytes());
    }
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header.iter_mut().skip(148).zip(format!("{sum:06o}\0 ").bytes()).for_each(|(to, from)| *to = from);
    header
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn tar_itself_lists_what_was_written() {
        let mut tar = Tar::owned_by(65532, 65532);
        tar.folder("run/aifo/", 0o755);
        tar.set_owner(0, 0);
        tar.program("opt/aifo/bin/aifo-shim", b"content");
        tar.link("opt/aifo/bin/cargo", "aifo-shim");
        tar.folder("tmp/", 0o1777);
        tar.set_owner(1_234_567_890, 2_097_152);
        tar.folder("cache/", 0o755);
        let archive = tar.finish();
        let mut child = Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner", "--utc", "--full-time"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let listed: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            listed,
            [
                "drwxr-xr-x 65532/65532 0 1970-01-01 00:00:00 run/aifo/",
                "-rwxr-xr-x 0/0 7 1970-01-01 00:00:00 opt/aifo/bin/aifo-shim",
                "lrwxrwxrwx 0/0 0 1970-01-01 00:00:00 opt/aifo/bin/cargo -> aifo-shim",
                "drwxrwxrwt 0/0 0 1970-01-01 00:00:00 tmp/",
                "drwxr-xr-x 1234567890/2097152 0 1970-01-01 00:00:00 cache/",
            ]
        );
    }
}
