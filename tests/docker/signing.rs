//! Commits that an agent signs with the user's own key: the passphrase is asked for once, at the terminal, and is nowhere
//! else.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{
    Ran,
    docker::{Place, docker, processes},
};

const PASSPHRASE: &str = "correct-horse-7391";

/// A user with a key that has a passphrase, and a git that signs with it; gives the key.
#[track_caller]
fn signing_user(place: &Place) -> String {
    let keys = place.home().join(".gnupg");
    fs::create_dir(&keys).expect("a fresh folder");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).expect("ours");
    let gpg = |words: &[&str]| {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--quiet", "--pinentry-mode", "loopback"]).args(words);
        Ran::of(gpg.env("GNUPGHOME", &keys).stdin(Stdio::null())).expect(0)
    };
    gpg(&["--passphrase", PASSPHRASE, "--quick-generate-key", "It <it@example.invalid>", "ed25519", "sign", "never"]);
    let listed = gpg(&["--with-colons", "--list-keys"]);
    Ran::of(Command::new("gpgconf").args(["--kill", "gpg-agent"]).env("GNUPGHOME", &keys)).expect(0);
    let line = listed.lines().find(|line| line.starts_with("fpr:")).expect("a fingerprint");
    let key = line.trim_end_matches(':').rsplit(':').next().expect("a last field").to_owned();
    let config = format!(
        "[user]\n\tname = It\n\temail = it@example.invalid\n\tsigningkey = {key}\n[commit]\n\tgpgsign = true\n"
    );
    fs::write(place.home().join(".gitconfig"), config).expect("room");
    Ran::of(Command::new("git").args(["init", "--quiet"]).arg(place.workspace())).expect(0);
    key
}

#[test]
#[ignore = "needs docker"]
fn the_passphrase_is_asked_for_once_and_commits_are_signed() {
    let place = Place::new();
    let key = signing_user(&place);
    let window = place.launcher(&["shell", "--norc"]).open(100, 30);
    window.shows_since(0, "assphrase");
    let before = window.now();
    window.terminal().keys(&format!("{PASSPHRASE}\r"));
    window.shows_prompt_since(before);
    // As an agent commits: without a terminal, and with nobody to ask.
    for _ in 0..2 {
        window.ask(
            "setsid --wait git commit -q --allow-empty -m x </dev/null >/dev/null 2>&1; echo cod''e $?",
            "code 0\r\n",
        );
    }
    window.ask("git log --format=%GF | sort | uniq -c", &format!("2 {key}\r\n"));
    // A repository whose commits are not signed stays one, as on the host.
    let unsigned = "git config commit.gpgsign false; git commit -q --allow-empty -m x; git log -1 --format=is%G? | cat";
    window.ask(unsigned, "isN\r\n");
    // Nowhere but in the memory of gpg's own agent.
    let inspected = docker(&["inspect", &window.name("agent")]).expect(0);
    assert!(!inspected.contains(PASSPHRASE));
    let shown = |pid: u32, what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(PASSPHRASE.len()).any(|window| window == PASSPHRASE.as_bytes());
    let all = processes();
    assert!(all.iter().any(|process| process.command.starts_with("gpg-agent\0")), "{all:?}");
    let bad = all.iter().find(|process| ["cmdline", "environ"].iter().any(|what| holds(&shown(process.pid, what))));
    assert!(bad.is_none(), "{bad:?}");
    assert_eq!(files_with(&place.workspace(), PASSPHRASE), "");
    drop(window);
}

/// Which files below a folder hold a word.
fn files_with(folder: &Path, word: &str) -> String {
    Ran::of(Command::new("grep").args(["--recursive", "--files-with-matches", word]).arg(folder)).out()
}

#[test]
#[ignore = "needs docker"]
fn a_key_without_its_passphrase_keeps_nobody_from_running() {
    let place = Place::new();
    signing_user(&place);
    // No terminal: nobody is asked, nothing waits, and a commit that cannot be signed is not made.
    let ran = place.launcher(&["shell", "-c", "git commit -q --allow-empty -m x 2>/dev/null; echo $?"]).run();
    assert_ne!(ran.expect(0), "0");
}
