//! The shim as a program: what it is, and what it says when there is nothing to carry.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use aifo_shim::{elf, tools};

use crate::support::{Ran, Rig, TempDir, program, under};

#[test]
fn it_is_small_static_and_needs_nothing() {
    for (name, most) in [("aifo-shim", 512), ("aifo-entrypoint", 640), ("aifo-coder", 2048)] {
        let bytes = fs::read(program(name)).unwrap();
        assert!(elf::is_static(&bytes), "{name} needs an interpreter or a library");
        assert!(bytes.len() <= most << 10, "{name}: {} bytes", bytes.len());
    }
}

#[test]
fn it_says_its_version_and_that_it_is_not_to_be_called_by_its_own_name() {
    let shim = |args: &[&str]| Ran::of(Command::new(program("aifo-shim")).args(args).env_clear());
    assert_eq!(shim(&["--version"]).expect(0), concat!("aifo-shim ", env!("CARGO_PKG_VERSION")));
    for args in [vec![], vec!["--help"], vec!["cargo", "build"], vec!["--version", "x"]] {
        shim(&args).expect_said(2, "this program runs under the name of a tool");
    }
}

#[test]
fn promise_1_without_a_proxy_every_tool_is_86_and_says_what_to_do() {
    let dir = TempDir::new();
    let said = "proxy not configured. Please launch agent with --toolchain.";
    for tool in tools::names().chain(["a b", "grün"]) {
        symlink(program("aifo-shim"), dir.path().join(tool)).unwrap();
        let mut call = Command::new(dir.path().join(tool));
        Ran::of(call.arg("--version").env_clear().stdin(Stdio::null())).expect_said(86, &format!("{tool}: {said}"));
    }
    let rig = Rig::start();
    for (name, value, said) in [
        ("AIFO_TOOLEEXEC_URL", "", "proxy not configured"),
        ("AIFO_TOOLEEXEC_TOKEN", "", "proxy not configured"),
        ("AIFO_TOOLEEXEC_TOKEN", "a b", "AIFO_TOOLEEXEC_TOKEN: not a token"),
        ("AIFO_TOOLEEXEC_TOKEN", "a\r\nX-Aifo-Proto: 1", "AIFO_TOOLEEXEC_TOKEN: not a token"),
        (
            "AIFO_TOOLEEXEC_URL",
            "/run/aifo/exec.sock",
            "AIFO_TOOLEEXEC_URL: expected unix:///path or http://host:port/exec",
        ),
        ("AIFO_TOOLEEXEC_URL", "unix://relative", "AIFO_TOOLEEXEC_URL: expected an absolute socket path"),
        ("AIFO_TOOLEEXEC_URL", "https://localhost:1/exec", "AIFO_TOOLEEXEC_URL: expected unix:///path"),
        ("AIFO_TOOLEEXEC_URL", "http://localhost/exec", "AIFO_TOOLEEXEC_URL: expected http://host:port/exec"),
        ("AIFO_TOOLEEXEC_URL", "http://u@localhost:1/exec", "AIFO_TOOLEEXEC_URL: expected http://host:port/exec"),
    ] {
        Ran::of(rig.bash("exit 0").env(name, value)).expect_said(86, said);
    }
    for url in ["unix:///nowhere/at/all.sock", "http://127.0.0.1:1/exec"] {
        Ran::of(rig.bash("exit 0").env("AIFO_TOOLEEXEC_URL", url)).expect_said(125, "cannot connect to the proxy at `");
    }
}

#[test]
fn it_writes_no_file_and_needs_no_folder() {
    let rig = Rig::start();
    let empty = TempDir::new();
    let mut call = rig.bash("exit 7");
    call.env("HOME", empty.path()).env("TMPDIR", empty.path()).env("XDG_RUNTIME_DIR", empty.path());
    call.env("AIFO_TOOLCHAIN_VERBOSE", "1");
    assert_eq!(Ran::of(&mut call).expect(7), "");
    let nowhere = "/nonexistent";
    call.env("HOME", nowhere).env("TMPDIR", nowhere).env("PATH", nowhere).env("XDG_RUNTIME_DIR", nowhere);
    assert_eq!(Ran::of(&mut call).expect(7), "");
    assert_eq!(fs::read_dir(empty.path()).unwrap().count() + fs::read_dir(rig.workspace()).unwrap().count(), 0);
}

mod traced {
    use super::{Ran, Rig, fs, under};

    /// A system call costs what a call must not: time.
    #[test]
    #[ignore = "needs strace"]
    fn a_carried_call_makes_at_most_40_system_calls() {
        let rig = Rig::start();
        let trace = rig.file("trace");
        let strace = ["strace", "-f", "-o", trace.to_str().unwrap()];
        assert_eq!(Ran::of(&mut under(&strace, rig.shim("true").arg("x"))).expect(0), "");
        let text = fs::read_to_string(&trace).unwrap();
        let calls: Vec<&str> = text.lines().filter(|line| line.contains('(')).collect();
        assert!((10..=40).contains(&calls.len()), "{} system calls:\n{text}", calls.len());
        let threads = calls.iter().filter(|line| line.contains(" clone")).count();
        assert_eq!(threads, 0, "{text}");
    }
}
