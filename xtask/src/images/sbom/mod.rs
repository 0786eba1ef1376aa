//! `cargo xtask images sbom`: what is in an image, as SPDX JSON, read off the lists that lie in it.
//!
//! The image is never run: docker hands out its files, and only the lists among them are kept.

mod read;
mod spdx;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use self::{read::Package, spdx::Subject};
use super::{
    engine::Engine,
    rows,
    table::{self, Flavor, Image, VERSION},
};
use crate::{
    cmd::{self, Failure, io_failure, shown},
    report, root,
};

/// Where lists lie, as tar's patterns, and the one program that has no list.
const LISTS: [&str; 6] = [
    "var/lib/dpkg/status",
    "var/lib/dpkg/status.d/*",
    "*/package.json",
    "*.dist-info/METADATA",
    "*.egg-info/PKG-INFO",
    "usr/local/bin/node",
];

/// Writes `NAME.spdx.json` for each image that is here, into `folder` or `target/images/sbom`.
///
/// # Errors
/// When a word names no image, or an image cannot be read.
pub(super) fn run(engine: &Engine, words: &[String], folder: Option<PathBuf>) -> Result<(), Failure> {
    let all = ["all".to_owned()];
    let words = if words.is_empty() { &all[..] } else { words };
    let folder = folder.unwrap_or_else(|| root().join("target/images/sbom"));
    fs::create_dir_all(&folder).map_err(io_failure("create", folder.display()))?;
    let known = rows::known(engine)?;
    for image in table::wanted(words, &[Flavor::Full, Flavor::Slim])?.into_iter().filter(|image| image.is_run()) {
        if !known.contains_key(&image.reference()) {
            report::say(format_args!("{}: not built", image.name));
            continue;
        }
        let file = folder.join(format!("{}.spdx.json", image.name));
        let count = write(engine, image, &image.reference(), &file)?;
        report::out(&format!("{}  {count} packages\n", file.display()));
    }
    Ok(())
}

/// Writes one image's document and says how many packages it names. `tag` is what docker calls the image.
///
/// # Errors
/// When docker does not hand it out, or something cannot be written.
pub(super) fn write(engine: &Engine, image: &Image, tag: &str, file: &Path) -> Result<usize, Failure> {
    let scratch = file.with_extension("lists");
    fs::create_dir_all(&scratch).map_err(io_failure("create", scratch.display()))?;
    let lists = unpack(engine, tag, &scratch).and_then(|()| packages(&scratch, image));
    fs::remove_dir_all(&scratch).map_err(io_failure("remove", scratch.display()))?;
    let packages = lists?;
    let mut asked = engine.command();
    let about = cmd::capture(asked.args(["image", "inspect", "--format", "{{.Id}} {{.Created}}", tag]))?;
    let (id, created) = about.split_once(' ').unwrap_or((&about, ""));
    let document = spdx::document(&Subject { reference: &image.reference(), id, created }, &packages);
    fs::write(file, format!("{document}\n")).map_err(io_failure("write", file.display()))?;
    Ok(packages.len())
}

/// Has docker hand out the image's files, and tar keep the lists.
fn unpack(engine: &Engine, tag: &str, to: &Path) -> Result<(), Failure> {
    let mut create = engine.command();
    let container = cmd::capture(create.args(["create", "--network", "none", tag, "none"]))?;
    let mut export = engine.command();
    let exported = export.args(["export", &container]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let unpacked = exported.map_err(io_failure("start", shown(&export))).and_then(|export| keep_lists(export, to));
    let removed = cmd::capture(engine.command().args(["rm", "--volumes", &container]));
    unpacked.and(removed.map(drop))
}

fn keep_lists(mut export: Child, to: &Path) -> Result<(), Failure> {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--no-same-owner", "--no-same-permissions", "--wildcards", "--directory"]).arg(to);
    tar.args(LISTS).stdin(export.stdout.take().map_or_else(Stdio::null, Stdio::from));
    // An image has no more than some of these, which tar calls an error; what it found is what counts.
    let Output { stderr, .. } = tar.output().map_err(io_failure("start", "tar"))?;
    let exported = export.wait_with_output().map_err(io_failure("wait for", "docker export"))?;
    let said = String::from_utf8_lossy(&stderr);
    let real =
        said.lines().find(|line| !line.contains("Not found in archive") && !line.contains("Exiting with failure"));
    match real {
        Some(line) => Err(Failure::new(format!("cannot unpack the image's lists: {line}"))),
        None if exported.status.success() => Ok(()),
        None => {
            Err(Failure::new(format!("docker export failed: {}", String::from_utf8_lossy(&exported.stderr).trim())))
        }
    }
}

/// Everything that the lists below `root` name, sorted, each once; and what is ours or was brought.
fn packages(root: &Path, image: &Image) -> Result<Vec<Package>, Failure> {
    let mut paths = Vec::new();
    files(root, &mut paths)?;
    let release = if image.name.contains("trixie") || image.folder == "openhands" { "trixie" } else { "bookworm" };
    let mut found = Vec::new();
    for path in &paths {
        let bytes = fs::read(path).map_err(io_failure("read", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let inside = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        match inside.rsplit('/').next().unwrap_or_default() {
            "node" => found.extend(read::node(&bytes)),
            "package.json" => found.extend(read::npm(&inside, &text)),
            "METADATA" | "PKG-INFO" => found.extend(read::python(&text)),
            _ => found.extend(read::debian(&text, release)),
        }
    }
    found.extend(ours(image));
    found.sort();
    found.dedup();
    Ok(found)
}

/// Our programs in an agent's image, and the program that somebody brought, whose version only they know.
fn ours(image: &Image) -> Vec<Package> {
    let package = |name: &str, version: &str, licence: Option<&str>| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        purl: format!("pkg:generic/{name}@{version}"),
        licence: licence.map(str::to_owned),
    };
    let mut found = Vec::new();
    if image.is_agent() {
        let licence = Some("MIT OR Apache-2.0");
        found.extend(["aifo-shim", "aifo-entrypoint"].map(|name| package(name, VERSION, licence)));
    }
    found.extend(
        image.file.map(|name| Package { purl: format!("pkg:generic/{name}"), ..package(name, "NOASSERTION", None) }),
    );
    found
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(io_failure("read", folder.display()))?.flatten() {
        let kind = entry.file_type().map_err(io_failure("read", folder.display()))?;
        if kind.is_dir() {
            files(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(())
}
