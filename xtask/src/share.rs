//! What goes with the programs wherever they are passed on, in a bundle or an archive: completions, manual, AppArmor
//! profile, licence.

use std::{fs, path::Path, process::Command};

use crate::{
    apparmor,
    build::{Arch, PROGRAMS},
    cmd::{self, Failure, io_failure},
    root,
};

/// Where the launcher's own words go: its arguments, and the file.
const TEXTS: [(&[&str], &str); 4] = [
    (&["completions", "bash"], "share/bash-completion/completions/aifo-coder"),
    (&["completions", "zsh"], "share/zsh/site-functions/_aifo-coder"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/aifo-coder.fish"),
    (&["man"], "share/man/man1/aifo-coder.1"),
];

/// Copies the programs for one processor.
///
/// # Errors
/// When one is not there or cannot be copied.
pub(crate) fn programs(arch: Arch, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(io_failure("create", to.display()))?;
    for program in PROGRAMS {
        let from = arch.dist().join(program);
        fs::copy(&from, to.join(program)).map_err(io_failure("copy", from.display()))?;
    }
    Ok(())
}

/// Writes what goes with the programs, whatever the processor: `share/` and the licence.
///
/// # Errors
/// When this machine's launcher does not run, or something cannot be written.
pub(crate) fn texts(to: &Path) -> Result<(), Failure> {
    let launcher = Arch::host().dist().join("aifo-coder");
    for (words, file) in TEXTS {
        let text = cmd::capture(Command::new(&launcher).args(words))?;
        let file = to.join(file);
        let folder = file.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(io_failure("create", folder.display()))?;
        fs::write(&file, format!("{text}\n")).map_err(io_failure("write", file.display()))?;
    }
    let profiles = to.join("share/apparmor");
    fs::create_dir_all(&profiles).map_err(io_failure("create", profiles.display()))?;
    let profile = apparmor::write("aifo-coder")?;
    fs::copy(&profile, profiles.join("aifo-coder")).map_err(io_failure("copy", profile.display()))?;
    let licence = root().join("LICENSE");
    fs::copy(&licence, to.join("LICENSE")).map(drop).map_err(io_failure("copy", licence.display()))
}
