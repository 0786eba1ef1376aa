//! `aifo-coder ps`: the sessions that docker knows, read from labels.

use super::print;
use crate::{cli::Switches, config::Config, docker::Docker, error::Error, report};

/// A container of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) role: String,
    /// Of a sidecar its kind, of an agent its name.
    pub(super) part: String,
    /// `created`, `running`, `exited`, …
    pub(super) state: String,
    /// As docker tells it: `5 minutes ago`.
    pub(super) since: String,
    pub(super) workspace: String,
}

/// A session.
#[derive(Debug, Default, PartialEq, Eq)]
struct Session {
    id: String,
    agent: String,
    sidecars: Vec<String>,
    since: String,
    workspace: String,
}

/// Prints the running sessions.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let docker = Docker::find(&config.docker())?;
    let sessions = group(containers(&docker)?);
    if sessions.is_empty() && !switches.json {
        report::say("no session is running");
        return Ok(());
    }
    let rows = sessions
        .into_iter()
        .map(|Session { id, agent, sidecars, since, workspace }| vec![id, agent, sidecars.join(","), since, workspace]);
    print(
        switches.json,
        "sessions",
        &["session", "agent", "sidecars", "since", "workspace"],
        &rows.collect::<Vec<_>>(),
    );
    Ok(())
}

/// Every container with our label, running or not.
pub(super) fn containers(docker: &Docker) -> Result<Vec<Container>, Error> {
    // The separators are control characters that nobody has in a label.
    let format = "{{.ID}}\u{1f}{{.Label \"aifo.session\"}}\u{1f}{{.Label \"aifo.role\"}}\u{1f}{{.Label \"aifo.part\"}}\u{1f}\
                  {{.State}}\u{1f}{{.RunningFor}}\u{1f}{{.Label \"aifo.workspace\"}}\u{1e}";
    let listed =
        docker.capture(&["ps", "--all", "--no-trunc", "--filter", "label=aifo.session", "--format", format])?;
    Ok(listed.split('\u{1e}').filter_map(|line| parse(line.trim_start_matches('\n'))).collect())
}

fn parse(line: &str) -> Option<Container> {
    let mut fields = line.split('\u{1f}').map(str::to_owned);
    let mut next = || fields.next();
    Some(Container {
        id: next()?,
        session: next()?,
        role: next()?,
        part: next()?,
        state: next()?,
        since: next()?,
        workspace: next()?,
    })
}

fn group(containers: Vec<Container>) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for container in containers.into_iter().filter(|container| container.state == "running") {
        let known = sessions.iter().position(|session| session.id == container.session);
        let at = known.unwrap_or_else(|| {
            sessions.push(Session { id: container.session.clone(), ..Session::default() });
            sessions.len() - 1
        });
        let Some(session) = sessions.get_mut(at) else { continue };
        match container.role.as_str() {
            "agent" => session.agent = container.part,
            "sidecar" => session.sidecars.push(container.part),
            _ => (session.since, session.workspace) = (container.since, container.workspace),
        }
    }
    sessions.iter_mut().for_each(|session| session.sidecars.sort());
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_make_sessions() {
        let line = |id: &str, role: &str, part: &str, state: &str| {
            let fields = [id, "ab", role, part, state, "5 minutes ago", "/a\nb"];
            parse(&fields.join("\u{1f}")).unwrap()
        };
        let sessions = group(vec![
            line("1", "sidecar", "rust", "running"),
            line("2", "agent", "shell", "running"),
            line("3", "proxy", "", "running"),
            line("4", "sidecar", "go", "exited"),
        ]);
        let expected = Session {
            id: "ab".into(),
            agent: "shell".into(),
            sidecars: vec!["rust".into()],
            since: "5 minutes ago".into(),
            workspace: "/a\nb".into(),
        };
        assert_eq!(sessions, [expected]);
        assert_eq!(parse("1\u{1f}2"), None);
    }
}
