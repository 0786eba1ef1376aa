//! A workspace whose repository lies elsewhere: a linked worktree, a submodule, a repository with a folder of its own.
//!
//! Its `.git` is a file or a link that names a place which the containers do not have, so every git command in them fails.
//! Told before the session, with what to type. The name is the workspace's word, so nothing is offered for mounting that
//! does not know this very worktree; no git is run, and little is read.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
};

use super::{
    places::WORKSPACE,
    quoted,
    volumes::{self, Taken},
};
use crate::docker::Mount;

/// Longer than any path; git's own files of this kind hold one.
const LONGEST: u64 = 8192;

/// What the user should know of the workspace's repository; none where git works as it is.
pub(super) fn warning(workspace: &Path, mounts: &[Mount], taken: &Taken<'_>) -> Option<String> {
    let named = pointer(&workspace.join(".git"))?;
    let inside = lexical(&Path::new(WORKSPACE).join(&named));
    if inside.starts_with(WORKSPACE) {
        return None;
    }
    let git_dir = workspace.join(&named);
    let (source, target) = match (common(&git_dir), common(&inside)) {
        (Some(source), Some(target)) if knows(&git_dir, workspace) => (source, target),
        _ => return (!is_mounted(&inside, mounts)).then(|| elsewhere(&named)),
    };
    let is_locked = git_dir.join("locked").exists();
    if is_mounted(&target, mounts) {
        let why = "`git worktree prune` in a container would drop this worktree, whose folder is not there";
        return (!is_locked).then(|| format!("{why}; before that: git worktree lock ."));
    }
    let Some(volume) = volume(&lexical(&source), &target, taken) else { return Some(elsewhere(&named)) };
    let lock = if is_locked { "" } else { "git worktree lock . && " };
    let why = "this worktree's repository lies outside the workspace, so git fails in the containers";
    Some(format!("{why}; give it to them: {lock}aifo-coder --volume {volume} ..."))
}

fn elsewhere(named: &Path) -> String {
    let shown: String =
        named.to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).take(200).collect();
    format!(
        "the repository lies outside the workspace (`.git` names `{shown}`), so git fails in the containers; \
         start in the folder that holds it, or in a clone: git clone . ../other"
    )
}

/// What `.git` names, where it is no folder.
fn pointer(git: &Path) -> Option<PathBuf> {
    if fs::symlink_metadata(git).ok()?.is_symlink() {
        return fs::read_link(git).ok();
    }
    let named = line(git)?;
    named.strip_prefix("gitdir: ").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The line of a plain file that holds nothing else.
fn line(file: &Path) -> Option<String> {
    let mut text = String::new();
    if !fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    let count = File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let line = text.trim_end_matches(['\n', '\r']);
    (u64::try_from(count).is_ok_and(|count| count < LONGEST) && !line.contains('\n')).then(|| line.to_owned())
}

/// `REPOSITORY/worktrees/NAME` belongs to the repository.
fn common(git_dir: &Path) -> Option<PathBuf> {
    let worktrees = git_dir.parent()?;
    (worktrees.file_name()? == "worktrees").then(|| worktrees.parent().map(Path::to_owned))?
}

/// Whether the repository says itself that this is its worktree, which no file of the workspace can make it say.
fn knows(git_dir: &Path, workspace: &Path) -> bool {
    let back = line(&git_dir.join("gitdir")).and_then(|back| fs::canonicalize(git_dir.join(back)).ok());
    back.is_some_and(|back| back == workspace.join(".git"))
}

fn is_mounted(path: &Path, mounts: &[Mount]) -> bool {
    mounts.iter().any(|mount| path.starts_with(&mount.target))
}

/// A volume as one types it; none where the session would refuse it.
fn volume(source: &Path, target: &Path, taken: &Taken<'_>) -> Option<String> {
    let (source, target) = (source.to_str()?, target.to_str()?);
    let word = format!("{source}:{target}");
    let is_plain = !source.contains(char::is_control) && !target.contains([':']);
    (is_plain && volumes::mounts(std::slice::from_ref(&word), taken).is_ok()).then(|| quoted(OsStr::new(&word)))
}

/// A path without `.` and `..`, as text: it is the containers', or becomes theirs.
fn lexical(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::launch::inside::Inside;

    /// A repository with a linked worktree beside it, as git lays them out.
    struct Scratch(PathBuf);

    impl Scratch {
        /// Not below `/tmp`, which is the session's own in every container.
        fn new(name: &str) -> Self {
            let scratch = Self(Path::new("/var/tmp").join(format!("aifo-worktree-{}-{name}", std::process::id())));
            fs::create_dir_all(scratch.0.join("main/.git/worktrees/side")).unwrap();
            fs::create_dir_all(scratch.0.join("side/below")).unwrap();
            scratch.put("main/.git/worktrees/side/gitdir", &format!("{}/side/.git\n", scratch.0.display()));
            scratch.put("side/.git", &format!("gitdir: {}/main/.git/worktrees/side\n", scratch.0.display()));
            scratch
        }

        fn put(&self, path: &str, text: &str) {
            fs::write(self.0.join(path), text).unwrap();
        }

        fn said(&self, mounts: &[Mount]) -> Option<String> {
            warning(&self.0.join("side"), mounts, &Taken { inside: &Inside::default(), caches: Vec::new() })
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_worktree_is_told_what_to_type_until_it_is_done() {
        let scratch = Scratch::new("linked");
        let repository = scratch.0.join("main/.git").display().to_string();
        let volume = format!("aifo-coder --volume {repository}:{repository} ...");
        let said = scratch.said(&[]).unwrap();
        assert!(said.ends_with(&format!(": git worktree lock . && {volume}")), "{said}");
        let mount = Mount { source: (&repository).into(), target: repository.clone(), read_only: false };
        assert!(scratch.said(std::slice::from_ref(&mount)).unwrap().ends_with(": git worktree lock ."));
        scratch.put("main/.git/worktrees/side/locked", "");
        let said = scratch.said(&[]).unwrap();
        assert!(said.ends_with(&format!(": {volume}")), "{said}");
        assert_eq!(scratch.said(&[mount]), None);
        // Relative names are the containers' own: `/workspace/../main/.git`.
        scratch.put("side/.git", "gitdir: ../main/.git/worktrees/side");
        let said = scratch.said(&[]).unwrap();
        assert!(said.ends_with(&format!(" --volume {repository}:/main/.git ...")), "{said}");
    }

    #[test]
    fn nothing_is_offered_that_does_not_know_this_worktree() {
        let scratch = Scratch::new("forged");
        scratch.put("main/.git/worktrees/side/gitdir", "/elsewhere/.git\n");
        assert!(!scratch.said(&[]).unwrap().contains("--volume"));
        for named in
            ["/home/u/.ssh", "../.git/modules/side", "/home/u/.ssh/worktrees/x", "../x\u{1b}[2J\ry", "/tmp/x/.git"]
        {
            scratch.put("side/.git", &format!("gitdir: {named}\n"));
            let said = scratch.said(&[]).unwrap();
            assert!(said.ends_with(": git clone . ../other") && !said.contains(char::is_control), "{said}");
        }
        let long = format!("gitdir: /{}", "x".repeat(9000));
        for text in ["", "gitdir: ", "gitdir: /a\n/b\n", "other", &long, "gitdir: below/repository"] {
            scratch.put("side/.git", text);
            assert_eq!(scratch.said(&[]), None, "{text}");
        }
        fs::remove_file(scratch.0.join("side/.git")).unwrap();
        assert_eq!(scratch.said(&[]), None);
        fs::create_dir(scratch.0.join("side/.git")).unwrap();
        assert_eq!(scratch.said(&[]), None);
        fs::remove_dir(scratch.0.join("side/.git")).unwrap();
        symlink("/home/u/repository", scratch.0.join("side/.git")).unwrap();
        assert!(scratch.said(&[]).is_some());
    }
}
