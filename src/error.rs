//! Everything that can end the launcher, its sentence, and its exit code.
//!
//! A sentence is one line: what failed, on what, why. A second line says what to type, where that is known.

use std::{error, ffi::OsString, fmt, io, path::PathBuf};

use crate::config::Origin;

#[derive(Debug)]
#[expect(clippy::error_impl_error, reason = "the one error type of this crate; there is no other to mistake it for")]
pub(crate) enum Error {
    Usage(String),
    /// A value that its setting does not take.
    Setting {
        origin: Origin,
        why: String,
    },
    ConfigFile {
        file: PathBuf,
        why: String,
    },
    /// What was understood and would break something.
    Unfit {
        what: String,
        instead: String,
    },
    NoHome,
    NoState(PathBuf, io::Error),
    Locked {
        workspace: PathBuf,
        /// None where nothing is known of it.
        holder: Option<String>,
    },
    NoProfile {
        profile: String,
        why: &'static str,
    },
    DockerMissing(OsString),
    DockerNotRunning,
    DockerDenied,
    Docker {
        command: String,
        said: String,
    },
    Platform(String),
    NoBinaries {
        linux: String,
        places: Vec<PathBuf>,
    },
    NoImage(String),
    Pull {
        image: String,
        said: String,
    },
    Workspace {
        folder: PathBuf,
        why: &'static str,
    },
    LinuxOnly,
    Random(io::Error),
    Read(PathBuf, io::Error),
    Write(PathBuf, io::Error),
    /// A result that its reader never got.
    Output(io::Error),
    Start(OsString, io::Error),
    ProxyDown {
        said: String,
    },
    Execd(&'static str, io::Error),
    Proxy(&'static str, io::Error),
    Unhealthy(usize),
    /// A bundle that is not what it says, or not whose it should be.
    Bundle {
        folder: PathBuf,
        why: String,
    },
}

impl Error {
    /// What a caller can read from it: 2 for a line that was not understood, 125 for everything that failed before the
    /// agent could run.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Setting { .. } | Self::ConfigFile { .. } | Self::Unfit { .. } => 2,
            Self::Unhealthy(_) => 1,
            _ => 125,
        }
    }

    /// What to type next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage(_) => Some("aifo-coder --help".to_owned()),
            Self::Setting { .. } | Self::ConfigFile { .. } => {
                Some("aifo-coder --help lists every setting and what it takes".to_owned())
            }
            Self::Unfit { instead, .. } => Some(instead.clone()),
            Self::NoHome => Some("HOME=/home/you aifo-coder ...".to_owned()),
            Self::NoState(..) => Some("AIFO_CODER_STATE_DIR=FOLDER, one that you may write".to_owned()),
            Self::Locked { .. } => Some("end that session, or work in a clone: git clone . ../other".to_owned()),
            Self::NoProfile { .. } => Some("cargo xtask apparmor, or AIFO_CODER_APPARMOR_PROFILE=none".to_owned()),
            Self::DockerMissing(_) => Some("install Docker, or run without isolation: --runtime local".to_owned()),
            Self::DockerNotRunning => Some("start it: sudo systemctl start docker, or open Docker Desktop".to_owned()),
            Self::DockerDenied => {
                Some("sudo usermod -aG docker \"$USER\", then log in again; or use rootless Docker".to_owned())
            }
            Self::NoBinaries { .. } => Some("cargo xtask build".to_owned()),
            Self::NoImage(image) => {
                let name = image.trim_start_matches("aifo-coder-");
                let (name, tag) = name.split_once(':').unwrap_or((name, ""));
                Some(match (tag == crate::RELEASE, name.starts_with("toolchain-")) {
                    (true, _) => format!("cargo xtask images {name}, or name another image"),
                    // Another version, which nothing of ours builds.
                    (false, true) => {
                        "name an image that is here, or take the official one: toolchain.KIND-official = 1".to_owned()
                    }
                    (false, false) => "name an image that is here: docker images".to_owned(),
                })
            }
            Self::Pull { .. } => Some("docker login, or name an image that is here".to_owned()),
            Self::Workspace { why, .. } if why.contains("home") => {
                Some("cd to a project, or AIFO_CODER_ALLOW_HOME=1".to_owned())
            }
            Self::Workspace { .. } => Some("cd to a project".to_owned()),
            Self::ProxyDown { .. } | Self::Unhealthy(_) => Some("aifo-coder -v doctor".to_owned()),
            Self::Bundle { .. } => {
                Some("nothing was loaded; copy the bundle again, and ask its maker for its digest".to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::Unfit { what: why, .. } => f.write_str(why),
            Self::Setting { origin, why } => write!(f, "{origin}: {why}"),
            Self::ConfigFile { file, why } => write!(f, "cannot obey `{}`: {why}", file.display()),
            Self::NoHome => f.write_str("HOME names no folder, and the agent's state must be kept somewhere"),
            Self::NoState(folder, cause) => {
                write!(f, "cannot keep the agent's state in `{}`: {cause}", folder.display())
            }
            Self::Locked { workspace, holder: Some(holder) } => {
                write!(f, "`{}` already has an agent: {holder}", workspace.display())
            }
            Self::Locked { workspace, holder: None } => {
                write!(f, "`{}` already has an agent, which has left no name", workspace.display())
            }
            Self::NoProfile { profile, why } => write!(f, "AppArmor profile `{profile}` cannot be used: {why}"),
            Self::DockerMissing(program) => write!(f, "`{}` is not installed", program.display()),
            Self::DockerNotRunning => f.write_str("docker is installed, but its daemon does not answer"),
            Self::DockerDenied => f.write_str("docker's daemon is running, but you may not use it"),
            Self::Docker { command, said } => write!(f, "`docker {command}` failed: {said}"),
            Self::Platform(platform) => write!(f, "docker runs {platform} containers; they have to be linux ones"),
            Self::NoBinaries { linux, places } => {
                let places: Vec<String> = places.iter().map(|place| format!("`{}`", place.display())).collect();
                write!(f, "no static programs for {linux} in {}", places.join(", "))
            }
            Self::NoImage(image) => write!(f, "image `{image}` is not here"),
            Self::Pull { image, said } => write!(f, "cannot pull `{image}`: {}", said.lines().last().unwrap_or("")),
            Self::Workspace { folder, why } => write!(f, "`{}` cannot be the workspace: {why}", folder.display()),
            Self::LinuxOnly => f.write_str("the local runtime needs Linux"),
            Self::Random(cause) => write!(f, "no randomness for the session's secrets: {cause}"),
            Self::Read(path, cause) => write!(f, "cannot read `{}`: {cause}", path.display()),
            Self::Write(path, cause) => write!(f, "cannot write `{}`: {cause}", path.display()),
            Self::Output(cause) => write!(f, "cannot write to standard output: {cause}"),
            Self::Start(program, cause) => write!(f, "cannot start `{}`: {cause}", program.display()),
            Self::ProxyDown { said } if said.is_empty() => f.write_str("the proxy ended before the session did"),
            Self::ProxyDown { said } => write!(f, "the proxy ended before the session did: {said}"),
            Self::Execd(what, cause) => write!(f, "execd {what}: {cause}"),
            Self::Proxy(what, cause) => write!(f, "proxy {what}: {cause}"),
            Self::Unhealthy(count) => write!(f, "{count} of the checks failed"),
            Self::Bundle { folder, why } => write!(f, "bundle `{}` is refused: {why}", folder.display()),
        }
    }
}

impl error::Error for Error {}
