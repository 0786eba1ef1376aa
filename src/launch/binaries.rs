//! The three static programs that go into containers: where they are, whether they fit, and the image made of them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use aifo_shim::{elf, tar::Tar, tools};

use super::places::BIN;
use crate::{digest::sha256, docker::Volume, error::Error};

/// The user that the proxy runs as: neither root nor the session's, so that the folder of the sockets is nobody else's
/// to write.
pub(crate) const PROXY_UID: u32 = 65532;

const NAMES: [&str; 3] = ["aifo-coder", "aifo-shim", "aifo-entrypoint"];

/// The folder that holds them, for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binaries {
    pub(crate) folder: PathBuf,
}

impl Binaries {
    /// Finds those for a daemon's architecture (`amd64`, `arm64`): in the folder that the user named, or beside the
    /// launcher, as `cargo xtask build` and our archives lay them out.
    ///
    /// # Errors
    /// [`Error::NoBinaries`].
    pub(crate) fn find(named: Option<&Path>, arch: &str) -> Result<Self, Error> {
        let linux = format!("linux-{arch}");
        let own = env::current_exe().unwrap_or_default();
        let beside = own.parent().unwrap_or(Path::new("."));
        let places: Vec<PathBuf> = match named {
            Some(folder) => vec![folder.join(&linux), folder.to_owned()],
            None => vec![
                beside.to_owned(),
                beside.join(&linux),
                beside.with_file_name(&linux),
                beside.with_file_name("dist").join(&linux),
            ],
        };
        let fits = |folder: &PathBuf| NAMES.iter().all(|name| is_static(&folder.join(name), arch));
        let found = places.iter().find(|place| fits(place)).cloned();
        found.map(|folder| Self { folder }).ok_or(Error::NoBinaries { linux, places })
    }

    /// # Errors
    /// [`Error::Read`].
    pub(crate) fn read(&self) -> Result<SessionImage, Error> {
        let mut tar = Tar::default();
        for folder in ["opt/", "opt/aifo/", "opt/aifo/bin/", "run/"] {
            tar.folder(folder, 0o755);
        }
        for name in NAMES {
            let path = self.folder.join(name);
            let content = fs::read(&path).map_err(|cause| Error::Read(path, cause))?;
            tar.program(&format!("opt/aifo/bin/{name}"), &content);
        }
        for tool in tools::names().chain(["env"]) {
            tar.link(&format!("opt/aifo/bin/{tool}"), "aifo-shim");
        }
        tar.link("opt/aifo/bin/aifo-bash", "aifo-entrypoint");
        tar.folder("tmp/", 0o1777);
        tar.set_owner(PROXY_UID, PROXY_UID);
        tar.folder("run/aifo/", 0o755);
        let archive = tar.finish();
        let digest = sha256(&archive).chars().take(16).collect();
        Ok(SessionImage { folder: self.folder.clone(), archive, digest })
    }
}

/// What the proxy's image holds: the programs, the links of all tools, and the folders that a session's volumes are made
/// of. The whole image of the proxy; its copy in a volume is `/opt/aifo/bin` everywhere else.
#[derive(Debug)]
pub(crate) struct SessionImage {
    /// Of the programs.
    pub(crate) folder: PathBuf,
    pub(crate) archive: Vec<u8>,
    pub(crate) digest: String,
}

impl SessionImage {
    pub(crate) fn reference(&self) -> String {
        format!("aifo-coder-session:{}", self.digest)
    }

    /// The volume that brings the programs into every container.
    pub(crate) fn volume(&self) -> Volume {
        Volume {
            name: Some(self.volume_name()),
            target: BIN,
            read_only: true,
            label: Some(("aifo.binaries".to_owned(), self.digest.clone())),
        }
    }

    pub(crate) fn volume_name(&self) -> String {
        format!("aifo-bin-{}", self.digest)
    }
}

/// Whether a file is a program for this architecture that needs nothing but the kernel.
fn is_static(path: &Path, arch: &str) -> bool {
    let machine = match arch {
        "amd64" => 62,
        "arm64" => 183,
        _ => return false,
    };
    fs::read(path).is_ok_and(|program| elf::machine(&program) == Some(machine) && elf::is_static(&program))
}
