//! The acceptance criteria of smart shims, each by its number, with agents that are written for a runtime of their own:
//! Pi and Letta Code for Node, Aider and OpenHands for Python. (The fourth, one PATH for all agents, is with the shells in
//! `paths`; the sixth, that the project's checks pass, is CI's.)

use super::{
    recipes::{AIDER, LETTA, OPENHANDS, PI},
    stage::{Stage, calls},
};

const KINDS: &[&str] = &["--toolchain", "node", "--toolchain", "python"];
/// The first process where a program runs tells which container that is.
const AGENT: &str = "/opt/aifo/bin/aifo-entrypoint\0";
const SIDECAR: &str = "/opt/aifo/bin/aifo-coder\0execd\0";

#[test]
#[ignore = "needs docker"]
fn criterion_1_node_agents_run_their_own_programs_in_place() {
    for (recipe, program) in [(&PI, "/usr/local/bin/pi"), (&LETTA, "/usr/local/bin/letta")] {
        let stage = Stage::of(
            recipe,
            &[
                "printf 'console.log(require(\"fs\").readFileSync(\"/proc/1/cmdline\", \"latin1\"))' >/tmp/own.js",
                "node /tmp/own.js >outside; node --no-warnings -r fs /tmp/own.js >with-options",
                "cd /tmp && node own.js >/workspace/relative",
            ],
        );
        let ran = stage.run(KINDS);
        assert_eq!(calls(&ran), [""; 0], "{ran}");
        for file in ["outside", "with-options", "relative"] {
            assert!(stage.said(file).starts_with(AGENT), "{file}: {}", stage.said(file));
        }
        // The agent itself came through the shim that is first in its PATH.
        let line = "aifo-shim: smart: tool=node mode=local reason=outside-workspace program=";
        assert!(ran.err().contains(&format!("{line}{program} local=/usr/local/bin/node")), "{ran}");
        stage.assert_only(&["outside", "relative", "with-options"]);
    }
}

#[test]
#[ignore = "needs docker"]
fn criterion_2_python_agents_run_their_own_programs_in_place() {
    for recipe in [&AIDER, &OPENHANDS] {
        let stage = Stage::of(
            recipe,
            &[
                "echo 'print(open(\"/proc/1/cmdline\").read())' >/tmp/own.py",
                "python3 /tmp/own.py >outside && python -B -X utf8 /tmp/own.py >with-options",
                "(cd /tmp && python3 -m own >/workspace/module)",
            ],
        );
        let ran = stage.run(KINDS);
        assert_eq!(calls(&ran), [""; 0], "{ran}");
        for file in ["outside", "with-options", "module"] {
            assert!(stage.said(file).starts_with(AGENT), "{file}: {}", stage.said(file));
        }
        stage.assert_only(&["module", "outside", "with-options"]);
    }
}

#[test]
#[ignore = "needs docker"]
fn criterion_3_calls_under_the_workspace_are_carried() {
    for recipe in [&PI, &AIDER] {
        let stage = Stage::of(
            recipe,
            &[
                "node app.js >node && node ./sub/../app.js >>node",
                "python3 app.py >python && python3 -c 'import app' >>python",
                "npm --version >npm && pip --version >pip",
            ],
        );
        stage.place.put("app.js", "console.log(require(\"fs\").readFileSync(\"/proc/1/cmdline\", \"latin1\"))\n");
        stage
            .place
            .put("app.py", "import sys\nsys.dont_write_bytecode = True\nprint(open(\"/proc/1/cmdline\").read())\n");
        stage.place.put("sub/empty", "");
        let ran = stage.run(KINDS);
        let expected = [
            "node: node app.js",
            "node: node ./sub/../app.js",
            "python: python3 app.py",
            "python: python3 -c import app",
            "node: npm --version",
            "python: pip --version",
        ];
        assert_eq!(calls(&ran), expected, "{ran}");
        for file in ["node", "python"] {
            let said = stage.said(file);
            assert_eq!(said.lines().filter(|line| line.starts_with(SIDECAR)).count(), 2, "{said}");
        }
    }
}

#[test]
#[ignore = "needs docker"]
fn criterion_5_one_shim_stands_behind_every_tool() {
    let list = "for file in /opt/aifo/bin/*; do echo \"$(basename \"$file\") $(readlink -f \"$file\") \
                $(head -c 4 \"$file\" | tail -c 3)\"; done >list";
    let stage = Stage::of(&PI, &[list]);
    stage.run(KINDS);
    let list = stage.said("list");
    for line in list.lines() {
        let [name, target, "ELF"] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let own = match name {
            "aifo-coder" => "/opt/aifo/bin/aifo-coder",
            "aifo-entrypoint" | "aifo-bash" => "/opt/aifo/bin/aifo-entrypoint",
            _ => "/opt/aifo/bin/aifo-shim",
        };
        assert_eq!(target, own, "{name}");
    }
    for name in ["node", "python3", "cc", "aifo-shim"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} is not in\n{list}");
    }
}
