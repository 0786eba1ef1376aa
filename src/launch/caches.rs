//! The sidecars' caches: named volumes that belong to the user from their first use.
//!
//! Docker makes a volume as root's, and a sidecar is never root. So a missing volume is filled, when it is made, from an
//! image that holds nothing but its empty folders with the right owner: nothing has to run, and nobody needs to be root.
//!
//! Each user has caches of their own: what one user's tools left there must not be what another's run, nor be closed to
//! them. A project's `node_modules` is never among them; it stays in the project.

use aifo_shim::tar::Tar;

use super::seed::Seed;
use crate::{
    docker::{Docker, Volume},
    error::Error,
    toolchain::Kind,
};

/// The label of every cache volume.
pub(crate) const LABEL: &str = "aifo.cache";

/// A cache: its volume, and where sidecars of its kind have it. The user's number follows the volume's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) kind: &'static str,
    pub(crate) volume: &'static str,
    pub(crate) target: &'static str,
    /// Folders inside that other volumes are mounted on: they must be there, and the user's.
    folders: &'static [&'static str],
}

/// All of them (seed "security architecture", section 5.2).
pub(crate) const CACHES: &[Cache] = &[
    Cache {
        kind: "rust",
        volume: "aifo-rust-cache",
        target: "/home/coder/.cache",
        folders: &["cargo/", "cargo/registry/", "cargo/git/"],
    },
    Cache { kind: "rust", volume: "aifo-cargo-registry", target: "/home/coder/.cache/cargo/registry", folders: &[] },
    Cache { kind: "rust", volume: "aifo-cargo-git", target: "/home/coder/.cache/cargo/git", folders: &[] },
    Cache { kind: "node", volume: "aifo-node-cache", target: "/home/coder/.cache", folders: &[] },
    Cache { kind: "python", volume: "aifo-python-cache", target: "/home/coder/.cache", folders: &[] },
    Cache { kind: "go", volume: "aifo-go-cache", target: "/home/coder/.cache", folders: &[] },
    Cache { kind: "c-cpp", volume: "aifo-ccpp-cache", target: "/home/coder/.cache", folders: &[] },
];

/// The caches of a kind of sidecar.
pub(crate) fn of(kind: Kind) -> impl Iterator<Item = &'static Cache> {
    CACHES.iter().filter(move |cache| cache.kind == kind.name)
}

impl Cache {
    /// `user` as `UID:GID`.
    fn name(&self, user: &str) -> String {
        format!("{}-{}", self.volume, user.split(':').next().unwrap_or_default())
    }

    pub(crate) fn mount(&self, user: &str) -> Volume {
        let label = Some((LABEL.to_owned(), self.kind.to_owned()));
        Volume { name: Some(self.name(user)), target: self.target, read_only: false, label }
    }
}

/// Makes those that are not there yet, for the user `uid:gid`.
///
/// # Errors
/// As docker's.
pub(crate) fn provide(docker: &Docker, wanted: &[&Cache], user: &str, session: &str) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let there = docker.capture(&["volume", "ls", "--filter", &format!("label={LABEL}"), "--format", "{{.Name}}"])?;
    let missing: Vec<&Cache> =
        wanted.iter().copied().filter(|cache| !there.lines().any(|name| name == cache.name(user))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let volumes = missing.iter().map(|cache| {
        let volume = Volume { target: "", ..cache.mount(user) };
        volume.argument_at(&format!("/{}", cache.volume))
    });
    let seed = Seed { archive: &seed_archive(&missing, user), change: None, volumes: volumes.collect(), name: None };
    seed.plant(docker, session)
}

fn seed_archive(missing: &[&Cache], user: &str) -> Vec<u8> {
    let number = |part: usize| user.split(':').nth(part).and_then(|number| number.parse().ok()).unwrap_or(0);
    let mut tar = Tar::owned_by(number(0), number(1));
    for cache in missing {
        for folder in [""].iter().chain(cache.folders) {
            tar.folder(&format!("{}/{folder}", cache.volume), 0o755);
        }
    }
    tar.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cache_is_a_projects_own_folder() {
        for cache in CACHES {
            assert!(cache.volume.starts_with("aifo-") && cache.target.starts_with("/home/coder/.cache"), "{cache:?}");
        }
    }
}
