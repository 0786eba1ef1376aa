//! What BuildKit lends to a step of a build and no image keeps: a cache of packages, and the user's logins.
//!
//! The Dockerfiles do without, so that every builder takes them as they lie there. For BuildKit the copy in the context is
//! given the mounts; the classic builder and Kaniko build the same images, with every package downloaded again.

use std::{ffi::OsString, path::PathBuf};

use super::engine::Engine;
use crate::cmd::Failure;

/// A login for registries: a file in a form that installers read, and where they look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    name: &'static str,
    targets: &'static [&'static str],
    path: PathBuf,
}

/// For apt and pip (netrc(5)), and for npm.
const FORMS: [(&str, &[&str]); 2] =
    [("netrc", &["/run/aifo-login/netrc", "/root/.netrc"]), ("npmrc", &["/root/.npmrc"])];

/// What keeps packages for a next time, of the verbs of aifo-layer.
const KEEPING: [&str; 3] = ["install ", "tree ", "venv "];
/// What asks a registry, of the verbs of aifo-layer. No other step is lent a login.
const ASKING: [&str; 6] = ["prepare", "install ", "fetch ", "npm ", "tree ", "venv "];

impl Secret {
    /// Nothing if installers know no such form.
    pub(super) fn of(form: &str, path: &str) -> Option<Self> {
        let (name, targets) = FORMS.into_iter().find(|(name, _)| *name == form)?;
        Some(Self { name, targets, path: path.into() })
    }
}

/// # Errors
/// When a login is not there, or could only be given by leaving it in an image.
pub(super) fn check(engine: &Engine, secrets: &[Secret]) -> Result<(), Failure> {
    let Some(first) = secrets.first() else { return Ok(()) };
    if !engine.has_mounts() {
        let why = format!("{} cannot keep `{}` out of images", engine.builder, first.path.display());
        return Err(Failure::new(why).hint("install docker's buildx plugin"));
    }
    // Docker reads its option as a line of CSV.
    let is_bad = |secret: &&Secret| !secret.path.is_file() || secret.path.to_string_lossy().contains([',', '"']);
    match secrets.iter().find(is_bad) {
        Some(bad) => Err(Failure::new(format!("`{}` is no file that docker can be given", bad.path.display()))),
        None => Ok(()),
    }
}

/// The Dockerfile of an image for BuildKit. Steps that install share the cache with later builds of the same image, one at
/// a time, because apt locks it.
pub(super) fn lent(dockerfile: &str, image: &str, secrets: &[Secret]) -> String {
    let logins = secrets.iter().flat_map(|secret| secret.targets.iter().map(move |target| (secret.name, target)));
    let logins: String =
        logins.map(|(name, target)| format!("--mount=type=secret,id={name},target={target} ")).collect();
    let cache = format!("--mount=type=cache,id=aifo-{image},sharing=locked,target=/run/aifo-cache ");
    let mut text = String::with_capacity(dockerfile.len());
    let mut lines = dockerfile.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("RUN ") else {
            text.push_str(line);
            continue;
        };
        let mut step = command.to_owned();
        while step.ends_with("\\\n") {
            let Some(more) = lines.next() else { break };
            step.push_str(more);
        }
        let does = |verb: &str| step.contains(&format!("aifo-layer {verb}"));
        let cache = if KEEPING.into_iter().any(does) { &cache } else { "" };
        let logins = if ASKING.into_iter().any(does) { &logins } else { "" };
        text.extend(["RUN ", cache, logins, &step]);
    }
    text
}

/// Names the logins to docker, behind the word `build`.
pub(super) fn name_in(argv: &mut Vec<OsString>, secrets: &[Secret]) {
    for Secret { name, path, .. } in secrets {
        argv.splice(1..1, ["--secret".into(), format!("id={name},src={}", path.display()).into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::engine::Builder;

    const PLAIN: &str = "# a: b\nARG BASE\nRUN aifo-layer start \\\n    && aifo-layer install x\nRUN aifo-layer tree /x && aifo-layer seal\nRUN aifo-layer strip\n";

    #[test]
    fn steps_that_install_have_the_cache_and_those_that_ask_a_registry_the_logins() {
        let cache = "--mount=type=cache,id=aifo-a,sharing=locked,target=/run/aifo-cache ";
        let expected = PLAIN.replace("RUN aifo-layer start", &format!("RUN {cache}aifo-layer start"));
        let expected = expected.replace("RUN aifo-layer tree", &format!("RUN {cache}aifo-layer tree"));
        assert_eq!(lent(PLAIN, "a", &[]), expected);
        let text = lent(PLAIN, "a", &[Secret::of("npmrc", "/x").unwrap()]);
        let login = "--mount=type=secret,id=npmrc,target=/root/.npmrc ";
        assert!(text.contains(&format!("RUN {cache}{login}aifo-layer start \\\n")), "{text}");
        assert!(
            text.ends_with(&format!(
                "\nRUN {cache}{login}aifo-layer tree /x && aifo-layer seal\nRUN aifo-layer strip\n"
            ))
        );
    }

    #[test]
    fn a_login_is_given_only_where_no_image_keeps_it() {
        let secrets = [Secret::of("netrc", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap()];
        let engine = |builder| Engine::of_test(builder, "amd64");
        assert!(check(&engine(Builder::BuildKit), &secrets).is_ok() && check(&engine(Builder::Classic), &[]).is_ok());
        assert!(check(&engine(Builder::Classic), &secrets).unwrap_err().to_string().contains("the classic builder"));
        for bad in ["/nowhere", "/dev/null,x"] {
            assert!(check(&engine(Builder::BuildKit), &[Secret::of("netrc", bad).unwrap()]).is_err());
        }
        assert_eq!(Secret::of("token", "/x"), None);
        let mut argv = vec!["build".into(), "--tag".into()];
        name_in(&mut argv, &[Secret::of("netrc", "/x").unwrap()]);
        assert_eq!(argv, ["build", "--secret", "id=netrc,src=/x", "--tag"]);
    }
}
