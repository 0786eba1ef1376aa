//! Where settings come from: options, variables, the project's file, the user's file.
//!
//! The project's file lies in the workspace and is the agent's to write. So it must be a plain file of sensible size, it
//! is read as data only, and what it may say is the table's decision.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    Origin,
    file::{self, Entry},
    table::{self, Kind, Setting},
};
use crate::{error::Error, near::nearest};

/// No configuration is longer.
const MAX_FILE: u64 = 256 * 1024;

/// Everything that can have an opinion.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Options in the order given.
    pub(crate) options: Vec<(&'static Setting, String)>,
    pub(crate) variables: Vec<(String, OsString)>,
    /// The project's folder, whose `.aifo-coder/config` counts.
    pub(crate) project: Option<PathBuf>,
    pub(crate) user: Option<PathBuf>,
}

/// What the files say, the nearer one first.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<(Entry, Origin)>);

impl Sources {
    /// Those of this process, with the options that were given.
    pub(crate) fn of_process(options: Vec<(&'static Setting, String)>) -> Self {
        let variables = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Self { options, variables, project: env::current_dir().ok(), user: user_file() }
    }

    pub(super) fn option(&self, setting: &'static Setting) -> Option<(Vec<String>, Origin)> {
        let given = self.options.iter().filter(|(option, _)| option.key == setting.key);
        collect(setting, given.map(|(_, value)| value.clone()), Origin::Option(setting.option))
    }

    /// An empty variable is the same as none. A list is separated by blanks.
    pub(super) fn variable(&self, setting: &'static Setting) -> Option<(Vec<String>, Origin)> {
        let named = |name: &str| self.variables.iter().find(|(variable, _)| variable == name);
        let (_, value) = named(setting.variable).filter(|_| !setting.variable.is_empty())?;
        let value = value.to_string_lossy().into_owned();
        let origin = Origin::Variable(setting.variable);
        match setting.kind {
            _ if value.is_empty() => None,
            Kind::List => collect(setting, value.split_whitespace().map(str::to_owned), origin),
            _ => Some((vec![value], origin)),
        }
    }

    /// The files' entries, and what is to be said about those that do not count.
    pub(super) fn entries(&self) -> Result<(Files, Vec<String>), Error> {
        let (mut files, mut warnings) = (Files::default(), Vec::new());
        let project = self.project.as_ref().map(|folder| folder.join(".aifo-coder/config"));
        for (path, is_project) in
            project.iter().map(|path| (path, true)).chain(self.user.iter().map(|path| (path, false)))
        {
            for entry in read(path, is_project)? {
                let Some(setting) = table::by_key(&entry.key) else {
                    return Err(Error::ConfigFile { file: path.clone(), why: unknown(&entry) });
                };
                let (file, line) = (path.clone(), entry.line);
                // An image in a toolchain's place is a program to run.
                let widens = setting.widens || (setting.key == "session.toolchain" && entry.value.contains(['=', '@']));
                if is_project && widens {
                    let place = path.display();
                    warnings.push(format!(
                        "{place}:{line}: `{}` counts only in your own file or on the command line",
                        entry.key
                    ));
                    continue;
                }
                let origin = if is_project { Origin::Project { file, line } } else { Origin::User { file, line } };
                files.0.push((entry, origin));
            }
        }
        Ok((files, warnings))
    }
}

impl Files {
    /// Of a list all entries of the nearer file, of anything else its last one.
    pub(super) fn of(&self, setting: &'static Setting) -> Option<(Vec<String>, Origin)> {
        let is_project = |origin: &Origin| matches!(origin, Origin::Project { .. });
        let own = || self.0.iter().filter(|(entry, _)| entry.key == setting.key);
        let from_project = own().any(|(_, origin)| is_project(origin));
        let near: Vec<_> = own().filter(|(_, origin)| is_project(origin) == from_project).collect();
        let (_, origin) = near.last()?;
        collect(setting, near.iter().map(|(entry, _)| entry.value.clone()), origin.clone())
    }
}

fn collect(setting: &Setting, values: impl Iterator<Item = String>, origin: Origin) -> Option<(Vec<String>, Origin)> {
    let mut values: Vec<String> = values.collect();
    if setting.kind != Kind::List {
        values = values.pop().into_iter().collect();
    }
    (!values.is_empty()).then_some((values, origin))
}

/// `$XDG_CONFIG_HOME/aifo-coder/config`, or below `~/.config`.
fn user_file() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(config.join("aifo-coder/config"))
}

/// A key that nobody knows, and the one that was meant where that can be guessed.
fn unknown(entry: &Entry) -> String {
    let meant = nearest(&entry.key, table::SETTINGS.iter().map(|setting| setting.key));
    let meant = meant.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
    format!("line {}: no setting `{}`{meant}", entry.line, entry.key)
}

/// A file's entries; none when there is no file.
fn read(path: &Path, is_project: bool) -> Result<Vec<Entry>, Error> {
    let failed = |why: String| Error::ConfigFile { file: path.to_owned(), why };
    let text = match read_text(path, is_project) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    file::parse(&text).map_err(|malformed| failed(malformed.to_string()))
}

fn read_text(path: &Path, is_project: bool) -> io::Result<String> {
    // The user's own file may be a link into a folder of dot files; one in the workspace could lead anywhere.
    let about = if is_project { fs::symlink_metadata(path)? } else { fs::metadata(path)? };
    if !about.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    if about.len() > MAX_FILE {
        return Err(io::Error::other("longer than any configuration"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}
