//! `cargo xtask dist`: what a release is made of: an archive for each platform, and a list of their sums.
//!
//! The same sources make the same archives: fixed owners and times, one order, compressed without a name.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use aifo_shim::tar::Tar;

use crate::{
    build::{self, Arch, PROGRAMS},
    cmd::{self, Failure, io_failure},
    report, root, share,
};

const HELP: &str = "\
cargo xtask dist [--arch amd64|arm64]...

Builds the programs and packs them with completions, manual page, AppArmor
profile and licence into target/dist/aifo-coder-VERSION-linux-ARCH.tar.gz;
target/dist/SHA256SUMS tells their sums. Without --arch: both.
";

/// What an archive is called without its ending, and its only folder.
fn name(arch: Arch) -> String {
    format!("aifo-coder-{}-linux-{}", env!("CARGO_PKG_VERSION"), arch.name())
}

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let Some(archs) = parse(&args)? else {
        report::out(HELP);
        return Ok(());
    };
    // Its launcher writes the manual page, so that of this machine is always built.
    for arch in Arch::ALL.into_iter().filter(|arch| archs.contains(arch) || *arch == Arch::host()) {
        build::build(arch)?;
    }
    let folder = root().join("target/dist");
    let texts = folder.join("texts");
    fs::create_dir_all(&texts).map_err(io_failure("create", texts.display()))?;
    share::texts(&texts)?;
    let archives: Vec<String> = archs.iter().map(|arch| pack(*arch, &texts, &folder)).collect::<Result<_, _>>()?;
    fs::remove_dir_all(&texts).map_err(io_failure("remove", texts.display()))?;
    let sums = cmd::capture(Command::new("sha256sum").current_dir(&folder).arg("--").args(&archives))?;
    let list = folder.join("SHA256SUMS");
    fs::write(&list, format!("{sums}\n")).map_err(io_failure("write", list.display()))?;
    report::out(&format!("{sums}\n"));
    Ok(())
}

fn parse(args: &[OsString]) -> Result<Option<Vec<Arch>>, Failure> {
    let mut archs = Vec::new();
    let mut words = args.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.as_ref() {
            "-h" | "--help" => return Ok(None),
            "--arch" => {
                let arch = words.next().unwrap_or_default();
                let known = Arch::ALL.into_iter().find(|known| known.name() == arch);
                archs.push(
                    known
                        .ok_or_else(|| Failure::new(format!("no architecture `{arch}`; there are amd64 and arm64")))?,
                );
            }
            _ => return Err(Failure::new(format!("dist: no option `{word}`")).hint("cargo xtask dist --help")),
        }
    }
    Ok(Some(if archs.is_empty() { Arch::ALL.to_vec() } else { archs }))
}

/// Packs one platform's archive and gives its name.
fn pack(arch: Arch, texts: &Path, to: &Path) -> Result<String, Failure> {
    let top = name(arch);
    let mut tar = Tar::default();
    tar.folder(&format!("{top}/"), 0o755);
    for program in PROGRAMS {
        tar.program(&format!("{top}/{program}"), &read(&arch.dist().join(program))?);
    }
    add(&mut tar, texts, &top)?;
    let unpacked = to.join(format!("{top}.tar"));
    fs::write(&unpacked, tar.finish()).map_err(io_failure("write", unpacked.display()))?;
    let archive = format!("{top}.tar.gz");
    let packed = File::create(to.join(&archive)).map_err(io_failure("create", &archive))?;
    let input = File::open(&unpacked).map_err(io_failure("open", unpacked.display()))?;
    let gzip = Command::new("gzip").args(["--no-name", "--best", "--stdout"]).stdin(input).stdout(packed).status();
    let gzip = gzip.map_err(io_failure("start", "gzip"))?;
    fs::remove_file(&unpacked).map_err(io_failure("remove", unpacked.display()))?;
    if gzip.success() { Ok(archive) } else { Err(Failure::new(format!("gzip ended with {gzip}"))) }
}

/// Adds a folder's contents below `name`, in the order of their names.
fn add(tar: &mut Tar, folder: &Path, name: &str) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(io_failure("read", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = format!("{name}/{}", path.file_name().unwrap_or_default().display());
        if path.is_dir() {
            tar.folder(&format!("{name}/"), 0o755);
            add(tar, &path, &name)?;
        } else {
            tar.file(&name, 0o644, &read(&path)?);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(io_failure("read", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Arch, OsString, parse};

    #[test]
    fn words_choose_platforms() {
        let parsed = |line: &str| parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(parsed("").unwrap(), Some(Arch::ALL.to_vec()));
        assert_eq!(parsed("--arch arm64").unwrap(), Some(vec![Arch::Arm64]));
        assert_eq!(parsed("-h").unwrap(), None);
        assert!(parsed("--arch").is_err() && parsed("--arch mips").is_err() && parsed("x").is_err());
    }
}
