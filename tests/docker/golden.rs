//! What `--dry-run` prints for every agent, held to files that were read and found right, and to the README.
//!
//! `AIFO_GOLDEN=write cargo test --test it -- --ignored golden` writes files and table anew; what has changed is then to
//! be read before it is committed.

use std::{env, fs};

use crate::support::{
    Ran,
    docker::{
        Place,
        agents::{MARKER, TABLE, all_credentials, documented, furnish, tree},
    },
};

/// What one agent's run looks like, with stable words for what differs between runs and machines; an option a line.
#[track_caller]
fn printed(place: &Place, agent: &str) -> String {
    let args = ["--toolchain", "rust", "--env", "EXTRA=a secret", "--publish", "8080:80", "--dry-run", agent];
    let launcher = place.launcher(&[&args[..], &["--resume", "it's"]].concat()).with_all_credentials();
    let launcher =
        launcher.env("TERM", "xterm").env("TZ", "Europe/Berlin").env("AIFO_ENV_MINE", format!("{MARKER}MINE"));
    let ran = Ran::of(&mut { launcher }.command);
    let text = ran.expect(0);
    assert!(ran.err().is_empty() && !text.contains(MARKER) && !text.contains("a secret"), "{ran}");
    stable(place, &text)
}

fn stable(place: &Place, text: &str) -> String {
    let behind = |mark: &str| {
        let (_, behind) = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {text}"));
        behind.split([' ', ',', ':']).next().unwrap_or_default().to_owned()
    };
    let (id, digest, uid) = (behind("aifo.session="), behind("aifo.binaries="), place.uid());
    let level = text.split_once("label=level:").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
    let mut text = text.to_owned();
    for (real, name) in [
        (place.home().to_str().unwrap(), "~"),
        (place.workspace().to_str().unwrap(), "/WORKSPACE"),
        (level.unwrap(), "LEVEL"),
        (&id, "SESSION"),
        (&digest, "DIGEST"),
        (&format!("--user {uid}:{uid}"), "--user UID:GID"),
        (&format!("/tmp/runtime-{uid}"), "/tmp/runtime-UID"),
        (&format!("-{uid},volume-label"), "-UID,volume-label"),
        (concat!("release-", env!("CARGO_PKG_VERSION")), "RELEASE"),
    ] {
        text = text.replace(real, name);
    }
    // Which profile there is is the machine's matter; see the tests of its choice.
    for profile in ["aifo-coder", "docker-default"] {
        text = text.replace(&format!(" --security-opt apparmor={profile}"), "");
    }
    text.replace(" --", " \\\n  --") + "\n"
}

fn writes() -> bool {
    env::var("AIFO_GOLDEN").is_ok_and(|wish| wish == "write")
}

/// Compares with a file of the tree, or writes it.
#[track_caller]
fn hold(path: &str, text: &str) {
    let file = tree(path);
    if writes() {
        fs::write(&file, text).unwrap();
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    let different = golden.lines().zip(text.lines()).find(|(was, is)| was != is);
    assert!(golden == text, "{path} differs, first in {different:?}; it is now\n{text}");
}

#[test]
#[ignore = "needs docker"]
fn dry_run_of_every_agent_is_the_reviewed_one_and_shows_no_secret() {
    let place = Place::new();
    furnish(&place);
    let before = place.listing();
    let mut rows = String::new();
    for row in documented() {
        let text = printed(&place, &row.name);
        hold(&format!("tests/golden/{}.txt", row.name), &text);
        rows.push_str(&line_of(&row.name, &text));
    }
    assert_eq!(place.listing(), before, "a dry run creates nothing");
    let readme = fs::read_to_string(tree("README.md")).unwrap();
    let (head, rest) = readme.split_once(TABLE.0).unwrap();
    let (table, tail) = rest.split_once(TABLE.1).unwrap();
    let titles = table.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    hold("README.md", &format!("{head}{}{titles}{rows}{}{tail}", TABLE.0, TABLE.1));
}

/// The README's line of an agent, as its dry run has it.
fn line_of(name: &str, printed: &str) -> String {
    let agent = printed.rsplit_once("docker run").unwrap().1;
    let words = |mark: &'static str| agent.split(mark).skip(1).map(|rest| rest.split([' ', ',', '\n']).next().unwrap());
    let kept = words("--state /home/coder/.aifo-state/").map(str::to_owned).collect();
    let copied = words("source=~/").filter(|path| !path.contains("aifo-coder") && *path != ".gnupg");
    let copied = copied.map(str::to_owned).collect();
    let credentials = all_credentials();
    let seen = words("--env ").filter(|name| credentials.contains(*name)).map(str::to_owned).collect();
    let cell = |list: Vec<String>| {
        let quoted: Vec<String> = list.iter().map(|word| format!("`{word}`")).collect();
        if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
    };
    format!("| `{name}` | {} | {} | {} |\n", cell(kept), cell(copied), cell(seen))
}
