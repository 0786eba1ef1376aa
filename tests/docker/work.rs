//! The main job: what an agent does with real compilers and interpreters, through the shims.

use std::{fs, os::unix::fs::MetadataExt};

use crate::support::{Ran, docker::Place};

const PROBE: &str = r#"
fn main() { println!("grün {}", probe()) }
fn probe() -> i32 { 42 }
#[test]
fn is_42() { assert_eq!(probe(), 42) }
#[test]
fn is_43() { assert_eq!(probe(), 43) }
"#;

const HELLO: &str = r#"
package main

import ("fmt"; "os")

func main() { fmt.Println("from go", os.Args[1]); os.Exit(7) }
"#;

#[test]
#[ignore = "needs docker"]
fn a_crate_is_built_and_tested_by_cargo() {
    let place = Place::new();
    place.put("Cargo.toml", "[package]\nname = \"probe\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    place.put("src/main.rs", PROBE);
    let mut session = place.launcher(&["--toolchain", "rust", "run", "--", "sh"]).start_shell();
    session.expect(0, "cargo build --offline");
    assert_eq!(session.expect(0, "target/debug/probe"), "grün 42");
    let (code, said) = session.ask("cd src && RUST_BACKTRACE=0 cargo test --offline");
    assert_eq!(code, 101, "{said}");
    assert!(said.contains("1 passed; 1 failed") && said.contains("left: 42"), "{said}");
    session.expect(0, "cargo test --offline is_42");
    assert_eq!(session.finish().expect(0), "");
    assert_eq!(fs::metadata(place.workspace().join("target/debug/probe")).unwrap().uid(), place.uid());
}

#[test]
#[ignore = "needs docker"]
fn c_by_make_python_from_stdin_node_and_go() {
    let place = Place::new();
    place.put("Makefile", "answer: answer.c\n\t$(CC) -Wall -o $@ $<\n");
    place.put("answer.c", "#include <stdio.h>\nint main(void) { puts(\"from c\"); return 5; }\n");
    place.put(
        "hello.js",
        "process.stdout.write(`from node ${process.argv[2]} ${process.env.CI}\\n`); process.exitCode = 6;\n",
    );
    place.put("hello.go", HELLO);
    let kinds = ["--toolchain", "c-cpp", "--toolchain", "python", "--toolchain", "node", "--toolchain", "go"];
    let mut session = place.launcher(&[&kinds[..], &["run", "--", "sh"]].concat()).start_shell();
    session.expect(0, "make");
    assert_eq!(session.expect(5, "./answer"), "from c");
    assert_eq!(session.expect(0, "printf 'import sys\\nprint(sys.stdin.read())' | python3 -"), "");
    assert_eq!(session.expect(0, "echo 'print(6 * 7)' | python -"), "42");
    assert_eq!(
        session.expect(3, "printf 'import sys\\nprint(\"to stderr\", file=sys.stderr)\\nsys.exit(3)' | python3"),
        "to stderr"
    );
    assert_eq!(session.expect(6, "CI=1 node hello.js 'a b'"), "from node a b 1");
    assert_eq!(session.expect(1, "go run hello.go ü 2>/dev/null"), "from go ü");
    session.expect(0, "go build hello.go");
    assert_eq!(session.expect(7, "./hello x"), "from go x");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_shell_script_with_pipes_loops_and_many_calls_works() {
    let place = Place::new();
    let script = "set -e\nsum='import sys; print(sum(map(int, sys.stdin)))'\n\
                  for i in 1 2 3 4 5 6 7 8 9 10; do python3 -c \"print($i)\"; done | python3 -c \"$sum\"\n\
                  (python3 -c 'import sys; sys.exit(4)' || echo failed with $?)\n\
                  python3 -c 'import time; time.sleep(0.2); print(1)' & python3 -c 'print(2)' & wait\n\
                  python3 -c 'while True: print(1)' | head -1\n";
    let ran = place.launcher(&["--toolchain", "python", "run", "--", "bash", "-c", script]).run();
    assert_eq!(ran.expect(0), "55\nfailed with 4\n2\n1\n1");
}

#[test]
#[ignore = "needs docker"]
fn promise_10_files_belong_to_a_plain_user_and_nothing_else_is_created() {
    let place = Place::of_plain_user();
    place.put("main.c", "int main(void) { return 0; }\n");
    let before = place.listing();
    let args =
        ["--toolchain", "c-cpp", "run", "--", "sh", "-c", "gcc -o main main.c && ./main && touch by-agent && id -u"];
    let ran = place.launcher(&args).run();
    assert_eq!(ran.expect(0), place.uid().to_string());
    let mut expected = before;
    expected.extend(["workspace/by-agent", "workspace/main"].map(str::to_owned));
    expected.sort();
    assert_eq!(place.listing(), expected);
    let owners = Ran::of(std::process::Command::new("find").arg(place.path()).args(["-printf", "%U:%G\n"])).expect(0);
    let own = format!("{0}:{0}", place.uid());
    assert!(owners.lines().all(|owner| owner == own), "{owners}");
}
