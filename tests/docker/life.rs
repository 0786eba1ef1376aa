//! T51, promise 12: however the launcher ends, within seconds nothing of its session is left.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{
    Ran,
    docker::{Place, Session, docker},
    wait_until,
};

/// A tool that wants to stay: it takes no signal that can be refused, and has a daemon outside its session.
const STUBBORN: &str = "dash -c 'trap \"\" HUP INT TERM QUIT; setsid sleep 1003 & \
                        setsid dash -c \"trap : TERM; sleep 1004\" & \
                        echo $$ >/tmp/stubborn; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null &\n";
/// The same in the agent's own container.
const STUBBORN_AGENT: &str =
    "(trap '' HUP INT TERM; setsid sleep 1005 & while :; do /bin/sleep 1; done) >/dev/null 2>&1 </dev/null &\n";

/// A session in which everything is busy and nothing wants to end.
#[track_caller]
fn stubborn_session(place: &Place) -> Session {
    let args = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "--toolchain", "go", "run", "--", "/bin/dash"];
    let mut session = place.launcher(&args).start_shell();
    session.expect(0, "go version");
    session.tell(STUBBORN);
    session.tell(STUBBORN_AGENT);
    session.expect(0, "until test -s /tmp/stubborn; do /bin/sleep 0.05; done");
    session
}

#[test]
#[ignore = "needs docker"]
fn t51_a_killed_launcher_leaves_nothing_of_a_busy_session() {
    let place = Place::new();
    let mut session = stubborn_session(&place);
    session.kill(Signal::KILL);
    assert_eq!(session.wait().code(), 137);
}

#[test]
#[ignore = "needs docker"]
fn t51_a_terminated_interrupted_or_hung_up_launcher_leaves_nothing() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = Place::new();
        let mut session = stubborn_session(&place);
        session.kill(signal);
        let ended = session.wait();
        assert_ne!(ended.code(), 0, "{ended}");
    }
}

#[test]
#[ignore = "needs docker"]
fn t51_a_launcher_killed_at_any_moment_of_its_start_leaves_nothing() {
    // From before the proxy's container exists to after the agent runs, which takes half a second here.
    for delay in (0..14).map(|step| Duration::from_millis(step * 50)) {
        let place = Place::new();
        let args = ["--toolchain", "c-cpp", "--toolchain", "python", "run", "--", "sh", "-c", "sleep 1006"];
        let mut session = place.launcher(&args).start();
        // The one place where time itself is the input.
        thread::sleep(delay);
        session.kill(Signal::KILL);
        session.wait();
    }
}

#[test]
#[ignore = "needs docker"]
fn an_ended_agent_takes_its_session_with_it() {
    let place = Place::new();
    let mut session = stubborn_session(&place);
    session.tell("exit 4\n");
    assert_eq!(session.wait().code(), 4);
}

#[test]
#[ignore = "needs docker"]
fn an_agent_may_end_before_its_sidecars_are_up() {
    let place = Place::new();
    let kinds = ["--toolchain", "rust", "--toolchain", "node", "--toolchain", "python", "--toolchain", "go"];
    for _ in 0..3 {
        let begun = Instant::now();
        place.launcher(&[&kinds[..], &["run", "--", "true"]].concat()).run().expect(0);
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    }
}

#[test]
#[ignore = "needs docker"]
fn an_interrupt_of_the_whole_job_ends_the_session() {
    let place = Place::new();
    let mut launcher = place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh", "-c", "echo up; sleep 1007"]);
    // As a shell starts a job: a process group, which a script's `kill -INT -PGID` reaches as a whole.
    launcher.command.process_group(0);
    let mut session = launcher.start();
    assert_eq!(session.line(), b"up\n");
    let group = format!("-{}", session.child.id());
    Ran::of(Command::new("kill").args(["-INT", "--", &group])).expect(0);
    assert_eq!(session.wait().code(), 130);
}

#[test]
#[ignore = "needs docker"]
fn t40_a_thousand_orphans_leave_no_zombie() {
    let place = Place::new();
    let args = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "/bin/dash"];
    let mut session = place.launcher(&args).start_shell();
    // A thousand that end before their parent does, by a parent that dies before them.
    let orphans = "i=0; while [ $i -lt 1000 ]; do (/bin/sleep 0.2 &); i=$((i+1)); done";
    session.expect(0, orphans);
    session.expect(0, &format!("dash -c '{orphans}'"));
    for part in ["agent", "c-cpp"] {
        let pid = session.pid_of(part);
        wait_until("all orphans are gone", || children(pid).iter().all(|child| !state(*child).contains("sleep")));
        let zombies: Vec<String> = children(pid).into_iter().map(state).filter(|state| state.contains(") Z")).collect();
        assert!(zombies.is_empty(), "{part}: {zombies:?}");
    }
    session.finish().expect(0);
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn state(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
}

#[test]
#[ignore = "needs docker"]
fn volumes_that_an_image_declares_go_with_the_session() {
    let place = Place::new();
    let image = concat!("aifo-coder-toolchain-cpp:release-", env!("CARGO_PKG_VERSION"));
    let own = format!("aifo-it-volume:{}", std::process::id());
    place.put("Dockerfile", &format!("FROM {image}\nVOLUME /data\n"));
    docker(&["build", "--quiet", "--tag", &own, place.workspace().to_str().unwrap()]).expect(0);
    let args = [&format!("--toolchain=c-cpp={own}"), "run", "--", "sh"];
    let mut session = place.launcher(&args).start_shell();
    session.expect(0, "make --version");
    let format = "{{range .Mounts}}{{if eq .Type \"volume\"}}{{.Name}} {{.Destination}}\n{{end}}{{end}}";
    let mounts = session.inspect("c-cpp", format);
    let (data, _) = mounts.lines().find_map(|line| line.split_once(" /data")).expect("a volume at /data");
    session.finish().expect(0);
    docker(&["image", "rm", &own]).expect(0);
    let left = docker(&["volume", "ls", "--quiet", "--filter", &format!("name={data}")]).expect(0);
    assert_eq!(left, "");
}
