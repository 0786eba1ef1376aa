//! `cargo xtask images refresh`: asks the registries for the newest versions and writes them, with their sums, into
//! `images/versions` and the folders of the agents.
//!
//! Only what a person reviews and commits afterwards is written; nothing is built. The same registries give the same
//! bytes. A pin that cannot be had leaves its lines as they are and does not keep the others from being asked.

mod pins;
mod registry;
mod text;

use std::{fs, path::PathBuf};

use self::{
    pins::{PINS, Pin, Source, Tarball},
    registry::Registries,
};
use super::{engine::Engine, read, table, versions};
use crate::{
    cmd::{Failure, io_failure},
    report, root,
};

/// How many versions of an agent are tried until the registry can serve all that one needs.
const TRIES: usize = 8;

/// What became of a pin: its version before and after, and what else changed.
#[derive(Debug)]
struct Change {
    was: String,
    is: String,
    files: String,
}

/// Refreshes the pins of those names; none means all.
///
/// # Errors
/// When a name is unknown, the images to ask with are missing, or a registry does not answer.
pub(super) fn run(engine: &Engine, names: &[String], ca: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(stranger) = names.iter().find(|name| !PINS.iter().any(|pin| pin.name == **name)) {
        let known: Vec<&str> = PINS.iter().map(|pin| pin.name).collect();
        return Err(
            Failure::new(format!("nothing is pinned for `{stranger}`")).hint(format!("one of: {}", known.join(" ")))
        );
    }
    for kind in ["toolchain-node", "toolchain-python"] {
        if engine.inspect(&table::reference(kind))?.is_none() {
            return Err(Failure::new(format!("the image `{kind}` is needed to ask the registries"))
                .hint(format!("cargo xtask images {kind}")));
        }
    }
    let values = versions::parse(&read(&root().join("images/versions"))?)?;
    let value = |name: &str| values.get(name).cloned().unwrap_or_default();
    let registries = Registries { engine, ca, npm: value("NPM_REGISTRY"), pypi: value("PYPI_INDEX") };
    let (mut table, mut failure) = (String::new(), None);
    for pin in PINS.iter().filter(|pin| names.is_empty() || names.iter().any(|name| name == pin.name)) {
        report::say(format_args!("{}: asking", pin.name));
        match refresh(&registries, pin) {
            Ok(Change { was, is, files }) if was == is && files.is_empty() => {
                table.push_str(&format!("{:<12} {is:<12} unchanged\n", pin.name));
            }
            Ok(Change { was, is, files }) => {
                table.push_str(&format!("{:<12} {is:<12} was {was}{files}\n", pin.name));
            }
            Err(failed) => {
                let failed = Failure::new(format!("{}: {failed}", pin.name)).hint("what is pinned stays as it is");
                failure.replace(failed).iter().for_each(report::failed);
            }
        }
    }
    report::out(&table);
    failure.map_or(Ok(()), Err)
}

fn refresh(registries: &Registries<'_>, pin: &Pin) -> Result<Change, Failure> {
    match &pin.source {
        Source::Tarballs { version, range, tarballs } => {
            let newest = newest(registries, range, tarballs)?;
            let mut values = vec![(*version, newest.clone())];
            for Tarball { sum, package, suffix } in *tarballs {
                values.push((sum, registries.sum(package, &format!("{newest}{suffix}"))?));
            }
            write_values(&values)
        }
        Source::Wheels { version, package, wheels } => {
            let (mut values, mut newest) = (Vec::new(), (*package).to_owned());
            for (sum, platform) in *wheels {
                let (found, hash) = registries.wheel(&newest, platform)?;
                // All others are asked for in the version of the first.
                newest = format!("{package}=={found}");
                values.extend([(*version, found), (*sum, hash)]);
            }
            write_values(&values)
        }
        Source::Tree { package } => tree(registries, pin.name, package),
        Source::Environment { package, python, sources } => environment(registries, pin.name, package, python, sources),
    }
}

fn newest(registries: &Registries<'_>, range: &str, tarballs: &[Tarball]) -> Result<String, Failure> {
    let mut packages: Vec<&str> = tarballs.iter().map(|tarball| tarball.package).collect();
    packages.dedup();
    let lists: Result<Vec<_>, _> = packages.iter().map(|package| registries.versions(package, range)).collect();
    let versions = text::common(&lists?).into_iter().next();
    versions.ok_or_else(|| Failure::new(format!("no version that {} have", packages.join(" and "))))
}

fn write_values(values: &[(&str, String)]) -> Result<Change, Failure> {
    let path = root().join("images/versions");
    let old = read(&path)?;
    let mut new = old.clone();
    for (name, value) in values {
        new = text::with_value(&new, name, value)?;
    }
    write_if_new(&path, &old, &new)?;
    let version = |text: &str| {
        let line = values.first().and_then(|(name, _)| text::version_after(text, &format!("\n{name}=")));
        line.unwrap_or_default().to_owned()
    };
    let (was, is) = (version(&old), version(&new));
    let files = if old != new && was == is { ", with another sum".to_owned() } else { String::new() };
    Ok(Change { was, is, files })
}

/// The newest version of an npm agent of which the registry has all that it needs, as a lock file.
fn tree(registries: &Registries<'_>, name: &str, package: &str) -> Result<Change, Failure> {
    let versions = text::common(&[registries.versions(package, ">=0")?]);
    let mut why = Failure::new(format!("no version of `{package}`"));
    for version in versions.iter().take(TRIES) {
        let manifest = format!(
            "{{\n  \"name\": \"{name}\",\n  \"private\": true,\n  \"dependencies\": {{\n    \"{package}\": \"{version}\"\n  }}\n}}\n"
        );
        match registries.lock(&manifest) {
            Ok(lock) => {
                let mark = format!("\"{package}\": \"");
                let change = write_file(name, "package.json", &manifest, &mark, |_| false)?;
                let locked = |line: &str| line.trim_start().starts_with("\"integrity\":");
                let Change { files, .. } = write_file(name, "package-lock.json", &lock, &mark, locked)?;
                return Ok(Change { files, ..change });
            }
            Err(failure) => {
                report::say(format_args!("{name}: {version} cannot be had: {failure}"));
                why = failure;
            }
        }
    }
    Err(why)
}

/// What a PyPI agent needs, the same on both processors.
fn environment(
    registries: &Registries<'_>,
    name: &str,
    package: &str,
    python: &str,
    sources: &[&str],
) -> Result<Change, Failure> {
    let here = registries.requirements(package, python, "x86_64")?;
    if here != registries.requirements(package, python, "aarch64")? {
        return Err(Failure::new(format!("`{package}` needs other packages on arm64 than on amd64")));
    }
    let built: String = sources.iter().map(|source| format!("--no-binary {source}\n")).collect();
    let text = format!(
        "# What `{package}` consists of, for Python {python}, on amd64 and arm64; every file that PyPI has of it.\n\
         # Written by: cargo xtask images refresh {name}\n--only-binary :all:\n{built}{here}"
    );
    write_file(name, "requirements.txt", &text, &format!("\n{package}=="), |line| line.contains("=="))
}

/// Writes a file of an agent's folder; `mark` stands before the agent's version in it, `names` knows a package's line.
fn write_file(
    folder: &str,
    file: &str,
    new: &str,
    mark: &str,
    names: impl Fn(&str) -> bool,
) -> Result<Change, Failure> {
    let path = root().join("images").join(folder).join(file);
    let old = fs::read_to_string(&path).unwrap_or_default();
    write_if_new(&path, &old, new)?;
    let version = |text| text::version_after(text, mark).unwrap_or("nothing").to_owned();
    let files = match text::changed(&old, new, names) {
        0 => String::new(),
        count => format!(", {count} packages changed in {file}"),
    };
    Ok(Change { was: version(&old), is: version(new), files })
}

fn write_if_new(path: &PathBuf, old: &str, new: &str) -> Result<(), Failure> {
    if old == new { Ok(()) } else { fs::write(path, new).map_err(io_failure("write", path.display())) }
}
