//! `aifo-coder support`: every agent with every toolchain, really run, as a matrix.
//!
//! A cell is `ok` when the agent's program started in its container and the toolchain's tool answered through the shim;
//! it is `-` when an image is not here, and names what failed otherwise.

use super::{doctor, print};
use crate::{
    agent::{AGENTS, Agent},
    cli::Switches,
    config::Config,
    docker::Docker,
    error::Error,
    image::Image,
    toolchain::{KINDS, Kind, Spec},
};

/// Runs and prints; fails when a cell failed.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let docker = Docker::find(&config.docker())?;
    let is_here = |image: &Image| docker.missing_images(&[&image.reference]).map(|missing| missing.is_empty());
    let mut kinds: Vec<Kind> = Vec::new();
    for kind in KINDS {
        if is_here(&Image::of_sidecar(&Spec::parse(kind.name)?, config))? {
            kinds.push(*kind);
        }
    }
    let mut with_kinds = config.clone();
    with_kinds.set_list("session.toolchain", kinds.iter().map(|kind| kind.name.to_owned()).collect());
    let (mut rows, mut failed) = (Vec::new(), 0);
    for agent in AGENTS {
        let cells = if is_here(&Image::of_agent(*agent, config))? {
            cells(*agent, &with_kinds)
        } else {
            vec!["-".to_owned(); KINDS.len()]
        };
        failed += cells.iter().filter(|cell| !matches!(cell.as_str(), "ok" | "-")).count();
        rows.push([agent.name().to_owned()].into_iter().chain(cells).collect());
    }
    let head: Vec<&'static str> = ["agent"].into_iter().chain(KINDS.iter().map(|kind| kind.name)).collect();
    print(switches.json, "support", &head, &rows);
    if failed == 0 { Ok(()) } else { Err(Error::Unhealthy(failed)) }
}

/// One session for an agent answers for all kinds.
fn cells(agent: &'static dyn Agent, config: &Config) -> Vec<String> {
    let checks = doctor::walk(agent, config);
    let of = |part: &str| {
        checks.iter().filter(|check| check.name.starts_with(&format!("{} {part}", agent.name()))).collect::<Vec<_>>()
    };
    let agent_failed = of("program").iter().chain(&of("session")).any(|check| !check.ok);
    let cell = |kind: &Kind| match of(kind.name).as_slice() {
        _ if agent_failed => "agent".to_owned(),
        [] => "-".to_owned(),
        found => found
            .iter()
            .find(|check| !check.ok)
            .map_or_else(|| "ok".to_owned(), |check| check.name.rsplit(' ').next().unwrap_or("failed").to_owned()),
    };
    KINDS.iter().map(cell).collect()
}
