//! Folders of the host below HOME of a container: what the agent keeps stays kept, HOME stays the user's to write, and
//! nothing of root's is left where the user's files are.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::Path,
};

use crate::support::docker::{Place, agents::stand_in};

/// A folder of the user's beside their home, with a file in it.
fn folder(place: &Place, name: &str) -> String {
    let folder = place.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), name).unwrap();
    [folder.as_path(), &folder.join("file")].iter().for_each(|path| chown(path, Some(place.uid()), None).unwrap());
    folder.display().to_string()
}

/// Everything below a folder that is not this user's.
fn of_others(folder: &Path, uid: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let about = entry.metadata().unwrap();
        if about.uid() != uid {
            found.push(entry.path().display().to_string());
        }
        if about.is_dir() {
            found.extend(of_others(&entry.path(), uid));
        }
    }
    found
}

const WRITE_ANYWHERE: &str = "import os\nhome = os.path.expanduser(\"~\")\n\
    for name in (\".config/x\", \".claude/x\", \".pi/agent/x\", \".new/x\"):\n    os.makedirs(f\"{home}/{name}\")\n\
    print(open(f\"{home}/.config/gh/file\").read())\n";

#[test]
#[ignore = "needs docker"]
fn promise_10_a_volume_below_home_leaves_the_state_kept_and_home_writable() {
    for place in [Place::new(), Place::of_plain_user()] {
        place.put("write.py", WRITE_ANYWHERE);
        let (skills, gh) = (folder(&place, "skills"), folder(&place, "gh"));
        let config = format!("{gh}:/home/coder/.config/gh:ro");
        for (agent, kept, below) in [
            ("claude", ".claude", ".claude/skills"),
            ("opencode", ".config/opencode", ".config/opencode/agent"),
            ("pi", ".pi", ".pi/agent/skills"),
            ("crush", ".local/share/crush", ".local/share/crush/x"),
        ] {
            let volume = format!("{skills}:/home/coder/{below}:ro");
            let options = ["--volume", &volume, "--volume", &config, "--toolchain", "python"];
            for round in ["1", "2"] {
                let mut session = stand_in(&place, &options, agent, &[]).start_shell();
                assert_eq!(session.expect(0, &format!("cat ~/{below}/file ~/.config/gh/file")), "skillsgh", "{agent}");
                session.expect(0, &format!("! sh -c 'echo x >~/{below}/x' 2>/dev/null"));
                session.expect(0, "mkdir -p ~/.config/x ~/.local/share/x ~/.local/state/x && touch ~/.config/y");
                session.expect(0, &format!("echo x >>~/{kept}/kept"));
                assert_eq!(session.expect(0, &format!("grep -c x ~/{kept}/kept")), round, "{agent}");
                if agent == "pi" {
                    session.expect(0, "grep -q '\"shellPath\": \"/opt/aifo/bin/aifo-bash\"' ~/.pi/agent/settings.json");
                }
                assert_eq!(session.expect(0, "python3 write.py"), "gh", "{agent}");
                let said = session.finish();
                assert!(!said.err().contains("aifo-entrypoint"), "{said}");
            }
            let state = place.home().join(".local/state/aifo-coder").join(agent);
            assert!(state.join(kept).join("kept").is_file(), "{agent}");
        }
        for folder in ["home", "skills", "gh"] {
            assert_eq!(of_others(&place.path().join(folder), place.uid()), Vec::<String>::new());
        }
    }
}

#[test]
#[ignore = "needs docker"]
fn a_volume_in_the_place_of_what_is_kept_keeps_it() {
    let place = Place::of_plain_user();
    let own = folder(&place, "own");
    let volume = format!("{own}:/home/coder/.claude");
    let mut session = stand_in(&place, &["--volume", &volume], "claude", &[]).start_shell();
    session.expect(0, "cat ~/.claude/file && echo 1 >~/.claude/kept && mkdir ~/.claude/sub");
    session.finish().expect(0);
    assert_eq!(fs::read_to_string(Path::new(&own).join("kept")).unwrap(), "1\n");
    let mut names: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["file", "kept", "sub"], "nothing else is put there");
}

#[test]
#[ignore = "needs docker"]
fn a_link_in_the_state_leads_no_mount_point_out_of_it() {
    let place = Place::of_plain_user();
    let (own, other) = (folder(&place, "own"), folder(&place, "other"));
    let mut session = stand_in(&place, &[], "claude", &[]).start_shell();
    session.expect(0, &format!("ln -s {other} ~/.claude/skills"));
    session.finish().expect(0);
    let volume = format!("{own}:/home/coder/.claude/skills/x");
    let (said, _) = stand_in(&place, &["--volume", &volume], "claude", &[]).refused();
    assert!(said.starts_with("cannot write `") && said.contains(".claude/skills/x`: "), "{said}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "nothing was made there");
}

#[test]
#[ignore = "needs docker"]
fn any_image_and_any_command_may_have_volumes_below_home() {
    let place = Place::of_plain_user();
    let volume = format!("{}:/home/coder/.a/b/c,\"d", folder(&place, "own"));
    let script = "cat ~/.a/b/c*/file && mkdir ~/.a/x ~/.a/b/x ~/.b && cd ~/.a/b/c* && : >new";
    let image = concat!("aifo-coder-toolchain-python:release-", env!("CARGO_PKG_VERSION"));
    place.launcher(&["--volume", &volume, "run", "--image", image, "--", "sh", "-c", script]).run().expect(0);
    place.launcher(&["--volume", &volume, "toolchain", "python", "--", "sh", "-c", script]).run().expect(0);
    assert_eq!(of_others(place.path(), place.uid()), Vec::<String>::new());
}
