//! What Claude Code hands to its shell, all of it: the commands in their wrapper, and its own plumbing.
//!
//! A new version may wrap otherwise, or take its snapshot by another script: then this test fails, and the new forms
//! belong into `src/agent/claude.rs`.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use super::{recipes::CLAUDE, stage::Stage};
use crate::support::{Ran, clean, program};

/// A shell that notes its words before it goes on as ours.
const NOTING: &str = "#!/bin/sh\nprintf '%s\\0' \"$@\" >>/workspace/handed\nprintf '\\1' >>/workspace/handed\nexec /opt/aifo/bin/aifo-bash \"$@\"\n";

#[test]
#[ignore = "needs docker"]
fn what_claude_hands_to_its_shell_is_told_apart() {
    let steps = ["make --version", "true", "cat <<EOF\nit's \"$HOME\"\nEOF", "cd / && ls </dev/null | wc -l &"];
    let stage = Stage::of(&CLAUDE, &steps);
    let folder = stage.place.path().join("noting");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("bash"), NOTING).unwrap();
    for path in [&folder, &folder.join("bash")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let volume = format!("{}:/opt/noting:ro", folder.display());
    let options = ["--toolchain", "c-cpp", "--volume", &volume, "--env", "CLAUDE_CODE_SHELL=/opt/noting/bash"];
    stage.run(&options);
    let handed = stage.said("handed");
    let lines = handed.split_terminator('\u{1}').filter_map(|words| words.split_terminator('\0').next_back());
    let told = lines.map(|raw| Ran::of(clean(program("aifo-coder")).args(["normalize", "claude", raw])).expect(0));
    let told: Vec<String> = told.collect();
    let (plumbing, evaluated): (Vec<&str>, Vec<&str>) =
        told.iter().map(String::as_str).partition(|told| told.starts_with("plumbing\n"));
    assert_eq!(evaluated, steps.map(|step| format!("evaluated\n{step}")));
    let names: Vec<&str> =
        plumbing.iter().filter_map(|told| told["plumbing\n".len()..].split(['=', '\n']).next()).collect();
    assert_eq!(names, ["env", "SNAPSHOT_FILE"]);
}
