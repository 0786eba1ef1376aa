//! `aifo-coder bundle verify|load DIR`: takes over what `cargo xtask images save` has written, on a machine without
//! internet.
//!
//! Every byte is checked before anything is loaded, and those that docker gets are checked once more on their way, so that
//! what changes in between is refused too. A list of sums proves that a bundle is whole, not whose it is: for that its
//! maker's digest or key is named. Nothing of a bundle is ever run, and no name in it leads out of it.
//!
//! A bundle is a folder of plain files:
//!
//! | file | what it is |
//! |---|---|
//! | `SHA256SUMS` | sum and path of every other file, as `sha256sum --check` reads it; its own sum is the bundle's digest |
//! | `SHA256SUMS.sig` | a detached OpenPGP signature of that, where it was asked for |
//! | `BUNDLE` | a line an image: what it is called, its processor, its configuration and layers by their sums |
//! | `images/` | these as an OCI image layout, each layer once |
//! | `bin/linux-ARCH/`, `share/`, `sbom/` | the programs; completions, manual, AppArmor profile; what the images hold |

mod check;
mod contents;
mod load;
mod signature;
mod sums;

use std::{ffi::OsString, path::PathBuf};

use crate::{cli::Switches, config::Config, docker::Docker, error::Error, report};

/// What is to be done with a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) verb: Verb,
    pub(crate) folder: PathBuf,
    /// What its maker says that the sum of its list of sums is.
    pub(crate) digest: Option<String>,
    /// The fingerprint of the key that must have signed it.
    pub(crate) key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Verify,
    Load,
}

impl Order {
    /// Reads the words behind `bundle`. Pure.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(crate) fn parse(words: Vec<OsString>) -> Result<Self, Error> {
        let usage = |got: &str| {
            Error::Usage(format!("`bundle` takes verify|load DIR [--digest SHA256] [--key FINGERPRINT], got {got}"))
        };
        let mut words = words.into_iter();
        let verb = match words.next() {
            Some(word) if word == "verify" => Verb::Verify,
            Some(word) if word == "load" => Verb::Load,
            Some(word) => return Err(usage(&format!("`{}`", word.display()))),
            None => return Err(usage("nothing")),
        };
        let (mut folder, mut digest, mut key) = (None, None, None);
        while let Some(word) = words.next() {
            let mut hex = |lengths: &[usize]| {
                let value = words.next().and_then(|value| value.into_string().ok()).unwrap_or_default();
                let digits: String = value.chars().filter(|c| *c != ' ').collect();
                let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit()) && lengths.contains(&digits.len());
                is_hex.then_some(digits).ok_or_else(|| usage(&format!("`{} {value}`", word.display())))
            };
            match word.to_str() {
                Some("--digest") => digest = Some(hex(&[64])?.to_ascii_lowercase()),
                Some("--key") => key = Some(hex(&[40, 64])?.to_ascii_uppercase()),
                Some(option) if option.starts_with('-') => return Err(usage(&format!("`{option}`"))),
                _ if folder.is_none() => folder = Some(PathBuf::from(word)),
                _ => return Err(usage(&format!("`{}`", word.display()))),
            }
        }
        let folder = folder.ok_or_else(|| usage("no DIR"))?;
        Ok(Self { verb, folder, digest, key })
    }
}

/// Does it.
///
/// # Errors
/// [`Error::Bundle`] when it is refused; when it is loaded also docker's.
pub(crate) fn run(order: &Order, switches: Switches, config: &Config) -> Result<(), Error> {
    let bundle = check::all(order)?;
    report::out(format_args!("verified {} files, {}, digest {}\n", bundle.files, size(bundle.bytes), bundle.digest));
    if order.digest.is_none() && order.key.is_none() {
        report::warn("it is whole, but whose it is was not asked: --digest SHA256, or --key FINGERPRINT");
    }
    for (reference, why) in &bundle.contents.left_out {
        report::say(format_args!("not in it: {reference}: {why}"));
    }
    if order.verb == Verb::Verify {
        return Ok(());
    }
    let docker = Docker::find(&config.docker())?;
    let platform = format!("linux/{}", docker.daemon()?.arch);
    let loaded = load::all(&docker, &order.folder, &bundle, &platform, switches.dry_run)?;
    // Without the full images, doctor must be told to look for the others.
    let is_slim =
        loaded.iter().any(|name| name.contains("-slim:")) && !loaded.iter().any(|name| name.contains("-shell:"));
    let flavor = if is_slim { " --flavor slim" } else { "" };
    let programs = order.folder.join("bin").join(platform.replace('/', "-"));
    report::say(format_args!("next: {}{flavor} doctor", programs.join("aifo-coder").display()));
    Ok(())
}

fn refused(order: &Order, why: impl Into<String>) -> Error {
    Error::Bundle { folder: order.folder.clone(), why: why.into() }
}

/// Millions of bytes, rounded.
fn size(bytes: u64) -> String {
    format!("{} MB", (bytes + 500_000) / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Order, String> {
        Order::parse(line.split_whitespace().map(Into::into).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn words_make_an_order() {
        let (digest, key) = ("A".repeat(64), "b".repeat(40));
        let order = parse(&format!("load --digest {digest} dir --key {key}")).unwrap();
        let (digest, key) = (Some("a".repeat(64)), Some("B".repeat(40)));
        assert_eq!(order, Order { verb: Verb::Load, folder: "dir".into(), digest, key });
        assert_eq!(parse("verify x").map(|order| (order.verb, order.key)), Ok((Verb::Verify, None)));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (line, got) in [
            ("", "got nothing"),
            ("unpack x", "got `unpack`"),
            ("load", "got no DIR"),
            ("load a b", "got `b`"),
            ("load a --digest", "got `--digest `"),
            ("load a --digest 12", "got `--digest 12`"),
            ("load a --key xyz", "got `--key xyz`"),
            ("load a --force", "got `--force`"),
        ] {
            let said = parse(line).unwrap_err();
            assert!(said.ends_with(got), "{line}: {said}");
        }
    }
}
