//! A tar archive (POSIX ustar) in memory, the same bytes for the same content. Enough for `docker import`.

/// An archive that is being written.
#[derive(Debug, Default)]
pub(super) struct Tar(Vec<u8>);

const FILE: u8 = b'0';
const LINK: u8 = b'2';
const FOLDER: u8 = b'5';

impl Tar {
    /// A folder with mode and owner. Names are relative, shorter than 100 bytes, and our own.
    pub(super) fn folder(&mut self, name: &str, mode: u32, owner: u32) {
        self.header(name, FOLDER, mode, owner, 0, "");
    }

    /// A program: root's, and everybody may run it.
    pub(super) fn program(&mut self, name: &str, content: &[u8]) {
        self.header(name, FILE, 0o755, 0, content.len(), "");
        self.0.extend_from_slice(content);
        self.pad();
    }

    pub(super) fn link(&mut self, name: &str, target: &str) {
        self.header(name, LINK, 0o777, 0, 0, target);
    }

    /// The archive, ended by two empty blocks.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        self.0
    }

    fn header(&mut self, name: &str, kind: u8, mode: u32, owner: u32, size: usize, target: &str) {
        let mut header = [0; 512];
        let mut put = |at: usize, text: &str| {
            header.iter_mut().skip(at).zip(text.bytes()).for_each(|(to, from)| *to = from);
        };
        put(0, name);
        put(100, &format!("{mode:07o}"));
        put(108, &format!("{owner:07o}"));
        put(116, &format!("{owner:07o}"));
        put(124, &format!("{size:011o}"));
        // The time is always the epoch: it is not content.
        put(136, "00000000000");
        put(148, "        ");
        put(157, target);
        put(257, "ustar\x0000");
        header[156] = kind;
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header.iter_mut().skip(148).zip(format!("{sum:06o}\0 ").bytes()).for_each(|(to, from)| *to = from);
        self.0.extend_from_slice(&header);
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(512), 0);
    }
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
        let mut tar = Tar::default();
        tar.folder("run/aifo/", 0o755, 65532);
        tar.program("opt/aifo/bin/aifo-shim", b"content");
        tar.link("opt/aifo/bin/cargo", "aifo-shim");
        tar.folder("tmp/", 0o1777, 0);
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
            ]
        );
    }
}
