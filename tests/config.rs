//! Settings: who wins, who may not, and what is said of a file that cannot be obeyed. The launcher's own words; no docker.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

use crate::support::{
    Ran,
    docker::{Launcher, Place},
};

fn user_file(place: &Place, text: &str) {
    let file = place.home().join(".config/aifo-coder/config");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    place.own_all();
}

#[track_caller]
fn ran(launcher: Launcher) -> Ran {
    Ran::of(&mut { launcher }.command)
}

/// Value and origin of a setting, as `config show --origin` tells them; the origin by its last two parts.
#[track_caller]
fn shown(launcher: Launcher, key: &str) -> (String, String) {
    let said = ran(launcher);
    let said = said.expect(0);
    let line =
        said.lines().find(|line| line.split_whitespace().next() == Some(key)).unwrap_or_else(|| panic!("{said}"));
    let fields: Vec<&str> = line.split("  ").map(str::trim).filter(|field| !field.is_empty()).collect();
    let origin = fields.last().unwrap().rsplit('/').take(2).collect::<Vec<_>>();
    (fields[1].to_owned(), origin.into_iter().rev().collect::<Vec<_>>().join("/"))
}

#[test]
fn flag_before_environment_before_project_before_user_before_default() {
    let place = Place::new();
    let show = |options: &[&str]| place.launcher(&[options, &["config", "show", "--origin"]].concat());
    let flavor = |launcher| shown(launcher, "image.flavor");
    assert_eq!(flavor(show(&[])), ("full".into(), "default".into()));
    user_file(&place, "[image]\n  flavor = slim ; mine\n");
    assert_eq!(flavor(show(&[])), ("slim".into(), "aifo-coder/config:2".into()));
    place.put(".aifo-coder/config", "# the team's\n[image]\nflavor = full\n");
    assert_eq!(flavor(show(&[])), ("full".into(), ".aifo-coder/config:3".into()));
    let slim = |options: &[&str]| show(options).env("AIFO_CODER_IMAGE_FLAVOR", "slim");
    assert_eq!(flavor(slim(&[])), ("slim".into(), "AIFO_CODER_IMAGE_FLAVOR".into()));
    assert_eq!(flavor(slim(&["--flavor", "full"])), ("full".into(), "--flavor".into()));
    // An empty variable has no opinion, and XDG_CONFIG_HOME says where the user's file is.
    let elsewhere = place.path().join("elsewhere");
    assert_eq!(flavor(show(&[]).env("AIFO_CODER_IMAGE_FLAVOR", "").env("XDG_CONFIG_HOME", elsewhere)).0, "full");
}

#[test]
fn every_setting_is_shown_also_as_json() {
    let place = Place::new();
    user_file(&place, "[session]\nenv = \"A=a b\"\nenv = C\n");
    let table = ran(place.launcher(&["config", "show"])).expect(0);
    let json = ran(place.launcher(&["config", "show", "--origin", "--json"])).expect(0);
    let script = "import json, sys; d = json.loads(sys.argv[1]); assert d['version'] == 1; \
                  [print(s['setting'], s['value'], s['origin'].split('/')[-1], sep='|') for s in d['settings']]";
    let read = Ran::of(Command::new("python3").args(["-c", script, &json])).expect(0);
    assert_eq!(table.lines().count(), read.lines().count() + 1, "a head and a line each");
    assert!(read.lines().any(|line| line == "session.env|A C|config:3"), "{read}");
    assert!(read.lines().any(|line| line == "image.prefix|aifo-coder|default"), "{read}");
    // The help knows the same ones.
    let help = ran(place.launcher(&["--help"])).expect(0);
    for key in read.lines().map(|line| line.split('|').next().unwrap()) {
        assert!(help.contains(&format!("\n  {key}")), "{key}");
    }
}

#[test]
fn promise_9_a_projects_file_may_tighten_and_is_ignored_aloud_where_it_widens() {
    let place = Place::new();
    let program = place.path().join("evil");
    fs::write(&program, "#!/bin/sh\ntouch \"$0.was-run\"\n").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let evil = program.display();
    let widening = [
        ("session", format!("docker = {evil}")),
        ("session", "volume = /:/host".to_owned()),
        ("session", "network = host".to_owned()),
        ("session", "env = LD_PRELOAD=x".to_owned()),
        ("session", "toolchain = rust=evil/image".to_owned()),
        ("session", "runtime = local".to_owned()),
        ("session", "allow-home = 1".to_owned()),
        ("image", "agent = evil/agent".to_owned()),
        ("image", "internal-registry = evil.example".to_owned()),
        ("toolchain", "rust-image = evil/rust".to_owned()),
        ("agent", "apparmor = none".to_owned()),
        ("agent", "config = /".to_owned()),
    ];
    let text: String = widening.iter().map(|(section, line)| format!("[{section}]\n{line}\n")).collect();
    place.put(".aifo-coder/config", &format!("{text}[tool]\nverbose = 1\n"));
    let said = ran(place.launcher(&["config", "show", "--origin"]));
    let err = said.err();
    let shown = said.expect(0);
    assert!(!shown.contains("evil") && shown.contains(".aifo-coder/config:26"), "{shown}");
    assert_eq!(err.lines().count(), widening.len(), "{err}");
    for (number, (line, (section, text))) in err.lines().zip(&widening).enumerate() {
        let key = format!("{section}.{}", text.split(' ').next().unwrap());
        let expected =
            format!("config:{}: `{key}` counts only in your own file or on the command line", number * 2 + 2);
        assert!(line.starts_with("aifo-coder: warning: ") && line.ends_with(&expected), "{line}");
    }
    // What it may set, it sets; the user's own file may say all of it.
    user_file(&place, "[session]\nnetwork = mine\n");
    assert_eq!(self::shown(place.launcher(&["config", "show", "--origin"]), "session.network").0, "mine");
    drop(ran(place.launcher(&["ps"])));
    assert!(!place.path().join("evil.was-run").exists());
}

/// The one line that a file was refused with.
#[track_caller]
fn refused(launcher: Launcher) -> String {
    let ran = ran(launcher);
    let err = ran.err();
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!((ran.code(), ran.out().as_str(), lines.len()), (2, "", 2), "{ran}");
    assert_eq!(lines[1], "aifo-coder: hint: aifo-coder --help lists every setting and what it takes", "{ran}");
    lines[0].strip_prefix("aifo-coder: error: ").unwrap_or_else(|| panic!("{ran}")).to_owned()
}

#[test]
fn t61_a_file_that_cannot_be_obeyed_ends_the_run_with_its_place() {
    let place = Place::new();
    for (text, said) in [
        ("flavor = slim\n", "line 1: a setting stands before the first section"),
        ("[image]\nflavour = slim\n", "line 2: no setting `image.flavour`; did you mean `image.flavor`?"),
        ("[frobnicate]\nx = 1\n", "line 2: no setting `frobnicate.x`"),
        ("[image\n", "line 1: a section is not closed"),
        ("[image]\nflavor = \"slim\n", "line 2: a quote is not closed"),
        ("[image]\nflavor = enormous\n", "expected one of full, slim"),
        ("[session]\ntoolchain = rsut\n", "no toolchain kind `rsut`; did you mean `rust`?"),
    ] {
        for is_project in [true, false] {
            user_file(&place, if is_project { "" } else { text });
            place.put(".aifo-coder/config", if is_project { text } else { "" });
            let found = refused(place.launcher(&["ps"]));
            assert!(found.contains(said) && found.contains("aifo-coder/config"), "{found}");
        }
    }
    user_file(&place, "[tool]\nmax-calls = 1001\n");
    assert!(refused(place.launcher(&["ps"])).ends_with("config:2: expected a number from 1 to 1000"));
}

#[test]
fn t61_a_file_that_cannot_be_read_is_not_passed_over() {
    let place = Place::of_plain_user();
    user_file(&place, "[image]\nflavor = slim\n");
    place.own_all();
    let file = place.home().join(".config/aifo-coder/config");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let said = refused(place.launcher(&["ps"]));
    assert_eq!(said, format!("cannot obey `{}`: Permission denied (os error 13)", file.display()));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(refused(place.launcher(&["ps"])).ends_with("not a plain file"));
    fs::remove_dir(&file).unwrap();
    fs::write(&file, b"[image]\nflavor = \xff\n").unwrap();
    place.own_all();
    assert!(refused(place.launcher(&["ps"])).contains("valid UTF-8"));
    fs::remove_file(&file).unwrap();
    // A project's file must not lead out of the project; the user's own may be a link.
    place.put(".aifo-coder/x", "");
    symlink("/etc/hostname", place.workspace().join(".aifo-coder/config")).unwrap();
    assert!(refused(place.launcher(&["ps"])).ends_with("not a plain file"));
}

#[test]
fn values_out_of_range_name_where_they_come_from() {
    let place = Place::new();
    for (name, value, expected) in [
        ("AIFO_TOOLEEXEC_MAX_SECS", "-1", "a number from 0 to 31536000"),
        ("AIFO_TOOLEEXEC_MAX_SECS", "1.5", "a number from 0 to 31536000"),
        ("AIFO_TOOLEEXEC_MAX_CONNECTIONS", "0", "a number from 1 to 1000"),
        ("AIFO_CONFIG_MAX_SIZE", "99999999999999999999", "a number from 1 to 67108864"),
        ("AIFO_CODER_IMAGE_FLAVOR", "Slim", "one of full, slim"),
        ("AIFO_CODER_RUNTIME", "podman", "one of docker, local"),
        ("AIFO_CODER_AUTO_LOGIN", "perhaps", "1 or 0"),
        ("AIFO_SHIM_SMART", "2", "one of auto, 1, 0"),
        ("AIFO_CODER_USER", "root", "UID:GID"),
        ("AIFO_CODER_COLOR", "blue", "one of auto, always, never"),
        ("AIFO_RUST_TOOLCHAIN_USE_OFFICIAL", "maybe", "1 or 0"),
    ] {
        let said = refused(place.launcher(&["ps"]).env(name, value));
        assert_eq!(said, format!("{name}: expected {expected}"), "{value}");
    }
    let said = refused(place.launcher(&["--flavor", "thin", "ps"]));
    assert_eq!(said, "--flavor: expected one of full, slim");
}
