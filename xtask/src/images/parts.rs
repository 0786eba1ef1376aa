//! What an agent's image consists of, in bytes, and whether that keeps the promised sizes; pure.
//!
//! An agent's image is the base, a layer that all agents share, then the interpreter that its package is written for
//! (where it has one), the package, and the layer that is ours. A package and its interpreter are as large as others made
//! them; everything else is our doing, and that is what is measured.

use super::{
    context::OURS_MAX,
    engine::Facts,
    table::{Flavor, Image, Role, find},
};

/// What a slim image may weigh where the package leaves room for it, in bytes.
const SLIM_MAX: u64 = 250_000_000;

/// What may stand beside base and package in any slim image: our programs and what every agent needs.
const REST_MAX: u64 = 15_000_000;

/// The bytes of an agent's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) base: u64,
    pub(super) interpreter: u64,
    pub(super) package: u64,
    /// What all agents have besides.
    pub(super) needs: u64,
    /// Our own layer.
    pub(super) ours: u64,
}

/// The image that an image's first layers are: the one that only a workshop stands before.
pub(super) fn ground(image: &'static Image) -> &'static Image {
    let parent = image.parents.iter().find(|(argument, _)| *argument == "BASE");
    parent.and_then(|(_, name)| find(name)).map_or(image, ground)
}

/// Tells the parts by the sizes of an image's steps, the last first: ours, the package, the interpreter.
pub(super) fn parts(image: &Facts, parent: &Facts, base: &Facts, steps: &[u64]) -> Parts {
    let above = &steps[..image.layers.len().saturating_sub(parent.layers.len()).min(steps.len())];
    let package = above.get(1).copied().unwrap_or(0);
    let interpreter = above.iter().skip(2).sum();
    let ours = above.first().copied().unwrap_or(0);
    let needs = image.size.saturating_sub(base.size + package + interpreter + ours);
    Parts { base: base.size, interpreter, package, needs, ours }
}

/// What is promised of an image's size, and whether it is kept.
pub(super) fn verdict(role: Role, size: u64, parts: Parts) -> &'static str {
    let is_lean = parts.needs + parts.ours <= REST_MAX;
    match role {
        Role::Agent(_) if parts.ours > OURS_MAX as u64 => "BROKEN: ours at most 1.5 MB",
        Role::Agent(Flavor::Slim) if is_lean && size <= SLIM_MAX => "met: at most 250 MB",
        Role::Agent(Flavor::Slim) if !is_lean => "BROKEN: needs and ours at most 15 MB",
        Role::Agent(Flavor::Slim) if parts.interpreter > 0 => "met: base + interpreter + package + 15 MB",
        Role::Agent(Flavor::Slim) => "met: base + package + 15 MB",
        Role::Agent(Flavor::Full) => "met: ours at most 1.5 MB",
        _ => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Flavor, Parts, Role, find, ground, parts, verdict};

    fn facts(size: u64, layers: usize) -> Facts {
        Facts { id: String::new(), size, layers: vec![String::new(); layers] }
    }

    #[test]
    fn every_agent_stands_on_a_base() {
        for (name, base) in [("pi", "base"), ("pi-slim", "base"), ("openhands-slim", "base-trixie")] {
            assert_eq!(ground(find(name).unwrap()).name, base);
        }
    }

    #[test]
    fn parts_are_told_by_what_stands_above_the_parent() {
        let (base, parent) = (facts(100, 1), facts(110, 2));
        let told = |size, layers, steps: &[u64]| parts(&facts(size, layers), &parent, &base, steps);
        let agent = |interpreter, package| Parts { base: 100, interpreter, package, needs: 10, ours: 1 };
        assert_eq!(told(111, 3, &[1, 10, 100]), agent(0, 0));
        assert_eq!(told(141, 4, &[1, 30, 10, 100]), agent(0, 30));
        assert_eq!(told(181, 5, &[1, 30, 40, 10, 100]), agent(40, 30));
    }

    #[test]
    fn each_image_is_held_to_what_is_promised_of_it() {
        let (slim, full) = (Role::Agent(Flavor::Slim), Role::Agent(Flavor::Full));
        let parts = |needs, ours| Parts { base: 1, interpreter: 0, package: 1, needs, ours };
        assert_eq!(verdict(slim, 250_000_000, parts(13_500_000, 1_500_000)), "met: at most 250 MB");
        assert_eq!(verdict(slim, 250_000_001, parts(14_999_999, 1)), "met: base + package + 15 MB");
        let with_interpreter = Parts { interpreter: 1, ..parts(14_999_999, 1) };
        assert_eq!(verdict(slim, 250_000_001, with_interpreter), "met: base + interpreter + package + 15 MB");
        assert_eq!(verdict(slim, 1, parts(15_000_000, 1)), "BROKEN: needs and ours at most 15 MB");
        assert_eq!(verdict(slim, 1, parts(0, 1_500_001)), "BROKEN: ours at most 1.5 MB");
        assert_eq!(verdict(full, 1, parts(60_000_000, 1_500_000)), "met: ours at most 1.5 MB");
        assert_eq!(verdict(full, 1, parts(0, 1_500_001)), "BROKEN: ours at most 1.5 MB");
        assert_eq!(verdict(Role::Toolchain, 1, parts(0, 0)), "-");
    }
}
