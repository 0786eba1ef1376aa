//! Which images are asked for, of whom, and what is said when they are not to be had.

use std::process::{Command, Stdio};

use crate::support::{
    Ran, Terminal,
    docker::{Place, docker, session_id},
    registry::{Door, Registry},
};

const RELEASE: &str = concat!("release-", env!("CARGO_PKG_VERSION"));

/// `aifo-coder images` with these variables: the reference behind a name.
#[track_caller]
fn reference(place: &Place, variables: &[(&str, &str)], options: &[&str], name: &str) -> String {
    let launcher = place.launcher(&[options, &["images"]].concat());
    let launcher = variables.iter().fold(launcher, |launcher, (name, value)| launcher.env(name, value));
    let ran = Ran::of(&mut { launcher }.command);
    let said = ran.expect(0);
    let row = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find(|row| row[0] == name);
    row.unwrap_or_else(|| panic!("{ran}"))[1].to_owned()
}

#[test]
#[ignore = "needs docker"]
fn an_agents_image_follows_options_and_variables() {
    let place = Place::new();
    let ours = |rest: &str| format!("aifo-coder-claude{rest}");
    for (variables, options, expected) in [
        (&[][..], &[][..], ours(&format!(":{RELEASE}"))),
        (&[("AIFO_CODER_IMAGE_FLAVOR", "slim")], &[], ours(&format!("-slim:{RELEASE}"))),
        (&[("AIFO_CODER_IMAGE_FLAVOR", "slim")], &["--flavor", "full"], ours(&format!(":{RELEASE}"))),
        (&[("AIFO_CODER_IMAGE_TAG", "7"), ("AIFO_CODER_IMAGE_PREFIX", "own")], &[], "own-claude:7".to_owned()),
        (&[("AIFO_CODER_IMAGE", "r.example/x@sha256:ab")], &[], "r.example/x@sha256:ab".to_owned()),
        (&[("AIFO_CODER_IMAGE", "x:1")], &["--image", "y:2"], "y:2".to_owned()),
        (
            &[("AIFO_CODER_INTERNAL_REGISTRY_PREFIX", "r.example:5000/team/"), ("AIFO_CODER_IMAGE_TAG", "7")],
            &[],
            "r.example:5000/team/aifo-coder-claude:7".to_owned(),
        ),
        // A mirror is for other people's images.
        (&[("AIFO_CODER_MIRROR_REGISTRY_PREFIX", "m.example")], &[], ours(&format!(":{RELEASE}"))),
    ] {
        assert_eq!(reference(&place, variables, options, "claude"), expected, "{variables:?} {options:?}");
    }
}

#[test]
#[ignore = "needs docker"]
fn each_of_the_five_kinds_is_overridden_by_image_version_and_official() {
    let place = Place::new();
    for (kind, variable, ours, official) in [
        ("rust", "RUST", "rust", "rust"),
        ("node", "NODE", "node", "node"),
        ("python", "PYTHON", "python", "python"),
        ("c-cpp", "CCPP", "cpp", "gcc"),
        ("go", "GO", "go", "golang"),
    ] {
        let name = |what: &str| format!("AIFO_{variable}_TOOLCHAIN_{what}");
        let (image, version, use_official) = (name("IMAGE"), name("VERSION"), name("USE_OFFICIAL"));
        let mirror = ("AIFO_CODER_MIRROR_REGISTRY_PREFIX", "m.example/hub/");
        let of = |variables: &[(&str, &str)]| reference(&place, variables, &[], kind);
        assert_eq!(of(&[]), format!("aifo-coder-toolchain-{ours}:{RELEASE}"));
        assert_eq!(of(&[(&version, "9")]), format!("aifo-coder-toolchain-{ours}:9"));
        assert_eq!(of(&[(&image, "vetted/x:1"), (&version, "9")]), "vetted/x:1");
        assert_eq!(of(&[(&use_official, "1"), (&version, "9")]), format!("{official}:9-bookworm"));
        assert_eq!(
            of(&[(&use_official, "1"), (&version, "9"), mirror]),
            format!("m.example/hub/{official}:9-bookworm")
        );
        // The command line is the nearest, and what runs is what the list says.
        let dry =
            place.launcher(&["--dry-run", "--toolchain", &format!("{kind}=mine:2"), "shell"]).env(&image, "vetted/x:1");
        let said = Ran::of(&mut { dry }.command).expect(0);
        assert!(said.contains(" mine:2 execd") && !said.contains("vetted"), "{said}");
    }
}

#[test]
#[ignore = "needs docker"]
fn an_image_of_ours_that_is_missing_is_never_asked_of_a_public_registry() {
    let place = Place::new();
    for (args, image, hint) in [
        (&["claude"][..], "aifo-coder-claude:none", "name an image that is here: docker images"),
        (
            &["--toolchain", "go", "shell"],
            "aifo-coder-toolchain-go:none",
            "name an image that is here, or take the official one: toolchain.KIND-official = 1",
        ),
        (
            &["toolchain", "go"],
            "aifo-coder-toolchain-go:none",
            "name an image that is here, or take the official one: toolchain.KIND-official = 1",
        ),
    ] {
        let launcher = place.launcher(args).env("AIFO_GO_TOOLCHAIN_VERSION", "none");
        let launcher = if args[0] == "claude" { launcher.env("AIFO_CODER_IMAGE_TAG", "none") } else { launcher };
        let (said, told) = launcher.refused();
        assert_eq!((said, told.as_deref()), (format!("image `{image}` is not here"), Some(hint)), "{args:?}");
    }
}

/// A session in an image that only this registry has, which is removed with the value.
struct Guest {
    registry: Registry,
    tag: String,
    place: Place,
}

impl Guest {
    #[track_caller]
    fn of(door: Door) -> Self {
        let place = Place::new();
        let tag = place.path().file_name().unwrap().to_str().unwrap().to_owned();
        Self { registry: Registry::start(door, &tag), tag, place }
    }

    fn image(&self) -> String {
        format!("{}/team/aifo-coder-shell:{}", self.registry.address, self.tag)
    }

    /// Prints the version of the launcher: no other program is in the image.
    #[track_caller]
    fn launcher(&self, options: &[&str]) -> crate::support::docker::Launcher {
        let words = ["run", "--", "/opt/aifo/bin/aifo-coder", "--version"];
        let launcher = self.place.launcher(&[options, &words].concat()).env("AIFO_CODER_IMAGE_TAG", &self.tag);
        launcher.env("AIFO_CODER_INTERNAL_REGISTRY_PREFIX", format!("{}/team", self.registry.address))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        docker(&["image", "rm", &self.image()]);
    }
}

const SAID: &str = concat!("aifo-coder ", env!("CARGO_PKG_VERSION"));

#[test]
#[ignore = "needs docker"]
fn an_image_of_the_internal_registry_is_pulled_once_and_talk_stays_on_stderr() {
    let guest = Guest::of(Door::Open);
    let ran = guest.launcher(&[]).run();
    assert_eq!(ran.expect(0), SAID);
    assert!(ran.err().contains(&format!("aifo-coder: pulling {}\n", guest.image())), "{ran}");
    let asked = guest.registry.asked().len();
    assert!(
        asked > 0 && guest.registry.asked().iter().all(|line| line.contains("/v2/")),
        "{:?}",
        guest.registry.asked()
    );
    let ran = guest.launcher(&[]).run();
    assert!(ran.expect(0) == SAID && !ran.err().contains("pulling"), "{ran}");
    assert_eq!(guest.registry.asked().len(), asked, "it is here now");
}

#[test]
#[ignore = "needs docker"]
fn t55_a_registry_that_refuses_ends_the_run_before_anything_is_started() {
    for door in [Door::Closed, Door::Login] {
        let guest = Guest::of(door);
        let ran = Ran::of(guest.launcher(&[]).command.stdin(Stdio::null()));
        assert_eq!((ran.code(), ran.out().as_str()), (125, ""), "{ran}");
        assert_eq!(session_id(&ran.err()), None, "{ran}");
        let err = ran.err();
        let last: Vec<&str> = err.lines().rev().take(2).collect();
        assert_eq!(last[0], "aifo-coder: hint: docker login, or name an image that is here", "{ran}");
        assert!(last[1].starts_with(&format!("aifo-coder: error: cannot pull `{}`: ", guest.image())), "{ran}");
        assert!(!err.contains("docker.io") && !err.contains("log in now"), "{ran}");
    }
}

#[test]
#[ignore = "needs docker"]
fn an_image_that_its_registry_does_not_have_is_not_looked_for_elsewhere() {
    let guest = Guest::of(Door::Open);
    let ran = Ran::of(guest.launcher(&[]).env("AIFO_CODER_IMAGE_TAG", "unknown").command.stdin(Stdio::null()));
    assert_eq!(ran.code(), 125, "{ran}");
    let line = format!("aifo-coder: error: cannot pull `{}/team/aifo-coder-shell:unknown`: ", guest.registry.address);
    assert!(ran.err().lines().any(|said| said.starts_with(&line) && said.contains("unknown")), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn a_login_is_offered_once_and_the_pull_tried_again() {
    let guest = Guest::of(Door::Login);
    let terminal = Terminal::open();
    let mut launcher = terminal.run(&guest.launcher(&[]).command);
    terminal.shows("wants a login; log in now? [Y/n] ");
    terminal.keys("\r");
    terminal.shows("Username:");
    terminal.keys("aifo\r");
    terminal.shows("Password:");
    terminal.keys("secret\r");
    let status = launcher.status_within(std::time::Duration::from_secs(60));
    assert!(status.success() && terminal.screen().contains(SAID), "{}", terminal.screen());
    assert!(!terminal.screen().contains("secret"));
}

#[test]
#[ignore = "needs docker"]
fn a_login_is_not_offered_where_nobody_wants_it_and_not_twice() {
    for (options, auto, keys) in [
        (&["--no-input"][..], "1", &[][..]),
        (&[], "0", &[]),
        (&[], "1", &[("[Y/n] ", "n\r")]),
        (&["--yes"], "1", &[("Username:", "aifo\r"), ("Password:", "wrong\r")]),
    ] {
        let guest = Guest::of(Door::Login);
        let terminal = Terminal::open();
        let launcher = guest.launcher(options).env("AIFO_CODER_AUTO_LOGIN", auto);
        let mut launcher = terminal.run(&launcher.command);
        for (shown, typed) in keys {
            terminal.shows(shown);
            terminal.keys(typed);
        }
        let status = launcher.status_within(std::time::Duration::from_secs(60));
        let screen = terminal.screen();
        assert_eq!(status.code(), Some(125), "{screen}");
        assert_eq!(screen.matches("Username:").count(), keys.iter().filter(|(shown, _)| *shown == "Username:").count());
        assert_eq!(screen.matches("log in now?").count(), usize::from(keys.len() == 1), "{screen}");
        assert!(screen.contains("error: cannot pull `") && screen.contains("hint: docker login"), "{screen}");
    }
}

#[test]
#[ignore = "needs docker"]
fn the_list_of_images_tells_what_is_here() {
    let place = Place::new();
    let launcher = place.launcher(&["images", "--json"]).env("AIFO_GO_TOOLCHAIN_VERSION", "none");
    let ran = Ran::of(&mut launcher.env("AIFO_RUST_TOOLCHAIN_IMAGE", "r.example/rust:1").command);
    let script = "import json, sys; d = json.loads(sys.argv[1]); assert d['version'] == 1; \
                  print(*(i['name'] + '=' + i['state'] for i in d['images']), sep='\\n')";
    let said = Ran::of(Command::new("python3").args(["-c", script, &ran.expect(0)])).expect(0);
    for line in ["shell=here", "go=not built", "rust=to be pulled"] {
        assert!(said.lines().any(|said| said == line), "{line} in {said}");
    }
    assert_eq!(said.lines().count(), 15, "{said}");
}
