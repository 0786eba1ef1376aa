//! What is said to docker to build an image, and what the image says of itself; pure.

use std::{ffi::OsString, path::Path};

use super::{
    engine::{Builder, Engine},
    table::{Flavor, Image, Role, VERSION},
};

/// The words after `docker` for one image.
pub(super) fn argv(image: &Image, engine: &Engine, context: &Path, args: &[(String, String)]) -> Vec<OsString> {
    let mut argv: Vec<OsString> = ["build", "--tag"].map(Into::into).into();
    argv.push(engine.tag(image.name).into());
    if engine.is_foreign() {
        argv.extend(["--platform".into(), format!("linux/{}", engine.arch).into()]);
    }
    for (label, value) in labels(image) {
        argv.extend(["--label".into(), format!("{label}={value}").into()]);
    }
    for (name, value) in args {
        argv.extend(["--build-arg".into(), format!("{name}={value}").into()]);
    }
    match engine.builder {
        Builder::BuildKit => argv.extend(["--progress".into(), "plain".into()]),
        // The classic builder leaves the container of a failed step behind unless told otherwise.
        Builder::Classic => argv.push("--force-rm".into()),
        Builder::AsSet => {}
    }
    argv.push(context.into());
    argv
}

/// What an image says of itself; whoever saves or pushes images reads there what may leave the house.
pub(super) fn labels(image: &Image) -> Vec<(&'static str, String)> {
    let mut labels = vec![("aifo.image", image.name.to_owned())];
    if let Role::Agent(flavor) = image.role {
        let flavor = if flavor == Flavor::Slim { "slim" } else { "full" };
        labels.extend([("aifo.agent", image.folder.to_owned()), ("aifo.flavor", flavor.to_owned())]);
    }
    labels.extend([
        ("aifo.redistributable", image.redistributable.to_string()),
        ("org.opencontainers.image.title", format!("aifo-coder-{}", image.name)),
        ("org.opencontainers.image.version", VERSION.to_owned()),
    ]);
    labels
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Builder, Engine, argv};
    use crate::images::table::find;

    #[test]
    fn a_build_names_labels_and_arguments() {
        let args = [("BASE".to_owned(), "debian:12".to_owned())];
        let engine = Engine::of_test(Builder::Classic, "amd64");
        let words = argv(find("claude-slim").unwrap(), &engine, Path::new("ctx"), &args);
        let line = words.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        assert!(line.starts_with("build --tag aifo-coder-claude-slim:release-"), "{line}");
        for label in ["image=claude-slim", "agent=claude", "flavor=slim", "redistributable=false"] {
            assert!(line.contains(&format!("--label aifo.{label} ")), "{line}");
        }
        assert!(line.contains("--label org.opencontainers.image.title=aifo-coder-claude-slim "), "{line}");
        assert!(line.ends_with("--build-arg BASE=debian:12 --force-rm ctx"), "{line}");
    }
    #[test]
    fn an_image_for_another_processor_has_a_name_of_its_own() {
        let engine = Engine::of_test(Builder::BuildKit, "arm64");
        let words = argv(find("shell").unwrap(), &engine, Path::new("ctx"), &[]);
        let line = words.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        assert!(line.contains("-arm64 --platform linux/arm64 "), "{line}");
    }
}
