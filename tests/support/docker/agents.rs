//! The agents as the README tells of them, a home in which all of them have been, and programs that stand in for theirs.
//!
//! Real agents have tests of their own. What is mounted, set and kept is the launcher's doing and the same for any
//! program, so here a shell is put under the agent's name.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{Launcher, Place};

/// What no container, no command line and no printed word may show where it does not belong.
pub(crate) const MARKER: &str = "marker-of-";
/// An image of ours that has nothing of an agent's in it.
pub(crate) const SHELL_IMAGE: &str = concat!("aifo-coder-shell:release-", env!("CARGO_PKG_VERSION"));

/// A row of the README's table of what enters the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Folders of HOME that are kept.
    pub(crate) kept: Vec<String>,
    /// Files of the user's HOME that are copied.
    pub(crate) copied: Vec<String>,
    pub(crate) credentials: Vec<String>,
}

/// The table, between its two marks.
pub(crate) const TABLE: (&str, &str) = ("<!-- agents: begin -->\n", "<!-- agents: end -->\n");

pub(crate) fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What the README says of every agent.
#[track_caller]
pub(crate) fn documented() -> Vec<Row> {
    let readme = fs::read_to_string(tree("README.md")).expect("a README");
    let (_, behind) = readme.split_once(TABLE.0).expect("the beginning of the table");
    let (table, _) = behind.split_once(TABLE.1).expect("the end of the table");
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Row> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells = line.split('|').skip(1).map(quoted);
            let mut next = || cells.next().expect("four cells");
            Row { name: next().remove(0), kept: next(), copied: next(), credentials: next() }
        })
        .collect();
    assert!(rows.len() >= 10, "{table}");
    rows
}

/// Every quoted word of the agents' sources, which name paths below HOME and variables.
fn words_of_sources() -> BTreeSet<String> {
    let files = fs::read_dir(tree("src/agent")).expect("the agents").flatten();
    let text: String = files.map(|file| fs::read_to_string(file.path()).expect("a source")).collect();
    text.split('"').filter(|word| !word.contains(char::is_whitespace)).map(str::to_owned).collect()
}

/// Every variable that some agent may see.
pub(crate) fn all_credentials() -> BTreeSet<String> {
    let is_variable = |word: &String| {
        word.len() > 4 && word.contains('_') && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    words_of_sources().into_iter().filter(is_variable).collect()
}

/// Gives the place a home in which every file that any agent knows of is there, and says in JSON which it is; with keys,
/// and a git identity that signs.
#[track_caller]
pub(crate) fn furnish(place: &Place) {
    let paths = words_of_sources().into_iter().filter(|word| word.starts_with('.') && word.len() > 2);
    let mut paths: Vec<String> = paths.collect();
    paths.extend([".gnupg/pubring.kbx", ".gnupg/random_seed"].map(str::to_owned));
    paths.extend([".config/aifo-coder/global/notes.json", ".ssh/id_rsa", ".netrc", "Documents/x"].map(str::to_owned));
    let names = documented().into_iter().map(|row| format!(".config/aifo-coder/{}/own.json", row.name));
    paths.extend(names);
    // The longest first, so that what is a folder is one already.
    paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in paths {
        let file = place.home().join(&path);
        if !file.exists() {
            fs::create_dir_all(file.parent().expect("a path below")).expect("its folder");
            fs::write(&file, format!("{{ \"file\": \"{path}\" }}\n")).expect("a file");
        }
    }
    let git =
        "[user]\n\tname = A Person\n\temail = person@example.org\n\tsigningkey = ABCD\n[commit]\n\tgpgsign = true\n";
    fs::write(place.home().join(".gitconfig"), git).expect("a file");
    place.own_all();
}

impl Launcher {
    /// Sets every credential of every agent to a value that can be found again, and a few that are nobody's.
    pub(crate) fn with_all_credentials(mut self) -> Self {
        let nobodys = ["AIFO_API_KEY", "AIFO_API_BASE", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"];
        for name in all_credentials().iter().map(String::as_str).chain(nobodys) {
            self.command.env(name, format!("{MARKER}{name}"));
        }
        self
    }
}

/// A session of an agent whose program is a shell that reads from standard input, in an image with nothing of its own.
#[track_caller]
pub(crate) fn stand_in(place: &Place, options: &[&str], agent: &str, args: &[&str]) -> Launcher {
    let program = place.path().join(format!("program-{agent}"));
    fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\" >/tmp/args\nexec /bin/sh\n").expect("a program");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("its owner may");
    let volume = format!("{}:/usr/local/bin/{agent}:ro", program.display());
    place.launcher(&[&["--image", SHELL_IMAGE, "--volume", &volume], options, &[agent], args].concat())
}
