//! What a bundle holds besides images: the programs, and what a host wants of them: completions, manual, AppArmor profile.

use std::{fs, path::Path, process::Command};

use super::put;
use crate::{
    apparmor,
    build::{Arch, PROGRAMS},
    cmd::{self, Failure, io_failure},
    report, root,
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

/// Where the launcher's own words go: its arguments, and the file.
const TEXTS: [(&[&str], &str); 4] = [
    (&["completions", "bash"], "share/bash-completion/completions/aifo-coder"),
    (&["completions", "zsh"], "share/zsh/site-functions/_aifo-coder"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/aifo-coder.fish"),
    (&["man"], "share/man/man1/aifo-coder.1"),
];

/// Writes all that into a folder.
///
/// # Errors
/// When this machine's programs are not built, or something cannot be written.
pub(crate) fn write(to: &Path) -> Result<(), Failure> {
    for arch in Arch::ALL {
        let is_there = PROGRAMS.iter().all(|program| arch.dist().join(program).is_file());
        match (is_there, arch == Arch::host()) {
            (true, _) => programs(arch, &to.join(format!("bin/linux-{}", arch.name())))?,
            (false, true) => return Err(Failure::new("the programs are not built").hint("cargo xtask build")),
            (false, false) => report::say(format_args!("without programs for {}: cargo xtask build", arch.name())),
        }
    }
    texts(to)?;
    put(&to.join("README"), README)
}

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
        put(&file, &format!("{text}\n"))?;
    }
    let profiles = to.join("share/apparmor");
    fs::create_dir_all(&profiles).map_err(io_failure("create", profiles.display()))?;
    let profile = apparmor::write("aifo-coder")?;
    fs::copy(&profile, profiles.join("aifo-coder")).map_err(io_failure("copy", profile.display()))?;
    let licence = root().join("LICENSE");
    fs::copy(&licence, to.join("LICENSE")).map(drop).map_err(io_failure("copy", licence.display()))
}
