//! Every setting there is: key, variable, option, meaning, default, and who may set it. The one table.
//!
//! Help, completions, the man page, `config show` and the README's list come from here. A setting that *widens* what an
//! agent can reach, or names a program or image to run, counts only on the command line, in the environment and in the
//! user's own file: the project's file is part of the workspace, which the agent writes.

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Path,
    Switch,
    Number {
        least: u64,
        most: u64,
    },
    Choice(&'static [&'static str]),
    /// Any number of values; those of the nearest origin count, all of them.
    List,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    /// `section.name`, as config files have it.
    pub(crate) key: &'static str,
    /// Empty where the environment has no say.
    pub(crate) variable: &'static str,
    /// Of the command line, without dashes; empty where there is none.
    pub(crate) option: &'static str,
    /// What the option's value is called in the help.
    pub(crate) value: &'static str,
    pub(crate) meaning: &'static str,
    /// Empty for none.
    pub(crate) default: &'static str,
    pub(crate) kind: Kind,
    pub(crate) widens: bool,
}

impl Setting {
    const fn new(key: &'static str, variable: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self { key, variable, option: "", value: "", meaning, default: "", kind, widens: true }
    }

    const fn option(mut self, option: &'static str, value: &'static str) -> Self {
        (self.option, self.value) = (option, value);
        self
    }

    const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// A project may set it too.
    const fn harmless(mut self) -> Self {
        self.widens = false;
        self
    }
}

use Kind::{Choice, List, Number, Path, Switch, Text};

const SECONDS: Kind = Number { least: 0, most: 31_536_000 };

/// All settings, in the order of the help.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::new(
        "session.toolchain",
        "AIFO_CODER_TOOLCHAINS",
        List,
        "add a sidecar: rust, node, python, c-cpp, go; repeatable",
    )
    .option("toolchain", "KIND[@VERSION][=IMAGE]")
    .harmless(),
    Setting::new("session.tool", "", List, "carry one more tool to a sidecar of this kind; repeatable")
        .option("tool", "KIND:NAME"),
    Setting::new(
        "session.runtime",
        "AIFO_CODER_RUNTIME",
        Choice(&["docker", "local"]),
        "docker, or local: plain processes, no isolation",
    )
    .option("runtime", "NAME")
    .or("docker"),
    Setting::new("session.env", "", List, "set a variable for the agent, or pass it on; repeatable")
        .option("env", "NAME[=VALUE]"),
    Setting::new("session.env-file", "", List, "set variables from a file of NAME=VALUE lines; repeatable")
        .option("env-file", "FILE"),
    Setting::new("session.volume", "", List, "mount a host folder into the agent's container; repeatable")
        .option("volume", "HOST:PATH[:ro]"),
    Setting::new(
        "session.publish",
        "",
        List,
        "publish a port of the session, on loopback unless IP is given; repeatable",
    )
    .option("publish", "[IP:]HOST:PORT"),
    Setting::new("session.network", "AIFO_SESSION_NETWORK", Text, "Docker network of a session")
        .option("network", "NAME")
        .or("bridge"),
    Setting::new(
        "session.user",
        "AIFO_CODER_USER",
        Text,
        "uid:gid in the containers (default: who can write the workspace)",
    ),
    Setting::new("session.ca", "AIFO_CODER_CA", Path, "PEM bundle that the containers trust instead of their own")
        .option("ca", "FILE"),
    Setting::new("session.allow-home", "AIFO_CODER_ALLOW_HOME", Switch, "allow the home directory as a workspace")
        .or("0"),
    Setting::new("session.docker", "AIFO_CODER_DOCKER", Text, "Docker-compatible program to run").or("docker"),
    Setting::new(
        "session.binaries",
        "AIFO_CODER_BINARIES",
        Path,
        "folder with linux-amd64/ and linux-arm64/ (default: the launcher's)",
    ),
    Setting::new("image.agent", "AIFO_CODER_IMAGE", Text, "use this image for the agent, as it is written")
        .option("image", "REF"),
    Setting::new("image.flavor", "AIFO_CODER_IMAGE_FLAVOR", Choice(&["full", "slim"]), "flavor of the agents' images")
        .option("flavor", "NAME")
        .or("full")
        .harmless(),
    Setting::new("image.prefix", "AIFO_CODER_IMAGE_PREFIX", Text, "beginning of our images' names").or("aifo-coder"),
    Setting::new("image.tag", "AIFO_CODER_IMAGE_TAG", Text, "tag of our images").or(crate::RELEASE),
    Setting::new(
        "image.internal-registry",
        "AIFO_CODER_INTERNAL_REGISTRY_PREFIX",
        Text,
        "registry and path before our images' names",
    ),
    Setting::new(
        "image.mirror-registry",
        "AIFO_CODER_MIRROR_REGISTRY_PREFIX",
        Text,
        "registry and path before other images' names, where no internal registry is set",
    ),
    Setting::new("image.auto-login", "AIFO_CODER_AUTO_LOGIN", Switch, "offer one docker login when a registry refuses")
        .or("1"),
    toolchain("toolchain.rust-image", "AIFO_RUST_TOOLCHAIN_IMAGE", "image of the rust sidecar"),
    toolchain("toolchain.rust-version", "AIFO_RUST_TOOLCHAIN_VERSION", "version of the rust sidecar"),
    official("toolchain.rust-official", "AIFO_RUST_TOOLCHAIN_USE_OFFICIAL", "use rust:VERSION-bookworm"),
    toolchain("toolchain.node-image", "AIFO_NODE_TOOLCHAIN_IMAGE", "image of the node sidecar"),
    toolchain("toolchain.node-version", "AIFO_NODE_TOOLCHAIN_VERSION", "version of the node sidecar"),
    official("toolchain.node-official", "AIFO_NODE_TOOLCHAIN_USE_OFFICIAL", "use node:VERSION-bookworm"),
    toolchain("toolchain.python-image", "AIFO_PYTHON_TOOLCHAIN_IMAGE", "image of the python sidecar"),
    toolchain("toolchain.python-version", "AIFO_PYTHON_TOOLCHAIN_VERSION", "version of the python sidecar"),
    official("toolchain.python-official", "AIFO_PYTHON_TOOLCHAIN_USE_OFFICIAL", "use python:VERSION-bookworm"),
    toolchain("toolchain.c-cpp-image", "AIFO_CCPP_TOOLCHAIN_IMAGE", "image of the c-cpp sidecar"),
    toolchain("toolchain.c-cpp-version", "AIFO_CCPP_TOOLCHAIN_VERSION", "version of the c-cpp sidecar"),
    official("toolchain.c-cpp-official", "AIFO_CCPP_TOOLCHAIN_USE_OFFICIAL", "use gcc:VERSION-bookworm"),
    toolchain("toolchain.go-image", "AIFO_GO_TOOLCHAIN_IMAGE", "image of the go sidecar"),
    toolchain("toolchain.go-version", "AIFO_GO_TOOLCHAIN_VERSION", "version of the go sidecar"),
    official("toolchain.go-official", "AIFO_GO_TOOLCHAIN_USE_OFFICIAL", "use golang:VERSION-bookworm"),
    Setting::new("toolchain.cache", "AIFO_TOOLCHAIN_CACHE", Switch, "keep the sidecars' caches in volumes")
        .option("cache", "1|0")
        .or("1"),
    Setting::new(
        "tool.max-secs",
        "AIFO_TOOLEEXEC_MAX_SECS",
        SECONDS,
        "limit on a tool's run time in seconds; 0 is none",
    )
    .or("0"),
    Setting::new(
        "tool.max-calls",
        "AIFO_TOOLEEXEC_MAX_CONNECTIONS",
        Number { least: 1, most: 1000 },
        "tools that run at once; others wait",
    )
    .or("256"),
    Setting::new("tool.tcp", "AIFO_TOOLEEXEC_USE_TCP", Switch, "serve the agent by TCP on the session's loopback")
        .or("0"),
    Setting::new("tool.verbose", "AIFO_TOOLCHAIN_VERBOSE", Switch, "shims say when they run a tool in place")
        .or("0")
        .harmless(),
    Setting::new(
        "agent.smart",
        "AIFO_SHIM_SMART",
        Choice(&["auto", "1", "0"]),
        "run an agent's own runtime in place: as its kind needs, always, never",
    )
    .or("auto"),
    Setting::new(
        "agent.state",
        "AIFO_CODER_STATE_DIR",
        Path,
        "folder that keeps the agents' state (default: in XDG_STATE_HOME)",
    ),
    Setting::new(
        "agent.config",
        "AIFO_CODER_CONFIG_HOST_DIR",
        Path,
        "folder with global/ and AGENT/ to copy into the container",
    ),
    Setting::new("agent.config-enable", "AIFO_CONFIG_ENABLE", Switch, "copy configuration into the container").or("1"),
    Setting::new(
        "agent.config-max-size",
        "AIFO_CONFIG_MAX_SIZE",
        Number { least: 1, most: 67_108_864 },
        "largest configuration file that is copied, in bytes",
    )
    .or("262144"),
    Setting::new(
        "agent.config-extensions",
        "AIFO_CONFIG_ALLOW_EXT",
        Text,
        "endings of configuration files that are copied",
    )
    .or("json,toml,yaml,yml,ini,conf,crt,pem,key,token,gitconfig"),
    Setting::new(
        "agent.git-sign",
        "AIFO_CODER_GIT_SIGN",
        Choice(&["auto", "1", "0"]),
        "let the agent sign commits with your GnuPG keys: if git is set to, always, never",
    )
    .or("auto"),
    Setting::new(
        "agent.apparmor",
        "AIFO_CODER_APPARMOR_PROFILE",
        Text,
        "AppArmor profile of the containers; none for none",
    )
    .or("auto"),
    Setting::new("ui.color", "AIFO_CODER_COLOR", Choice(&["auto", "always", "never"]), "colour in what is printed")
        .option("color", "WHEN")
        .or("auto")
        .harmless(),
];

const fn toolchain(key: &'static str, variable: &'static str, meaning: &'static str) -> Setting {
    Setting::new(key, variable, Text, meaning)
}

const fn official(key: &'static str, variable: &'static str, meaning: &'static str) -> Setting {
    Setting::new(key, variable, Switch, meaning).or("0")
}

/// The setting with this key.
pub(crate) fn by_key(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// The setting with this option of the command line.
pub(crate) fn by_option(option: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| !option.is_empty() && setting.option == option)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_stands_in_the_table_twice() {
        let all = |of: fn(&Setting) -> &'static str| {
            SETTINGS.iter().map(of).filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        for names in [all(|setting| setting.key), all(|setting| setting.variable), all(|setting| setting.option)] {
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        }
    }

    #[test]
    fn what_runs_or_reaches_something_is_the_users_to_set() {
        let harmless: Vec<_> = SETTINGS.iter().filter(|setting| !setting.widens).map(|setting| setting.key).collect();
        assert_eq!(harmless, ["session.toolchain", "image.flavor", "tool.verbose", "ui.color"]);
    }
}
