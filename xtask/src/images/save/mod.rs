//! `cargo xtask images save`: everything that a machine without internet needs, in one folder that says what it is.
//!
//! The folder's form stands in `src/bundle/mod.rs`, whose `aifo-coder bundle verify|load` reads it. It is written under
//! another name and gets its own as the last step, so a bundle that is there is whole. The same images and programs make
//! the same bytes: no time, user or place of this machine goes in.

mod archive;
mod layout;
mod share;

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use self::archive::Saved;
use super::{
    args::Wishes,
    choice::{Choice, Member, choose},
    engine::Engine,
    sbom,
    summary::megabytes,
    table::VERSION,
};
use crate::{
    cmd::{self, Failure, io_failure},
    report,
};

/// Writes the bundle.
///
/// # Errors
/// When there is something at that place already, an image or a program is missing, or nothing can be written.
pub(super) fn run(engine: &Engine, wishes: &Wishes) -> Result<(), Failure> {
    let output = wishes.output.as_deref();
    let output = output.ok_or_else(|| Failure::new("save wants `--output DIR`").hint("cargo xtask images --help"))?;
    if fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) || output.is_file() {
        return Err(Failure::new(format!("`{}` is there already", output.display())).hint("name a new folder"));
    }
    let choice = choose(engine, wishes)?;
    for (name, why) in &choice.left_out {
        report::say(format_args!("left out: {name}: {why}"));
    }
    let draft = draft_of(output);
    if draft.exists() {
        fs::remove_dir_all(&draft).map_err(io_failure("remove", draft.display()))?;
    }
    let written = write(engine, &choice, wishes.sign.as_deref(), &draft);
    if let Err(failure) = written {
        drop(fs::remove_dir_all(&draft));
        return Err(explained(failure, output));
    }
    drop(fs::remove_dir(output));
    fs::rename(&draft, output).map_err(io_failure("name", output.display()))?;
    let sums = output.join("SHA256SUMS");
    let digest = cmd::capture(Command::new("sha256sum").arg(&sums))?;
    let digest = digest.split(' ').next().unwrap_or_default();
    let size = cmd::capture(Command::new("du").args(["--summarize", "--bytes"]).arg(output))?;
    let bytes = size.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    report::out(&format!(
        "{}: {} images, {}\ndigest {digest}\n",
        output.display(),
        choice.images.len(),
        megabytes(bytes)
    ));
    report::say(format_args!("tell the digest by another way, then: aifo-coder bundle load DIR --digest {digest}"));
    Ok(())
}

/// Beside its final place, so that the last step is one rename.
fn draft_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().map_or_else(|| OsString::from("bundle"), OsString::from);
    name.push(".partial");
    output.with_file_name(name)
}

fn explained(failure: Failure, output: &Path) -> Failure {
    if failure.to_string().to_lowercase().contains("no space left") {
        let folder = output.parent().unwrap_or(output).display();
        return failure.hint(format!("`{folder}` needs about twice the images' size while it is written: df -h"));
    }
    failure
}

fn write(engine: &Engine, choice: &Choice, key: Option<&str>, to: &Path) -> Result<(), Failure> {
    let work = to.join(".work");
    fs::create_dir_all(&work).map_err(io_failure("create", work.display()))?;
    share::write(to)?;
    report::say(format_args!("saving {} images", choice.images.len()));
    let tags: Vec<&str> = choice.images.iter().map(|member| member.tag.as_str()).collect();
    let saved = archive::unpack(engine, &tags, &work)?;
    let parts = layout::write(&choice.images, &saved, &to.join("images"))?;
    fs::remove_dir_all(&work).map_err(io_failure("remove", work.display()))?;
    fs::create_dir_all(to.join("sbom")).map_err(io_failure("create", "sbom"))?;
    for Member { image, arch, tag } in &choice.images {
        report::say(format_args!("{tag}: reading what is in it"));
        sbom::write(engine, image, tag, &to.join(format!("sbom/{}-{arch}.spdx.json", image.name)))?;
    }
    put(&to.join("BUNDLE"), &contents(choice, &parts))?;
    open_up(to)?;
    put(&to.join("SHA256SUMS"), &sums(to)?)?;
    key.map_or(Ok(()), |key| sign(to, key))
}

/// The lines that name the images and their parts.
fn contents(choice: &Choice, parts: &[Saved]) -> String {
    let mut text = format!("aifo-coder bundle 1\nversion {VERSION}\n");
    for (Member { image, arch, .. }, Saved { config, layers }) in choice.images.iter().zip(parts) {
        text.push_str(&format!("image linux/{arch} {} {config} {}\n", image.reference(), layers.join(" ")));
    }
    for (name, why) in &choice.left_out {
        text.push_str(&format!("left-out {name} {why}\n"));
    }
    text
}

/// A line for each file below a folder, in the order of their paths.
fn sums(folder: &Path) -> Result<String, Failure> {
    let mut paths = Vec::new();
    files(folder, folder, &mut paths)?;
    paths.sort();
    let mut sha256sum = Command::new("sha256sum");
    let text = cmd::capture(sha256sum.current_dir(folder).arg("--").args(&paths))?;
    Ok(text + "\n")
}

fn files(folder: &Path, root: &Path, found: &mut Vec<String>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(io_failure("read", folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, root, found)?;
        } else {
            found.extend(path.strip_prefix(root).ok().map(|path| path.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}

/// A detached signature of the list, by gpg and its agent: no passphrase passes through here.
fn sign(folder: &Path, key: &str) -> Result<(), Failure> {
    let mut gpg = Command::new("gpg");
    gpg.current_dir(folder).args(["--batch", "--yes", "--local-user", key, "--output", "SHA256SUMS.sig"]);
    cmd::capture(gpg.args(["--detach-sign", "SHA256SUMS"])).map(drop).map_err(|failure| {
        failure.hint("gpg --list-secret-keys tells which keys you have; a key on a card must be plugged in")
    })
}

/// Readable for all, whatever the umask; programs runnable.
fn open_up(folder: &Path) -> Result<(), Failure> {
    let mut paths = Vec::new();
    files(folder, folder, &mut paths)?;
    for path in paths {
        let mode = if path.starts_with("bin/") { 0o755 } else { 0o644 };
        let set = fs::set_permissions(folder.join(&path), fs::Permissions::from_mode(mode));
        set.map_err(io_failure("change", path))?;
    }
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(io_failure("write", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Choice, Failure, Member, Saved, contents, draft_of, explained};
    use crate::images::table::find;

    #[test]
    fn images_are_named_with_their_parts_and_absences_with_reasons() {
        let image = find("shell").unwrap();
        let member = Member { image, arch: "arm64".to_owned(), tag: "x-arm64".to_owned() };
        let left_out = vec![("a:1".to_owned(), "no reason".to_owned())];
        let parts = Saved { config: "c".to_owned(), layers: vec!["x".to_owned(), "y".to_owned()] };
        let text = contents(&Choice { images: vec![member], left_out }, &[parts]);
        let version = env!("CARGO_PKG_VERSION");
        let image = format!("image linux/arm64 aifo-coder-shell:release-{version} c x y\n");
        assert_eq!(text, format!("aifo-coder bundle 1\nversion {version}\n{image}left-out a:1 no reason\n"));
    }

    #[test]
    fn a_draft_stands_beside_its_place() {
        assert_eq!(draft_of(Path::new("/a/b/")), Path::new("/a/b.partial"));
        assert_eq!(draft_of(Path::new("b")), Path::new("b.partial"));
    }

    #[test]
    fn a_full_disk_is_named_with_its_folder() {
        let failure = explained(Failure::new("tar: x: No space left on device"), Path::new("/media/x"));
        assert!(failure.hint_text().unwrap().contains("`/media` needs"));
        assert_eq!(explained(Failure::new("other"), Path::new("x")).hint_text(), None);
    }
}
