//! Where a tool runs (T28, T29).

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use aifo_shim::wire::form;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Answer, Ran, Rig, TempDir};

/// A call of `pwd -P` in this directory, as any client could send it.
fn ask_in(rig: &Rig, cwd: &OsStr) -> Answer {
    let mut body = Vec::new();
    form::encode("tool", b"pwd", &mut body);
    form::encode("arg", b"-P", &mut body);
    form::encode("cwd", cwd.as_bytes(), &mut body);
    rig.ask(&rig.request("/exec", 2, "", &body))
}

#[test]
fn defect_1_a_tool_runs_where_its_caller_stands() {
    let rig = Rig::start();
    let elsewhere = TempDir::new();
    for name in ["sub", "a b", "grün", "e\u{301}", "$(x)", "-", "new\nline", "\u{1f980}"] {
        fs::create_dir_all(rig.file(name).join("deep")).unwrap();
        let mut call = rig.bash("pwd > here; printf %s \"$PWD\"");
        let ran = Ran::of(call.current_dir(rig.file(name).join("deep")));
        assert_eq!(ran.output.stdout, rig.file(name).join("deep").as_os_str().as_bytes(), "{ran}");
        assert!(rig.file(name).join("deep/here").exists(), "{name}");
    }
    assert_eq!(Ran::of(rig.shim("pwd").current_dir(elsewhere.path())).expect(0), elsewhere.path().to_str().unwrap());
    assert_eq!(Ran::of(&mut rig.shim("pwd")).expect(0), rig.workspace().to_str().unwrap());
    // A client that names no directory is in the workspace.
    assert_eq!(ask_in(&rig, OsStr::new("")).text().trim_end(), rig.workspace().to_str().unwrap());
}

#[test]
fn t27_promise_3_a_directory_need_not_be_text() {
    let rig = Rig::start();
    let folder = rig.workspace().join(OsStr::from_bytes(b"\xff\xfe \xe9"));
    fs::create_dir(&folder).unwrap();
    let ran = Ran::of(rig.bash("pwd; echo made > $'\\xfc'").current_dir(&folder));
    assert_eq!(ran.output.stdout, [folder.as_os_str().as_bytes(), b"\n"].concat(), "{ran}");
    assert_eq!(fs::read(folder.join(OsStr::from_bytes(b"\xfc"))).unwrap(), b"made\n");
}

#[test]
fn t28_no_directory_outside_and_none_that_leads_there() {
    let rig = Rig::start();
    let workspace = rig.workspace();
    fs::create_dir(rig.file("sub")).unwrap();
    fs::write(rig.file("file"), "").unwrap();
    symlink("/etc", rig.file("out")).unwrap();
    symlink("/", rig.file("root")).unwrap();
    symlink("sub", rig.file("in")).unwrap();
    symlink("/proc/self/fd", rig.file("fd")).unwrap();
    let below = |rest: &str| format!("{}{rest}", workspace.display());
    let long = below(&"/x".repeat(2100));
    for cwd in [
        "/",
        "/etc",
        "/proc/self/fd/0",
        "/proc/self/cwd",
        "/proc/1/root",
        "/tmpfoo",
        "tmp",
        ".",
        "..",
        "/tmp/..",
        "/tmp/../etc",
        "//etc",
        &below("/../../etc"),
        &below("/.."),
        &below("/sub/../.."),
        &below("/sub/.."),
        &below("/out"),
        &below("/root/etc"),
        &below("/root/tmp"),
        &below("/in"),
        &below("/fd/0"),
        &below("/file"),
        &below("/file/x"),
        &below("/nothing"),
        &below("\u{2215}etc"),
        &format!("{}x", workspace.display()),
        &long,
    ] {
        let answer = ask_in(&rig, OsStr::new(cwd));
        assert_eq!((answer.status, answer.code().as_str()), (400, "86"), "{cwd}: {answer:?}");
        assert!(answer.text().starts_with("bad request: ") && answer.text().lines().count() == 1, "{cwd}: {answer:?}");
    }
    for (cwd, shown) in [(below("/"), ""), (below("/./sub//."), "/sub"), ("/tmp".into(), "")] {
        let expected = if cwd == "/tmp" { cwd.clone() } else { below(shown) };
        assert_eq!(ask_in(&rig, OsStr::new(&cwd)).text().trim_end(), expected, "{cwd}");
    }
    rig.assert_serves();
}

#[test]
fn t28_a_directory_that_is_gone_or_closed_is_refused() {
    let rig = Rig::start();
    fs::create_dir(rig.file("gone")).unwrap();
    // The shell stands in a folder that it removes; the kernel then knows no name for it.
    let script = "cd gone && rmdir ../gone && exec \"$0\" -P";
    let ran = Ran::of(&mut crate::support::under(&["bash", "-c", script], &rig.shim("pwd")));
    ran.expect_said(125, "cannot read the current directory");
    let gone = ask_in(&rig, rig.file("gone").as_os_str());
    assert_eq!(gone.status, 400);
    assert!(gone.text().contains("cannot enter") && gone.text().contains("No such file"), "{gone:?}");
    rig.assert_serves();
}

#[test]
fn defect_12_a_refused_directory_is_explained() {
    let rig = Rig::start();
    let ran = Ran::of(rig.shim("pwd").current_dir("/etc"));
    ran.expect_said(86, "`/etc` is not shared with the sidecar; run `pwd` below the workspace or /tmp");
}

#[test]
fn t29_a_directory_that_is_swapped_for_a_link_never_leads_out() {
    let rig = Rig::start();
    // `d` is in turn a folder and a link to /usr; both hold `bin`.
    fs::create_dir_all(rig.file("d/bin")).unwrap();
    symlink("/usr", rig.file("l")).unwrap();
    let (folder, link) = (rig.file("d"), rig.file("l"));
    let over = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for call in 0..2000 {
            let cwd = if call % 2 == 0 { folder.clone() } else { folder.join("bin") };
            let answer = ask_in(&rig, cwd.as_os_str());
            let place = answer.text();
            match answer.status {
                200 => {
                    // It ran, and where it ran may have got the other name meanwhile.
                    let place = Path::new(place.trim_end());
                    assert!(place.starts_with(rig.workspace()), "ran in {}", place.display());
                    inside += 1;
                }
                400 => refused += 1,
                status => panic!("{status}: {answer:?}"),
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(inside > 0 && refused > 0, "the race was none: {inside} ran, {refused} were refused");
}
