//! What a container is to be, and the `docker run` arguments that say so. Pure.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// Two bytes that no terminal sends, since no UTF-8 holds them: docker has keys of its own for leaving a container, would
/// hold the first of them back until the next key, and report the leaving as success.
const NO_KEYS: &[u8] = b"\xff,\xfe";

/// What a container's standard input is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// What the caller of docker has, or hands over.
    #[default]
    Callers,
    /// The same, a terminal that becomes the container's own.
    Terminal,
    /// At its end from the start.
    Empty,
}

use aifo_shim::given;

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunSpec {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) image: String,
    /// The program that stands in for the image's entrypoint.
    pub(crate) entrypoint: String,
    pub(crate) args: Vec<OsString>,
    /// `uid:gid`.
    pub(crate) user: String,
    pub(crate) network: Network,
    /// Another container whose volumes are mounted at the same places.
    pub(crate) volumes_from: Option<String>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) mounts: Vec<Mount>,
    /// Folders in memory, writable for everybody.
    pub(crate) tmpfs: Vec<String>,
    pub(crate) env: Vec<Env>,
    pub(crate) workdir: Option<String>,
    pub(crate) stdin: Stdin,
    pub(crate) read_only: bool,
    pub(crate) pids: u32,
    pub(crate) memory: Option<String>,
    /// SELinux level that all containers of a session share, so that descriptors can pass between them.
    pub(crate) selinux_level: String,
    /// AppArmor profile; docker's own choice where there is none.
    pub(crate) apparmor: Option<String>,
}

/// Where a container's network namespace comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Network {
    /// Its own, in the named network.
    Own {
        network: String,
        hostname: String,
        /// `IP:HOST:PORT` each.
        published: Vec<String>,
    },
    /// That of another container.
    Of(String),
}

impl Default for Network {
    fn default() -> Self {
        Self::Own { network: "none".to_owned(), hostname: String::new(), published: Vec::new() }
    }
}

/// A docker volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Anonymous volumes are removed with the last container that uses them.
    pub(crate) name: Option<String>,
    pub(crate) target: &'static str,
    pub(crate) read_only: bool,
    pub(crate) label: Option<(String, String)>,
}

/// A host folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    pub(crate) target: String,
    pub(crate) read_only: bool,
}

/// A variable of the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Env {
    /// Shown in argv.
    Plain(String, String),
    /// Its value travels in the docker client's environment.
    Secret(String, String),
    /// The same under another name, behind [`given::PREFIX`], until the entrypoint starts the agent: what the user gives the agent
    /// must not be obeyed by the docker client.
    Given(String, String),
    /// As it is in this process's environment, which the docker client inherits.
    Inherited(String),
}

impl Env {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Plain(name, _) | Self::Secret(name, _) | Self::Given(name, _) | Self::Inherited(name) => name,
        }
    }

    /// Name and value, where the value is not the caller's own.
    pub(crate) fn value(&self) -> Option<(&str, &str)> {
        match self {
            Self::Plain(name, value) | Self::Secret(name, value) | Self::Given(name, value) => Some((name, value)),
            Self::Inherited(_) => None,
        }
    }

    /// What the docker client's environment needs besides what it inherits.
    pub(super) fn value_for_client(&self) -> Option<(String, &str)> {
        match self {
            Self::Secret(_, value) | Self::Given(_, value) => Some((self.argument(), value)),
            Self::Plain(..) | Self::Inherited(_) => None,
        }
    }

    fn argument(&self) -> String {
        match self {
            Self::Plain(name, value) => format!("{name}={value}"),
            Self::Secret(name, _) | Self::Inherited(name) => name.clone(),
            Self::Given(name, _) => format!("{}{name}", given::PREFIX),
        }
    }
}

impl RunSpec {
    /// The arguments behind `docker`. Nothing in them is secret.
    pub(crate) fn argv(&self) -> Vec<OsString> {
        let mut argv = Argv::default();
        argv.words(&["run", "--rm"]);
        if self.stdin != Stdin::Empty {
            argv.word("--interactive");
        }
        if self.stdin == Stdin::Terminal {
            argv.words(&["--tty", "--detach-keys"]);
            argv.0.push(OsStr::from_bytes(NO_KEYS).to_owned());
        }
        argv.option("--name", &self.name);
        self.labels.iter().for_each(|(name, value)| argv.option("--label", &format!("{name}={value}")));
        argv.words(&["--pull", "never", "--log-driver", "none", "--stop-timeout", "1"]);
        match &self.network {
            Network::Own { network, hostname, published } => {
                argv.option("--network", network);
                argv.option("--hostname", hostname);
                published.iter().for_each(|port| argv.option("--publish", port));
            }
            Network::Of(container) => argv.option("--network", &format!("container:{container}")),
        }
        self.harden(&mut argv);
        self.volumes_from.iter().for_each(|container| argv.option("--volumes-from", container));
        self.volumes.iter().for_each(|volume| argv.option("--mount", &volume.argument()));
        self.mounts.iter().for_each(|mount| argv.option("--mount", &mount.argument()));
        self.tmpfs.iter().for_each(|place| argv.option("--tmpfs", &format!("{place}:rw,exec,nosuid,nodev,mode=1777")));
        self.workdir.iter().for_each(|place| argv.option("--workdir", place));
        self.env.iter().for_each(|variable| argv.option("--env", &variable.argument()));
        argv.option("--entrypoint", &self.entrypoint);
        argv.word(&self.image);
        argv.0.extend(self.args.iter().cloned());
        argv.0
    }

    /// What no container of ours goes without.
    fn harden(&self, argv: &mut Argv) {
        argv.option("--user", &self.user);
        argv.words(&["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]);
        argv.option("--security-opt", &format!("label=level:{}", self.selinux_level));
        self.apparmor.iter().for_each(|profile| argv.option("--security-opt", &format!("apparmor={profile}")));
        argv.option("--pids-limit", &self.pids.to_string());
        self.memory.iter().for_each(|memory| argv.option("--memory", memory));
        if self.read_only {
            argv.word("--read-only");
        }
    }
}

impl Volume {
    fn argument(&self) -> String {
        self.argument_at(self.target)
    }

    /// The same volume at another place.
    pub(crate) fn argument_at(&self, target: &str) -> String {
        let mut fields = vec!["type=volume".to_owned(), format!("target={target}")];
        fields.extend(self.name.iter().map(|name| format!("source={name}")));
        fields.extend(self.label.iter().map(|(name, value)| format!("volume-label={name}={value}")));
        fields.extend(self.read_only.then(|| "readonly".to_owned()));
        fields.join(",")
    }
}

impl Mount {
    fn argument(&self) -> String {
        let source = field(&format!("source={}", self.source.display()));
        let target = field(&format!("target={}", self.target));
        let read_only = if self.read_only { ",readonly" } else { "" };
        format!("type=bind,{source},{target}{read_only}")
    }
}

/// Docker reads the fields of `--mount` as a line of CSV, so a path with commas, quotes or line ends is quoted.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[derive(Default)]
struct Argv(Vec<OsString>);

impl Argv {
    fn word(&mut self, word: &str) {
        self.0.push(word.into());
    }

    fn words(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.word(word));
    }

    fn option(&mut self, name: &str, value: &str) {
        self.words(&[name, value]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(source: &str) -> String {
        Mount { source: source.into(), target: "/workspace".into(), read_only: false }.argument()
    }

    #[test]
    fn t52_any_workspace_path_is_one_field() {
        assert_eq!(bind("/a b:c"), "type=bind,source=/a b:c,target=/workspace");
        assert_eq!(bind("/a,b"), "type=bind,\"source=/a,b\",target=/workspace");
        assert_eq!(bind("/a\"b\n"), "type=bind,\"source=/a\"\"b\n\",target=/workspace");
        assert_eq!(bind("/-ü"), "type=bind,source=/-ü,target=/workspace");
        let odd = Mount { source: "/a".into(), target: "/b,\"c".into(), read_only: true }.argument();
        assert_eq!(odd, "type=bind,source=/a,\"target=/b,\"\"c\",readonly");
    }

    #[test]
    fn every_container_is_hardened_and_shows_no_secret() {
        let spec = RunSpec {
            image: "image".into(),
            env: vec![
                Env::Secret("AIFO_TOOLEEXEC_TOKEN".into(), "hidden".into()),
                Env::Given("HTTPS_PROXY".into(), "hidden".into()),
                Env::Plain("A".into(), "b".into()),
            ],
            args: vec!["--".into(), "--tty".into()],
            ..RunSpec::default()
        };
        let argv: Vec<String> = spec.argv().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let line = argv.join(" ");
        for part in [
            "--rm",
            "--cap-drop ALL",
            "no-new-privileges",
            "--pids-limit",
            "--env AIFO_TOOLEEXEC_TOKEN --env AIFO_ENV_",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("hidden") && line.contains("--env AIFO_ENV_HTTPS_PROXY --env A=b"));
        // The client itself must not take the agent's proxy for its own.
        let told: Vec<_> = spec.env.iter().filter_map(Env::value_for_client).collect();
        assert_eq!(told[1], ("AIFO_ENV_HTTPS_PROXY".to_owned(), "hidden"));
        assert!(line.ends_with("image -- --tty"));
    }
}
