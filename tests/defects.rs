//! Defects of the predecessor that must not come back, by their numbers in the list; those that belong to a topic stand in
//! its module: `cargo test --test it defect_` runs them all.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    path::Path,
    process::Stdio,
};

use rustix::process::Signal;

use crate::support::{
    Answer, Background, Fake, Plan, Ran, Rig, TempDir, clean, form, is_alive, process, program, read_all, under,
    wait_until,
};

#[test]
fn defect_2_nothing_that_went_wrong_ends_with_0() {
    // Nobody there, somebody who hangs up, and somebody who hangs up in the middle.
    let rig = Rig::start();
    Ran::of(rig.shim("true").env("AIFO_TOOLEEXEC_URL", "http://127.0.0.1:9/exec")).expect_said(125, "cannot connect");
    let half = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    for answer in [b"".as_slice(), half] {
        for fake in [Fake::on_socket(&[answer]), Fake::on_tcp(&[answer])] {
            assert_eq!(Ran::of(&mut fake.shim("true")).code(), 125);
        }
    }
    // The interrupt key, and a proxy that dies, while the tool is about to end well.
    let mut rig = Rig::start();
    let script = "echo $$ > pid; while ! test -e go; do sleep 0.01; done; exit 0";
    for signal in [Signal::INT, Signal::TERM] {
        drop(fs::remove_file(rig.file("pid")));
        let call = Background::start(&mut rig.bash(script));
        wait_until("it runs", || rig.file("pid").exists());
        call.signal(signal);
        assert_ne!(call.end().code(), 0);
    }
    drop(fs::remove_file(rig.file("pid")));
    let call = Background::start(&mut rig.bash(script));
    wait_until("it runs", || rig.file("pid").exists());
    drop(rig.proxy.kill());
    assert_eq!(call.end().code(), 125);
    rig.finish();
}

#[test]
fn defect_6_names_beyond_ascii_are_the_same_on_both_sides() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    fs::create_dir(rig.file("grün")).unwrap();
    for mut shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        let script = "printf %s \"$1\" > \"$2\"; printf '%s %s' \"$1\" \"$VALUE\"; pwd";
        shim.args(["-c", script, "bash", "grün", "Straße 日本 🦀"]).current_dir(rig.file("grün")).env("VALUE", "ä=ö");
        assert_eq!(Ran::of(&mut shim).expect(0), format!("grün ä=ö{}", rig.file("grün").display()));
        assert_eq!(fs::read_to_string(rig.file("grün/Straße 日本 🦀")).unwrap(), "grün");
    }
}

#[test]
fn defect_22_the_end_of_a_session_is_the_end_of_its_calls() {
    let mut rig = Rig::start();
    let script = "trap '' INT TERM; echo $$ >> pids; sleep 1000";
    let calls: Vec<Background> = (0..3).map(|_| Background::start(&mut rig.bash(script))).collect();
    wait_until("all run", || process::pids_in(&rig.file("pids")).len() == 3);
    rig.finish();
    for call in calls {
        call.end().expect_said(125, "connection to the proxy was lost");
    }
    assert!(!process::pids_in(&rig.file("pids")).into_iter().any(is_alive));
}

#[test]
fn defect_23_two_sessions_do_not_share_a_sidecar() {
    let (one, two) = (Rig::start(), Rig::start());
    for (rig, text) in [(&one, "one"), (&two, "two")] {
        assert_eq!(Ran::of(rig.bash("echo \"$1\" > mine; pwd").arg(text)).expect(0), rig.workspace().to_str().unwrap());
    }
    assert_eq!((one.content("mine"), two.content("mine")), ("one\n".to_owned(), "two\n".to_owned()));
    // Nor does one lend the other its folder.
    let mut crossed = two.bash("echo ran > ran");
    crossed.current_dir(two.file("..")).env("AIFO_TOOLEEXEC_URL", format!("unix://{}", one.socket().display()));
    crossed.env("AIFO_TOOLEEXEC_TOKEN", one.token());
    // Both lie in /tmp, which sessions of containers do not share; the workspace does not move with the caller.
    assert_eq!(Ran::of(&mut crossed).code(), 0);
    assert!(!one.file("ran").exists() && !two.file("ran").exists());
}

#[test]
fn defect_24_ids_are_not_to_be_guessed_nor_chosen_and_failures_leave_no_litter() {
    let rig = Rig::start();
    let before = listing(&rig.workspace());
    let mut ids = BTreeSet::new();
    for number in 0..100 {
        let pairs = [("tool", "bash"), ("arg", "-c"), ("arg", "exit 1"), ("exec_id", "../../chosen"), ("id", "chosen")];
        let fields = "X-Exec-Id: ../../chosen\r\nX-Aifo-Exec-Id: chosen\r\nExecId: chosen\r\n";
        let answer = rig.ask(&rig.request("/exec", 2, fields, &form(&pairs)));
        assert_eq!(answer.code(), "1", "{number}");
        ids.insert(answer.field("x-exec-id"));
    }
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())), "{ids:?}");
    // A counter, a clock or a process id would leave digits that hardly change from one to the next.
    for at in 0..32 {
        let digits: BTreeSet<u8> = ids.iter().map(|id| id.as_bytes()[at]).collect();
        assert!(digits.len() > 8, "digit {at} of the ids is one of {digits:?}");
    }
    for script in ["exit 1", "kill -9 $$", "false", "exit 255"] {
        assert_ne!(Ran::of(&mut rig.bash(script)).code(), 0);
    }
    assert_eq!(listing(&rig.workspace()), before);
}

fn listing(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn defect_30_the_socket_is_where_the_url_says_whatever_the_path_holds() {
    let dir = TempDir::new();
    let folder = dir.path().join("a b/grün & %41?#");
    fs::create_dir_all(&folder).unwrap();
    let (exec, execd) = (folder.join("exec.sock"), folder.join("execd.sock"));
    let uid = rustix::process::getuid().as_raw().to_string();
    let settings = form(&[
        ("exec_socket", exec.to_str().unwrap()),
        ("execd_socket", execd.to_str().unwrap()),
        ("token", "token"),
        ("uid", &uid),
        ("max_calls", "1"),
        ("version", env!("CARGO_PKG_VERSION")),
    ]);
    let mut proxy = Background::start(clean(program("aifo-coder")).arg("proxy").stdin(Stdio::piped()));
    let mut input = proxy.input();
    input.write_all(&[settings, b"\n".to_vec()].concat()).unwrap();
    wait_until("it listens", || exec.exists());
    std::os::unix::fs::symlink(program("aifo-shim"), dir.path().join("make")).unwrap();
    let mut shim = clean(dir.path().join("make"));
    shim.env("AIFO_TOOLEEXEC_URL", format!("unix://{}", exec.display())).env("AIFO_TOOLEEXEC_TOKEN", "token");
    Ran::of(shim.stdin(Stdio::null())).expect_said(86, "no c-cpp or rust or go or node or python sidecar");
    drop(input);
    proxy.end().expect(0);
}

#[test]
fn defect_31_output_that_is_kept_for_a_moment_has_no_name_to_guess() {
    let dir = TempDir::new();
    let temp = dir.path().to_str().unwrap().to_owned();
    let rig = Rig::with(Plan { proxy_env: vec![("TMPDIR", temp)], ..Plan::default() });
    let mut stream = rig.connect();
    let script =
        "echo out; echo err >&2; echo up > up; while ! test -e go; do sleep 0.01; done; readlink /proc/$$/fd/1";
    stream.write_all(&rig.call(1, "bash", &["-c", script])).unwrap();
    wait_until("it runs", || rig.file("up").exists());
    assert!(listing(dir.path()).is_empty(), "{:?}", listing(dir.path()));
    fs::write(rig.file("go"), "").unwrap();
    let answer = Answer::of(&read_all(stream));
    let text = answer.text();
    assert!(text.starts_with("out\n") && text.ends_with("err\n") && text.contains(" (deleted)\n"), "{text}");
}

/// The sources of what runs, tests left out, as (file, text).
fn sources() -> Vec<(String, String)> {
    let mut folders = vec!["src", "shim/src"].into_iter().map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    let mut waiting: Vec<_> = folders.by_ref().collect();
    let mut found = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.display().to_string(), text));
            }
        }
    }
    found
}

#[test]
fn defect_26_no_program_writes_its_own_environment() {
    let sources = sources();
    assert!(sources.len() > 40, "{}", sources.len());
    for (file, text) in sources {
        for word in ["set_var(", "remove_var(", "setenv(", "putenv("] {
            assert!(!text.contains(word), "{word} in {file}");
        }
    }
}

#[test]
fn t49_what_measures_time_has_no_clock_that_jumps() {
    let timed = |file: &str| ["/proxy/", "/execd/", "/shim/src/"].iter().any(|part| file.contains(part));
    let sources: Vec<_> = sources().into_iter().filter(|(file, _)| timed(file)).collect();
    assert!(sources.len() > 20, "{}", sources.len());
    for (file, text) in sources {
        for word in ["SystemTime", "CLOCK_REALTIME", "gettimeofday"] {
            assert!(!text.contains(word), "{word} in {file}");
        }
    }
}

#[test]
fn defect_41_who_has_no_token_holds_no_place() {
    let rig = Rig::with(Plan { max_calls: 1, ..Plan::default() });
    // Strangers with whole requests, half ones and none at all; each would have held one of 64 places for minutes.
    let request = String::from_utf8(rig.call(2, "bash", &["-c", "echo ran > ran"])).unwrap();
    let wrong = request.replace(rig.token(), "wrong");
    let strangers: Vec<_> = (0..300)
        .map(|number| {
            let mut stream = rig.connect();
            let length = [0, wrong.len() / 3, wrong.len() / 2, wrong.len()][number % 4];
            stream.write_all(&wrong.as_bytes()[..length]).unwrap();
            stream
        })
        .collect();
    (0..20).for_each(|_| rig.assert_serves());
    assert_eq!(rig.content("ran"), "");
    let whole = strangers.into_iter().skip(3).step_by(4);
    for mut stream in whole {
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 401");
    }
}

#[test]
fn defect_20_a_shell_that_reads_its_script_from_a_pipe_survives_too() {
    let rig = Rig::start();
    let mut shell = under(&["bash", "-s"], &rig.shim("bash"));
    let mut shell = Background::start(shell.stdin(Stdio::piped()));
    let script = "\"$1\" -c 'kill -INT $$'; echo first $?; \"$1\" -c 'kill -KILL $$'; echo second $?; exit 8\n";
    shell.input().write_all(script.as_bytes()).unwrap();
    let ran = shell.end();
    assert_eq!(ran.expect(8), "first 130\nsecond 137");
}
