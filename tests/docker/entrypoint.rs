//! The first process of an agent's container: any user, nothing writable but memory, signals, orphans, the end.

use std::time::Duration;

use crate::support::{
    Background,
    docker::{Place, docker},
    wait_until, xtask,
};

#[test]
#[ignore = "needs docker"]
fn a_user_whom_no_list_knows_has_a_name_and_a_home_and_nothing_else_to_write() {
    let place = Place::new();
    let script = "id -u; whoami; cd && pwd && touch x && ls; for f in / /etc /usr/bin /opt/aifo/bin; do \
                  touch $f/x 2>/dev/null && echo wrote $f; done; ls -ld \"$XDG_RUNTIME_DIR\" | cut -c1-10; exit 7";
    let launcher = place.launcher(&["run", "--", "bash", "-c", script]).env("AIFO_CODER_USER", "54321:54321");
    assert_eq!(launcher.run().expect(7), "54321\ncoder\n/home/coder\nx\ndrwx------");
}

#[test]
#[ignore = "needs docker"]
fn signals_reach_the_agent_and_orphans_are_reaped() {
    let place = Place::new();
    let mut session = place.launcher(&["run", "--", "sh"]).start_shell();
    let name = session.name("agent");
    // Each signal once, by its name, to the agent and to nobody else.
    session.expect(0, "for s in USR1 USR2 HUP TERM; do trap \"echo got-$s >>/tmp/got\" $s; done; : >/tmp/got");
    for signal in ["USR1", "USR2", "HUP", "TERM"] {
        docker(&["kill", "--signal", signal, &name]).expect(0);
        let got = format!("got-{signal}");
        wait_until(&got, || session.expect(0, "tail -n 1 /tmp/got") == got);
    }
    assert_eq!(session.expect(0, "cat /tmp/got"), "got-USR1\ngot-USR2\ngot-HUP\ngot-TERM");
    // Children whose parent is gone become the first process's own; none of them stays as a zombie.
    session.expect(0, "for n in 1 2 3 4 5; do sh -c 'sleep 0.05 & exit 0'; done");
    wait_until("no sleeper, no zombie", || {
        let states = session.expect(0, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c -E '\\(sleep\\)| Z ' || :");
        states == "0"
    });
    session.tell("kill -KILL $$\n");
    assert_eq!(session.wait().code(), 137);
}

#[test]
#[ignore = "needs docker"]
fn the_programs_of_every_image_run_as_any_user_with_nothing_writable() {
    let ran = Background::start(&mut xtask(&["images", "verify"])).end_within(Duration::from_secs(600));
    let table = ran.expect(0);
    for name in ["shell", "toolchain-rust", "toolchain-node", "toolchain-python", "toolchain-cpp", "toolchain-go"] {
        let row = table.lines().find(|line| line.split(' ').next() == Some(name));
        assert!(row.is_some_and(|row| row.contains(" ms ")), "{name}: {ran}");
    }
}
