//! Every list as JSON that another program reads, and the two that walk the whole path: doctor and support.

use std::process::Command;

use crate::support::{
    Ran,
    docker::{Launcher, Place, docker},
};

/// What a program in another language makes of the JSON that was printed, `d` in the script.
#[track_caller]
fn read(launcher: Launcher, code: i32, script: &str) -> String {
    let said = Ran::of(&mut { launcher }.command).expect(code);
    let script = format!("import json, sys; d = json.loads(sys.argv[1]); assert d['version'] == 1\n{script}");
    Ran::of(Command::new("python3").args(["-c", &script, &said])).expect(0)
}

/// The images of the shell and of one toolchain under a tag of the test's own, so that no other is here.
struct Tag(String);

impl Tag {
    #[track_caller]
    fn new(place: &Place) -> Self {
        let tag = Self(place.path().file_name().unwrap().to_str().unwrap().to_owned());
        for name in Self::NAMES {
            let release = concat!("release-", env!("CARGO_PKG_VERSION"));
            docker(&["tag", &format!("{name}:{release}"), &format!("{name}:{}", tag.0)]).expect(0);
        }
        tag
    }

    const NAMES: [&str; 2] = ["aifo-coder-shell", "aifo-coder-toolchain-cpp"];
}

impl Drop for Tag {
    fn drop(&mut self) {
        Self::NAMES.iter().for_each(|name| drop(docker(&["image", "rm", &format!("{name}:{}", self.0)])));
    }
}

#[test]
#[ignore = "needs docker"]
fn running_sessions_are_listed_with_who_and_where() {
    let place = Place::named("a \"b\"");
    let mut session = place.launcher(&["--toolchain", "c-cpp", "--toolchain", "go", "shell"]).start();
    session.expect(0, "make --version && go version");
    // A sidecar may answer before docker has noted that it runs.
    ["c-cpp", "go"].iter().for_each(|part| session.wait_for(part));
    let script = format!(
        "print(*[(s['agent'], s['sidecars'], s['workspace']) for s in d['sessions'] if s['session'] == '{}'])",
        session.id
    );
    let said = read(place.launcher(&["ps", "--json"]), 0, &script);
    assert_eq!(said, format!("('shell', 'c-cpp,go', '{}')", place.workspace().display()));
    let table = Ran::of(&mut place.launcher(&["ps"]).command).expect(0);
    assert!(table.lines().any(|line| line.starts_with(&session.id) && line.contains("c-cpp,go")), "{table}");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn empty_lists_are_lists() {
    let place = Place::new();
    let leftovers = read(place.launcher(&["gc", "--dry-run", "--json"]), 0, "print(type(d['leftovers']).__name__)");
    assert_eq!(leftovers, "list");
    let caches =
        read(place.launcher(&["toolchain-cache-clear", "--dry-run", "--json"]), 0, "print(type(d['caches']).__name__)");
    assert_eq!(caches, "list");
}

#[test]
#[ignore = "needs docker"]
fn doctor_walks_the_path_of_an_agent_and_fails_where_a_step_fails() {
    let place = Place::of_plain_user();
    let tag = Tag::new(&place);
    let uncached = |args: &[&str]| place.launcher(args).env("AIFO_TOOLCHAIN_CACHE", "0");
    let launcher = |args: &[&str]| uncached(args).env("AIFO_CODER_IMAGE_TAG", &tag.0);
    let script = "print(d['healthy'], *[c['name'] for c in d['checks']], sep='\\n')";
    let said = read(launcher(&["doctor", "--json"]), 0, script);
    let mut expected = vec!["True".to_owned()];
    let steps = ["docker", "programs", "c-cpp image", "shell image", "shell session", "shell program bash"];
    expected.extend(steps.map(str::to_owned));
    let ways = ["call", "sh -c", "sh -lc", "env -i sh -lc", "bash -c", "bash -lc", "env -i bash -lc"];
    expected.extend(ways.map(|way| format!("shell c-cpp {way}")));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    // An agent whose image is not here: the check that failed says what to type, and what depends on it is not tried.
    let script = "print(d['healthy'], [(c['name'], c['hint']) for c in d['checks'] if not c['ok']])";
    let said = read(launcher(&["doctor", "claude", "--json"]), 1, script);
    assert_eq!(said, "False [('claude image', 'name an image that is here: docker images')]");
    let ran = Ran::of(&mut launcher(&["doctor", "claude"]).command);
    assert!(ran.expect(1).contains("FAIL  claude image"), "{ran}");
    assert_eq!(ran.err(), "aifo-coder: error: 1 of the checks failed\naifo-coder: hint: aifo-coder -v doctor\n");
    assert!(ran.out().contains("\n      next: name an image that is here"), "{ran}");
    // An agent whose program does not start.
    let image = format!("aifo-coder-shell:{}", tag.0);
    let script = "print(*[c['name'] for c in d['checks'] if not c['ok']])";
    assert_eq!(read(launcher(&["--image", &image, "doctor", "claude", "--json"]), 1, script), "claude program claude");
}

#[test]
#[ignore = "needs docker"]
fn support_is_a_matrix_of_what_really_ran() {
    let place = Place::new();
    let tag = Tag::new(&place);
    let launcher = place.launcher(&["support", "--json"]).env("AIFO_CODER_IMAGE_TAG", &tag.0);
    let script = "for row in d['support']: print(*row.values())";
    let said = read(launcher, 0, script);
    assert!(said.contains("claude - - - - -") && said.contains("shell - - - ok -"), "{said}");
    assert_eq!(said.lines().count(), 10, "{said}");
}
