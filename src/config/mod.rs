//! What the user has set: command line before environment before project before user's file before default.
//!
//! Read once at the start and passed down; nothing else in the launcher looks at the environment for settings, and
//! nothing ever writes to it. Every value knows where it came from, and an error names that place.

mod file;
mod sources;
pub(crate) mod table;

use std::{env, fmt, path::PathBuf};

pub(crate) use self::{
    sources::Sources,
    table::{Kind, SETTINGS, Setting},
};
use crate::{
    error::Error,
    toolchain::{Spec, is_tool_name},
};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Option(&'static str),
    Variable(&'static str),
    Project { file: PathBuf, line: usize },
    User { file: PathBuf, line: usize },
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(option) => write!(f, "--{option}"),
            Self::Variable(name) => f.write_str(name),
            Self::Project { file, line } | Self::User { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A setting's values and where they came from; empty when it is not set and has no default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) setting: &'static Setting,
    pub(crate) values: Vec<String>,
    pub(crate) origin: Origin,
}

/// Every setting, resolved and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    resolved: Vec<Resolved>,
    /// Sentences about what was passed over.
    pub(crate) warnings: Vec<String>,
}

/// Where agent and tools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Docker,
    /// Plain processes of this host: no isolation.
    Local,
}

impl Config {
    /// Resolves every setting of the table.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range, [`Error::ConfigFile`] for a file that cannot be obeyed.
    pub(crate) fn resolve(sources: &Sources) -> Result<Self, Error> {
        let (files, warnings) = sources.entries()?;
        let mut resolved = Vec::new();
        for setting in SETTINGS {
            let found = sources.option(setting).or_else(|| sources.variable(setting)).or_else(|| files.of(setting));
            let (values, origin) = found.unwrap_or_else(|| {
                let default = Some(setting.default.to_owned()).filter(|default| !default.is_empty());
                (default.into_iter().collect(), Origin::Default)
            });
            for value in &values {
                check(setting, value).map_err(|why| Error::Setting { origin: origin.clone(), why })?;
            }
            resolved.push(Resolved { setting, values, origin });
        }
        let config = Self { resolved, warnings };
        // Their syntax is their own; checked here so that a typo in a file is found before anything is done.
        config.toolchains()?;
        config.tools()?;
        Ok(config)
    }

    /// All of them, in the table's order.
    pub(crate) fn all(&self) -> &[Resolved] {
        &self.resolved
    }

    /// The values of a list; those of any other setting are one or none.
    pub(crate) fn list(&self, key: &str) -> &[String] {
        self.find(key).map_or(&[], |resolved| &resolved.values)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.list(key).last().map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Absolute: docker is told of it, and a relative one means the current folder's. `~/` is the user's HOME.
    pub(crate) fn path(&self, key: &str) -> Option<PathBuf> {
        let path = expanded(self.text(key)?);
        Some(std::path::absolute(&path).unwrap_or(path))
    }

    /// The docker program: a path, or a name that PATH knows.
    pub(crate) fn docker(&self) -> PathBuf {
        expanded(self.text("session.docker").unwrap_or("docker"))
    }

    pub(crate) fn is_on(&self, key: &str) -> bool {
        self.text(key).and_then(switch).unwrap_or(false)
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.text(key).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn runtime(&self) -> Runtime {
        if self.text("session.runtime") == Some("local") { Runtime::Local } else { Runtime::Docker }
    }

    /// The sidecars asked for; of several for one kind the last.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub(crate) fn toolchains(&self) -> Result<Vec<Spec>, Error> {
        let specs = self.list("session.toolchain").iter().map(|text| Spec::parse(text));
        let specs = specs.collect::<Result<Vec<_>, _>>().map_err(|error| self.misread("session.toolchain", error))?;
        Ok(Spec::last_of_each_kind(specs))
    }

    /// Tools beyond the table: kind and name.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub(crate) fn tools(&self) -> Result<Vec<(String, String)>, Error> {
        let tool = |text: &String| {
            let bad = || Error::Usage(format!("tool `{text}` is not KIND:NAME"));
            let (kind, name) = text.split_once(':').ok_or_else(bad)?;
            let kind = Spec::parse(kind)?.kind.name.to_owned();
            if is_tool_name(name) { Ok((kind, name.to_owned())) } else { Err(bad()) }
        };
        let tools = self.list("session.tool").iter().map(tool).collect::<Result<_, Error>>();
        tools.map_err(|error| self.misread("session.tool", error))
    }

    /// Stands in for what the user left open.
    pub(crate) fn set_list(&mut self, key: &str, values: Vec<String>) {
        if let Some(resolved) = self.resolved.iter_mut().find(|resolved| resolved.setting.key == key) {
            resolved.values = values;
        }
    }

    fn find(&self, key: &str) -> Option<&Resolved> {
        self.resolved.iter().find(|resolved| resolved.setting.key == key)
    }

    /// What is wrong with a value, told of the place that it came from.
    fn misread(&self, key: &str, error: Error) -> Error {
        match self.find(key).map(|resolved| &resolved.origin) {
            None | Some(Origin::Option(_) | Origin::Default) => error,
            Some(origin) => Error::Setting { origin: origin.clone(), why: error.to_string() },
        }
    }
}

/// A path of the user's, as a file or a list has it: no shell has taken `~` for their HOME there.
pub(crate) fn expanded(text: &str) -> PathBuf {
    let below = text.strip_prefix("~/").or_else(|| (text == "~").then_some(""));
    let below_home = below.and_then(|below| Some(PathBuf::from(env::var_os("HOME")?).join(below)));
    below_home.unwrap_or_else(|| PathBuf::from(text))
}

/// Holds a value to its setting's kind; the error says what was expected.
fn check(setting: &Setting, value: &str) -> Result<(), String> {
    let fits = match setting.kind {
        Kind::Text | Kind::Path | Kind::List => !value.contains('\0'),
        Kind::Switch => switch(value).is_some(),
        Kind::Number { least, most } => value.parse().is_ok_and(|number: u64| (least..=most).contains(&number)),
        Kind::Choice(choices) => choices.contains(&value),
    };
    let fits = fits && (setting.key != "session.user" || value.is_empty() || is_user(value));
    if fits { Ok(()) } else { Err(format!("expected {}", expected(setting))) }
}

fn expected(setting: &Setting) -> String {
    match setting.kind {
        _ if setting.key == "session.user" => "UID:GID".to_owned(),
        Kind::Switch => "1 or 0".to_owned(),
        Kind::Number { least, most } => format!("a number from {least} to {most}"),
        Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        Kind::Text | Kind::Path | Kind::List => "text".to_owned(),
    }
}

fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn is_user(user: &str) -> bool {
    user.split_once(':').is_some_and(|(uid, gid)| uid.parse::<u32>().is_ok() && gid.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests;
