//! `aifo-coder doctor [AGENT]`: proves the whole path by walking it, from docker to a tool call in every sidecar.
//!
//! For each agent whose image is here it runs a real session: the agent's program must start in its own container with
//! its own runtime, the shims must be first in every kind of shell that agents use, and one tool of each sidecar must
//! answer. Each check that fails says what to type next; what depends on it is not tried.

use std::process::Output;

use aifo_shim::json::Json;

use crate::{
    agent::{AGENTS, Agent, by_name},
    cli::Switches,
    config::{Config, Runtime},
    docker::Docker,
    error::Error,
    image::Image,
    launch::{self, Binaries, Task, host_arch, read_programs},
    report,
    toolchain::{KINDS, Kind, Spec},
};

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) ok: bool,
    pub(super) detail: String,
    pub(super) hint: Option<String>,
}

impl Check {
    fn of(name: &str, result: Result<String, Error>) -> Self {
        let (ok, detail, hint) = match result {
            Ok(detail) => (true, detail, None),
            Err(error) => (false, error.to_string(), error.hint()),
        };
        Self { name: name.to_owned(), ok, detail, hint }
    }
}

/// What an agent's container is asked. `$1` is the names of the agent's program, then triples of kind, tool and argument follow.
/// Prints a line a question: what, way, code, words, separated by tabs.
const PROBE: &str = r#"
say() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(printf '%s\n' "$4" | head -n 1)"; }
program=${1%% *}
for name in $1; do if command -v "$name" >/dev/null 2>&1; then program=$name; break; fi; done
[ -z "$program" ] || { said=$("$program" --version 2>&1 </dev/null); say program "$program" $? "$said"; }
shift
here=$(dirname "$(command -v env)")
while [ $# -ge 3 ]; do
  said=$("$2" "$3" 2>&1); say "$1" call $? "$said"
  for way in "sh -c" "sh -lc" "env -i sh -lc" "bash -c" "bash -lc" "env -i bash -lc"; do
    case $way in *bash*) command -v bash >/dev/null 2>&1 || continue ;; esac
    place=$($way "command -v $2" 2>/dev/null)
    if [ "${place%/*}" = "$here" ]; then code=0; else code=1; fi
    say "$1" "$way" $code "${place:-not found}"
  done
  shift 3
done
"#;

/// Checks, prints, and fails when a check failed.
pub(crate) fn run(agent: Option<&'static dyn Agent>, switches: Switches, config: &Config) -> Result<(), Error> {
    let mut checks = Vec::new();
    let mut config = config.clone();
    let agents = match config.runtime() {
        Runtime::Docker => check_docker(agent, &mut config, &mut checks),
        Runtime::Local => {
            let found = Binaries::find(config.path("session.binaries").as_deref(), host_arch());
            checks.push(Check::of("programs", found.map(|binaries| binaries.folder.display().to_string())));
            agent.or_else(|| by_name("shell")).into_iter().collect()
        }
    };
    if checks.iter().all(|check| check.ok) {
        agents.into_iter().for_each(|agent| checks.extend(walk(agent, &config)));
    }
    print(&checks, switches.json);
    match checks.iter().filter(|check| !check.ok).count() {
        0 => Ok(()),
        failed => Err(Error::Unhealthy(failed)),
    }
}

/// Docker, our programs, the images. Gives the agents to try: the one named, or those whose images are here. Where no
/// toolchain is named, those whose images are here are taken.
fn check_docker(
    agent: Option<&'static dyn Agent>,
    config: &mut Config,
    checks: &mut Vec<Check>,
) -> Vec<&'static dyn Agent> {
    let docker = match Docker::find(&config.docker()).and_then(|docker| Ok((docker.daemon()?, docker))) {
        Ok((daemon, docker)) => {
            checks.push(Check::of("docker", Ok(format!("{} on linux/{}", daemon.version, daemon.arch))));
            checks.push(Check::of("programs", read_programs(&daemon.arch, config).map(|image| image.reference())));
            docker
        }
        Err(error) => {
            checks.push(Check::of("docker", Err(error)));
            return Vec::new();
        }
    };
    let is_here = |image: &str| match docker.missing_images(&[image]) {
        Ok(missing) if missing.is_empty() => Ok(image.to_owned()),
        Ok(_) => Err(Error::NoImage(image.to_owned())),
        Err(error) => Err(error),
    };
    if config.list("session.toolchain").is_empty() {
        let here = |kind: &&Kind| {
            Spec::parse(kind.name).is_ok_and(|spec| is_here(&Image::of_sidecar(&spec, config).reference).is_ok())
        };
        let kinds = KINDS.iter().filter(here).map(|kind| kind.name.to_owned()).collect();
        config.set_list("session.toolchain", kinds);
    }
    for spec in config.toolchains().unwrap_or_default() {
        let image = Image::of_sidecar(&spec, config).reference;
        checks.push(Check::of(&format!("{} image", spec.kind.name), is_here(&image)));
    }
    let image = |agent: &dyn Agent| Image::of_agent(agent, config).reference;
    let agents: Vec<&'static dyn Agent> = match agent {
        Some(agent) => vec![agent],
        None => {
            AGENTS.iter().copied().filter(|agent| agent.name() == "shell" || is_here(&image(*agent)).is_ok()).collect()
        }
    };
    checks.extend(agents.iter().map(|agent| Check::of(&format!("{} image", agent.name()), is_here(&image(*agent)))));
    agents
}

/// A session in an agent's container that is asked what an agent would find there.
pub(super) fn walk(agent: &'static dyn Agent, config: &Config) -> Vec<Check> {
    let kinds: Vec<Kind> = config.toolchains().unwrap_or_default().iter().map(|spec| spec.kind).collect();
    let program = agent.binary_names().join(" ");
    let triples = kinds.iter().flat_map(|kind| [kind.name, kind.probe[0], kind.probe[1]]);
    let words = ["sh", "-c", PROBE, "probe", &program].into_iter().chain(triples).map(Into::into).collect();
    let task = Task::Command { name: agent.name().to_owned(), agent: Some(agent), words };
    match launch::capture(&task, config) {
        Ok(output) => read(agent, &output, &kinds, config.runtime()),
        Err(error) => vec![Check::of(&format!("{} session", agent.name()), Err(error))],
    }
}

fn read(agent: &dyn Agent, Output { status, stdout, .. }: &Output, kinds: &[Kind], runtime: Runtime) -> Vec<Check> {
    let name = agent.name();
    let text = String::from_utf8_lossy(stdout);
    let mut checks = vec![Check {
        name: format!("{name} session"),
        ok: status.success(),
        detail: format!("ended with {status}"),
        hint: (!status.success()).then(|| "aifo-coder -v run -- true".to_owned()),
    }];
    // The host's own profile is not ours to arrange.
    let matters = |line: &&str| runtime == Runtime::Docker || !line.contains("-lc\t");
    let found: Vec<Check> = text.lines().filter(matters).filter_map(|line| check_of_line(name, line)).collect();
    for kind in kinds.iter().filter(|kind| !found.iter().any(|check| check.name.contains(kind.name))) {
        let detail = "the probe did not report".to_owned();
        checks.push(Check { name: format!("{name} {}", kind.name), ok: false, detail, hint: None });
    }
    checks.extend(found);
    checks
}

fn check_of_line(agent: &str, line: &str) -> Option<Check> {
    let mut fields = line.splitn(4, '\t');
    let (what, way, code, said) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let ok = code == "0";
    let hint = match (what, way) {
        _ if ok => None,
        ("program", _) => Some(format!("aifo-coder -v {agent} --version")),
        (kind, "call") => Some(format!("aifo-coder -v --toolchain {kind} run -- sh -c ...")),
        _ => Some(
            "put /opt/aifo/bin first in PATH in the image's /etc/profile.d, as images/ours/aifo.sh does".to_owned(),
        ),
    };
    Some(Check { name: format!("{agent} {what} {way}"), ok, detail: said.to_owned(), hint })
}

fn print(checks: &[Check], json: bool) {
    if json {
        let shown = checks.iter().map(|check| {
            let mut members = vec![
                ("name", Json::text(&check.name)),
                ("ok", Json::Bool(check.ok)),
                ("detail", Json::text(&check.detail)),
            ];
            members.extend(check.hint.as_ref().map(|hint| ("hint", Json::text(hint))));
            Json::object(members)
        });
        let healthy = Json::Bool(checks.iter().all(|check| check.ok));
        let document = super::document([("healthy", healthy), ("checks", Json::List(shown.collect()))]);
        report::out(format_args!("{document}\n"));
        return;
    }
    for Check { name, ok, detail, hint } in checks {
        let mark = report::mark(if *ok { "ok  " } else { "FAIL" }, *ok);
        report::out(format_args!("{mark}  {name:<32} {}\n", super::visible(detail)));
        hint.iter().for_each(|hint| report::out(format_args!("      next: {hint}\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_probe_is_a_check() {
        let check = check_of_line("pi", "rust\tcall\t0\tcargo 1.0\twith tab").unwrap();
        assert_eq!(
            (check.name.as_str(), check.ok, check.detail.as_str()),
            ("pi rust call", true, "cargo 1.0\twith tab")
        );
        let check = check_of_line("pi", "go\tbash -lc\t1\t/usr/bin/go").unwrap();
        assert!(!check.ok && check.hint.unwrap().contains("profile.d"));
        assert_eq!(check_of_line("pi", "noise"), None);
    }
}
