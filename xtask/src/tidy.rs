//! What taste can be checked: every file says what it is, none is too long, nothing is linked that is not listed, and the
//! documents keep up with the code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cmd::{self, Failure, io_failure},
    report,
};

/// Lines of a source file without its tests.
const LONGEST: usize = 500;

/// What may be built into what ships: three dependencies, and what they bring. Tests may use more.
const ALLOWED_PACKAGES: &[&str] = &[
    "aifo-coder",
    "aifo-shim",
    "xtask",
    "bitflags",
    "errno",
    "lexopt",
    "libc",
    "linux-raw-sys",
    "rustix",
    "windows-link",
    "windows-sys",
];

/// Every package that is not for tests alone, on any platform.
const SHIPPED: &[&str] = &[
    "tree",
    "--workspace",
    "--exclude",
    "aifo-provider",
    "--edges",
    "normal,build",
    "--target",
    "all",
    "--prefix",
    "none",
];

/// What may stand at the top of the tree.
const ALLOWED_TOP: &[&str] =
    &["Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "images", "shim", "src", "tests", "xtask", "target"];

/// Looks at everything and names all that is wrong.
pub(crate) fn check(root: &Path) -> Result<(), Failure> {
    let mut found = Vec::new();
    let mut sources = Vec::new();
    for folder in ["src", "shim", "xtask", "tests"] {
        collect(&root.join(folder), &mut sources)?;
    }
    for path in &sources {
        let text = read(path)?;
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        found.extend(of_source(&text).into_iter().map(|what| format!("{shown}: {what}")));
    }
    found.extend(of_packages(&cmd::capture(cmd::cargo().args(SHIPPED))?));
    found.extend(of_top(root)?);
    found.extend(of_readme(&read(&root.join("README.md"))?, &read(&root.join("src/config/table.rs"))?));
    found.iter().for_each(report::say);
    match found.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("tidy: {count} things to mend"))),
    }
}

fn of_source(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let first = text.lines().find(|line| !line.is_empty()).unwrap_or_default();
    if !first.starts_with("//!") {
        found.push("does not begin by saying what it owns (`//!`)".to_owned());
    }
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if code > LONGEST {
        found.push(format!("has {code} lines; {LONGEST} are the ceiling"));
    }
    for (number, line) in text.lines().enumerate() {
        let words = ["TODO", "FIXME", "XXX"];
        if line.ends_with(' ') || line.contains('\t') {
            found.push(format!("line {}: trailing blank or tab", number + 1));
        }
        if words.iter().any(|word| line.contains(&format!("{word}:")) || line.contains(&format!("// {word}"))) {
            found.push(format!("line {}: unfinished by its own words", number + 1));
        }
    }
    found
}

/// A package a line, its name first.
fn of_packages(tree: &str) -> Vec<String> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names
        .filter(|name| !name.is_empty() && !ALLOWED_PACKAGES.contains(name))
        .map(|name| format!("`{name}` is built into what ships and is not on the list"))
        .collect()
}

fn of_top(root: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(root).map_err(io_failure("list", root.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let strange = names.filter(|name| !name.starts_with('.') && !ALLOWED_TOP.contains(&name.as_str()));
    Ok(strange.map(|name| format!("`{name}` does not belong at the top of the tree")).collect())
}

/// Every variable and every key of the launcher's table is explained in the README.
fn of_readme(readme: &str, table: &str) -> Vec<String> {
    let is_key = |word: &str| {
        let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        word.split_once('.').is_some_and(|(section, name)| plain(section) && plain(name))
    };
    let quoted = table.split('"').filter(|word| word.starts_with("AIFO_") || is_key(word));
    let mut missing: Vec<&str> = quoted.filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.into_iter().map(|name| format!("README.md: `{name}` is not explained")).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(io_failure("list", folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                collect(&path, into)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(io_failure("read", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_seen() {
        assert_eq!(of_source("//! Owns.\n\nfn main() {}\n"), Vec::<String>::new());
        let faults = format!("fn main() {{}} \n// {}: later\n{}", "TODO", "\n".repeat(LONGEST));
        assert_eq!(of_source(&faults).len(), 4);
        assert_eq!(of_packages("libc v0.2\nserde v1 (*)\n").len(), 1);
        assert_eq!(of_readme("`AIFO_A`", "\"AIFO_A\" \"AIFO_B\" \"AIFO_B\"").len(), 1);
        assert_eq!(of_readme("`a.b`", "\"a.b\" \"a.b-c\" \"see a.b.\"").len(), 1);
    }
}
