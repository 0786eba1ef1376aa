//! `cargo xtask build [--arch amd64|arm64]…`: the static programs, into `target/dist/linux-ARCH/`.
//!
//! The same on every machine: paths of the machine are mapped away, and Rust's own linker links. What is missing is
//! added with rustup where that is possible, and named where it is not.

use std::{env, ffi::OsString, fs, path::PathBuf, process::Command};

use crate::{
    cmd::{self, Failure, io_failure},
    report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask build [--arch amd64|arm64]...

Builds aifo-coder, aifo-shim and aifo-entrypoint, static, into
target/dist/linux-ARCH/. Without --arch: for both architectures.
";

/// The programs that ship.
pub(crate) const PROGRAMS: &[&str] = &["aifo-coder", "aifo-shim", "aifo-entrypoint"];

/// An architecture by its docker name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    pub(crate) const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// That of this machine.
    pub(crate) fn host() -> Self {
        if cfg!(target_arch = "aarch64") { Self::Arm64 } else { Self::Amd64 }
    }

    /// Where its programs go.
    pub(crate) fn dist(self) -> PathBuf {
        root().join("target/dist").join(format!("linux-{}", self.name()))
    }
}

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let mut archs = Vec::new();
    let mut words = args.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let arch = match word {
            "-h" | "--help" => {
                report::out(HELP);
                return Ok(());
            }
            "--arch" => words.next().unwrap_or_default(),
            _ => return Err(Failure::new(format!("build: no option `{word}`")).hint("cargo xtask build --help")),
        };
        let known = Arch::ALL.into_iter().find(|known| known.name() == arch);
        archs.push(known.ok_or_else(|| Failure::new(format!("no architecture `{arch}`; there are amd64 and arm64")))?);
    }
    let archs = if archs.is_empty() { Arch::ALL.to_vec() } else { archs };
    archs.into_iter().try_for_each(build)
}

/// Builds for one architecture.
///
/// # Errors
/// When the compiler has no such target, or the build fails.
pub(crate) fn build(arch: Arch) -> Result<(), Failure> {
    ensure_target(arch.target())?;
    let mut cargo = cmd::cargo();
    cargo.args(["build", "--release", "--quiet", "--target", arch.target()]);
    cargo.args(["--package", "aifo-coder", "--package", "aifo-shim"]);
    // Where the programs are taken from, whatever the caller's own setting.
    let target = root().join("target");
    cargo.arg("--target-dir").arg(&target);
    cargo.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", remapped());
    cmd::run(&mut cargo)?;
    let dist = arch.dist();
    fs::create_dir_all(&dist).map_err(io_failure("create", dist.display()))?;
    for program in PROGRAMS {
        let built = target.join(arch.target()).join("release").join(program);
        // A running program cannot be overwritten, but it can be replaced.
        let fresh = dist.join(format!(".{program}"));
        fs::copy(&built, &fresh).map_err(io_failure("copy", built.display()))?;
        fs::rename(&fresh, dist.join(program)).map_err(io_failure("replace", program))?;
    }
    report::say(format_args!("programs for {} in {}", arch.name(), dist.display()));
    Ok(())
}

/// Panic messages carry source paths; these are the same wherever a build runs. Flags are parted by a separator of their
/// own, because a path may hold blanks.
fn remapped() -> String {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=/aifo-coder", root().display())];
    flags.extend(cargo_home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
    flags.join("\u{1f}")
}

pub(crate) fn ensure_target(target: &str) -> Result<(), Failure> {
    let installed = cmd::capture(Command::new("rustup").args(["target", "list", "--installed"]));
    let Ok(installed) = installed else {
        // Without rustup the distribution's own compiler may still have the target; the build will tell.
        return Ok(());
    };
    if installed.lines().any(|line| line == target) {
        return Ok(());
    }
    cmd::run(Command::new("rustup").args(["target", "add", target])).map_err(|failure| {
        Failure::new(format!("Rust has no {target}: {failure}")).hint(format!(
            "offline: copy the rust-std-*-{target} component of this compiler's version into its sysroot, or build on \
             a machine with internet: rustup target add {target}"
        ))
    })
}
