//! One more agent costs a file and its line in the table: added to a copy of this tree, it is everywhere.

use std::{env, fs, process::Command};

use crate::support::{
    Background, Ran, dist,
    docker::{
        Launcher, Place,
        agents::{SHELL_IMAGE, tree},
    },
};

/// A launcher that was built from this tree with the agent in `tests/fixture/` added.
#[track_caller]
fn place_with_tenth() -> Place {
    let place = Place::new();
    let copy = place.path().join("tree");
    fs::create_dir(&copy).unwrap();
    let parts = ["src", "shim", "xtask", "tests", "Cargo.toml", "Cargo.lock"].map(tree);
    Ran::of(Command::new("cp").arg("-a").args(parts).arg(&copy)).expect(0);
    fs::copy(tree("tests/fixture/tenth.rs"), copy.join("src/agent/tenth.rs")).unwrap();
    let table = copy.join("src/agent/mod.rs");
    let text = fs::read_to_string(&table).unwrap();
    let added = text.replace("mod shell;\n", "mod shell;\nmod tenth;\n");
    let added = added.replace("    &shell::Shell,\n", "    &shell::Shell,\n    &tenth::Tenth,\n");
    assert_eq!(added.lines().count(), text.lines().count() + 2, "{text}");
    fs::write(&table, added).unwrap();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--package", "aifo-coder"]).current_dir(&copy);
    // Beside our own build, so that only what differs is compiled, and nothing of ours is replaced.
    let target = tree("target/tenth");
    let mut build = Background::start(cargo.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS"));
    build.end_within(std::time::Duration::from_secs(600)).expect(0);
    place.with_program(target.join("debug/aifo-coder"))
}

#[track_caller]
fn out(launcher: Launcher) -> String {
    Ran::of(&mut { launcher }.command).expect(0)
}

#[test]
#[ignore = "needs docker"]
fn a_tenth_agent_is_one_file_and_one_line() {
    let place = place_with_tenth();
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let launcher = |args: &[&str]| place.launcher(args).env("AIFO_CODER_BINARIES", dist(arch));
    for args in [
        &["-h"][..],
        &["--help"],
        &["man"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
    ] {
        assert!(out(launcher(args)).contains("tenth"), "{args:?}");
    }
    let (said, _) = launcher(&["tnth"]).refused_with(2);
    assert_eq!(said, "no agent or command `tnth`; did you mean `tenth`?");
    assert_eq!(out(launcher(&["normalize", "tenth", "tenth: ls"])), "evaluated\nls");
    let images = out(launcher(&["images"]));
    let release = concat!("aifo-coder-tenth:release-", env!("CARGO_PKG_VERSION"));
    assert!(images.lines().any(|line| line.split_whitespace().eq(["tenth", release, "not", "built"])), "{images}");
    let doctor = out(launcher(&["--image", SHELL_IMAGE, "--toolchain", "c-cpp", "doctor", "tenth"]));
    for check in ["tenth image", "tenth session", "tenth c-cpp call", "tenth c-cpp env -i bash -lc"] {
        assert!(doctor.contains(&format!("ok    {check}")), "{check} in {doctor}");
    }
    let dry = out(launcher(&["--dry-run", "tenth", "--resume"]));
    assert!(dry.contains(release) && dry.ends_with("--or bash -- tenth-that-is-not-there --norc --resume"), "{dry}");
    fs::create_dir(place.home().join(".tenth")).unwrap();
    fs::write(place.home().join(".tenth/settings.json"), "{}").unwrap();
    let script = "echo $AIFO_AGENT_NAME $TENTH $TENTH_API_KEY $AIFO_SHIM_SMART_PYTHON $TENTH_SHELL; cat ~/.tenth/*";
    let ran = launcher(&["--image", SHELL_IMAGE, "tenth", "-c", script]).env("TENTH_API_KEY", "key").run();
    assert_eq!(ran.expect(0), "tenth 10 key 1 /opt/aifo/bin/aifo-bash\n{}");
    assert!(place.home().join(".local/state/aifo-coder/tenth/.tenth/settings.json").exists());
}
