//! The images of a session, all there before anything is started: made, pulled, or named as missing.

use std::{
    fs::File,
    io::{self, IsTerminal},
    process::{Child, Stdio},
};

use super::{binaries::SessionImage, pod::Request, seed::Seed};
use crate::{
    config::Config,
    docker::{Docker, Volume},
    error::Error,
    image::Image,
    report,
};

/// What the user wants to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Nothing may ask.
    pub(crate) no_input: bool,
    /// Every question is answered with yes.
    pub(crate) yes: bool,
}

/// Makes the session image where it is missing, pulls what a registry may have, and refuses what is nowhere.
///
/// # Errors
/// [`Error::NoImage`], [`Error::Pull`], and docker's.
pub(crate) fn provide(
    docker: &Docker,
    request: &Request,
    (image, session): (&SessionImage, &str),
    config: &Config,
    wishes: Wishes,
) -> Result<(), Error> {
    let ours = image.reference();
    let mut wanted = vec![ours.as_str(), request.program.image.as_str()];
    wanted.extend(request.sidecars.iter().map(|(_, image)| image.as_str()));
    wanted.dedup();
    for missing in docker.missing_images(&wanted)? {
        if missing == ours {
            make(docker, image, session)?;
            continue;
        }
        let image = Image::as_named(&missing, config);
        if !image.can_pull {
            return Err(Error::NoImage(missing));
        }
        pull(docker, &image, config, wishes)?;
    }
    Ok(())
}

/// Makes the session image, and the volume that is filled from it. Whoever finds the image there uses the volume at once,
/// so the image gets its name last; and of several first sessions one does it, or they would fill one volume at a time.
fn make(docker: &Docker, image: &SessionImage, session: &str) -> Result<(), Error> {
    let reference = image.reference();
    // Freed when it is closed. Where a folder cannot be locked, only first sessions at the very same time may meet.
    let _alone = File::open(&image.folder).and_then(|folder| folder.lock().map(|()| folder));
    if docker.missing_images(&[&reference])?.is_empty() {
        return Ok(());
    }
    report::say(format_args!("making {reference}"));
    let change = Some(format!("LABEL aifo.binaries={}", image.digest));
    let volume = Volume { read_only: false, ..image.volume() };
    let volumes = vec![volume.argument_at(volume.target)];
    Seed { archive: &image.archive, change, volumes, name: Some(&reference) }.plant(docker, session)
}

/// Pulls; where the registry refuses and somebody is there to be asked, after one login once more.
fn pull(docker: &Docker, image: &Image, config: &Config, wishes: Wishes) -> Result<(), Error> {
    let said = match try_pull(docker, &image.reference)? {
        None => return Ok(()),
        Some(said) => said,
    };
    let refused = || Error::Pull { image: image.reference.clone(), said: said.clone() };
    let can_ask = config.is_on("image.auto-login") && !wishes.no_input && io::stdin().is_terminal();
    if !is_denied(&said) || !can_ask {
        return Err(refused());
    }
    if !wishes.yes && !is_agreed(image.registry()) {
        return Err(refused());
    }
    let login = docker.command().arg("login").args(image.registry()).stdout(io::stderr()).status();
    match login {
        Ok(status) if status.success() => {}
        _ => return Err(refused()),
    }
    match try_pull(docker, &image.reference)? {
        None => Ok(()),
        Some(said) => Err(Error::Pull { image: image.reference.clone(), said }),
    }
}

/// Whether the user wants to log in now. The question goes where talk goes, and is never held back by `-q`.
fn is_agreed(registry: Option<&str>) -> bool {
    let registry = registry.unwrap_or("the registry");
    let mut answer = String::new();
    report::ask(format_args!("{registry} wants a login; log in now? [Y/n] "));
    io::stdin().read_line(&mut answer).is_ok_and(|count| count > 0)
        && matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes")
}

/// Docker's own progress is talk, so it goes where talk goes. Gives its last words where it failed.
fn try_pull(docker: &Docker, reference: &str) -> Result<Option<String>, Error> {
    report::say(format_args!("pulling {reference}"));
    let pulled = docker
        .command()
        .args(["pull", reference])
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .stderr(Stdio::piped())
        .spawn();
    let output = pulled.and_then(Child::wait_with_output).map_err(|cause| Error::Start("docker".into(), cause))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok((!output.status.success()).then_some(said))
}

/// What registries say when they want to know who asks.
fn is_denied(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["denied", "unauthorized", "authentication required", "no basic auth credentials"]
        .iter()
        .any(|word| said.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_an_absence() {
        assert!(is_denied("Error response from daemon: pull access denied for x, repository does not exist"));
        assert!(is_denied("Error: Head \"https://r/v2/\": unauthorized: authentication required"));
        assert!(!is_denied("manifest for x:1 not found: manifest unknown"));
        assert!(!is_denied("dial tcp: lookup r.example: no such host"));
    }
}
