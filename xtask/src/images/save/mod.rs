//! `cargo xtask images save`: everything that a machine without internet needs, in one folder that says what it is.
//!
//! The folder's form stands in `src/bundle/mod.rs`, whose `aifo-coder bundle verify|load` reads it. It is written into a
//! folder of its own in there, and moved up when all is whole, the list of sums last: without that it is no bundle. Not
//! beside it, which may be another disk. The same images and programs make the same bytes: no time, user or place of
//! this machine goes in.

mod archive;
mod layout;

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

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
    build::{Arch, PROGRAMS},
    cmd::{self, Failure, io_failure},
    report, share,
};

/// How the bundle is used where there is neither internet nor anything of ours.
const README: &str = "\
aifo-coder: a bundle for machines without internet.

1. Compare the digest with the one that its maker told you another way:

       sha256sum SHA256SUMS

2. Hold every file against the list:

       sha256sum --check --strict --quiet SHA256SUMS

3. Load the images; this checks all once more, and refuses what is not as it should be:

       bin/linux-amd64/aifo-coder bundle load . --digest DIGEST

   With SHA256SUMS.sig and the maker's key among yours: --key FINGERPRINT instead.

4. bin/linux-amd64/aifo-coder doctor

To install: put bin/linux-amd64/ where you keep programs, all three side by side, and link aifo-coder
into a folder of PATH. share/ holds completions, the manual page and an AppArmor profile
(sudo apparmor_parser --replace share/apparmor/aifo-coder). sbom/ says what is in the images.
On a 64-bit ARM machine it is linux-arm64 in place of linux-amd64.
";

/// Where the bundle is written.
const DRAFT: &str = ".partial";
/// The list that all else is held against.
const SUMS: &str = "SHA256SUMS";

/// Writes the bundle.
///
/// # Errors
/// When there is something at that place already, an image or a program is missing, or nothing can be written.
pub(super) fn run(engine: &Engine, wishes: &Wishes) -> Result<(), Failure> {
    let output = wishes.output.as_deref();
    let output = output.ok_or_else(|| Failure::new("save wants `--output DIR`").hint("cargo xtask images --help"))?;
    let is_foreign = |entry: io::Result<fs::DirEntry>| entry.map_or(true, |entry| entry.file_name() != DRAFT);
    if fs::read_dir(output).is_ok_and(|mut entries| entries.any(is_foreign)) || output.is_file() {
        return Err(Failure::new(format!("`{}` is there already", output.display())).hint("name a new folder"));
    }
    let choice = choose(engine, wishes)?;
    for (name, why) in &choice.left_out {
        report::say(format_args!("left out: {name}: {why}"));
    }
    let (draft, is_new) = (output.join(DRAFT), !output.exists());
    if draft.exists() {
        fs::remove_dir_all(&draft).map_err(io_failure("remove", draft.display()))?;
    }
    if let Err(failure) = write(engine, &choice, wishes, &draft).and_then(|()| move_up(&draft, output)) {
        drop(fs::remove_dir_all(&draft));
        // Only where nothing is in it: somebody may have mounted or made it.
        drop(fs::remove_dir(output));
        return Err(explained(failure, output));
    }
    if is_new {
        open(output, 0o755);
    }
    let sums = output.join(SUMS);
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

/// Gives everything its place; the list of sums is what makes it a bundle.
fn move_up(draft: &Path, output: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(draft).map_err(io_failure("read", draft.display()))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>();
    let mut names = names.map_err(io_failure("read", draft.display()))?;
    names.sort_by_key(|name| name == SUMS);
    for name in names {
        fs::rename(draft.join(&name), output.join(&name)).map_err(io_failure("move", name.display()))?;
    }
    fs::remove_dir(draft).map_err(io_failure("remove", draft.display()))
}

fn explained(failure: Failure, output: &Path) -> Failure {
    if failure.to_string().to_lowercase().contains("no space left") {
        return failure
            .hint(format!("`{}` needs about twice the images' size while it is written: df -h", output.display()));
    }
    failure
}

fn write(engine: &Engine, choice: &Choice, wishes: &Wishes, to: &Path) -> Result<(), Failure> {
    let work = to.join(".work");
    fs::create_dir_all(&work).map_err(io_failure("create", work.display()))?;
    write_programs(to, &wishes.platforms)?;
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
    put(&to.join(SUMS), &sums(to)?)?;
    wishes.sign.as_ref().map_or(Ok(()), |key| sign(to, key))?;
    open_up(to, to)
}

/// Writes what is no image; programs for these processors, or for all that they are built for.
fn write_programs(to: &Path, archs: &[String]) -> Result<(), Failure> {
    let is_wanted = |arch: &Arch| archs.is_empty() || archs.iter().any(|wanted| wanted == arch.name());
    for arch in Arch::ALL.into_iter().filter(is_wanted) {
        let is_there = PROGRAMS.iter().all(|program| arch.dist().join(program).is_file());
        match (is_there, arch == Arch::host()) {
            (true, _) => share::programs(arch, &to.join(format!("bin/linux-{}", arch.name())))?,
            (false, true) => return Err(Failure::new("the programs are not built").hint("cargo xtask build")),
            (false, false) => report::say(format_args!("without programs for {}: cargo xtask build", arch.name())),
        }
    }
    share::texts(to)?;
    put(&to.join("README"), README)
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
fn open_up(folder: &Path, root: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(io_failure("read", folder.display()))?.flatten() {
        let path = entry.path();
        let mode = if path.is_dir() || path.starts_with(root.join("bin")) { 0o755 } else { 0o644 };
        open(&path, mode);
        if path.is_dir() {
            open_up(&path, root)?;
        }
    }
    Ok(())
}

/// A stick's file system may know no modes; there all is as it was mounted.
fn open(path: &Path, mode: u32) {
    drop(fs::set_permissions(path, fs::Permissions::from_mode(mode)));
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(io_failure("write", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Choice, Failure, Member, Saved, contents, explained};
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
    fn a_full_disk_is_named_with_its_folder() {
        let failure = explained(Failure::new("tar: x: No space left on device"), Path::new("/media/x"));
        assert!(failure.hint_text().unwrap().contains("`/media/x` needs"));
        assert_eq!(explained(Failure::new("other"), Path::new("x")).hint_text(), None);
    }
}
