//! `cargo xtask apparmor`: the containers' AppArmor profile out of its template, checked by the system's parser.
//!
//! Loading it takes root and a kernel with AppArmor, so that is left to whoever has both; this says the command. Docker in
//! a machine of its own (Colima, Docker Desktop) wants it loaded there.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cmd::{self, Failure, io_failure},
    report, root,
};

const HELP: &str = "\
cargo xtask apparmor [--name NAME] [--require-parser]

Writes target/apparmor/NAME (default: aifo-coder, which the launcher looks for) and has apparmor_parser check it.
Without the parser the profile is written unchecked, and the last line says so; --require-parser makes that an error.
";

/// Where Debian and others have it; users' PATHs often lack the second.
const PARSERS: [&str; 2] = ["/usr/sbin/apparmor_parser", "/sbin/apparmor_parser"];

/// # Errors
/// When the profile cannot be written, or the parser refuses it.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let (mut name, mut is_required) = ("aifo-coder".to_owned(), false);
    let mut words = args.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => {
                report::out(HELP);
                return Ok(());
            }
            "--require-parser" => is_required = true,
            "--name" => name = words.next().filter(|name| is_name(name)).ok_or_else(bad_name)?,
            other => return Err(Failure::new(format!("no option `{other}`")).hint("cargo xtask apparmor --help")),
        }
    }
    let profile = write(&name)?;
    let shown = profile.strip_prefix(env::current_dir().unwrap_or_default()).unwrap_or(&profile).display();
    match PARSERS.into_iter().find(|parser| Path::new(parser).is_file()) {
        Some(parser) => {
            cmd::run(Command::new(parser).args(["--skip-kernel-load", "--skip-cache"]).arg(&profile))?;
            report::say(format_args!("{shown} is well-formed; load it: sudo apparmor_parser --replace {shown}"));
            Ok(())
        }
        None if is_required => {
            Err(Failure::new("no apparmor_parser to check the profile with").hint("apt-get install apparmor"))
        }
        None => {
            report::say(format_args!("{shown} is NOT checked: no apparmor_parser here (apt-get install apparmor)"));
            Ok(())
        }
    }
}

fn bad_name() -> Failure {
    Failure::new("--name takes letters, digits, dots and dashes")
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// Renders the template into the build's folder.
///
/// # Errors
/// When it cannot be read or written.
pub(crate) fn write(name: &str) -> Result<PathBuf, Failure> {
    let template = root().join("images/apparmor/aifo-coder.in");
    let text = fs::read_to_string(&template).map_err(io_failure("read", template.display()))?;
    let folder = root().join("target/apparmor");
    fs::create_dir_all(&folder).map_err(io_failure("make", folder.display()))?;
    let profile = folder.join(name);
    fs::write(&profile, text.replace("@NAME@", name)).map_err(io_failure("write", profile.display()))?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_nothing_that_the_profile_could_misread() {
        assert!(["aifo-coder", "a.b_c", "9"].into_iter().all(is_name));
        assert!(!["", "-a", "a b", "a{", "a/b", "@{x}", "a\n"].into_iter().any(is_name));
    }

    #[test]
    fn nothing_of_the_template_is_left_open() {
        let profile = fs::read_to_string(write("test-profile").unwrap()).unwrap();
        assert!(profile.contains("profile test-profile flags") && !profile.contains("@NAME@"));
    }
}
