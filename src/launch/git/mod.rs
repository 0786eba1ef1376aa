//! The user's git identity: name, mail, and whether commits are signed.
//!
//! Asked of git itself, for what the system and the user have configured, included files too. It is run in `/` and told of
//! a repository that is none, so no workspace has a say in it (threat T53); which of the conditional includes count is
//! judged in `condition`.
//!
//! A container is told in its user's own configuration file, where the repository's settings come first, as they do on
//! the host. Only whether to sign may stand above them, in variables: where no key enters, no commit could be signed.

mod condition;

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What is asked for, beside conditional includes: nothing that runs something.
const ASKED: &str =
    r"^((user|author|committer)\.(name|email)|user\.signingkey|commit\.gpgsign|gpg\.format|includeif\..*)$";
/// The caller's variables that say which files are the system's and the user's; every other one of git's is left out.
const FILES: [&str; 3] = ["GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"];
/// Includes within includes, as git counts them.
const DEEPEST: u8 = 10;

/// Whether the user's GnuPG keys are in a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Keys {
    #[default]
    Absent,
    Present,
}

/// What the user's configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Names and mails by their keys.
    who: BTreeMap<String, String>,
    signing_key: Option<String>,
    signs: bool,
    /// GnuPG's is the format when none is named.
    format: Option<String>,
    /// What the user says of signing here: `1`, `0`, or as git is set to.
    wish: Option<String>,
    /// What the user should know of it: files that git cannot read, and includes that nobody judged.
    pub(crate) notes: Vec<String>,
}

impl Identity {
    /// Asks git; empty where there is none, or it knows nobody.
    pub(crate) fn read(workspace: &Path, wish: Option<&str>) -> Self {
        let mut identity = Self { wish: wish.map(str::to_owned), ..Self::default() };
        let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok()).unwrap_or_default();
        let included = |file: &Path| {
            // One that is not there is no error for git either.
            let words = [OsStr::new("--includes"), OsStr::new("--file"), file.as_os_str()];
            if file.exists() { ask(&words) } else { Ok(Vec::new()) }
        };
        let place = Place { git_dir: &workspace.join(".git"), home: &home, included: &included };
        identity.take(ask(&[]), &place, DEEPEST);
        identity
    }

    /// Takes entries in their order, so that the last one counts, as it does for git.
    fn take(&mut self, asked: Asked, place: &Place<'_>, depth: u8) {
        let entries = asked.unwrap_or_else(|said| {
            self.notes.push(format!("git cannot say who commits: {said}"));
            Vec::new()
        });
        for entry in entries {
            match entry.key.strip_prefix("includeif.").and_then(|rest| rest.strip_suffix(".path")) {
                Some(condition) => self.include(condition, &entry, place, depth),
                None => self.set(&entry.key, &entry.value),
            }
        }
    }

    fn include(&mut self, condition: &str, entry: &Entry, place: &Place<'_>, depth: u8) {
        let beside = entry.file.parent().unwrap_or(Path::new("/"));
        let below_home = entry.value.strip_prefix("~/").map(|rest| place.home.join(rest));
        let file = below_home.unwrap_or_else(|| beside.join(&entry.value));
        match condition::holds(condition, &condition::Place { git_dir: place.git_dir, home: place.home, beside }) {
            Some(true) if depth > 0 => self.take((place.included)(&file), place, depth - 1),
            None if (place.included)(&file).is_ok_and(|entries| entries.iter().any(Entry::names_somebody)) => {
                let what = format!("git's includeIf `{condition}` is not followed");
                self.notes.push(format!("{what}; to say who commits here: git config user.email ADDRESS"));
            }
            _ => {}
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let value = value.to_owned();
        match key {
            "user.signingkey" => self.signing_key = Some(value),
            "commit.gpgsign" => self.signs = is_true(&value),
            "gpg.format" => self.format = Some(value),
            _ if names_somebody(key) => drop(self.who.insert(key.to_owned(), value)),
            _ => {}
        }
    }

    /// Whether the agent shall sign with GnuPG: as git is set to, or as the user says here.
    pub(crate) fn signs(&self) -> bool {
        let is_gnupg = self.format.as_deref().is_none_or(|format| format == "openpgp");
        let is_wanted = match self.wish.as_deref() {
            Some("1") => true,
            Some("0") => false,
            _ => self.signs,
        };
        is_wanted && is_gnupg
    }

    /// The text of a configuration file, which the repository's own settings overrule.
    pub(crate) fn file(&self, keys: Keys) -> String {
        let mut settings: Vec<(&str, &str)> = self.who.iter().map(|(key, value)| (&**key, &**value)).collect();
        if keys == Keys::Present {
            settings.push(("commit.gpgsign", "true"));
            settings.extend(self.signing_key.iter().map(|key| ("user.signingkey", key.as_str())));
        }
        let lines = settings.into_iter().filter_map(|(key, value)| Some((key.split_once('.')?, value)));
        lines.map(|((section, name), value)| format!("[{section}]\n\t{name} = {}\n", quoted(value))).collect()
    }

    /// Variables that overrule the repository: no signing without keys, and always where the user says so here.
    pub(crate) fn variables(&self, keys: Keys) -> Vec<(&'static str, &'static str)> {
        let signs = match keys {
            Keys::Absent => "false",
            Keys::Present if self.wish.as_deref() == Some("1") => "true",
            Keys::Present => return Vec::new(),
        };
        vec![("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "commit.gpgsign"), ("GIT_CONFIG_VALUE_0", signs)]
    }
}

/// What git knows, or what it says is wrong with its files.
type Asked = Result<Vec<Entry>, String>;

/// What conditional includes are judged by, and read with.
struct Place<'a> {
    git_dir: &'a Path,
    home: &'a Path,
    included: &'a dyn Fn(&Path) -> Asked,
}

/// A setting, and the file that it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    file: PathBuf,
    key: String,
    value: String,
}

impl Entry {
    fn names_somebody(&self) -> bool {
        names_somebody(&self.key)
    }
}

fn names_somebody(key: &str) -> bool {
    let is_role = |section| matches!(section, "user" | "author" | "committer");
    key.split_once('.').is_some_and(|(section, name)| is_role(section) && matches!(name, "name" | "email"))
}

/// What git knows of [`ASKED`], in all the files that count where no repository is, or in the one that is named.
fn ask(from: &[&OsStr]) -> Asked {
    let mut git = Command::new("git");
    git.arg("config").args(from).args(["--null", "--show-origin", "--get-regexp", ASKED]).current_dir("/");
    let names = env::vars_os().map(|(name, _)| name);
    let is_strange = |name: &OsStr| {
        name.as_encoded_bytes().starts_with(b"GIT_") && !FILES.iter().any(|known| OsStr::new(known) == name)
    };
    for name in names.filter(|name| is_strange(name)) {
        git.env_remove(name);
    }
    // No repository, wherever `/` may lie.
    git.env("GIT_DIR", "/dev/null").stdin(Stdio::null());
    let Ok(output) = git.output() else { return Ok(Vec::new()) };
    match output.status.code() {
        // Nothing of it is set.
        Some(0 | 1) => Ok(parse(&output.stdout)),
        _ => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()),
    }
}

/// `file:PATH NUL key LF value NUL`; a switch that stands alone has no value, and is on.
fn parse(listed: &[u8]) -> Vec<Entry> {
    let mut fields = listed.split(|&byte| byte == 0).map(String::from_utf8_lossy);
    let mut entries = Vec::new();
    while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
        let (key, value) = setting.split_once('\n').unwrap_or((&setting, "true"));
        let file = PathBuf::from(origin.strip_prefix("file:").unwrap_or_default());
        entries.push(Entry { file, key: key.to_owned(), value: value.to_owned() });
    }
    entries
}

/// Git's words for a switch that is on; a number is on when it is not 0.
fn is_true(value: &str) -> bool {
    ["true", "yes", "on"].iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<i64>().is_ok_and(|number| number != 0)
}

/// A value as a configuration file has it.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests;
