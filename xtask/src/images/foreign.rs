//! What it takes to build images for another processor than the daemon's.
//!
//! Ours needs nothing: programs are cross-compiled and copied. Debian's, npm's and Python's packages are installed by
//! programs of that processor, which the kernel runs only with an emulator that is registered with it.

use std::path::Path;

use super::engine::Builder;
use crate::cmd::Failure;

/// Refuses what would fail in the middle of a build. `registered` is where the kernel lists emulators; a machine without
/// such a folder has its daemon elsewhere, which answers for itself.
///
/// # Errors
/// With what is needed, and what to type.
pub(super) fn check(arch: &str, builder: Builder, registered: &Path) -> Result<(), Failure> {
    if builder == Builder::Classic {
        return Err(Failure::new(format!(
            "images for {arch} need BuildKit, and this docker has only the classic builder"
        ))
        .hint("install docker-buildx, or name a docker with BuildKit: AIFO_CODER_DOCKER"));
    }
    let emulator = if arch == "arm64" { "qemu-aarch64" } else { "qemu-x86_64" };
    if registered.is_dir() && !registered.join(emulator).exists() {
        return Err(Failure::new(format!(
            "images for {arch} are installed by programs of that processor, and the kernel has no `{emulator}` for them"
        ))
        .hint("apt-get install qemu-user-static binfmt-support"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::{Builder, check};

    #[test]
    fn an_emulator_and_buildkit_are_needed_and_named() {
        let folder = env::temp_dir().join(format!("aifo-binfmt-{}", process::id()));
        assert!(check("arm64", Builder::BuildKit, &folder).is_ok(), "a daemon elsewhere");
        fs::create_dir(&folder).unwrap();
        let missing = check("arm64", Builder::BuildKit, &folder).unwrap_err();
        assert!(
            missing.to_string().contains("`qemu-aarch64`") && missing.hint_text().unwrap().contains("qemu-user-static")
        );
        fs::write(folder.join("qemu-aarch64"), "enabled").unwrap();
        assert!(check("arm64", Builder::BuildKit, &folder).is_ok());
        assert!(check("arm64", Builder::Classic, &folder).unwrap_err().to_string().contains("need BuildKit"));
        fs::remove_dir_all(folder).unwrap();
    }
}
