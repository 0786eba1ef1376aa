//! `aifo-coder doctor`: proves the whole path by walking it, from docker to a tool call in every sidecar.
//!
//! The last check is a real session: its agent calls one tool a sidecar, plainly and from login shells, as agents do.
//! Each check that fails says what to type next; what depends on it is not tried.

use std::process::Output;

use crate::{
    cli::{Options, Runtime},
    config::Config,
    docker::Docker,
    error::Error,
    json::Json,
    launch::{self, Agent, Binaries, host_arch},
    report,
    toolchain::{KINDS, Kind, Spec},
};

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
    hint: Option<String>,
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

/// Calls one tool a sidecar: `$@` is triples of kind, tool and argument. Prints a line a call: kind, way, code, words.
const PROBE: &str = r#"
shell=sh; command -v bash >/dev/null 2>&1 && shell=bash
while [ $# -ge 3 ]; do
  said=$("$2" "$3" 2>&1); printf '%s\tcall\t%s\t%s\n' "$1" $? "$(printf '%s\n' "$said" | head -n 1)"
  for way in "$shell -c" "$shell -lc" "env -i $shell -lc"; do
    place=$($way "command -v $2" 2>/dev/null)
    if [ "${place%/*}" = "$(dirname "$(command -v env)")" ]; then code=0; else code=1; fi
    printf '%s\t%s\t%s\t%s\n' "$1" "$way" $code "${place:-not found}"
  done
  shift 3
done
"#;

/// Checks, prints, and fails when a check failed.
pub(crate) fn run(mut options: Options, config: &Config) -> Result<(), Error> {
    let mut checks = Vec::new();
    let ready = match options.runtime {
        Runtime::Docker => check_docker(&mut options, config, &mut checks),
        Runtime::Local => {
            let found = Binaries::find(config.binaries.as_deref(), host_arch());
            checks.push(Check::of("programs", found.map(|binaries| binaries.folder.display().to_string())));
            checks.iter().all(|check| check.ok)
        }
    };
    if ready {
        checks.extend(walk(&options, config));
    }
    print(&checks, options.json);
    match checks.iter().filter(|check| !check.ok).count() {
        0 => Ok(()),
        failed => Err(Error::Unhealthy(failed)),
    }
}

/// Docker, its platform, our programs, the images. Where no toolchain was named, those that are here are taken.
fn check_docker(options: &mut Options, config: &Config, checks: &mut Vec<Check>) -> bool {
    let docker = match Docker::find(config.docker.clone()) {
        Ok(docker) => docker,
        Err(error) => {
            checks.push(Check::of("docker", Err(error)));
            return false;
        }
    };
    let format = "{{.Server.Version}} on {{.Server.Os}}/{{.Server.Arch}}";
    checks.push(Check::of("docker", docker.capture(&["version", "--format", format])));
    if checks.iter().any(|check| !check.ok) {
        return false;
    }
    let image = launch::session_image(&docker, config).map(|image| image.reference());
    checks.push(Check::of("programs", image));
    let is_here = |image: &str| match docker.missing_images(&[image]) {
        Ok(missing) if missing.is_empty() => Ok(image.to_owned()),
        Ok(_) => Err(Error::NoImage(image.to_owned())),
        Err(error) => Err(error),
    };
    if options.toolchains.is_empty() {
        let ours = KINDS.iter().filter_map(|kind| Spec::parse(kind.name).ok());
        options.toolchains = ours.filter(|spec| is_here(&spec.image()).is_ok()).collect();
    }
    let agent = options.image.clone().unwrap_or_else(launch::shell_image);
    checks.push(Check::of("agent image", is_here(&agent)));
    for spec in &options.toolchains {
        checks.push(Check::of(&format!("{} image", spec.kind.name), is_here(&spec.image())));
    }
    checks.iter().all(|check| check.ok)
}

/// A session whose agent calls a tool in each sidecar.
fn walk(options: &Options, config: &Config) -> Vec<Check> {
    let kinds: Vec<Kind> = options.toolchains.iter().map(|spec| spec.kind).collect();
    let triples = kinds.iter().flat_map(|kind| [kind.name, kind.probe[0], kind.probe[1]]);
    let words = ["sh", "-c", PROBE, "probe"].into_iter().chain(triples);
    let agent = Agent {
        name: "doctor".to_owned(),
        image: options.image.clone().unwrap_or_else(launch::shell_image),
        command: words.map(Into::into).collect(),
        shims: true,
        env: Vec::new(),
    };
    match launch::capture(agent, options, config) {
        Ok(output) => read(&output, &kinds),
        Err(error) => vec![Check::of("session", Err(error))],
    }
}

fn read(Output { status, stdout, .. }: &Output, kinds: &[Kind]) -> Vec<Check> {
    let text = String::from_utf8_lossy(stdout);
    let mut checks = vec![Check {
        name: "session".to_owned(),
        ok: status.success(),
        detail: format!("the agent ended with {status}"),
        hint: (!status.success()).then(|| "aifo-coder -v run -- true".to_owned()),
    }];
    checks.extend(text.lines().filter_map(check_of_line));
    for kind in kinds {
        if !checks.iter().any(|check| check.name.starts_with(kind.name)) {
            let detail = "the probe did not report".to_owned();
            checks.push(Check { name: kind.name.to_owned(), ok: false, detail, hint: None });
        }
    }
    checks
}

fn check_of_line(line: &str) -> Option<Check> {
    let mut fields = line.splitn(4, '\t');
    let (kind, way, code, said) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let ok = code == "0";
    let hint = match way {
        _ if ok => None,
        "call" => Some(format!("aifo-coder -v --toolchain {kind} run -- sh -c ...")),
        _ => Some(
            "put /opt/aifo/bin first in PATH in the image's /etc/profile.d, as images/agent/aifo.sh does".to_owned(),
        ),
    };
    Some(Check { name: format!("{kind} {way}"), ok, detail: said.to_owned(), hint })
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
            Json::Object(members)
        });
        let healthy = Json::Bool(checks.iter().all(|check| check.ok));
        let document = Json::document(vec![("healthy", healthy), ("checks", Json::List(shown.collect()))]);
        report::out(format_args!("{document}\n"));
        return;
    }
    for Check { name, ok, detail, hint } in checks {
        let mark = if *ok { "ok  " } else { "FAIL" };
        report::out(format_args!("{mark}  {name:<24} {detail}\n"));
        hint.iter().for_each(|hint| report::out(format_args!("      next: {hint}\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_probe_is_a_check() {
        let check = check_of_line("rust\tcall\t0\tcargo 1.0\twith tab").unwrap();
        assert_eq!((check.name.as_str(), check.ok, check.detail.as_str()), ("rust call", true, "cargo 1.0\twith tab"));
        let check = check_of_line("go\tbash -lc\t1\t/usr/bin/go").unwrap();
        assert!(!check.ok && check.hint.unwrap().contains("profile.d"));
        assert_eq!(check_of_line("noise"), None);
    }
}
