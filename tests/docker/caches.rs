//! The sidecars' caches: the user's from their first use, one set a kind, none of a project, all of them removable.
//!
//! Caches have fixed names on a daemon that others use as well. So a docker stands in front of docker that gives them
//! other names: what happens is real, and happens to volumes of the test's own.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use crate::support::{
    Ran,
    docker::{Launcher, Place, docker},
};

const RENAMING: &str = r#"#!/bin/bash
args=()
for arg in "$@"; do
    for name in rust-cache cargo-registry cargo-git node-cache python-cache go-cache ccpp-cache; do
        arg=${arg/source=aifo-$name/source=NAMES-$name}
        [[ $arg != aifo-$name-[0-9]* ]] || arg=NAMES-${arg#aifo-}
    done
    args+=("${arg//aifo.cache/NAMES.cache}")
done
case $1-$2 in
volume-ls) docker "${args[@]}" | sed -n 's/^NAMES-/aifo-/p; /^aifo-.*-cache/!{/^aifo-cargo-/!p}' ;;
*) exec docker "${args[@]}" ;;
esac
"#;

/// A place whose caches are its own; they are removed with the value.
struct Caches {
    place: Place,
    docker: PathBuf,
    names: String,
}

impl Caches {
    fn of(place: Place) -> Self {
        let names = place.path().file_name().unwrap().to_str().unwrap().to_owned();
        let docker = place.path().join("docker");
        fs::write(&docker, RENAMING.replace("NAMES", &names)).unwrap();
        fs::set_permissions(&docker, Permissions::from_mode(0o755)).unwrap();
        Self { place, docker, names }
    }

    #[track_caller]
    fn launcher(&self, args: &[&str]) -> Launcher {
        self.place.launcher(args).env("AIFO_CODER_DOCKER", &self.docker)
    }

    /// The volumes that there are, by what stands between the name's beginning and the user's number.
    #[track_caller]
    fn there(&self) -> Vec<String> {
        let said = docker(&["volume", "ls", "--quiet", "--filter", &format!("name={}-", self.names)]).expect(0);
        let (before, user) = (format!("{}-", self.names), format!("-{}", self.place.uid()));
        let bare = |name: &str| name.trim_start_matches(&before).trim_end_matches(&user).to_owned();
        let mut names: Vec<String> = said.lines().map(bare).collect();
        names.sort();
        names
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        for volume in docker(&["volume", "ls", "--quiet", "--filter", &format!("name={}-", self.names)]).out().lines() {
            docker(&["volume", "rm", volume]);
        }
    }
}

#[test]
#[ignore = "needs docker"]
fn caches_belong_to_the_user_from_the_first_use_and_to_one_kind() {
    let caches = Caches::of(Place::of_plain_user());
    let uid = caches.place.uid();
    let args = ["--toolchain", "rust", "--toolchain", "python", "--tool", "rust:bash", "--tool", "python:dash"];
    let mut session = caches.launcher(&[&args[..], &["run", "--", "sh"]].concat()).start_shell();
    let owners = "bash -c 'cd ~/.cache && touch here cargo/registry/x cargo/git/x && stat -c \"%u %a %n\" . cargo/*'";
    let expected = format!("{uid} 755 .\n{uid} 755 cargo/git\n{uid} 755 cargo/registry");
    assert_eq!(session.expect(0, owners), expected);
    assert_eq!(
        session.expect(0, "dash -c 'cd ~/.cache && touch there && ls -A && stat -c %u .'"),
        format!("there\n{uid}")
    );
    assert_eq!(session.expect(0, "ls -A ~/.cache 2>/dev/null; true"), "", "the agent has none");
    session.finish().expect(0);
    assert_eq!(caches.there(), ["cargo-git", "cargo-registry", "python-cache", "rust-cache"]);
    assert_eq!(docker(&["image", "ls", "--quiet", "aifo-coder-seed"]).expect(0), "", "what made them is gone");
    // They are kept, and a toolchain's own shell has the same ones.
    let ran = caches.launcher(&["toolchain", "rust", "--", "ls", "-A", "/home/coder/.cache"]).run();
    assert_eq!(ran.expect(0), "cargo\nhere");
}

#[test]
#[ignore = "needs docker"]
fn sessions_that_are_the_first_at_the_same_time_both_run() {
    let caches = Caches::of(Place::of_plain_user());
    let start = || {
        let mut launcher =
            caches.launcher(&["-q", "toolchain", "go", "--", "sh", "-c", "touch ~/.cache/$$ && stat -c %u ~/.cache"]);
        crate::support::Background::start(launcher.command.stdin(std::process::Stdio::null()))
    };
    let all = [start(), start(), start()];
    for one in all {
        assert_eq!(one.end().expect(0), caches.place.uid().to_string());
    }
    assert_eq!(caches.there(), ["go-cache"]);
}

#[test]
#[ignore = "needs docker"]
fn without_caches_no_volume_is_made() {
    let caches = Caches::of(Place::of_plain_user());
    for options in [&["--no-toolchain-cache"][..], &["--cache", "0"]] {
        let args = [options, &["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "sh"]].concat();
        let mut session = caches.launcher(&args).start_shell();
        session.expect(0, "dash -c 'mkdir -p ~/.cache && touch ~/.cache/x'");
        session.finish().expect(0);
    }
    assert_eq!(caches.there(), Vec::<String>::new());
}

#[test]
#[ignore = "needs docker"]
fn node_modules_are_a_projects_own() {
    let (one, two) = (Caches::of(Place::new()), Place::new());
    one.place.put("package.json", "{}");
    let args = ["--toolchain", "node", "--tool", "node:dash", "run", "--", "sh"];
    let mut session = one.launcher(&args).start_shell();
    session.expect(0, "dash -c 'mkdir node_modules && touch node_modules/mine'");
    let mounts = session.inspect("node", "{{range .Mounts}}{{.Destination}}\n{{end}}");
    assert!(!mounts.contains("/workspace/") && mounts.contains("/workspace"), "{mounts}");
    let other = Caches { place: two, docker: one.docker.clone(), names: "none-of-them".to_owned() };
    let mut second = other.launcher(&args).start_shell();
    second.expect(0, "dash -c '! test -e node_modules && ! find -L ~ -name mine | grep .'");
    second.finish().expect(0);
    session.finish().expect(0);
    assert!(one.place.workspace().join("node_modules/mine").exists());
}

#[test]
#[ignore = "needs docker"]
fn clearing_removes_all_of_ours_and_nothing_else() {
    let caches = Caches::of(Place::new());
    let args = ["--toolchain", "rust", "--toolchain", "go", "--toolchain", "c-cpp", "run", "--", "sh"];
    let mut session = caches.launcher(&args).start_shell();
    session.expect(0, "make --version && go version && cargo --version");
    session.finish().expect(0);
    // Somebody's own, and one that has our name but was made by somebody else.
    for name in ["precious", "node-cache"] {
        docker(&["volume", "create", &format!("{}-{name}", caches.names)]).expect(0);
    }
    let all = ["cargo-git", "cargo-registry", "ccpp-cache", "go-cache", "node-cache", "precious", "rust-cache"];
    assert_eq!(caches.there(), all);
    let clear =
        |options: &[&str]| Ran::of(&mut caches.launcher(&[&["toolchain-cache-clear"], options].concat()).command);
    let (dry, uid) = (clear(&["--dry-run", "--json"]), caches.place.uid());
    let rows: Vec<String> = ["cargo-git", "cargo-registry", "ccpp-cache", "go-cache", "rust-cache"]
        .iter()
        .map(|name| format!("{{\"volume\":\"aifo-{name}-{uid}\",\"state\":\"would be removed\"}}"))
        .collect();
    assert_eq!(dry.expect(0), format!("{{\"version\":1,\"caches\":[{}]}}", rows.join(",")));
    let warning = "aifo-coder: warning: volume `aifo-node-cache` has our name but not our label; it is left alone\n";
    assert_eq!((caches.there(), dry.err()), (all.map(str::to_owned).to_vec(), warning.to_owned()));
    // What a session is using stays, and is named.
    let mut session = caches.launcher(&["--toolchain", "go", "run", "--", "sh"]).start_shell();
    session.expect(0, "go version");
    let said = clear(&[]).expect(0);
    let state = |name: &str| {
        let name = format!("aifo-{name}-{uid}");
        said.lines().find_map(|line| line.strip_prefix(&name)).map(str::trim)
    };
    assert_eq!((state("go-cache"), state("rust-cache")), (Some("in use"), Some("removed")), "{said}");
    session.finish().expect(0);
    clear(&[]).expect(0);
    assert_eq!(caches.there(), ["node-cache", "precious"]);
    assert!(clear(&[]).err().ends_with("aifo-coder: there are no caches\n"));
}
