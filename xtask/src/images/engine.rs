//! The docker CLI as the image tasks use it: which program, which builder, what an image looks like.
//!
//! `AIFO_CODER_DOCKER` names another program. BuildKit is taken where the client has it; a client from 23 on has it
//! only with the buildx plugin and otherwise can do no more than the classic builder, which our Dockerfiles suit as
//! well. What runs in a container is never this module's business.

use std::{
    env,
    ffi::OsString,
    fmt, io,
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{foreign, table};
use crate::cmd::{Failure, io_failure, shown};

/// Who builds behind `docker build`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builder {
    BuildKit,
    Classic,
    /// The user has set `DOCKER_BUILDKIT`; that stands.
    AsSet,
}

impl fmt::Display for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuildKit => "BuildKit",
            Self::Classic => "the classic builder",
            Self::AsSet => "DOCKER_BUILDKIT as set",
        })
    }
}

/// A docker that answers.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    program: OsString,
    pub(super) builder: Builder,
    /// The processor that images are for, in Docker's words: `amd64`, `arm64`.
    pub(super) arch: String,
    /// The daemon's own.
    pub(super) own: String,
}

/// What docker says of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) size: u64,
    /// The content of each layer, by its sum, lowest first.
    pub(super) layers: Vec<String>,
}

/// One line an image: what `facts` reads.
const FACTS: &str = "{{.Id}} {{.Size}} {{range .RootFS.Layers}}{{.}} {{end}}";

impl Engine {
    /// Finds the program and asks the daemon.
    ///
    /// # Errors
    /// When docker is missing, not running or out of bounds: three different sentences.
    pub(super) fn find() -> Result<Self, Failure> {
        let program = env::var_os("AIFO_CODER_DOCKER").unwrap_or_else(|| "docker".into());
        let asked = Command::new(&program)
            .args(["version", "--format", "{{.Client.Version}} {{.Server.Arch}}"])
            .stdin(Stdio::null())
            .output();
        let Output { status, stdout, stderr } = asked.map_err(|error| not_started(&program, &error))?;
        if !status.success() {
            return Err(refused(&String::from_utf8_lossy(&stderr)));
        }
        let text = String::from_utf8_lossy(&stdout);
        let mut words = text.split_whitespace();
        let (client, arch) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let builder = if env::var_os("DOCKER_BUILDKIT").is_some() {
            Builder::AsSet
        } else {
            builder(client, || succeeds(Command::new(&program).args(["buildx", "version"])))
        };
        Ok(Self { arch: arch.to_owned(), own: arch.to_owned(), builder, program })
    }

    /// The same docker, for images of another processor.
    ///
    /// # Errors
    /// When it cannot run what those images' package managers are made of.
    pub(super) fn for_arch(&self, arch: &str) -> Result<Self, Failure> {
        let engine = Self { arch: arch.to_owned(), ..self.clone() };
        if engine.is_foreign() {
            foreign::check(arch, self.builder, Path::new("/proc/sys/fs/binfmt_misc"))?;
        }
        Ok(engine)
    }

    /// Whether a step of a build can be lent files that no image keeps.
    pub(super) fn has_mounts(&self) -> bool {
        match self.builder {
            Builder::BuildKit => true,
            Builder::Classic => false,
            Builder::AsSet => env::var("DOCKER_BUILDKIT").is_ok_and(|set| set == "1"),
        }
    }

    /// Whether images are for another processor than the daemon's.
    pub(super) fn is_foreign(&self) -> bool {
        self.arch != self.own
    }

    /// What docker calls one of our images for that processor.
    pub(super) fn tag(&self, name: &str) -> String {
        table::tag(name, &self.arch, &self.own)
    }

    /// One that is never asked, whose daemon is amd64.
    #[cfg(test)]
    pub(super) fn of_test(builder: Builder, arch: &str) -> Self {
        Self { program: OsString::new(), builder, arch: arch.to_owned(), own: "amd64".to_owned() }
    }

    /// A docker command, with the builder chosen.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        match self.builder {
            Builder::BuildKit => command.env("DOCKER_BUILDKIT", "1"),
            Builder::Classic => command.env("DOCKER_BUILDKIT", "0"),
            Builder::AsSet => &mut command,
        };
        // Any other buildx builder runs in a container and does not see the images that we build upon.
        command.env("BUILDX_BUILDER", "default").stdin(Stdio::null());
        command
    }

    /// What docker knows of an image; nothing if it is not there.
    ///
    /// # Errors
    /// When docker cannot be asked.
    pub(super) fn inspect(&self, reference: &str) -> Result<Option<Facts>, Failure> {
        let mut command = self.command();
        command.args(["image", "inspect", "--format", FACTS, reference]);
        Ok(facts(&known(&mut command)?))
    }

    /// What docker knows of several images, with their names, in one question; those that are not there are left out.
    ///
    /// # Errors
    /// When docker cannot be asked.
    pub(super) fn inspect_all(&self, references: &[String]) -> Result<Vec<(String, Facts)>, Failure> {
        let mut command = self.command();
        command
            .args(["image", "inspect", "--format", &format!("{{{{range .RepoTags}}}}{{{{.}}}},{{{{end}}}} {FACTS}")])
            .args(references);
        let text = known(&mut command)?;
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let lines: Vec<(&str, Facts)> = lines.filter_map(|(tags, rest)| Some((tags, facts(rest)?))).collect();
        let found = references.iter().filter_map(|reference| {
            // Podman writes `localhost/` before a name without a registry.
            let named = |tags: &&str| tags.split(',').any(|tag| tag.trim_start_matches("localhost/") == reference);
            lines.iter().find(|(tags, _)| named(tags)).map(|(_, facts)| (reference.clone(), facts.clone()))
        });
        Ok(found.collect())
    }

    /// The size of each step that added something to an image, the last first.
    ///
    /// # Errors
    /// When docker cannot be asked.
    pub(super) fn steps(&self, reference: &str) -> Result<Vec<u64>, Failure> {
        let mut command = self.command();
        command.args(["history", "--no-trunc", "--human=false", "--format", "{{.Size}}", reference]);
        let text = known(&mut command)?;
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).filter(|size| *size > 0).collect())
    }
}

/// What docker says of images; nothing of those that it does not know.
fn known(command: &mut Command) -> Result<String, Failure> {
    let Output { status, stdout, stderr } = command.output().map_err(io_failure("start", shown(command)))?;
    let said = String::from_utf8_lossy(&stderr);
    // Docker's words and Podman's.
    let unknown = ["no such image", "image not known"].iter().any(|words| said.to_lowercase().contains(words));
    if status.success() || unknown { Ok(String::from_utf8_lossy(&stdout).into_owned()) } else { Err(refused(&said)) }
}

/// Chooses the builder by the client's version; `has_buildx` is asked only when it matters.
fn builder(client: &str, has_buildx: impl FnOnce() -> bool) -> Builder {
    // 18.09 to 20.10 have BuildKit built in; what is no docker at all is asked the same question as a new one.
    let built_in = client
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .is_some_and(|major: u32| (18..23).contains(&major));
    if built_in || has_buildx() { Builder::BuildKit } else { Builder::Classic }
}

fn facts(line: &str) -> Option<Facts> {
    let mut words = line.split_whitespace();
    let id = words.next()?.to_owned();
    Some(Facts { id, size: words.next()?.parse().ok()?, layers: words.map(str::to_owned).collect() })
}

fn not_started(program: &OsString, error: &io::Error) -> Failure {
    let program = program.display();
    if error.kind() == io::ErrorKind::NotFound {
        Failure::new(format!("docker is not installed: no program `{program}`"))
            .hint("apt-get install docker.io, or name another with AIFO_CODER_DOCKER")
    } else {
        Failure::new(format!("cannot start `{program}`: {error}"))
    }
}

/// What a daemon that did not serve us means.
fn refused(stderr: &str) -> Failure {
    let said = stderr.trim();
    let lower = said.to_lowercase();
    if lower.contains("permission denied") {
        Failure::new("docker denies access to its socket").hint("add yourself to the group `docker`, then log in again")
    } else if lower.contains("cannot connect") || lower.contains("daemon running") {
        Failure::new("docker is installed but not running").hint("systemctl start docker")
    } else {
        Failure::new(format!("docker failed: {}", said.lines().last().unwrap_or("it did not say why")))
    }
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{Builder, Facts, builder, facts, refused};

    #[test]
    fn buildkit_is_taken_where_the_client_has_it() {
        assert_eq!(builder("20.10.24+dfsg1", || false), Builder::BuildKit);
        assert_eq!(builder("28.2.2", || true), Builder::BuildKit);
        assert_eq!(builder("28.2.2", || false), Builder::Classic);
        assert_eq!(builder("5.1.0", || false), Builder::Classic);
        assert_eq!(builder("", || false), Builder::Classic);
    }

    #[test]
    fn facts_are_read_from_one_line() {
        let read = facts("sha256:ab 1234 sha256:x sha256:y \n");
        let layers = ["sha256:x", "sha256:y"].map(str::to_owned).into();
        assert_eq!(read, Some(Facts { id: "sha256:ab".to_owned(), size: 1234, layers }));
        assert_eq!(facts("sha256:ab"), None);
    }

    #[test]
    fn not_running_and_denied_are_told_apart() {
        let stopped = refused("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?");
        let denied = refused("permission denied while trying to connect to the Docker daemon socket");
        assert_eq!(stopped.to_string(), "docker is installed but not running");
        assert_eq!(denied.to_string(), "docker denies access to its socket");
        assert_eq!(refused("a\nb\n").to_string(), "docker failed: b");
    }
}
