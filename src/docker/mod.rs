//! The only place that runs the docker command line.
//!
//! Argument vectors, never a shell. Secrets are never arguments: a variable's value travels in the environment of the
//! docker client (`-e NAME`), everything else on standard input. Any program that understands docker's words will do.

mod run;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
};

pub(crate) use self::run::{Env, Mount, Network, RunSpec, Stdin, Volume};
use crate::error::Error;

/// A docker-compatible program.
#[derive(Debug, Clone)]
pub(crate) struct Docker {
    program: OsString,
}

impl Docker {
    /// The program of that path, or of that name in PATH.
    ///
    /// # Errors
    /// [`Error::DockerMissing`].
    pub(crate) fn find(program: &Path) -> Result<Self, Error> {
        let program = OsString::from(program);
        if is_there(&program) { Ok(Self { program }) } else { Err(Error::DockerMissing(program)) }
    }

    /// A command of it, without arguments.
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// `docker run` as specified; the values of variables go into its environment.
    pub(crate) fn run(&self, spec: &RunSpec) -> Command {
        let mut command = self.command();
        command.args(spec.argv());
        command.envs(spec.env.iter().filter_map(Env::value_for_client));
        command
    }

    /// Runs it to its end and returns what it printed, without the last line end.
    ///
    /// # Errors
    /// [`Error::DockerNotRunning`], [`Error::DockerDenied`], or [`Error::Docker`] with its last words.
    pub(crate) fn capture<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, Error> {
        let output = self.command().args(args).stdin(Stdio::null()).output();
        let output = output.map_err(|cause| Error::Start(self.program.clone(), cause))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let words: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        Err(classify(&words.join(" "), &String::from_utf8_lossy(&output.stderr)))
    }

    /// Runs it with `input` on its standard input.
    ///
    /// # Errors
    /// As [`Docker::capture`].
    pub(crate) fn feed(&self, args: &[String], input: &[u8]) -> Result<String, Error> {
        // When it ends before it has read everything, its own words say why.
        self.feed_by(args, |stdin| Ok(stdin.write_all(input)))
    }

    /// Runs it with what `write` gives it on its standard input. Where that fails with an error of ours, the client is
    /// killed before its input ends, so that it cannot take a part for the whole.
    ///
    /// # Errors
    /// That of `write`; else as [`Docker::capture`].
    pub(crate) fn feed_by(
        &self,
        args: &[String],
        write: impl FnOnce(&mut ChildStdin) -> Result<io::Result<()>, Error>,
    ) -> Result<String, Error> {
        let start = |cause| Error::Start(self.program.clone(), cause);
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(start)?;
        let mut stdin = child.stdin.take();
        let fed = stdin.as_mut().map_or(Ok(Ok(())), write);
        if fed.is_err() {
            drop(child.kill());
        }
        drop(stdin);
        let output = child.wait_with_output().map_err(start)?;
        match fed? {
            Ok(()) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            _ => Err(classify(&args.join(" "), &String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// What the daemon says of itself: one question for all that a session must know.
    ///
    /// # Errors
    /// As [`Docker::capture`]; [`Error::Platform`] when its containers are not Linux's.
    pub(crate) fn daemon(&self) -> Result<Daemon, Error> {
        let format = "{{.ServerVersion}}|{{.OSType}}|{{.Architecture}}|{{.OperatingSystem}}|{{json .SecurityOptions}}";
        Daemon::parse(&self.capture(&["info", "--format", format])?)
    }

    /// Which of these images are not there.
    ///
    /// # Errors
    /// As [`Docker::capture`], a missing image aside.
    pub(crate) fn missing_images(&self, images: &[&str]) -> Result<Vec<String>, Error> {
        let inspect = |images: &[&str]| self.capture(&[&["image", "inspect", "--format", "{{.Id}}"], images].concat());
        if inspect(images).is_ok() {
            return Ok(Vec::new());
        }
        let mut missing = Vec::new();
        for image in images {
            match inspect(&[image]) {
                Ok(_) => {}
                Err(Error::Docker { said, .. }) if said.to_ascii_lowercase().contains("no such image") => {
                    missing.push((*image).to_owned());
                }
                Err(other) => return Err(other),
            }
        }
        Ok(missing)
    }
}

/// A docker daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Daemon {
    pub(crate) version: String,
    /// `amd64`, `arm64`.
    pub(crate) arch: String,
    pub(crate) has_apparmor: bool,
    /// It runs on this very kernel, not in a machine of its own.
    pub(crate) is_native: bool,
    pub(crate) users: Users,
}

/// Whom a daemon's containers are, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    /// Numbers are the same inside and outside.
    Same,
    /// The daemon is a plain user's: root inside is that user, everybody else is nobody that owns anything.
    Rootless,
    /// Everybody inside, root included, is somebody else outside (`userns-remap`).
    Remapped,
}

impl Daemon {
    fn parse(said: &str) -> Result<Self, Error> {
        let mut fields = said.splitn(5, '|').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let (version, os, arch, system, security) = (next(), next(), next(), next(), next());
        if os != "linux" {
            return Err(Error::Platform(format!("{os}/{arch}")));
        }
        let arch = match arch.as_str() {
            "x86_64" => "amd64".to_owned(),
            "aarch64" => "arm64".to_owned(),
            _ => arch,
        };
        let is_native = cfg!(target_os = "linux") && !system.contains("Docker Desktop");
        let has = |option: &str| security.split(['"', ',']).any(|found| found == option);
        let users = match (has("name=rootless"), has("name=userns")) {
            (true, _) => Users::Rootless,
            (_, true) => Users::Remapped,
            _ => Users::Same,
        };
        Ok(Self { version, arch, has_apparmor: has("name=apparmor"), is_native, users })
    }
}

/// Makes one of three sentences of a failed call, or passes on its last words.
pub(crate) fn classify(command: &str, stderr: &str) -> Error {
    let has = |part: &str| stderr.contains(part);
    if has("permission denied while trying to connect") || has("connect: permission denied") {
        Error::DockerDenied
    } else if has("Cannot connect to the Docker daemon") || has("Is the docker daemon running") {
        Error::DockerNotRunning
    } else {
        let noise = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("Run 'docker") && !line.starts_with("See 'docker")
        };
        let said = stderr.lines().rfind(noise).unwrap_or("it said nothing").trim();
        let said = said.strip_prefix("docker: ").unwrap_or(said);
        // A format may be several lines; a sentence is one.
        let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
        Error::Docker { command, said: said.to_owned() }
    }
}

fn is_there(program: &OsStr) -> bool {
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return path.is_file();
    }
    env::var_os("PATH").is_some_and(|paths| env::split_paths(&paths).any(|folder| folder.join(&path).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_tells_of_itself_in_one_line() {
        let daemon = |security: &str| Daemon::parse(&format!("27.0|linux|x86_64|Debian|{security}")).unwrap();
        for (security, apparmor, users) in [
            (r#"["name=apparmor","name=seccomp,profile=builtin"]"#, true, Users::Same),
            (r#"["name=seccomp,profile=builtin","name=rootless","name=cgroupns"]"#, false, Users::Rootless),
            (r#"["name=apparmor","name=userns"]"#, true, Users::Remapped),
            ("null", false, Users::Same),
            ("", false, Users::Same),
        ] {
            let daemon = daemon(security);
            assert_eq!((daemon.has_apparmor, daemon.users, daemon.arch.as_str()), (apparmor, users, "amd64"));
        }
        assert!(Daemon::parse("27.0|windows|x86_64|Windows|[]").is_err());
    }

    #[test]
    fn missing_not_running_and_denied_are_three_sentences() {
        let sentence = |stderr: &str| classify("version", stderr).to_string();
        let down = sentence("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?");
        let denied = sentence("permission denied while trying to connect to the Docker daemon socket at unix:///x");
        let other =
            sentence("docker: Error response from daemon: boom.\n\nRun 'docker run --help' for more information");
        assert_eq!(other, "`docker version` failed: Error response from daemon: boom.");
        let missing = Docker::find(Path::new("/nowhere/docker")).unwrap_err().to_string();
        let all = [down, denied, other, missing];
        assert!((0..4).all(|one| (0..one).all(|two| all[one] != all[two])), "{all:?}");
    }
}
