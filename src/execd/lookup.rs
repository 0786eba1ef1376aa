//! From a tool's name to the program: PATH as it was at start, and the project's own tools before it.
//!
//! A Python call sees the project's `.venv`, and `tsc` the project's `node_modules/.bin`, looked up in the sidecar,
//! where those folders are. Nothing here runs anything.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rustix::{fs::Access, io::Errno};

use crate::channel::StartFailure;

/// A program, and the project's environment if it comes from there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) program: PathBuf,
    /// The `.venv` that holds it.
    pub(super) venv: Option<PathBuf>,
}

/// Other names under which a tool may be installed.
const ALIASES: &[(&str, &str)] = &[("python", "python3"), ("pip", "pip3")];
/// Tools that a Node project brings along, by its lock file rather than by the sidecar's image.
const PROJECT_NODE_TOOLS: &[&str] = &["tsc", "ts-node"];

/// Finds a tool for a call in `cwd`, which lies below one of the `roots`.
pub(super) fn find(
    tool: &[u8],
    kind: &str,
    cwd: &Path,
    roots: &[PathBuf],
    path: &OsStr,
) -> Result<Found, StartFailure> {
    if tool.contains(&b'/') || tool.starts_with(b".") {
        return Err(StartFailure::NotFound);
    }
    let tool = OsStr::from_bytes(tool);
    let upwards = || cwd.ancestors().take_while(|folder| roots.iter().any(|root| folder.starts_with(root)));
    if kind == "python" {
        for venv in upwards().map(|folder| folder.join(".venv")) {
            if let Ok(program) = search([venv.join("bin")].into_iter(), tool) {
                return Ok(Found { program, venv: Some(venv) });
            }
        }
    }
    let project = upwards().map(|folder| folder.join("node_modules/.bin"));
    let project = project.filter(|_| kind == "node" && PROJECT_NODE_TOOLS.iter().any(|name| *name == tool));
    let alias = ALIASES.iter().find(|(name, _)| *name == tool).map(|(_, other)| OsStr::new(other));
    let places = || std::env::split_paths(path).filter(|place| place.is_absolute());
    search(project, tool)
        .or_else(|_| search(places(), tool))
        .or_else(|failure| alias.map_or(Err(failure), |alias| search(places(), alias)))
        .map(|program| Found { program, venv: None })
}

/// Which of these names PATH holds.
pub(super) fn installed<'a>(names: impl Iterator<Item = &'a str>, kind: &str, path: &OsStr) -> Vec<&'a str> {
    names.filter(|name| find(name.as_bytes(), kind, Path::new("/"), &[], path).is_ok()).collect()
}

/// The folders' entries in order, those of `first` before.
pub(super) fn joined(first: Option<PathBuf>, path: &OsStr) -> OsString {
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(path))).unwrap_or_else(|_colon| path.to_owned())
}

/// As execvp(3) searches: a file that is there but may not be executed is remembered, and told if nothing better comes.
fn search(places: impl Iterator<Item = PathBuf>, tool: &OsStr) -> Result<PathBuf, StartFailure> {
    let mut failure = StartFailure::NotFound;
    for candidate in places.map(|place| place.join(tool)) {
        if !fs::metadata(&candidate).is_ok_and(|file| file.is_file()) {
            continue;
        }
        match rustix::fs::access(&candidate, Access::EXEC_OK) {
            Ok(()) => return Ok(candidate),
            Err(_denied) => failure = StartFailure::NotExecutable { errno: Errno::ACCESS.raw_os_error() },
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn put(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_projects_own_tools_come_first() {
        let root = std::env::temp_dir().join(format!("aifo-lookup-{}", std::process::id()));
        let (work, bin, other) = (root.join("w"), root.join("bin"), root.join("other"));
        put(&bin.join("python3"), 0o755);
        put(&bin.join("tsc"), 0o755);
        put(&bin.join("broken"), 0o644);
        put(&other.join("broken2"), 0o644);
        put(&work.join(".venv/bin/python"), 0o755);
        put(&work.join("app/node_modules/.bin/tsc"), 0o755);
        put(&work.join("app/node_modules/.bin/npm"), 0o755);
        let path = joined(Some(other), bin.as_os_str());
        let roots = [work.clone()];
        let find = |tool: &str, kind: &str, cwd: &str| {
            find(tool.as_bytes(), kind, &work.join(cwd), &roots, &path).map(|found| found.program)
        };
        assert_eq!(find("python", "python", "a/b"), Ok(work.join(".venv/bin/python")));
        assert_eq!(find("python", "rust", "a"), Ok(bin.join("python3")));
        assert_eq!(find("tsc", "node", "app/src"), Ok(work.join("app/node_modules/.bin/tsc")));
        assert_eq!(find("tsc", "node", "."), Ok(bin.join("tsc")));
        assert_eq!(find("npm", "node", "app"), Err(StartFailure::NotFound));
        assert_eq!(find("broken", "c-cpp", "."), Err(StartFailure::NotExecutable { errno: 13 }));
        for tool in ["nothing", "../bin/tsc", "/bin/sh", ".", ".."] {
            assert_eq!(find(tool, "node", "."), Err(StartFailure::NotFound), "{tool}");
        }
        fs::remove_dir_all(root).unwrap();
    }
}
