//! Who commits in a session: the user, as on the host, and nothing else of the user's git. Where the repository is found.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{
    Ran,
    docker::{Launcher, Place, agents::stand_in},
};

/// Commits, and says who the author and the committer are.
const COMMIT: &str = "git commit -q --allow-empty -m x && git log -1 --format='%an %ae %cn'";
/// Sidecars have a git of their own, which can be carried like any tool.
const CARRIED: [&str; 4] = ["--toolchain", "c-cpp", "--tool", "c-cpp:git"];

#[track_caller]
fn git(folder: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nowhere");
    git.args(["-c", "user.name=It", "-c", "user.email=it@example.invalid"]).args(args).current_dir(folder);
    Ran::of(&mut git).expect(0)
}

/// A user whose name and mail lie in two files, both of which git reads, and who has more than these in them.
fn configure(place: &Place) {
    let put = |name: &str, text: &str| {
        let file = place.home().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put(".config/git/config", "[user]\n\tname = A \\\"Real\\\" Person\n");
    let alias = "[alias]\n\tx = !touch /workspace/x\n[core]\n\thooksPath = /tmp/hooks\n";
    put(".gitconfig", &format!("{alias}[include]\n\tpath = .gitmail\n"));
    put(".gitmail", "[user]\n\temail = person@example.org\n[credential]\n\thelper = store\n");
    git(&place.workspace(), &["init", "-q", "."]);
}

/// Every way to run something in a session.
fn ways(place: &Place) -> Vec<(&'static str, Launcher)> {
    let run = |words: &[&str]| place.launcher(words);
    vec![
        ("an agent", stand_in(place, &[], "claude", &[])),
        ("a command", run(&["run", "--", "sh"])),
        ("a sidecar", run(&[&CARRIED[..], &["run", "--", "sh"]].concat())),
        ("a toolchain's own", run(&["toolchain", "c-cpp", "--", "sh"])),
    ]
}

#[test]
#[ignore = "needs docker"]
fn everybody_commits_as_the_user_and_the_repository_comes_first() {
    let place = Place::new();
    configure(&place);
    for (way, launcher) in ways(&place) {
        let launcher = launcher.env("GIT_CONFIG_COUNT", "7").env("GIT_COMMITTER_NAME", "Mine");
        let mut session = launcher.start_shell();
        assert_eq!(session.expect(0, COMMIT), "A \"Real\" Person person@example.org Mine", "{way}");
        assert_eq!(session.expect(0, "git config commit.gpgsign"), "false", "{way}");
        session.expect(1, "git config --get-regexp 'alias|hookspath|credential|include'");
        session.expect(0, "git config user.email work@example.org");
        assert_eq!(session.expect(0, COMMIT), "A \"Real\" Person work@example.org Mine", "{way}");
        let once = "git -c user.email=once@example.org commit -q --allow-empty -m x && git log -1 --format=%ae";
        assert_eq!(session.expect(0, once), "once@example.org", "{way}");
        session.expect(0, "git config --unset user.email && git config --global user.name Other");
        assert!(session.expect(0, COMMIT).starts_with("Other person@example.org"), "{way}");
        session.expect(1, "env | grep AIFO_GIT");
        session.finish().expect(0);
    }
}

#[test]
#[ignore = "needs docker"]
fn a_folder_of_repositories_has_the_identity_that_the_user_gave_it() {
    let place = Place::new();
    configure(&place);
    let work = format!(
        "[includeIf \"gitdir:{}/\"]\n\tpath = work\n[includeIf \"gitdir:/elsewhere/\"]\n\tpath = .gitmail\n\
         [includeIf \"onbranch:main\"]\n\tpath = .gitmail\n",
        place.path().display()
    );
    fs::write(place.home().join("work"), "[user]\n\temail = work@example.org\n[alias]\n\tx = y\n").unwrap();
    fs::write(place.home().join(".gitconfig"), work).unwrap();
    // What the workspace says of other files is not asked.
    place.put(".git/config", "[user]\n\tname = Somebody\n[include]\n\tpath = /etc/passwd\n");
    let mut session = place.launcher(&["run", "--", "sh"]).start_shell();
    session.expect(0, "rm -r .git && git init -q .");
    assert_eq!(session.expect(0, COMMIT), "A \"Real\" Person work@example.org A \"Real\" Person");
    assert!(session.finish().err().contains("includeIf `onbranch:main` is not followed"));
    fs::write(place.home().join("work"), "[user\n").unwrap();
    let said = Ran::of(&mut place.launcher(&["--dry-run", "run", "--", "sh"]).command).err();
    assert!(said.contains("git cannot say who commits: fatal: bad config line 1 in file "), "{said}");
}

/// A folder that may be mounted at its own place: `/tmp` is the session's.
struct Outside(PathBuf);

impl Drop for Outside {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
#[ignore = "needs docker"]
fn a_linked_worktree_works_as_soon_as_one_types_what_is_said() {
    let outside = Outside(PathBuf::from(format!("/var/tmp/aifo-it-worktree-{}", std::process::id())));
    let main = outside.0.join("main");
    fs::create_dir_all(&main).unwrap();
    let place = Place::named(outside.0.join("side"));
    git(&main, &["init", "-q", "-b", "main", "."]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&main, &["worktree", "add", "-q", "../side"]);
    fs::write(place.home().join(".gitconfig"), "[user]\n\tname = A\n\temail = a@b\n").unwrap();

    let ran = place.launcher(&["run", "--", "git", "status"]).run();
    assert_eq!(ran.code(), 128, "{ran}");
    let said = ran.err().lines().filter(|line| line.contains("warning: ")).map(str::to_owned).collect::<Vec<_>>();
    let [line] = said.as_slice() else { panic!("{ran}") };
    let (_, typed) = line.rsplit_once(": git worktree lock . && aifo-coder ").unwrap();
    git(&outside.0.join("side"), &["worktree", "lock", "."]);

    let options: Vec<&str> = typed.split(' ').filter(|word| *word != "...").collect();
    for way in [&[][..], &CARRIED] {
        let mut session = place.launcher(&[&options, way, &["run", "--", "sh"]].concat()).start_shell();
        assert_eq!(session.expect(0, COMMIT), "A a@b A");
        assert_eq!(session.expect(0, "git worktree prune -v; git status --short --branch"), "## side");
        let ran = session.finish();
        ran.expect(0);
        assert!(!ran.err().contains("warning: "), "{ran}");
    }
    assert_eq!(git(&outside.0.join("side"), &["log", "--format=%an"]), "A\nA\nIt");
}
