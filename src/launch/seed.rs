//! Volumes that are not empty when they are made: docker fills one when a container is created with it, from what the
//! container's image holds at that place.
//!
//! So they are made from an image for just that, by a container that is never started. What the image holds needs no
//! program, and nobody needs to be root.

use crate::{docker::Docker, error::Error};

/// An image, and the volumes that are filled from it.
pub(super) struct Seed<'a> {
    /// A tar archive.
    pub(super) archive: &'a [u8],
    /// As `docker import --change` takes it.
    pub(super) change: Option<String>,
    /// As `--mount` takes them.
    pub(super) volumes: Vec<String>,
    /// What the image is called when they are filled; it goes where it gets no name.
    pub(super) name: Option<&'a str>,
}

impl Seed<'_> {
    /// Until its volumes are filled the image has a name of the session's own, and all that is made on the way carries the
    /// session's label: `gc` finds it should this process die in between.
    ///
    /// # Errors
    /// As docker's.
    pub(super) fn plant(&self, docker: &Docker, session: &str) -> Result<(), Error> {
        let seed = format!("aifo-coder-seed:{session}");
        let change = self.change.iter().flat_map(|change| ["--change", change]);
        let import = ["import"].into_iter().chain(change).chain(["-", &seed]);
        docker.feed(&import.map(str::to_owned).collect::<Vec<_>>(), self.archive)?;
        let made = self.fill(docker, &seed, session).and_then(|()| match self.name {
            Some(name) => docker.capture(&["tag", &seed, name]).map(drop),
            None => Ok(()),
        });
        // It has served; a volume that could not be made is the error to tell.
        let removed = docker.capture(&["image", "rm", &seed]);
        made.and(removed.map(drop))
    }

    fn fill(&self, docker: &Docker, seed: &str, session: &str) -> Result<(), Error> {
        let label = format!("aifo.session={session}");
        let mounts = self.volumes.iter().flat_map(|volume| ["--mount", volume]);
        let create = ["create", "--label", &label, "--label", "aifo.role=seed"].into_iter().chain(mounts);
        let create: Vec<&str> = create.chain([seed, "none"]).collect();
        let container = docker.capture(&create)?;
        docker.capture(&["rm", &container]).map(drop)
    }
}
