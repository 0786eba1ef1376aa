//! Each agent does a piece of work: it starts, its own runtime stays in its container, the tools that it calls under
//! `/workspace` run in the sidecars, and it ends with 0 and leaves nothing.

use super::{
    recipes::{self, Hand, Recipe},
    stage::{Stage, calls},
};
use crate::support::{Ran, clean, program};

const KINDS: &[&str] = &["--toolchain", "c-cpp", "--toolchain", "python", "--toolchain", "node"];
/// What the model wants run, the file that tells where it ran, and what the launcher tells of it.
const STEPS: &[(&str, &str, Option<&str>)] = &[
    ("cc --version >cc", "cc", Some("c-cpp: cc --version")),
    (
        "python3 -c 'print(open(\"/proc/1/cmdline\").read())' >python",
        "python",
        Some("python: python3 -c print(open(\"/proc/1/cmdline\").read())"),
    ),
    (
        "node -p 'require(\"fs\").readFileSync(\"/proc/1/cmdline\", \"latin1\")' >node",
        "node",
        Some("node: node -p require(\"fs\").readFileSync(\"/proc/1/cmdline\", \"latin1\")"),
    ),
    ("make --silent >make", "make", Some("c-cpp: make --silent")),
    // The shell that was started for this very line tells how it was told of it.
    ("cat /proc/1/cmdline >here; cat /proc/$$/cmdline >argv; echo \"it's $(id -un)\" >name", "here", None),
];

#[track_caller]
fn works(recipe: &'static Recipe) {
    let commands: Vec<&str> = STEPS.iter().map(|(command, ..)| *command).collect();
    let stage = Stage::of(recipe, &commands);
    stage.place.put("Makefile", "all: a\n\t@./a && cat /proc/1/cmdline\na: a.c\n\t@cc -o a a.c\n");
    stage.place.put("a.c", "int main(void) { return 0; }\n");
    let ran = stage.run(KINDS);
    // These and no other: nothing of the agent's own was carried.
    let expected: Vec<&str> = STEPS.iter().filter_map(|(_, _, call)| *call).collect();
    assert_eq!(calls(&ran), expected, "{ran}");
    assert!(stage.said("cc").starts_with("cc (Debian "), "{}", stage.said("cc"));
    for (_, file, call) in &STEPS[1..] {
        let first =
            if call.is_some() { "/opt/aifo/bin/aifo-coder\0execd\0" } else { "/opt/aifo/bin/aifo-entrypoint\0" };
        assert!(stage.said(file).starts_with(first), "{file}: {}", stage.said(file));
    }
    // The user of the host has a name in a container that has never heard of it.
    assert_eq!(stage.said("name"), "it's coder\n");
    let command = if recipe.hand == Hand::TestCommand { commands.join(" && ") } else { commands[4].to_owned() };
    assert_wrapped(recipe, &stage.said("argv"), &command);
    stage.assert_only(&["Makefile", "a.c", "a", "argv", "cc", "here", "make", "name", "node", "python"]);
}

/// Proves that the command line of the agent's shell is what the agent's own file takes the command out of.
#[track_caller]
fn assert_wrapped(recipe: &Recipe, argv: &str, command: &str) {
    let words: Vec<&str> = argv.trim_end_matches('\0').split('\0').collect();
    if recipe.hand == Hand::Typed {
        assert_eq!(words.len(), 1, "{words:?}");
        return;
    }
    let [_, "-c", raw] = words[..] else { panic!("{words:?}") };
    let ran = Ran::of(clean(program("aifo-coder")).args(["normalize", recipe.name, raw]));
    assert_eq!(ran.expect(0), format!("evaluated\n{command}"), "{raw}");
}

#[test]
#[ignore = "needs docker"]
fn claude_works() {
    works(&recipes::CLAUDE);
}

#[test]
#[ignore = "needs docker"]
fn codex_works() {
    works(&recipes::CODEX);
}

#[test]
#[ignore = "needs docker"]
fn opencode_works() {
    works(&recipes::OPENCODE);
}

#[test]
#[ignore = "needs docker"]
fn pi_works() {
    works(&recipes::PI);
}

#[test]
#[ignore = "needs docker"]
fn letta_works() {
    works(&recipes::LETTA);
}

#[test]
#[ignore = "needs docker"]
fn aider_works() {
    works(&recipes::AIDER);
}

#[test]
#[ignore = "needs docker"]
fn openhands_works() {
    works(&recipes::OPENHANDS);
}
