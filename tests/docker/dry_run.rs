//! `--dry-run` prints what runs, word for word, without a secret and without starting anything.

use std::process::Command;

use crate::support::{
    Ran,
    docker::{Place, Session, docker, processes},
};

const ARGS: [&str; 6] = ["--toolchain", "c-cpp", "--toolchain", "python", "--tool", "c-cpp:sl"];
const AGENT: [&str; 5] = ["run", "--", "sh", "-c", "cat; echo \"it's $done\""];

/// A printed line as the words that a shell makes of it.
#[track_caller]
fn words(line: &str) -> Vec<String> {
    let ran = Ran::of(Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]));
    ran.expect(0);
    ran.out().split_terminator('\0').map(str::to_owned).collect()
}

/// The same for every session: what its id decides is replaced.
fn without_id(words: Vec<String>) -> Vec<String> {
    let id = words.iter().find_map(|word| word.strip_prefix("aifo.session=")).expect("the session's label").to_owned();
    let same = |word: String| {
        if word.starts_with("label=level:s0:c") { "label=level".to_owned() } else { word.replace(&id, "ID") }
    };
    words.into_iter().map(same).collect()
}

/// The docker clients of a session, in the order in which they were started.
fn clients(session: &Session) -> Vec<Vec<String>> {
    let label = format!("aifo.session={}", session.id);
    let mut found = processes();
    found.retain(|process| process.command.starts_with("docker\0run\0") && process.command.contains(&label));
    found.sort_by_key(|process| process.pid);
    found.into_iter().map(|process| process.command.split_terminator('\0').map(str::to_owned).collect()).collect()
}

#[test]
#[ignore = "needs docker"]
fn dry_run_prints_exactly_what_runs() {
    let place = Place::named("it's, \"here\"\nand there");
    let launcher = |first: &[&str]| {
        let launcher = place.launcher(&[first, &ARGS, &AGENT].concat());
        launcher.env("TERM", "xterm-it").env("HTTP_PROXY", "http://user:password@proxy:1")
    };
    let mut dry = launcher(&["--dry-run"]);
    let printed = Ran::of(&mut dry.command);
    let text = printed.expect(0);
    assert_eq!(printed.err(), "");
    assert!(!text.contains("password"), "the value of a variable that may hold a secret: {text}");
    let is_hex = |word: &str| word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    assert!(!text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_hex), "{text}");

    let session = launcher(&[]).start();
    session.wait_for("agent");
    let running = clients(&session);
    let lines = text.strip_prefix("docker run ").expect("docker's words").split("\ndocker run ");
    let planned: Vec<Vec<String>> = lines.map(|line| words(&format!("docker run {line}"))).collect();
    assert_eq!(planned.len(), 4, "{text}");
    for (planned, running) in planned.into_iter().zip(running) {
        assert_eq!(without_id(planned), without_id(running));
    }
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn dry_run_starts_nothing() {
    let place = Place::new();
    let before = place.listing();
    let ran = Ran::of(&mut place.launcher(&["--dry-run", "--toolchain", "rust", "shell"]).command);
    let id = ran.expect(0).split("aifo.session=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    place.assert_nothing_left(&id);
    assert_eq!(place.listing(), before);
    assert_eq!(docker(&["ps", "-aq", "--filter", &format!("label=aifo.session={id}")]).expect(0), "");
    // Nor does it need the images.
    let ran =
        Ran::of(&mut place.launcher(&["--dry-run", "run", "--image", "no.such.example/image:1", "--", "true"]).command);
    assert!(ran.expect(0).contains(" no.such.example/image:1 "), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn docker_inspect_shows_what_was_promised() {
    let place = Place::of_plain_user();
    let session = place.launcher(&["--toolchain", "python", "run", "--", "cat"]).start();
    session.wait_for("agent");
    session.wait_for("python");
    let user = format!("{0}:{0}", place.uid());
    let workspace = place.workspace();
    let facts = "{{.Config.User}} {{with .HostConfig}}{{.AutoRemove}} {{.Privileged}} {{.CapAdd}} {{.PidMode}}|\
                 {{.IpcMode}} {{.Binds}} {{.LogConfig.Type}} {{.SecurityOpt}}{{end}}";
    for part in ["agent", "python"] {
        let said = session.inspect(part, facts);
        assert!(said.starts_with(&format!("{user} true false [] |private [] none [no-new-privileges")), "{said}");
        let mounts = session.inspect(
            part,
            "{{range .Mounts}}{{.Type}} {{.Destination}} {{.RW}} {{if eq .Type \"bind\"}}{{.Source}}{{end}}\n{{end}}",
        );
        let mut mounts: Vec<&str> = mounts.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        mounts.sort_unstable();
        let bind = format!("bind /workspace true {}", workspace.display());
        let cache: &[&str] = if part == "python" { &["volume /home/coder/.cache true"] } else { &[] };
        let common = ["volume /opt/aifo/bin false", "volume /run/aifo true", "volume /tmp true"];
        assert_eq!(mounts, [&[bind.as_str()], cache, &common].concat());
        let proxy = docker(&["inspect", "--format", "{{.Id}}", &session.name("proxy")]).expect(0);
        assert_eq!(session.inspect(part, "{{.HostConfig.NetworkMode}}"), format!("container:{proxy}"));
    }
    assert_eq!(session.inspect("proxy", "{{.HostConfig.NetworkMode}} {{.HostConfig.PortBindings}}"), "bridge map[]");
    for (part, role) in [("proxy", "proxy"), ("python", "sidecar"), ("agent", "agent")] {
        let labels =
            session.inspect(part, "{{index .Config.Labels \"aifo.role\"}} {{index .Config.Labels \"aifo.workspace\"}}");
        assert_eq!(labels, format!("{role} {}", workspace.display()));
    }
    session.finish().expect(0);
}
