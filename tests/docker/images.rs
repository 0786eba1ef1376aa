//! Sidecars and agents in images that are not ours, that hold nearly nothing, that do not start, or are not there.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{
    Ran,
    docker::{Place, docker},
    wait_until,
};

/// An image of a test's own; it disappears with the value.
#[derive(Debug)]
struct Image(String);

impl Image {
    /// What lies below a folder, and nothing else: no shell, no library, no variable.
    #[track_caller]
    fn of(name: &str, folder: &Path) -> Self {
        let image = Self(format!("aifo-it-{name}:{}", std::process::id()));
        let mut tar = Command::new("tar");
        tar.args(["--create", "--owner=0", "--group=0", "--directory"]).arg(folder).arg(".");
        let mut tar = tar.stdout(Stdio::piped()).spawn().expect("tar is there");
        let mut import = Command::new("docker");
        import.args(["import", "-", &image.0]).stdin(tar.stdout.take().expect("piped"));
        Ran::of(&mut import).expect(0);
        assert!(tar.wait().expect("a child").success());
        image
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        docker(&["image", "rm", &self.0]);
    }
}

/// Prints its name, the number of its words and its directory, and ends with that number.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    char folder[999];
    printf("%s %d %s\n", words[0], count, getcwd(folder, 999));
    return count;
}
"#;

/// A program that needs nothing but the kernel, made by our own compiler image.
#[track_caller]
fn put_static_program(place: &Place, name: &str) {
    place.put("tool.c", PROGRAM);
    fs::create_dir_all(place.workspace().join(name).parent().expect("a path")).expect("a folder");
    let args = ["toolchain", "c-cpp", "--", "gcc", "-static", "-Os", "-o", name, "tool.c"];
    place.launcher(&args).run().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_sidecar_image_may_hold_one_static_program_and_no_shell() {
    let place = Place::new();
    put_static_program(&place, "root/usr/bin/gcc");
    let image = Image::of("static", &place.workspace().join("root"));
    let spec = format!("c-cpp={}", image.0);
    let mut session = place.launcher(&["--toolchain", &spec, "run", "--", "sh"]).start_shell();
    assert_eq!(session.expect(3, "gcc a b"), "gcc 3 /workspace");
    assert_eq!(session.expect(1, "cd root && gcc"), "gcc 1 /workspace/root");
    // What it does not hold is refused, with the tool's name.
    assert!(session.expect(86, "make").contains("`make` is not installed in the c-cpp sidecar"));
    session.finish().expect(0);
    let ran = place.launcher(&["toolchain", &spec, "--", "gcc", "x"]).run();
    assert_eq!(ran.expect(2), "gcc 2 /workspace");
    // A shell is what it lacks, and so it says.
    let ran = place.launcher(&["toolchain", &spec]).run();
    ran.expect(127);
    assert!(ran.err().contains("cannot run `bash`"), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn an_agent_image_may_hold_one_static_program_and_no_shell() {
    let place = Place::new();
    put_static_program(&place, "root/agent");
    let image = Image::of("agent", &place.workspace().join("root"));
    let ran = place.launcher(&["run", "--image", &image.0, "--", "/agent", "x", "y"]).run();
    assert_eq!(ran.expect(3), "/agent 3 /workspace");
}

#[test]
#[ignore = "needs docker"]
fn a_sidecar_that_cannot_start_says_so_in_its_calls_and_the_session_goes_on() {
    let place = Place::new();
    // A file where the workspace belongs: docker creates the container and cannot start it.
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("workspace"), "a file").unwrap();
    let image = Image::of("broken", &root);
    let spec = format!("c-cpp={}", image.0);
    let args = ["--toolchain", &spec, "--tool", "c-cpp:tool", "--toolchain", "python", "run", "--", "sh"];
    let mut session = place.launcher(&args).start_shell();
    let said = session.expect(86, "tool");
    let start =
        "aifo-shim: tool: refused by the proxy (409): the c-cpp sidecar did not start: Error response from daemon";
    assert!(said.starts_with(start), "{said}");
    wait_until("the launcher says why", || session.err().contains("warning: the c-cpp sidecar ended: Error response"));
    assert!(session.err().contains("workspace"), "{}", session.err());
    assert!(session.expect(0, "python3 --version").starts_with("Python 3"));
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn an_agent_that_cannot_start_ends_with_125_and_dockers_reason() {
    let place = Place::new();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("workspace"), "a file").unwrap();
    let image = Image::of("broken-agent", &root);
    let ran = place.launcher(&["--toolchain", "python", "run", "--image", &image.0, "--", "true"]).run();
    ran.expect(125);
    assert!(ran.err().contains("Error response from daemon"), "{ran}");
}

#[test]
#[ignore = "needs docker"]
fn t55_a_missing_image_is_one_line_with_what_to_type_and_nothing_starts() {
    let place = Place::new();
    let ours = |args: &[&str]| place.launcher(args).refused();
    assert_eq!(
        ours(&["--toolchain", "rust@9.99", "run", "--", "true"]),
        (
            "image `aifo-coder-toolchain-rust:9.99` is not here".to_owned(),
            Some("name an image that is here, or take the official one: toolchain.KIND-official = 1".to_owned())
        )
    );
    assert_eq!(ours(&["toolchain", "go@0.1", "--", "true"]).0, "image `aifo-coder-toolchain-go:0.1` is not here");
    assert_eq!(
        ours(&["run", "--image", "aifo-coder-claude:1", "--", "true"]).0,
        "image `aifo-coder-claude:1` is not here"
    );
}

#[test]
#[ignore = "needs docker"]
fn t55_an_image_that_cannot_be_pulled_says_why() {
    let place = Place::new();
    // A registry that refuses the connection, so that no network is asked.
    let mut launcher = place.launcher(&["--toolchain", "go=127.0.0.1:1/go:1", "run", "--", "true"]);
    let ran = Ran::of(&mut launcher.command);
    ran.expect(125);
    let err = ran.err();
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines[0], "aifo-coder: pulling 127.0.0.1:1/go:1");
    assert!(
        lines[1].starts_with("aifo-coder: error: cannot pull `127.0.0.1:1/go:1`: ") && lines[1].contains("refused"),
        "{ran}"
    );
    assert_eq!(lines[2..], ["aifo-coder: hint: docker login, or name an image that is here"]);
}

#[test]
#[ignore = "needs docker"]
fn a_foreign_image_serves_as_a_toolchain() {
    let place = Place::new();
    // No compiler of ours in it, but git, which a sidecar of any kind may be asked for.
    let image = concat!("c-cpp=aifo-coder-base:release-", env!("CARGO_PKG_VERSION"));
    let args = ["--toolchain", image, "--tool", "c-cpp:git", "run", "--", "sh", "-c"];
    let script = "command -v git; git --version | cut -d' ' -f1-2; make";
    let ran = place.launcher(&[&args[..], &[script]].concat()).run();
    assert_eq!(ran.expect(86), "/run/aifo/bin/git\ngit version");
}

#[test]
#[ignore = "needs docker"]
fn an_added_tool_goes_to_its_kind_and_only_its_kind() {
    let place = Place::new();
    let kinds = ["--toolchain", "python", "--toolchain", "c-cpp"];
    let tools = ["--tool", "python:pydoc3", "--tool", "c-cpp:ar", "--tool", "c-cpp:pydoc3.11"];
    let mut session = place.launcher(&[&kinds[..], &tools, &["run", "--", "sh"]].concat()).start_shell();
    assert_eq!(
        session.expect(0, "command -v ar pydoc3 | head -1; ar --version | cut -d' ' -f1-2 | head -1"),
        "/run/aifo/bin/ar\nGNU ar"
    );
    session.expect(0, "pydoc3 os.getcwd");
    // There, but in another sidecar than the one named.
    let (code, _) = session.ask("pydoc3.11 os");
    assert!(code == 127 || code == 86, "{code}");
    session.finish().expect(0);
}
