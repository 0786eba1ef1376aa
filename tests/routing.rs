//! Which sidecar, which program, or this very place: where a call goes.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Background, Plan, Ran, Rig, TempDir, process, wait_until};

/// Puts a script in a folder that says which one it is.
fn put(folder: &Path, tool: &str, says: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(tool), format!("#!/bin/sh\necho \"{says}\" \"$@\"\n")).unwrap();
    fs::set_permissions(folder.join(tool), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A rig with a sidecar of each kind, each with a folder of its own for PATH.
fn with_folders(kinds: &[&'static str]) -> (Rig, TempDir) {
    let dir = TempDir::new();
    let mut rig = Rig::with(Plan { kinds: vec![], expected: kinds.to_vec(), ..Plan::default() });
    for kind in kinds {
        let folder = dir.path().join(kind);
        fs::create_dir_all(&folder).unwrap();
        if *kind == "rust" {
            ["make", "gcc", "cargo"].iter().for_each(|tool| put(&folder, tool, &format!("{tool} of rust")));
        }
        if *kind == "c-cpp" {
            put(&folder, "make", "make of c-cpp");
        }
        rig.start_sidecar(kind, &[("PATH", folder.to_str().unwrap())]);
    }
    (rig, dir)
}

#[test]
fn development_tools_go_to_the_first_sidecar_that_has_them() {
    // Whatever the order in which they came up.
    for kinds in [["c-cpp", "rust", "go"], ["go", "rust", "c-cpp"]] {
        let (rig, dir) = with_folders(&kinds);
        assert_eq!(Ran::of(rig.shim("make").arg("all")).expect(0), "make of c-cpp all");
        assert_eq!(Ran::of(&mut rig.shim("gcc")).expect(0), "gcc of rust");
        assert_eq!(Ran::of(&mut rig.shim("cargo")).expect(0), "cargo of rust");
        Ran::of(&mut rig.shim("ninja")).expect_said(86, "`ninja` is not installed in the c-cpp sidecar");
        Ran::of(&mut rig.shim("node"))
            .expect_said(86, "no node sidecar in this session; start it with --toolchain node");
        // A tool that was installed since is found, here and where it was only elsewhere.
        put(&dir.path().join("go"), "ninja", "ninja of go");
        assert_eq!(Ran::of(&mut rig.shim("ninja")).expect(0), "ninja of go");
        // One that went away is looked for in the next.
        fs::remove_file(dir.path().join("c-cpp/make")).unwrap();
        assert_eq!(Ran::of(&mut rig.shim("make")).expect(0), "make of rust");
    }
}

#[test]
fn a_call_waits_for_the_sidecar_that_comes_first_in_order() {
    let dir = TempDir::new();
    for kind in ["c-cpp", "rust"] {
        put(&dir.path().join(kind), "make", &format!("make of {kind}"));
    }
    let path = |kind: &str| dir.path().join(kind).to_str().unwrap().to_owned();
    let mut rig = Rig::with(Plan { kinds: vec![], expected: vec!["c-cpp", "rust"], ..Plan::default() });
    rig.start_sidecar("rust", &[("PATH", &path("rust"))]);
    let mut waiting = Background::start(&mut rig.shim("make"));
    wait_until("it waits", || process::mask(waiting.pid(), "SigBlk") & 1 << 9 != 0);
    assert!(!waiting.has_ended(), "or the same call could go to two compilers");
    rig.start_sidecar("c-cpp", &[("PATH", &path("c-cpp"))]);
    assert_eq!(waiting.end().expect(0), "make of c-cpp");
    // Where the first does not come, the next is as good.
    let mut rig = Rig::with(Plan { kinds: vec![], expected: vec!["c-cpp", "rust"], ..Plan::default() });
    rig.start_sidecar("rust", &[("PATH", &path("rust"))]);
    let waiting = Background::start(&mut rig.shim("make"));
    rig.tell_proxy(&[("failed", "c-cpp"), ("reason", "gone")]);
    assert_eq!(waiting.end().expect(0), "make of rust");
}

#[test]
fn defect_13_the_projects_own_python_and_compiler_come_first() {
    let bin = TempDir::new();
    let bin = bin.path();
    ["python3", "tsc", "npm"].iter().for_each(|tool| put(bin, tool, &format!("the image's {tool}")));
    let env = vec![("PATH", bin.to_str().unwrap().to_owned())];
    let rig = Rig::with(Plan { kinds: vec!["python", "node"], env, ..Plan::default() });
    assert_eq!(Ran::of(rig.shim("python").arg("x")).expect(0), "the image's python3 x");
    put(&rig.file(".venv/bin"), "python", "the project's python");
    put(&rig.file(".venv/bin"), "pip", "the project's pip");
    put(&rig.file("app/node_modules/.bin"), "tsc", "the project's tsc");
    put(&rig.file("app/node_modules/.bin"), "npm", "not this one");
    put(&rig.workspace(), "tsc", "nor this one");
    fs::create_dir_all(rig.file("app/src")).unwrap();
    for (tool, cwd, expected) in [
        ("python", ".", "the project's python"),
        ("python", "app/src", "the project's python"),
        ("pip", "app", "the project's pip"),
        ("python3", ".", "the image's python3"),
        ("tsc", "app/src", "the project's tsc"),
        ("tsc", ".", "the image's tsc"),
        ("npm", "app", "the image's npm"),
    ] {
        let ran = Ran::of(rig.shim(tool).current_dir(rig.file(cwd)));
        assert_eq!(ran.expect(0).trim_end(), expected, "{tool} in {cwd}");
    }
    fs::write(rig.file(".venv/bin/python"), "#!/bin/sh\necho \"$VIRTUAL_ENV:$PATH\"\n").unwrap();
    let venv = rig.file(".venv");
    let expected = format!("{0}:{0}/bin:{1}", venv.display(), bin.display());
    let seen = Ran::of(&mut rig.shim("python")).expect(0);
    assert!(seen.starts_with(&expected), "{seen}");
}

#[test]
fn env_is_looked_through_for_carried_tools_only() {
    let (rig, _dir) = with_folders(&["rust"]);
    let mut call = rig.shim("env");
    call.args(["-i", "CI=2", "RUST_LOG=x y", "cargo", "build"]).env("CI", "1").env("OTHER", "1");
    assert_eq!(Ran::of(&mut call).expect(0), "cargo of rust build");
    let rig = Rig::start();
    let shown = "printf '%s\\n' \"$CI\" \"$OTHER\" \"$SET\" \"$GITHUB_TOKEN\"";
    fs::write(rig.file("makefile"), format!("all:\n\t@{}\n", shown.replace('$', "$$"))).unwrap();
    let made = |words: &[&str]| {
        let mut call = rig.shim("env");
        Ran::of(call.args(words).args(["make", "-s"]).env("CI", "1").env("OTHER", "o").env("GITHUB_TOKEN", "t"))
            .expect(0)
    };
    assert_eq!(made(&[]), "1\no");
    assert_eq!(made(&["-u", "CI", "SET=s"]), "\no\ns");
    assert_eq!(made(&["-i", "SET=a=b"]), "\n\na=b");
    assert_eq!(made(&["-", "CI=2", "CI=3"]), "3");
    // Everything else is the real env's: here.
    assert_eq!(Ran::of(rig.shim("env").args(["-i", "A=b"])).expect(0), "A=b");
    assert_eq!(Ran::of(rig.shim("env").args(["A=b", "sh", "-c", "echo $A; exit 3"])).expect(3), "b");
    assert_eq!(Ran::of(rig.shim("env").arg("--version")).code(), 0);
    assert_eq!(Ran::of(rig.shim("env").arg("/nonexistent/cargo")).code(), 127);
}

/// The smart switches as the launcher sets them for an agent of this language.
fn smart(rig: &Rig, tool: &str, switch: &str) -> Command {
    let mut call = rig.shim(tool);
    call.env("AIFO_SHIM_SMART", "1").env(switch, "1").env("AIFO_TOOLCHAIN_VERBOSE", "1");
    // What runs in place finds no sidecar to run in.
    call.env_remove("AIFO_TOOLEEXEC_URL");
    call
}

/// The first of these programs that this machine has.
#[track_caller]
fn local(candidates: [&str; 2]) -> PathBuf {
    candidates.iter().map(PathBuf::from).find(|path| path.exists()).expect("one of them is installed")
}

/// Expects that a call ran in place, with the seed's line on stderr.
#[track_caller]
fn ran_here(ran: &Ran, words: &str, runtime: &Path, out: &str) {
    let line = format!("aifo-shim: smart: {words} local={}\n", runtime.display());
    assert_eq!((ran.expect(0).as_str(), ran.err()), (out, line));
}

#[test]
fn t31_an_agents_own_node_runs_in_place() {
    let (rig, away) = (Rig::start(), TempDir::new());
    let script = away.path().join("cli.js");
    fs::write(&script, "console.log('in place', process.argv.slice(2).join())").unwrap();
    fs::write(rig.file("app.js"), "").unwrap();
    let runtime = local(["/usr/local/bin/node", "/usr/bin/node"]);
    let words = format!("tool=node mode=local reason=outside-workspace program={}", script.display());
    let ran = Ran::of(smart(&rig, "node", "AIFO_SHIM_SMART_NODE").arg(&script).args(["a", "b"]));
    ran_here(&ran, &words, &runtime, "in place a,b");
    // From its own folder, by a relative name, and with PATH leading nowhere but to the shim: still no loop.
    let mut relative = smart(&rig, "node", "AIFO_SHIM_SMART_NODE");
    relative.arg("cli.js").current_dir(away.path()).env("PATH", rig.socket().with_file_name("links"));
    ran_here(&Ran::of(&mut relative), &words, &runtime, "in place ");
    for args in [vec!["app.js"], vec!["-e", "1"], vec!["--version"], vec![]] {
        Ran::of(smart(&rig, "node", "AIFO_SHIM_SMART_NODE").args(&args)).expect_said(86, "proxy not configured");
    }
    for off in ["AIFO_SHIM_SMART", "AIFO_SHIM_SMART_NODE"] {
        let mut call = smart(&rig, "node", "AIFO_SHIM_SMART_NODE");
        Ran::of(call.arg(&script).env(off, "0")).expect_said(86, "proxy not configured");
    }
    let mut quiet = smart(&rig, "node", "AIFO_SHIM_SMART_NODE");
    let ran = Ran::of(quiet.arg(&script).env_remove("AIFO_TOOLCHAIN_VERBOSE"));
    assert!(!ran.err().contains("smart:"), "{ran}");
}

#[test]
fn defect_14_only_the_agents_own_python_runs_in_place() {
    let (rig, away) = (Rig::start(), TempDir::new());
    let script = away.path().join("main.py");
    fs::write(&script, "import sys; print('in place', sys.argv[1:])").unwrap();
    let runtime = local(["/usr/bin/python3", "/usr/local/bin/python3"]);
    let call = || smart(&rig, "python3", "AIFO_SHIM_SMART_PYTHON");
    let words = |reason: &str, program: &str| format!("tool=python3 mode=local reason={reason} program={program}");
    let ran = Ran::of(call().arg(&script).args(["-m", "x"]));
    ran_here(&ran, &words("outside-workspace", script.to_str().unwrap()), &runtime, "in place ['-m', 'x']");
    let ran = Ran::of(call().args(["-m", "this"]).env("PYTHONDONTWRITEBYTECODE", "1"));
    assert!(ran.err().starts_with(&format!("aifo-shim: smart: {}", words("module-mode", "this"))), "{ran}");
    // `-m` behind a script is the script's own, and words behind `-c CODE` are no script.
    for args in [vec!["app.py", "-m", "x"], vec!["-c", "0", "/opt/x.py"], vec!["-"], vec![]] {
        Ran::of(call().args(&args)).expect_said(86, "proxy not configured");
    }
    for tool in ["pip", "pip3", "uv", "uvx"] {
        let ran = Ran::of(smart(&rig, tool, "AIFO_SHIM_SMART_PYTHON").args(["-m", "x"]));
        ran.expect_said(86, "proxy not configured");
    }
}

#[test]
fn t31_a_local_runtime_that_leads_back_ends() {
    let rig = Rig::start();
    for (tool, switch) in [("node", "AIFO_SHIM_SMART_NODE"), ("python3", "AIFO_SHIM_SMART_PYTHON")] {
        let mut call = smart(&rig, tool, switch);
        let ran = Ran::of(call.arg("/elsewhere").env("AIFO_SHIM_DEPTH", "64"));
        ran.expect_said(127, "the local runtime leads back to the shim");
    }
    // Each shim counts itself, so a chain of them has an end.
    let mut call = smart(&rig, "python3", "AIFO_SHIM_SMART_PYTHON");
    let away = TempDir::new();
    fs::write(away.path().join("depth.py"), "import os; print(os.environ['AIFO_SHIM_DEPTH'])").unwrap();
    let ran = Ran::of(call.arg(away.path().join("depth.py")).env("AIFO_SHIM_DEPTH", "7"));
    assert_eq!(ran.expect(0), "8");
}
