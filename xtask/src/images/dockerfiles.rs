//! What our Dockerfiles must keep to, so that BuildKit, the classic builder and Kaniko all build them.
//!
//! Tests only: the rule is held by reading every Dockerfile, never by rewriting one.

use std::fs;

use crate::images::table::{IMAGES, Role};

/// What one of the three builders cannot do, and why.
const FOREIGN: [(&str, &str); 6] = [
    ("--link", "Kaniko has no COPY --link"),
    ("--chmod", "Kaniko and the classic builder have no COPY --chmod"),
    ("--mount", "the classic builder cannot parse RUN --mount"),
    ("<<", "the classic builder has no heredocs"),
    ("# syntax", "a syntax line is fetched from a registry"),
    ("$TARGETARCH", "the classic builder does not set it; ask dpkg --print-architecture"),
];

fn objections(dockerfile: &str) -> Vec<&'static str> {
    FOREIGN.iter().filter(|(sign, _)| dockerfile.contains(sign)).map(|(_, why)| *why).collect()
}

fn dockerfile(name: &str) -> String {
    fs::read_to_string(crate::root().join("images").join(name).join("Dockerfile")).unwrap()
}

#[test]
fn every_builder_can_build_every_dockerfile() {
    for image in IMAGES {
        assert_eq!(objections(&dockerfile(image.name)), [""; 0], "{}", image.name);
    }
}

#[test]
fn the_list_of_foreign_words_is_used() {
    assert_eq!(objections("COPY --link a b\nRUN --mount=type=cache x").len(), 2);
}

#[test]
fn every_dockerfile_opens_with_what_it_is_for() {
    for image in IMAGES {
        assert!(dockerfile(image.name).starts_with(&format!("# {}: ", image.name)), "{}", image.name);
    }
}

#[test]
fn parents_are_arguments_and_agents_get_our_layer_last() {
    for image in IMAGES {
        let text = dockerfile(image.name);
        for (arg, _) in image.parents {
            assert!(text.contains(&format!("ARG {arg}\n")), "{}: ARG {arg}", image.name);
        }
        assert_eq!(text.ends_with("COPY aifo /\n"), image.role == Role::Agent, "{}", image.name);
    }
}
