//! Promises, by name, where they are not those of a topic; `cargo test --test it promise_` runs all twelve.
//!
//! 3 and 7 to 9 also stand with calls and sockets, 4 with streams and memory, 5 with lifetimes, 6 with limits.

use std::{
    fs,
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::Stdio,
};

use rustix::process::Signal;

use crate::support::{Background, Plan, Ran, Rig, TempDir, is_alive, process, under, wait_until};

#[test]
fn promise_1_never_0_when_it_did_not_run() {
    let rig = Rig::start();
    assert_eq!(Ran::of(rig.shim("true").env_remove("AIFO_TOOLEEXEC_URL")).expect(86), "");
    assert_eq!(Ran::of(rig.shim("true").env("AIFO_TOOLEEXEC_TOKEN", "wrong")).expect(86), "");
    assert_eq!(Ran::of(rig.shim("true").env("AIFO_TOOLEEXEC_URL", "unix:///nowhere.sock")).expect(125), "");
    assert_eq!(Ran::of(rig.shim("true").current_dir("/")).expect(86), "");
    assert_eq!(Ran::of(&mut rig.shim("cargo")).expect(86), "");
    assert_eq!(Ran::of(&mut rig.shim("true")).expect(0), "");
}

#[test]
fn promise_2_exactly_once_however_it_ends() {
    let mut rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let mut expected = 0;
    let ends: [fn(&mut Rig, &Background); 4] = [
        |_, call| call.signal(Signal::INT),
        |_, call| call.signal(Signal::KILL),
        |rig, _| process::pids_in(&rig.file("pids")).iter().for_each(|pid| process::signal(*pid, Signal::KILL)),
        |rig, _| process::signal(rig.proxy.id(), Signal::KILL),
    ];
    for end in ends {
        let script = "echo ran >> ran; echo $$ >> pids; exec sleep 1000";
        let calls = [rig.bash(script), {
            let mut call = rig.shim_by_tcp("bash");
            call.args(["-c", script]);
            call
        }]
        .map(|mut call| Background::start(&mut call));
        expected += 2;
        wait_until("both run", || rig.content("ran").lines().count() == expected);
        for call in calls {
            end(&mut rig, &call);
            assert_ne!(call.end().code(), 0);
        }
        assert_eq!(rig.content("ran").lines().count(), expected);
    }
    rig.finish();
    assert_eq!(rig.content("ran").lines().count(), expected);
}

#[test]
fn promise_4_whoever_does_not_read_costs_nothing() {
    let rig = Rig::start();
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", "echo $$ > pid; exec yes 0123456789abcdef"])).unwrap();
    wait_until("it runs", || !process::pids_in(&rig.file("pid")).is_empty());
    let tool = process::pids_in(&rig.file("pid"))[0];
    wait_until("it sleeps, for its pipe is full", || process::state(tool) == Some('S'));
    rig.assert_serves();
    assert!(process::status(rig.proxy.id(), "VmHWM") < 16 * 1024);
    let mut some = vec![0; 4 << 20];
    stream.read_exact(&mut some).unwrap();
    assert!(process::status(rig.proxy.id(), "VmHWM") < 16 * 1024);
    drop(stream);
    wait_until("it is gone with its reader", || !is_alive(tool));
}

#[test]
fn promise_9_nothing_in_the_workspace_configures_anything() {
    let mut plan = Plan { kinds: vec!["c-cpp", "python"], ..Plan::default() };
    // A PATH as careless people have it: the current folder in three ways.
    let path = format!(".::bin:{}", plan.env[0].1);
    plan.env[0].1 = path;
    let rig = Rig::with(plan);
    fs::create_dir(rig.file("bin")).unwrap();
    for name in ["echo", "make", "bash", "bin/echo", "bin/make", "bin/bash", "bin/python3"] {
        fs::write(rig.file(name), "#!/bin/sh\necho hijacked\n").unwrap();
        let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(rig.file(name), executable).unwrap();
    }
    let variables = "AIFO_TOOLEEXEC_URL=unix:///x\nAIFO_WORKSPACE=/\nCI=hijacked\nPATH=/hijacked\nBASH_ENV=./bash\n";
    for name in [".env", ".envrc", ".bashrc", ".profile", ".bash_profile", ".aifo-coder.toml", "aifo.toml"] {
        fs::write(rig.file(name), variables).unwrap();
    }
    assert_eq!(Ran::of(rig.shim("echo").arg("itself")).expect(0), "itself");
    let ran = Ran::of(rig.bash("echo \"$BASH_ENV$CI\"").env_remove("CI").env("HOME", rig.workspace()));
    assert_eq!(ran.expect(0), "");
    assert_eq!(Ran::of(rig.shim("make").arg("--version")).expect(0).split(' ').next(), Some("GNU"));
    assert_eq!(Ran::of(rig.shim("python3").args(["-c", "print('itself')"])).expect(0), "itself");
}

#[test]
fn promise_10_the_users_files_are_the_users() {
    let (home, temp) = (TempDir::new(), TempDir::new());
    let mut plan = Plan { tcp: true, ..Plan::default() };
    plan.env.push(("HOME", home.path().to_str().unwrap().to_owned()));
    plan.proxy_env = vec![("TMPDIR", temp.path().to_str().unwrap().to_owned())];
    let mut rig = Rig::with(plan);
    fs::write(rig.file("mine"), "untouched").unwrap();
    for script in ["true", "exit 3", "kill -9 $$", "cat", "echo out; echo err >&2"] {
        for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
            shim.env("HOME", home.path()).env("TMPDIR", temp.path());
            drop(Ran::of(shim.args(["-c", script])));
        }
        for proto in [1, 2] {
            rig.ask(&rig.call(proto, "bash", &["-c", script]));
        }
    }
    rig.finish();
    let names =
        |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names(&rig.workspace()), ["mine"]);
    assert_eq!(fs::read_to_string(rig.file("mine")).unwrap(), "untouched");
    assert!(names(home.path()).is_empty() && names(temp.path()).is_empty());
}

#[test]
fn promise_11_a_tool_cannot_look_into_its_supervisor() {
    // Root may look into everything; without its capabilities, as in a container, it may not.
    let is_root = rustix::process::getuid().is_root();
    let sidecar_under: &[&str] = if is_root { &["setpriv", "--bounding-set", "-all"] } else { &[] };
    let rig = Rig::with(Plan { sidecar_under, ..Plan::default() });
    let script = "
        cat /proc/$$/environ > /dev/null && readlink /proc/$$/fd/0 > /dev/null && echo its own
        for pid in $PPID \"$1\"; do
            cat /proc/$pid/environ > /dev/null || echo hidden
            readlink /proc/$pid/fd/0 > /dev/null || echo hidden
            head -c 1 /proc/$pid/mem > /dev/null || echo hidden
        done";
    let execd = rig.sidecars[0].id().to_string();
    let ran = Ran::of(rig.bash(script).arg(execd));
    assert_eq!(ran.expect(0), "its own\nhidden\nhidden\nhidden\nhidden\nhidden\nhidden");
}

type Kill = fn(&mut Rig);

#[test]
fn promise_12_nothing_is_left_after_any_end() {
    // A tool with a daemon that will not end, and, where it can be helped, a daemon of a call that has ended.
    let daemon = "setsid bash -c 'trap \"\" INT TERM HUP; while :; do sleep 1000; done' < /dev/null > /dev/null 2>&1 &";
    let script = format!("{daemon} trap '' INT TERM; echo up >> up; while :; do sleep 1000; done");
    let kills: [(bool, Kill); 4] = [
        (true, |rig| process::signal(rig.proxy.id(), Signal::KILL)),
        (true, |rig| process::signal(rig.proxy.id(), Signal::TERM)),
        (true, |rig| process::signal(rig.sidecars[0].id(), Signal::TERM)),
        (false, |rig| process::signal(rig.sidecars[0].id(), Signal::KILL)),
    ];
    for (with_ended_call, kill) in kills {
        let mut rig = Rig::start();
        if with_ended_call {
            Ran::of(&mut rig.bash(daemon)).expect(0);
        }
        let mut shims = [rig.bash(&script), under(&["nohup"], &rig.bash(&script))];
        let calls: Vec<_> = shims
            .iter_mut()
            .map(|shim| {
                let shim = shim.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
                Background::with_output_as_set(shim)
            })
            .collect();
        wait_until("both run", || rig.content("up").lines().count() == 2);
        kill(&mut rig);
        for call in calls {
            assert_eq!(call.end().code(), 125);
        }
        // Waits until no process of the rig is left.
        rig.finish();
    }
}
