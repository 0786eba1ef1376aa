//! Sockets, users, tokens and secrets (T19 to T23).

use std::{
    fs,
    io::Write,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    process::Stdio,
};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::support::{Background, Plan, Ran, Rig, TempDir, clean, form, process, program, read_all, wait_until};

/// Starts `aifo-coder proxy` or `execd` with these settings as all that it ever reads.
#[track_caller]
fn started(command: &str, settings: &[(&str, &str)]) -> Background {
    let mut proxy = Background::start(clean(program("aifo-coder")).arg(command).stdin(Stdio::piped()));
    let line = [form(settings), b"\n".to_vec()].concat();
    // One that does not like how it was started need not read.
    drop(proxy.input().write_all(&line));
    proxy
}

/// Settings that are in order, for sockets at these paths.
fn settings<'a>(exec: &'a Path, execd: &'a Path, uid: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("exec_socket", exec.to_str().expect("text")),
        ("execd_socket", execd.to_str().expect("text")),
        ("token", "token"),
        ("uid", uid),
        ("max_calls", "4"),
        ("version", env!("CARGO_PKG_VERSION")),
    ]
}

fn own_uid() -> String {
    rustix::process::getuid().as_raw().to_string()
}

/// Expects that a program gives up, with 125 and one line that holds this.
#[track_caller]
fn gives_up(program: Background, said: &str) {
    let ran = program.end();
    assert_eq!(ran.code(), 125, "{ran}");
    let err = ran.err();
    assert!(err.starts_with("aifo-coder: ") && err.contains(said) && err.lines().count() == 1, "{said}\n{ran}");
}

#[test]
fn t20_the_sockets_are_the_users_own() {
    let rig = Rig::start();
    for name in ["exec.sock", "execd.sock"] {
        let file = fs::symlink_metadata(rig.socket().with_file_name(name)).unwrap();
        assert_eq!(file.mode() & 0o777, 0o600, "{name}");
        assert_eq!(file.uid(), rustix::process::getuid().as_raw());
    }
}

#[test]
fn t20_another_user_is_not_answered() {
    // The proxy serves somebody else: to it, this test's user is the foreign one.
    let rig = Rig::with(Plan { uid: rustix::process::getuid().as_raw() + 1, kinds: vec![], ..Plan::default() });
    for request in [rig.call(2, "echo", &[]), b"GET / HTTP/1.1\r\n\r\n".to_vec(), Vec::new()] {
        let mut stream = rig.connect();
        drop(stream.write_all(&request));
        assert!(read_all(stream).is_empty());
    }
    Ran::of(&mut rig.shim("echo")).expect_said(125, "connection to the proxy");
    let socket = dial(&rig);
    let _sent: Result<_, _> = rustix::net::send(&socket, b"kind=c-cpp&secret=secret+of+c-cpp", SendFlags::NOSIGNAL);
    let heard = rustix::net::recv(&socket, &mut [0u8; 16], RecvFlags::empty());
    assert!(matches!(heard, Ok((0 | _, 0)) | Err(rustix::io::Errno::CONNRESET)), "{heard:?}");
}

fn dial(rig: &Rig) -> std::os::fd::OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    rustix::net::connect(&socket, &SocketAddrUnix::new(rig.socket().with_file_name("execd.sock")).unwrap()).unwrap();
    socket
}

#[test]
fn t21_what_stands_at_a_sockets_path_is_left_alone() {
    let dir = TempDir::new();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "mine").unwrap();
    symlink("file", at("link")).unwrap();
    symlink("nothing", at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    drop(UnixListener::bind(at("stale")).unwrap());
    for name in ["file", "link", "dangling", "folder", "stale"] {
        let before = fs::symlink_metadata(at(name)).unwrap().ino();
        for taken_is_first in [true, false] {
            let (taken, free) = (at(name), at(&format!("free-{name}")));
            let (exec, execd) = if taken_is_first { (&taken, &free) } else { (&free, &taken) };
            gives_up(started("proxy", &settings(exec, execd, &own_uid())), "cannot listen: ");
            drop(fs::remove_file(&free));
        }
        assert_eq!(fs::symlink_metadata(at(name)).unwrap().ino(), before, "{name}");
    }
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "mine");
    assert!(!at("nothing").exists());
}

#[test]
fn t21_a_path_of_107_bytes_is_the_longest() {
    let dir = TempDir::new();
    let path = |length: usize| {
        let start = dir.path().to_str().unwrap().len() + 1;
        dir.path().join("s".repeat(length - start))
    };
    let execd = dir.path().join("execd");
    gives_up(started("proxy", &settings(&path(108), &execd, &own_uid())), "socket path longer than 107 bytes");
    let (fits, uid) = (path(107), own_uid());
    let mut proxy = clean(program("aifo-coder"));
    let mut proxy = Background::start(proxy.arg("proxy").stdin(Stdio::piped()));
    let mut input = proxy.input();
    input.write_all(&[form(&settings(&fits, &execd, &uid)), b"\n".to_vec()].concat()).unwrap();
    wait_until("it listens at 107 bytes", || UnixStream::connect(&fits).is_ok());
    drop(input);
    proxy.end().expect(0);
    for (length, code, said) in [(107, 125, "cannot connect"), (108, 86, "socket path longer than 107 bytes")] {
        let rig = Rig::with(Plan { kinds: vec![], ..Plan::default() });
        let url = format!("unix://{}", path(length).display());
        fs::remove_file(path(107)).ok();
        Ran::of(rig.shim("make").env("AIFO_TOOLEEXEC_URL", url)).expect_said(code, said);
    }
}

#[test]
fn promise_7_settings_that_are_not_whole_start_nothing() {
    let dir = TempDir::new();
    let (exec, execd, uid) = (dir.path().join("a"), dir.path().join("b"), own_uid());
    let good = settings(&exec, &execd, &uid);
    let without = |name: &str| good.iter().filter(|(key, _)| *key != name).copied().collect::<Vec<_>>();
    let with = |name, value| [without(name), vec![(name, value)]].concat();
    for wrong in [
        vec![],
        vec![("other", "1")],
        without("token"),
        without("max_calls"),
        without("version"),
        with("token", ""),
        with("version", "0.0.0"),
        with("max_calls", "0"),
        with("uid", "me"),
        with("other", "1"),
    ] {
        gives_up(started("proxy", &wrong), "proxy cannot read its settings");
        assert!(!exec.exists() && !execd.exists(), "{wrong:?}");
    }
    gives_up(started("proxy", &with("tcp", "0.0.0.0:0")), "cannot listen: TCP is served only on loopback");
    let nowhere = [("socket", "/nowhere/s"), ("kind", "go"), ("secret", "s"), ("root", "/tmp"), ("login", "0")];
    gives_up(started("execd", &nowhere), "execd cannot reach the proxy");
    gives_up(started("execd", &[("other", "1")]), "execd cannot read its settings");
}

#[test]
fn t22_nothing_listens_on_the_network_but_loopback_when_asked() {
    let listening = |rig: &Rig| -> Vec<String> {
        let own: Vec<String> = fs::read_dir(format!("/proc/{}/fd", rig.proxy.id()))
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok()?.to_str().map(str::to_owned))
            .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix("]")?.to_owned()))
            .collect();
        let sockets = ["tcp", "tcp6", "udp", "udp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
        let lines: Vec<String> = sockets.into_iter().flatten().flat_map(|text| lines_of(&text)).collect();
        let words = |line: &String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = lines.iter().map(words).filter(|words| words.get(9).is_some_and(|inode| own.contains(inode)));
        lines.map(|words| words[1].clone()).collect()
    };
    assert!(listening(&Rig::start()).is_empty());
    let tcp = Rig::with(Plan { tcp: true, ..Plan::default() });
    let addresses = listening(&tcp);
    assert!(addresses.len() == 1 && addresses[0].starts_with("0100007F:"), "{addresses:?}");
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn t22_promise_8_defect_39_token_and_secrets_are_in_no_argv_environment_or_error() {
    let mut rig = Rig::start();
    let mut waiting = rig.bash("echo up > up; read -r line < fifo; env > env; exit 3");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        rig.file("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let waiting = Background::start(&mut waiting);
    wait_until("the tool runs", || rig.file("up").exists());
    let secrets = [rig.token().to_owned(), "secret of c-cpp".to_owned(), "secret+of+c-cpp".to_owned()];
    let tells = |what: &str, bytes: &[u8]| {
        for secret in &secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{what} tells {secret}");
        }
    };
    let mut pids = rig.leftovers();
    assert!(pids.len() >= 5, "proxy, execd, supervisors, tool and shim: {pids:?}");
    for pid in &pids {
        tells("argv", &fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    }
    // The shim has to know the token, nobody else.
    pids.retain(|pid| *pid != waiting.pid());
    for pid in pids {
        tells("environment", &fs::read(format!("/proc/{pid}/environ")).unwrap_or_default());
    }
    fs::write(rig.file("fifo"), "go\n").unwrap();
    let ran = waiting.end();
    assert_eq!(ran.code(), 3, "{ran}");
    tells("the tool's environment", rig.content("env").as_bytes());
    let call = rig.notice("call=");
    tells("the record", call.as_bytes());
    let wrong = Ran::of(rig.shim("bash").env("AIFO_TOOLEEXEC_TOKEN", format!("{}x", rig.token())));
    wrong.expect_said(86, "unauthorized");
    tells("the refusal", wrong.err().as_bytes());
    rig.finish();
    let late = Ran::of(&mut rig.shim("bash"));
    late.expect_said(125, "cannot connect");
    tells("the error", late.err().as_bytes());
}

#[test]
fn t23_a_token_is_good_for_its_session_and_no_other() {
    let (mut first, second) = (Rig::start(), Rig::start());
    assert_ne!(first.token(), second.token());
    let mut crossed = second.bash("echo ran > ran");
    Ran::of(crossed.env("AIFO_TOOLEEXEC_TOKEN", first.token())).expect_said(86, "unauthorized");
    assert_eq!(second.content("ran"), "");
    first.finish();
    Ran::of(&mut first.bash("echo ran > ran")).expect_said(125, "cannot connect");
    second.assert_serves();
}

#[test]
fn only_an_expected_sidecar_is_let_in_and_only_once() {
    let rig = Rig::with(Plan { expected: vec!["go"], ..Plan::default() });
    let socket = rig.socket().with_file_name("execd.sock");
    let root = rig.workspace();
    let hello = |kind, secret| {
        let settings = [
            ("socket", socket.to_str().unwrap()),
            ("kind", kind),
            ("secret", secret),
            ("root", root.to_str().unwrap()),
            ("login", "0"),
        ];
        started("execd", &settings).end()
    };
    // Each finds itself not listened to, and ends as at the end of a session.
    for (kind, secret) in
        [("go", "secret of rust"), ("go", ""), ("rust", "secret of rust"), ("", ""), ("c-cpp", "secret of c-cpp")]
    {
        let ran = hello(kind, secret);
        assert_eq!(ran.out(), "", "{kind} with {secret}");
    }
    rig.assert_serves();
    for record in [b"".as_slice(), b"call", &[0xff; 1000], b"kind=go", &vec![b'a'; 60_000]] {
        let stranger = dial(&rig);
        let _sent: Result<_, _> = rustix::net::send(&stranger, record, SendFlags::NOSIGNAL);
        let heard = rustix::net::recv(&stranger, &mut [0u8; 16], RecvFlags::empty());
        assert!(!matches!(heard, Ok((_, 1..))), "{heard:?}");
    }
    rig.assert_serves();
    assert!(process::is_alive(rig.proxy.id()));
    let mode = fs::metadata(rig.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}
