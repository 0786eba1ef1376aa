//! One PATH with the shims first (the fourth criterion of smart shims): what each agent is given, and what every kind of
//! shell makes of it that an agent's commands start, in the agent's own container and by its own hand.

use super::{recipes, recipes::Recipe, stage::Stage};

/// Ways to ask for a tool's place. What `env -i` leaves is bash's own PATH, until a login shell reads `/etc/profile`.
const WAYS: &[&str] = &[
    "sh -c 'command -v cc'",
    "bash -c 'command -v cc'",
    "bash -lc 'command -v cc'",
    "bash -ic 'command -v cc' 2>/dev/null",
    "sh -lc 'command -v cc'",
    "bash -c '. /etc/profile && command -v cc'",
    "env -i bash -lc 'command -v cc'",
    "env -i sh -lc 'command -v cc'",
    "env -i bash -c '. /etc/profile && command -v cc'",
    "env -i PATH=\"$PATH\" bash -c 'command -v cc'",
    "env bash -c 'command -v cc'",
    "\"$SHELL\" -lc 'command -v cc'",
    "command -v cc",
];

#[track_caller]
fn shims_come_first(recipe: &'static Recipe) {
    let ways: String = WAYS.iter().map(|way| format!("{way} || echo none\n")).collect();
    let own = "tr '\\0' '\\n' </proc/$(cut -d' ' -f1 /proc/1/task/1/children)/environ | grep ^PATH= >given";
    let bare = "env -i bash -c 'command -v cc || echo none'";
    // From a file, so that quotes are the file's own and no agent's.
    let stage = Stage::of(recipe, &["bash ./ways >places; bash ./bare >found; bash ./own"]);
    stage.place.put("ways", &ways);
    stage.place.put("bare", bare);
    stage.place.put("own", own);
    stage.run(&[]);
    let said = stage.said("places");
    let places: Vec<(&str, &str)> = WAYS.iter().copied().zip(said.lines()).collect();
    assert_eq!(said.lines().count(), WAYS.len(), "{said}");
    let lost: Vec<_> = places.iter().filter(|(_, place)| *place != "/opt/aifo/bin/cc").collect();
    assert!(lost.is_empty(), "{lost:#?}");
    // The agent itself, before its own additions: the first process that the entrypoint has started.
    let expected = "PATH=/opt/aifo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n";
    assert_eq!(stage.said("given"), expected);
    // With neither a PATH nor a profile there is no tool, and no other one in its place.
    assert_eq!(stage.said("found"), "none\n");
}

#[test]
#[ignore = "needs docker"]
fn t32_shims_come_first_in_the_shells_of_agents_for_node() {
    [&recipes::PI, &recipes::LETTA].into_iter().for_each(shims_come_first);
}

#[test]
#[ignore = "needs docker"]
fn t32_shims_come_first_in_the_shells_of_agents_for_python() {
    [&recipes::AIDER, &recipes::OPENHANDS].into_iter().for_each(shims_come_first);
}

#[test]
#[ignore = "needs docker"]
fn t32_shims_come_first_in_the_shells_of_native_agents() {
    [&recipes::CLAUDE, &recipes::CODEX, &recipes::OPENCODE].into_iter().for_each(shims_come_first);
}
