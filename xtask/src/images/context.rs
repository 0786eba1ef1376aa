//! Build contexts: for each image a fresh folder below `target/images/context/` with all that its Dockerfile copies.
//!
//! A context is the image's own folder, and by its role the company's CA or the part that is ours: two programs, the
//! links to them, and the login file; and the program that the user brings, where no registry has it. It is made anew
//! each time: docker compares contents, not times, so the cache holds. Nothing is ever written into the project's own
//! folders.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use aifo_shim::{elf, tar::Tar};

use super::table::{Image, Role};
use crate::cmd::{Failure, io_failure};

/// What our layer in an agent image may weigh, in bytes.
pub(super) const OURS_MAX: usize = 1_500_000;

/// Where our programs lie in an image.
const BIN: &str = "opt/aifo/bin/";

/// Our programs there; the first is the one that the names are linked to.
const PROGRAMS: [&str; 2] = ["aifo-shim", "aifo-entrypoint"];

/// A name that is the shim as well, though no tool: the trampoline of `#!/usr/bin/env TOOL`.
const TRAMPOLINE: &str = "env";
/// The shell that agents are given, which is the second program.
const SHELL: &str = "aifo-bash";

/// Where the parts of a context come from.
#[derive(Debug)]
pub(super) struct Sources {
    /// The project's folder `images`.
    pub(super) images: PathBuf,
    /// Certificates for the build, if any.
    pub(super) ca: Option<PathBuf>,
    /// The folder with our programs for the processor that the images are for.
    pub(super) dist: PathBuf,
    /// The processor, in Docker's words.
    pub(super) arch: String,
    /// Programs that the user brings, by name.
    pub(super) files: Vec<(String, PathBuf)>,
}

impl Sources {
    /// What the user brings for this image.
    pub(super) fn brought(&self, image: &Image) -> Option<&Path> {
        self.files.iter().find(|(name, _)| image.file == Some(name)).map(|(_, path)| path.as_path())
    }
}

/// Makes the context of one image below `contexts` and returns its folder.
///
/// # Errors
/// When something cannot be read or written, or when our programs are not there yet or too large.
pub(super) fn stage(image: &Image, sources: &Sources, contexts: &Path) -> Result<PathBuf, Failure> {
    let context = contexts.join(image.name);
    if context.exists() {
        fs::remove_dir_all(&context).map_err(io_failure("remove", context.display()))?;
    }
    copy_tree(&sources.images.join(image.folder), &context)?;
    match image.role {
        Role::Workshop(_) => certificates(sources.ca.as_deref(), &context.join("ca.crt"))?,
        Role::Agent(_) => ours(sources, &context.join("aifo.tar"))?,
        Role::Base | Role::Toolchain => {}
    }
    if let (Some(name), Some(path)) = (image.file, sources.brought(image)) {
        brought(path, &sources.arch, &context.join(name))?;
    }
    open_up(&context)?;
    Ok(context)
}

/// The names that are linked to the shim, each once.
fn links() -> Vec<&'static str> {
    let mut names: Vec<&str> = aifo_shim::tools::names().chain([TRAMPOLINE]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Copies the program that the user brings, if it can run there at all.
fn brought(path: &Path, arch: &str, to: &Path) -> Result<(), Failure> {
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(io_failure("open", path.display()))?;
    file.take(64).read_to_end(&mut head).map_err(io_failure("read", path.display()))?;
    let machine = match elf::machine(&head) {
        Some(62) => "amd64",
        Some(183) => "arm64",
        _ => return Err(Failure::new(format!("`{}` is not a program for Linux", path.display()))),
    };
    if machine != arch {
        return Err(Failure::new(format!("`{}` is for {machine}; the image is for {arch}", path.display())));
    }
    copy(path, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).map_err(io_failure("change", to.display()))
}

/// What an agent image gets from us, from the root down, as an archive: docker takes owners, modes and times from there,
/// where it makes up some of a folder's own. So the layer is the same wherever it is built.
fn ours(sources: &Sources, archive: &Path) -> Result<(), Failure> {
    let mut tar = Tar::default();
    for folder in ["etc/", "etc/profile.d/"] {
        tar.folder(folder, 0o755);
    }
    let login = sources.images.join("ours/aifo.sh");
    tar.file("etc/profile.d/aifo.sh", 0o644, &fs::read(&login).map_err(io_failure("read", login.display()))?);
    for folder in ["opt/", "opt/aifo/", "opt/aifo/bin/"] {
        tar.folder(folder, 0o755);
    }
    let mut size = 0;
    for program in PROGRAMS {
        let built = sources.dist.join(program);
        let content =
            fs::read(&built).map_err(|error| io_failure("read", built.display())(error).hint("cargo xtask build"))?;
        tar.program(&format!("{BIN}{program}"), &content);
        size += content.len();
    }
    if size > OURS_MAX {
        let dist = sources.dist.display();
        return Err(Failure::new(format!("our programs in `{dist}` have {size} bytes, more than {OURS_MAX}")));
    }
    for name in links() {
        tar.link(&format!("{BIN}{name}"), PROGRAMS[0]);
    }
    tar.link(&format!("{BIN}{SHELL}"), PROGRAMS[1]);
    fs::write(archive, tar.finish()).map_err(io_failure("write", archive.display()))
}

/// Puts the certificates, or an empty file: a Dockerfile cannot copy a file only where there is one.
fn certificates(ca: Option<&Path>, to: &Path) -> Result<(), Failure> {
    let Some(ca) = ca else {
        return fs::write(to, "").map_err(io_failure("write", to.display()));
    };
    let text = fs::read_to_string(ca).map_err(io_failure("read", ca.display()))?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(Failure::new(format!("`{}` holds no PEM certificate", ca.display()))
            .hint("convert it: openssl x509 -inform der -in FILE -out FILE.crt"));
    }
    fs::write(to, text).map_err(io_failure("write", to.display()))
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    make_dir(to)?;
    for entry in entries(from)? {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() { copy_tree(&source, &target)? } else { copy(&source, &target)? }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(io_failure("copy", from.display()))
}

/// Makes all readable, whatever the umask: the folders of a context lend their modes to `/etc` and `/opt` in the image.
fn open_up(path: &Path) -> Result<(), Failure> {
    let found = fs::symlink_metadata(path).map_err(io_failure("read", path.display()))?;
    if found.is_symlink() {
        return Ok(());
    }
    let mode = if found.is_dir() || found.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io_failure("change", path.display()))?;
    if found.is_dir() { entries(path)?.iter().try_for_each(|entry| open_up(&entry.path())) } else { Ok(()) }
}

fn entries(dir: &Path) -> Result<Vec<fs::DirEntry>, Failure> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect);
    entries.map_err(io_failure("read", dir.display()))
}

fn make_dir(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(io_failure("create", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{
        env, fs,
        os::unix::fs::PermissionsExt as _,
        path::{Path, PathBuf},
        process::{self, Command},
        time::UNIX_EPOCH,
    };

    use super::{OURS_MAX, Sources, links, stage};
    use crate::images::table::{IMAGES, Image};

    /// A folder of the test's own, gone at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let dir = env::temp_dir().join(format!("aifo-context-{}-{name}", process::id()));
            fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }

        fn sources(&self) -> Sources {
            Sources {
                images: crate::root().join("images"),
                ca: None,
                dist: self.0.clone(),
                arch: "arm64".to_owned(),
                files: Vec::new(),
            }
        }

        /// Puts our programs there, the shim with that many bytes.
        fn programs(&self, bytes: usize) {
            fs::File::create(self.0.join("aifo-shim")).unwrap().set_len(bytes as u64).unwrap();
            fs::write(self.0.join("aifo-entrypoint"), "1").unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn image(name: &str) -> &'static Image {
        IMAGES.iter().find(|image| image.name == name).unwrap()
    }

    /// What tar lists of an agent's archive: mode, owner, size, time, name.
    fn listed(context: &Path) -> Vec<String> {
        let mut tar = Command::new("tar");
        tar.args(["--list", "--verbose", "--numeric-owner", "--utc", "--file"]).arg(context.join("aifo.tar"));
        let listed = String::from_utf8(tar.output().unwrap().stdout).unwrap();
        listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn an_agent_gets_the_shim_under_every_name() {
        let scratch = Scratch::new("agent");
        scratch.programs(5);
        let listed = listed(&stage(image("shell"), &scratch.sources(), &scratch.0).unwrap());
        let holds = |line: &str| listed.iter().any(|known| known == line);
        for name in links() {
            assert!(holds(&format!("lrwxrwxrwx 0/0 0 1970-01-01 00:00 opt/aifo/bin/{name} -> aifo-shim")), "{name}");
        }
        assert!(links().contains(&"env") && links().contains(&"cargo"));
        assert!(holds("-rwxr-xr-x 0/0 5 1970-01-01 00:00 opt/aifo/bin/aifo-shim"), "{listed:?}");
        assert!(holds("lrwxrwxrwx 0/0 0 1970-01-01 00:00 opt/aifo/bin/aifo-bash -> aifo-entrypoint"), "{listed:?}");
        assert!(holds("drwxr-xr-x 0/0 0 1970-01-01 00:00 etc/profile.d/"), "{listed:?}");
        assert!(listed.iter().any(|line| line.starts_with("-rw-r--r-- 0/0 ") && line.ends_with("/aifo.sh")));
    }

    #[test]
    fn a_toolchain_carries_nothing_of_ours() {
        let scratch = Scratch::new("toolchain");
        let context = stage(image("toolchain-node"), &scratch.sources(), &scratch.0).unwrap();
        let mut names: Vec<_> = fs::read_dir(context).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["Dockerfile", "install-node"]);
    }

    #[test]
    fn what_the_user_brings_must_run_there() {
        let scratch = Scratch::new("brought");
        scratch.programs(5);
        let mut sources = scratch.sources();
        let program = scratch.0.join("it");
        sources.files.push(("crush".to_owned(), program.clone()));
        let staged = |sources: &Sources| stage(image("crush-slim"), sources, &scratch.0);
        let mut bytes = [0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        for (machine, runs) in [(62, false), (3, false), (183, true)] {
            bytes[18] = machine;
            fs::write(&program, bytes).unwrap();
            assert_eq!(staged(&sources).is_ok(), runs, "{machine}");
        }
        let mode = fs::metadata(scratch.0.join("crush-slim/crush")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        fs::remove_file(&program).unwrap();
        assert!(staged(&sources).is_err());
    }

    #[test]
    fn the_same_programs_make_the_same_archive_whatever_their_modes_and_times() {
        let scratch = Scratch::new("modes");
        scratch.programs(5);
        let archive =
            || fs::read(stage(image("shell"), &scratch.sources(), &scratch.0).unwrap().join("aifo.tar")).unwrap();
        let first = archive();
        let shim = scratch.0.join("aifo-shim");
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o700)).unwrap();
        fs::File::options().write(true).open(&shim).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert!(first == archive());
    }

    #[test]
    fn missing_or_fat_programs_are_refused() {
        let scratch = Scratch::new("fat");
        let missing = stage(image("shell"), &scratch.sources(), &scratch.0).unwrap_err();
        assert_eq!(missing.hint_text(), Some("cargo xtask build"));
        scratch.programs(OURS_MAX - 1);
        assert!(stage(image("shell"), &scratch.sources(), &scratch.0).is_ok());
        scratch.programs(OURS_MAX);
        assert!(stage(image("shell"), &scratch.sources(), &scratch.0).is_err());
    }

    #[test]
    fn certificates_are_pem_or_refused_or_empty() {
        let scratch = Scratch::new("ca");
        let mut sources = scratch.sources();
        let context = stage(image("base-apt"), &sources, &scratch.0).unwrap();
        assert_eq!(fs::read(context.join("ca.crt")).unwrap(), b"");
        sources.ca = Some(scratch.0.join("mine.crt"));
        fs::write(scratch.0.join("mine.crt"), "\x30\x01").unwrap();
        assert!(stage(image("base-apt"), &sources, &scratch.0).is_err());
        fs::write(scratch.0.join("mine.crt"), "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert!(stage(image("base-apt"), &sources, &scratch.0).is_ok());
    }
}
