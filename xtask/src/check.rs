//! `cargo xtask check`: format, lints, tidiness, other platforms, and what the built programs must be.

use std::{ffi::OsString, fs};

use aifo_shim::elf;

use crate::{
    build::{self, Arch, PROGRAMS},
    cmd::{self, Failure, io_failure},
    report, root, tidy,
};

pub(crate) const HELP: &str = "\
cargo xtask check

Format, clippy with warnings denied, tidiness of the tree, the launcher for
macOS, and of the built programs: static, small, nothing linked.
";

/// The largest that each program may be, in bytes.
const LARGEST: &[(&str, u64)] =
    &[("aifo-coder", 2 * 1024 * 1024), ("aifo-shim", 512 * 1024), ("aifo-entrypoint", 640 * 1024)];

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    if !args.is_empty() {
        report::out(HELP);
        return Ok(());
    }
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    tidy::check(&root())?;
    macos()?;
    for arch in Arch::ALL {
        build::build(arch)?;
        PROGRAMS.iter().try_for_each(|program| verify(arch, program))?;
    }
    report::say("all checks passed");
    Ok(())
}

/// The launcher is portable; proxy and execd are Linux's own.
fn macos() -> Result<(), Failure> {
    const TARGET: &str = "aarch64-apple-darwin";
    if let Err(absent) = build::ensure_target(TARGET) {
        report::say(format_args!("the launcher is not checked for macOS: {absent}"));
        return Ok(());
    }
    // What only proxy and execd call has no caller there.
    let mut cargo = cmd::cargo();
    cargo.args(["check", "--quiet", "--package", "aifo-coder", "--target", TARGET]).env("RUSTFLAGS", "-Adead_code");
    cmd::run(&mut cargo)
}

/// A program needs no loader and no library, and is no larger than promised.
fn verify(arch: Arch, program: &str) -> Result<(), Failure> {
    let path = arch.dist().join(program);
    let bytes = fs::read(&path).map_err(io_failure("read", path.display()))?;
    if !elf::is_static(&bytes) {
        return Err(Failure::new(format!("`{}` is not static", path.display())));
    }
    let most = LARGEST.iter().find(|(name, _)| *name == program).map_or(u64::MAX, |(_, most)| *most);
    let size = bytes.len() as u64;
    if size > most {
        return Err(Failure::new(format!("`{}` has {size} bytes; {most} are allowed", path.display())));
    }
    report::say(format_args!("{} for {}: static, {} KiB of {} KiB", program, arch.name(), size / 1024, most / 1024));
    Ok(())
}

fn cargo(args: &[&str]) -> Result<(), Failure> {
    cmd::run(cmd::cargo().args(args))
}
