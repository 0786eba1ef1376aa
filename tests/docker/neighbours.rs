//! T23: sessions side by side do not reach each other, in one workspace or in two.

use std::{fs, thread};

use rustix::process::Signal;

use crate::support::{
    TempDir, dist,
    docker::{Place, Session, docker},
};

#[track_caller]
fn start(place: &Place) -> Session {
    let args = ["--toolchain", "c-cpp", "--toolchain", "python", "run", "--", "/bin/bash"];
    place.launcher(&args).start_shell()
}

#[test]
#[ignore = "needs docker"]
fn t23_two_sessions_have_secrets_of_their_own_and_refuse_each_others() {
    let (one, two) = (Place::new(), Place::new());
    let (mut first, mut second) = (start(&one), start(&two));
    assert_ne!(first.id, second.id);
    let token = second.expect(0, "echo $AIFO_TOOLEEXEC_TOKEN");
    assert_ne!(first.expect(0, "echo $AIFO_TOOLEEXEC_TOKEN"), token);
    let said = first.expect(86, &format!("AIFO_TOOLEEXEC_TOKEN={token} make --version"));
    assert_eq!(said, "aifo-shim: make: refused by the proxy (401): unauthorized");
    first.expect(0, "make --version");
    second.expect(0, "make --version");
    second.finish().expect(0);
    // The other's end is nothing to this one.
    first.expect(0, "make --version");
    first.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn t23_sockets_tmp_localhost_and_processes_are_each_sessions_own() {
    let (one, two) = (Place::new(), Place::new());
    let (mut first, mut second) = (start(&one), start(&two));
    let inode = "stat -c %d:%i /run/aifo/exec.sock";
    assert_ne!(first.expect(0, inode), second.expect(0, inode));
    first.expect(0, "touch /tmp/first");
    second.expect(1, "test -e /tmp/first");
    first.tell("python3 -m http.server --bind 127.0.0.1 8124 >/tmp/server 2>&1 </dev/null &\n");
    let dial = "exec 3<>/dev/tcp/127.0.0.1/8124";
    first.expect(
        0,
        &format!(
            "for i in $(seq 200); do ( {dial} ) 2>/dev/null && exit_now=1 && break; sleep 0.05; done; test $exit_now"
        ),
    );
    second.expect(1, &format!("( {dial} ) 2>/dev/null"));
    let servers = "grep -l 'http[.]server' /proc/[0-9]*/cmdline";
    // In its own session there is the shim that stands for it.
    first.expect(0, servers);
    second.expect(1, servers);
    first.expect(0, "kill %1; wait; true");
    first.finish().expect(0);
    second.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn two_sessions_in_one_workspace_end_clean_one_after_the_other() {
    let place = Place::new();
    let (mut first, mut second) = (start(&place), start(&place));
    first.expect(0, "echo written >file");
    assert_eq!(second.expect(0, "cat file"), "written");
    assert_ne!(first.expect(0, "echo $AIFO_TOOLEEXEC_TOKEN"), second.expect(0, "echo $AIFO_TOOLEEXEC_TOKEN"));
    first.kill(Signal::KILL);
    first.child.wait().unwrap();
    first.assert_own_gone();
    second.expect(0, "make --version && python3 --version");
    second.finish().expect(0);
    first.assert_gone();
}

#[test]
#[ignore = "needs docker"]
fn many_sessions_at_once_start_and_end() {
    let places: Vec<Place> = (0..5).map(|_| Place::new()).collect();
    let start = |place: &Place| {
        place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh", "-c", "make --version | head -1; cat"]).start()
    };
    let sessions: Vec<Session> = places.iter().map(start).collect();
    for session in sessions {
        assert_eq!(session.line(), b"GNU Make 4.3\n");
        session.finish().expect(0);
    }
}

#[test]
#[ignore = "needs docker"]
fn first_sessions_at_the_same_time_find_whole_programs() {
    // Programs that no daemon has seen yet.
    let programs = TempDir::new();
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    for name in ["aifo-coder", "aifo-shim", "aifo-entrypoint"] {
        let copy = programs.path().join(name);
        fs::copy(dist(arch).join(name), &copy).unwrap();
        let mut program = fs::OpenOptions::new().append(true).open(copy).unwrap();
        std::io::Write::write_all(&mut program, programs.path().to_str().unwrap().as_bytes()).unwrap();
    }
    let places: [Place; 4] = std::array::from_fn(|_| Place::new());
    let said: Vec<String> = thread::scope(|scope| {
        let run = |place: &Place| {
            let launcher = place.launcher(&["--toolchain", "c-cpp", "run", "--", "make", "--version"]);
            launcher.env("AIFO_CODER_BINARIES", programs.path()).run()
        };
        let running: Vec<_> = places.iter().map(|place| scope.spawn(move || run(place))).collect();
        running.into_iter().map(|running| running.join().unwrap()).map(|ran| (ran.expect(0), ran.err()).1).collect()
    });
    let made: Vec<&str> = said
        .iter()
        .flat_map(|err| err.lines())
        .filter_map(|line| line.split_once("making "))
        .map(|(_, image)| image)
        .collect();
    let [image] = made[..] else { panic!("{made:?}") };
    docker(&["image", "rm", image]).expect(0);
    docker(&["volume", "rm", &image.replace("aifo-coder-session:", "aifo-bin-")]).expect(0);
}
