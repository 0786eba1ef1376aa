//! `aifo-coder images`: which image each agent and each kind of sidecar would be made of, and whether it is here.

use super::print;
use crate::{
    agent::AGENTS,
    cli::Switches,
    config::Config,
    docker::Docker,
    error::Error,
    image::Image,
    toolchain::{KINDS, Spec},
};

/// Prints the list; without a docker that answers nothing is known to be here.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let docker = Docker::find(&config.docker())?;
    let agents = AGENTS.iter().map(|agent| (agent.name(), Image::of_agent(*agent, config)));
    let specs = KINDS.iter().filter_map(|kind| Spec::parse(kind.name).ok());
    let sidecars = specs.map(|spec| (spec.kind.name, Image::of_sidecar(&spec, config)));
    let all: Vec<(&str, Image)> = agents.chain(sidecars).collect();
    let references: Vec<&str> = all.iter().map(|(_, image)| image.reference.as_str()).collect();
    let missing = docker.missing_images(&references)?;
    let rows = all.iter().map(|(name, image)| {
        let state = match (missing.contains(&image.reference), image.can_pull) {
            (false, _) => "here",
            (true, true) => "to be pulled",
            (true, false) => "not built",
        };
        [*name, &image.reference, state].map(str::to_owned).to_vec()
    });
    print(switches.json, "images", &["name", "image", "state"], &rows.collect::<Vec<_>>());
    Ok(())
}
