//! How a tool ended is how the call ends (T35), by every protocol.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::Command,
};

use rustix::process::Signal;

use crate::support::{Background, Plan, Ran, Rig, TempDir, process, under, wait_until};

/// The signals that end a process by default; 32 to 34 belong to the C library.
fn deadly() -> impl Iterator<Item = i32> {
    (1..=31).filter(|number| !matches!(number, 17..=23 | 28)).chain(35..=64)
}

fn script(rig: &Rig, call: fn(&Rig, &str) -> Command, script: &str) -> Command {
    let mut command = call(rig, "sh");
    command.args(["-c", script]);
    command
}

const SHIMS: [fn(&Rig, &str) -> Command; 2] = [Rig::shim, Rig::shim_by_tcp];

#[test]
fn t35_every_exit_code_arrives() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for code in 0..=255 {
        let exit = format!("exit {code}");
        for shim in SHIMS {
            assert_eq!(Ran::of(&mut script(&rig, shim, &exit)).expect(code), "");
        }
        for proto in [1, 2] {
            let answer = rig.ask(&rig.call(proto, "sh", &["-c", &exit]));
            assert_eq!((answer.code(), answer.status), (code.to_string(), 200), "protocol {proto}");
            assert_eq!(answer.reason(), "", "nothing is said of a tool's own code");
        }
    }
}

#[test]
fn t35_death_by_a_signal_is_death_by_that_signal() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for number in deadly() {
        let kill = format!("ulimit -c 0; kill -{number} $$; sleep 60");
        for shim in SHIMS {
            let ran = Ran::of(&mut script(&rig, shim, &kill));
            assert_eq!(ran.signal(), Some(number), "{ran}");
            assert_eq!(ran.err(), "", "{ran}");
        }
        for proto in [1, 2] {
            let answer = rig.ask(&rig.call(proto, "sh", &["-c", &kill]));
            assert_eq!(answer.code(), (128 + number).to_string(), "{answer:?}");
            let fields = answer.trailers.as_ref().unwrap_or(&answer.fields);
            let signal = fields.one("x-exit-signal").unwrap().expect("the signal's number");
            assert_eq!(signal, number.to_string().as_bytes());
        }
    }
}

#[test]
fn t35_the_shim_dies_without_a_core() {
    let rig = Rig::start();
    for signal in ["QUIT", "ABRT", "SEGV"] {
        let mut call = script(&rig, Rig::shim, &format!("ulimit -c 0; kill -{signal} $$"));
        let ran = Ran::of(&mut under(&["bash", "-c", "ulimit -c unlimited; exec \"$0\" \"$@\""], call.arg("x")));
        assert!(ran.signal().is_some() && !ran.output.status.core_dumped(), "{ran}");
    }
    assert_eq!(fs::read_dir(rig.workspace()).unwrap().count(), 0, "a core file");
}

#[test]
fn t35_a_stopped_tool_has_not_ended() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for shim in SHIMS {
        drop(fs::remove_file(rig.file("pid")));
        let mut call = Background::start(&mut script(&rig, shim, "echo $$ > pid; kill -STOP $$; exit 9"));
        wait_until("it has stopped", || {
            process::pids_in(&rig.file("pid")).first().is_some_and(|pid| process::state(*pid) == Some('T'))
        });
        // Whoever waits for the tool has had every chance to mistake its stop for an end.
        rig.assert_serves();
        assert!(!call.has_ended());
        process::signal(process::pids_in(&rig.file("pid"))[0], Signal::CONT);
        call.end().expect(9);
    }
}

#[test]
fn a_tool_that_cannot_be_executed_is_126_as_in_a_shell() {
    let mut plan = Plan { tcp: true, ..Plan::default() };
    let tools = TempDir::new();
    let put = |name: &str, text: &str, mode: u32| {
        fs::write(tools.path().join(name), text).unwrap();
        fs::set_permissions(tools.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    put("make", "", 0o644);
    put("cmake", "#!/nowhere/at/all\n", 0o755);
    put("ninja", "not a program\0\n", 0o755);
    plan.env = vec![("PATH", tools.path().to_str().unwrap().to_owned())];
    let rig = Rig::with(plan);
    for shim in SHIMS {
        Ran::of(&mut shim(&rig, "make")).expect_said(126, "cannot execute `make`: Permission denied");
        Ran::of(&mut shim(&rig, "ninja")).expect_said(126, "cannot execute `ninja`: Exec format error");
        // The script is there, its interpreter is not.
        Ran::of(&mut shim(&rig, "cmake")).expect_said(126, "cannot execute `cmake`: No such file or directory");
    }
}
