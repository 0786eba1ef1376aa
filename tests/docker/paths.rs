//! T52: any workspace that a person may have, mounted right or refused with a sentence.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use crate::support::docker::Place;

#[test]
#[ignore = "needs docker"]
fn t52_any_name_of_a_workspace_works() {
    for name in [
        "with some spaces ",
        "a:b:ro",
        "a,b,readonly",
        "q\"uo'te`s\\",
        "two\nlines",
        "-dash",
        "--mount",
        "grün-日本",
        "$(touch x)${HOME};&|*?[]",
        "source=x,target=y",
        "tab\tand\u{7f}",
        "%41+%2F",
    ] {
        let place = Place::named(name);
        place.put("Makefile", "here:\n\t@pwd; cat file\n");
        place.put("file", "the right one\n");
        let before = place.listing();
        let ran = place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh", "-c", "pwd && make && touch made"]).run();
        assert_eq!(ran.expect(0), "/workspace\n/workspace\nthe right one", "{name:?}");
        fs::remove_file(place.workspace().join("made")).expect("made in the right place");
        assert_eq!(place.listing(), before, "{name:?}");
    }
}

#[test]
#[ignore = "needs docker"]
fn t52_a_workspace_behind_a_symbolic_link_is_the_folder_itself() {
    let place = Place::new();
    place.put("file", "behind the link\n");
    let link = place.path().join("link");
    std::os::unix::fs::symlink("workspace", &link).unwrap();
    let mut launcher = place.launcher(&["run", "--", "cat", "file"]);
    launcher.command.current_dir(&link).env("PWD", &link);
    assert_eq!(launcher.run().expect(0), "behind the link");
}

#[test]
#[ignore = "needs docker"]
fn t52_what_cannot_be_a_workspace_is_refused_before_anything_starts() {
    let place = Place::new();
    let refused_in = |folder: &Path| {
        let mut launcher = place.launcher(&["run", "--", "true"]);
        launcher.command.current_dir(folder);
        launcher.refused()
    };
    let cd = Some("cd to a project".to_owned());
    assert_eq!(
        refused_in(Path::new("/")),
        ("`/` cannot be the workspace: it is the root of the file system".to_owned(), cd.clone())
    );
    let (why, hint) = refused_in(&place.home());
    assert!(why.ends_with("cannot be the workspace: it is your home directory"), "{why}");
    assert_eq!(hint.as_deref(), Some("cd to a project, or AIFO_CODER_ALLOW_HOME=1"));
    for (name, why) in [(b"latin-\xe4".as_slice(), "not UTF-8"), (b"a\rb", "carriage return")] {
        let folder = place.path().join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        let (said, hint) = refused_in(&folder);
        assert!(said.contains(why), "{said}");
        assert_eq!(hint, cd);
    }
}

#[test]
#[ignore = "needs docker"]
fn t52_a_workspace_that_was_deleted_is_refused() {
    let place = Place::new();
    let gone = place.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut launcher = place.launcher(&[]);
    let program = launcher.command.get_program().to_owned();
    launcher.command = std::process::Command::new("sh");
    launcher.command.args(["-c", "rmdir \"$PWD\" && exec \"$0\" run -- true"]).arg(program).current_dir(&gone);
    let (said, _) = launcher.refused();
    assert!(said.starts_with("cannot read `.`: "), "{said}");
}

#[test]
#[ignore = "needs docker"]
fn t52_the_home_directory_works_when_it_is_allowed() {
    let place = Place::new();
    let mut launcher = place.launcher(&["run", "--", "sh", "-c", "pwd; ls -A; ls -A ~"]);
    launcher.command.env("AIFO_CODER_ALLOW_HOME", "1").env("HOME", place.workspace());
    place.put("dotfile", "");
    // Allowed as a workspace; it is not the agent's own HOME for that.
    assert_eq!(launcher.run().expect(0), "/workspace\ndotfile\n.profile\n.zprofile\n.zshrc");
}

#[test]
#[ignore = "needs docker"]
fn t52_a_folder_below_a_project_is_a_workspace_of_its_own() {
    let place = Place::new();
    place.put("project/sub/file", "below\n");
    let mut launcher = place.launcher(&["run", "--", "sh", "-c", "cat file; ls .."]);
    launcher.command.current_dir(place.workspace().join("project/sub"));
    let ran = launcher.run();
    assert!(ran.expect(0).starts_with("below\nbin\n"), "{ran}");
}
