//! `aifo-coder gc`: removes what sessions have left that could not end by themselves, and old copies of our programs.
//!
//! A session ends by itself, also after SIGKILL. What can remain is what docker did not get to finish: a daemon that was
//! killed, a client that died between create and start. Only what carries our labels is touched, and nothing of a
//! session whose proxy lives.

use std::collections::BTreeSet;

use super::{
    print, remove,
    sessions::{Container, containers},
};
use crate::{
    cli::Switches,
    config::Config,
    docker::Docker,
    error::Error,
    launch::{host_arch, read_programs},
    report,
};

/// Something to remove.
#[derive(Debug, PartialEq, Eq)]
struct Leftover {
    what: &'static str,
    name: String,
    why: String,
}

impl Leftover {
    fn removal(&self) -> Vec<&str> {
        match self.what {
            "container" => vec!["rm", "--force", "--volumes", &self.name],
            "volume" => vec!["volume", "rm", &self.name],
            _ => vec!["image", "rm", &self.name],
        }
    }
}

/// Finds and removes; with `--dry-run` only finds.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let docker = Docker::find(&config.docker())?;
    let mut rows = Vec::new();
    for leftover in leftovers(&docker, config)? {
        let state = if switches.dry_run { "would be removed" } else { remove(&docker, &leftover.removal())? };
        rows.push([leftover.what, &leftover.name, &leftover.why, state].map(str::to_owned).to_vec());
    }
    if rows.is_empty() && !switches.json {
        report::say("nothing was left");
    } else {
        print(switches.json, "leftovers", &["what", "name", "why", "state"], &rows);
    }
    Ok(())
}

fn leftovers(docker: &Docker, config: &Config) -> Result<Vec<Leftover>, Error> {
    let containers = containers(docker)?;
    let living = living(&containers);
    let mut found: Vec<Leftover> =
        containers.iter().filter(|container| !living.contains(&container.session)).map(dead).collect();
    let list = |words: &[&str]| docker.capture(words).map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>());
    let format = "{{.Name}} {{.Label \"aifo.session\"}}";
    for line in list(&["volume", "ls", "--filter", "label=aifo.session", "--format", format])? {
        let (name, session) = line.split_once(' ').unwrap_or((&line, ""));
        if !living.contains(session) {
            found.push(Leftover { what: "volume", name: name.to_owned(), why: format!("session {session} has ended") });
        }
    }
    let seeds = ["image", "ls", "aifo-coder-seed", "--format", "{{.Repository}}:{{.Tag}} {{.CreatedSince}}"];
    found.extend(
        list(&seeds)?.iter().filter_map(|line| line.split_once(' ')).filter(|(_, since)| !is_young(since)).map(
            |(name, _)| Leftover {
                what: "image",
                name: name.to_owned(),
                why: "its session has not come to its start".to_owned(),
            },
        ),
    );
    // Without our own programs at hand nothing can be told old.
    let Ok(current) = read_programs(host_arch(), config) else {
        return Ok(found);
    };
    let old = || "of another build of aifo-coder".to_owned();
    let volumes = list(&["volume", "ls", "--filter", "label=aifo.binaries", "--format", "{{.Name}}"])?;
    let images = list(&["image", "ls", "aifo-coder-session", "--format", "{{.Repository}}:{{.Tag}}"])?;
    found.extend(volumes.into_iter().filter(|name| *name != current.volume_name()).map(|name| Leftover {
        what: "volume",
        name,
        why: old(),
    }));
    found.extend(images.into_iter().filter(|name| *name != current.reference()).map(|name| Leftover {
        what: "image",
        name,
        why: old(),
    }));
    Ok(found)
}

/// The sessions whose proxy runs, or was created a moment ago and is about to.
fn living(containers: &[Container]) -> BTreeSet<String> {
    let lives = |container: &&Container| {
        let young = container.state == "created" && is_young(&container.since);
        match container.role.as_str() {
            "proxy" => container.state == "running" || young,
            // Fills the caches' volumes before there is a proxy.
            "seed" => young,
            _ => false,
        }
    };
    containers.iter().filter(lives).map(|container| container.session.clone()).collect()
}

/// Docker's words for less than a minute.
fn is_young(since: &str) -> bool {
    since.contains("second")
}

fn dead(container: &Container) -> Leftover {
    let why = format!("{} of session {}, whose proxy is gone", container.role, container.session);
    Leftover { what: "container", name: container.id.clone(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lives_as_long_as_its_proxy() {
        let container = |session: &str, role: &str, state: &str, since: &str| Container {
            session: session.into(),
            role: role.into(),
            state: state.into(),
            since: since.into(),
            ..Container::default()
        };
        let all = [
            container("a", "proxy", "running", "3 hours ago"),
            container("b", "sidecar", "running", "3 hours ago"),
            container("c", "proxy", "created", "Less than a second ago"),
            container("d", "proxy", "created", "3 hours ago"),
            container("e", "proxy", "exited", "1 second ago"),
            container("f", "seed", "created", "2 seconds ago"),
            container("g", "seed", "created", "2 minutes ago"),
        ];
        assert_eq!(living(&all).into_iter().collect::<Vec<_>>(), ["a", "c", "f"]);
    }
}
