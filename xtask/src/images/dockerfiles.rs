//! What our Dockerfiles must keep to, so that BuildKit, the classic builder and Kaniko all build them.
//!
//! Tests only: the rule is held by reading every Dockerfile, never by rewriting one.

use std::fs;

use crate::images::table::{IMAGES, Image, Role};

/// What one of the three builders cannot do, and why.
const FOREIGN: [(&str, &str); 7] = [
    ("--link", "Kaniko has no COPY --link"),
    ("--chmod", "Kaniko and the classic builder have no COPY --chmod"),
    ("--chown", "owners and modes are said once, where a layer is made"),
    ("--mount", "the classic builder cannot parse RUN --mount; see `mounts`"),
    ("<<", "the classic builder has no heredocs"),
    ("# syntax", "a syntax line is fetched from a registry"),
    ("$TARGETARCH", "the classic builder does not set it; ask dpkg --print-architecture"),
];

fn objections(dockerfile: &str) -> Vec<&'static str> {
    FOREIGN.iter().filter(|(sign, _)| dockerfile.contains(sign)).map(|(_, why)| *why).collect()
}

fn dockerfile(image: &Image) -> String {
    fs::read_to_string(crate::root().join("images").join(image.folder).join("Dockerfile")).unwrap()
}

#[test]
fn every_builder_can_build_every_dockerfile() {
    for image in IMAGES {
        assert_eq!(objections(&dockerfile(image)), [""; 0], "{}", image.name);
    }
}

#[test]
fn the_list_of_foreign_words_is_used() {
    assert_eq!(objections("COPY --link a b\nRUN --mount=type=cache x").len(), 2);
}

#[test]
fn every_dockerfile_opens_with_what_it_is_for() {
    for image in IMAGES {
        assert!(dockerfile(image).starts_with(&format!("# {}: ", image.folder)), "{}", image.name);
    }
}

#[test]
fn parents_are_arguments_and_agents_get_our_layer_last() {
    for image in IMAGES {
        let text = dockerfile(image);
        if let Some((arg, _)) = image.parents.first() {
            assert!(text.contains(&format!("ARG {arg}\n")), "{}: ARG {arg}", image.name);
        }
        assert_eq!(text.ends_with("ADD aifo.tar /\n"), matches!(image.role, Role::Agent(_)), "{}", image.name);
    }
}

#[test]
fn a_build_runs_nothing_that_it_fetches() {
    for image in IMAGES {
        for line in dockerfile(image).lines().filter(|line| !line.starts_with('#')) {
            let piped = ["| sh", "| bash", "|sh", "|bash", "curl ", "wget ", "npm install", "npx ", "git clone"];
            assert!(!piped.iter().any(|words| line.contains(words)), "{}: {line}", image.name);
            assert!(!line.starts_with("ADD http"), "{}: {line}", image.name);
        }
    }
}

/// A secret in an argument or a variable stays in the image's history for whoever gets the image.
#[test]
fn nothing_secret_is_asked_for() {
    for image in IMAGES {
        for line in dockerfile(image).lines().filter(|line| line.starts_with("ARG ") || line.starts_with("ENV ")) {
            let upper = line.to_uppercase();
            let secret = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY"].iter().find(|word| upper.contains(*word));
            assert_eq!(secret, None, "{}: {line}", image.name);
        }
    }
}

/// Whatever a Dockerfile installs with apt is installed in a stage that is not shipped: what ships is `/layer`, which
/// `finish` or `seal` made, or `base`, which `strip` made; and both keep the installers only with KEEP_APT.
#[test]
fn apt_stays_behind_unless_it_is_asked_for() {
    for image in IMAGES.iter().filter(|image| !matches!(image.role, Role::Workshop(_))) {
        let text = dockerfile(image);
        let (stages, last) = text.rsplit_once("\nFROM ").unwrap();
        assert!(!last.contains("apt") && !last.contains("\nRUN "), "{}: {last}", image.name);
        let copied: Vec<&str> = last.lines().filter(|line| line.starts_with("COPY --from=")).collect();
        let is_known = |line: &str| line.ends_with(" /layer /") || image.role == Role::Base && line.ends_with(" / /");
        assert!(copied.iter().all(|line| is_known(line)), "{}: {copied:?}", image.name);
        for stage in stages.split("\nFROM ").filter(|stage| stage.contains("aifo-layer install")) {
            let ends = ["aifo-layer finish", "aifo-layer seal"].iter().any(|end| stage.contains(end));
            let keeps = !stage.contains("aifo-layer finish") || stage.contains("ARG KEEP_APT=0");
            assert!(ends && keeps, "{}: {stage}", image.name);
        }
    }
    let layer = fs::read_to_string(crate::root().join("images/base-apt/aifo-layer")).unwrap();
    assert!(
        layer.contains("[ \"$keep_apt\" = 1 ] || purge")
            && layer.contains("if [ \"$keep_apt\" != 1 ]; then\n        purge")
    );
    let wished = "if [ \"$KEEP_APT\" = 1 ]; then aifo-layer install procps; fi";
    for text in IMAGES.iter().map(dockerfile) {
        let is_open = |line: &str| !line.starts_with('#') && line.contains("procps") && !line.contains(wished);
        assert!(!text.lines().any(is_open), "procps without KEEP_APT: {text}");
    }
}

/// The size of a package is read off the layers (see `parts`), so each has one of its own, below ours.
#[test]
fn a_package_is_a_layer_of_its_own() {
    for image in IMAGES.iter().filter(|image| matches!(image.role, Role::Agent(_))) {
        let text = dockerfile(image);
        let (_, last) = text.rsplit_once("FROM ${BASE}\n").unwrap();
        let copies: Vec<&str> =
            last.lines().filter(|line| line.starts_with("COPY") || line.starts_with("ADD")).collect();
        let known: &[&[&str]] = &[
            &["ADD aifo.tar /"],
            &["COPY --from=package /layer /", "ADD aifo.tar /"],
            &["COPY --from=runtime /layer /", "COPY --from=package /layer /", "ADD aifo.tar /"],
        ];
        let brought =
            image.file.is_some_and(|file| copies == [&format!("COPY {file} /usr/local/bin/"), "ADD aifo.tar /"]);
        assert!(brought || known.contains(&copies.as_slice()), "{}: {copies:?}", image.name);
        assert!(!last.contains("\nRUN "), "{}", image.name);
    }
}
