//! Where a session's secrets are, and where they are not: token of the agent, one secret for each sidecar.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use crate::support::{
    Ran,
    docker::{Place, agents::MARKER, docker, processes},
};

/// Docker in front of docker: keeps what proxy and sidecars are told on standard input, which holds all secrets.
const LISTENER: &str = "#!/bin/bash
case \"${*: -1}\" in
proxy | execd) exec docker \"$@\" < <(exec tee -a \"$AIFO_IT_KEPT\") ;;
*) exec docker \"$@\" ;;
esac
";

/// What looks like one of our secrets: 64 hex digits in a row, and no more.
fn secrets_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !matches!(c, '0'..='9' | 'a'..='f'));
    words.filter(|word| word.len() == 64).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs docker"]
fn promise_8_no_secret_is_in_any_argv_or_shown_by_docker_inspect() {
    let place = Place::new();
    let (listener, kept) = (place.path().join("docker"), place.path().join("kept"));
    fs::write(&listener, LISTENER).unwrap();
    fs::set_permissions(&listener, Permissions::from_mode(0o755)).unwrap();
    let args = ["-v", "--toolchain", "c-cpp", "--toolchain", "python", "run", "--", "sh"];
    let launcher = place.launcher(&args).env("AIFO_CODER_DOCKER", &listener).env("AIFO_IT_KEPT", &kept);
    let mut session = launcher.start_shell();
    session.expect(0, "make --version && python3 --version");
    let token = session.expect(0, "echo $AIFO_TOOLEEXEC_TOKEN");
    // `%3A` ends in a hex digit.
    let secrets = secrets_in(&fs::read_to_string(&kept).unwrap().replace("%3A", ":"));
    assert!(secrets.len() == 3 && secrets.contains(&token), "{secrets:?} and {token}");

    let argv: String = processes().into_iter().map(|process| process.command).collect();
    let agent = docker(&["inspect", &session.name("agent")]).expect(0);
    let others: String =
        ["proxy", "c-cpp", "python"].iter().map(|part| docker(&["inspect", &session.name(part)]).expect(0)).collect();
    let sidecar = session.expect(0, "python3 -c 'import os; print(os.environ, open(\"/proc/self/mounts\").read())'");
    for secret in &secrets {
        for (place, text) in [("argv", &argv), ("inspect", &others), ("said", &session.err()), ("a tool", &sidecar)] {
            assert!(!text.contains(secret.as_str()), "{secret} in {place}");
        }
        // The agent's own token is in its environment, where its shims read it.
        assert_eq!(agent.contains(secret.as_str()), *secret == token, "{secret} in the agent");
    }
    for part in ["proxy", "c-cpp", "python"] {
        let environ = fs::read_to_string(format!("/proc/{}/environ", session.client_of(part))).unwrap();
        assert!(secrets_in(&environ).is_empty(), "{part}: {environ}");
    }
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn promise_8_a_proxys_password_is_in_no_argv_and_shown_by_no_sidecar() {
    let place = Place::new();
    let secret = |whose: &str| format!("http://user:{MARKER}{whose}@proxy.invalid:1");
    let file = place.path().join("vars");
    fs::write(&file, format!("ALL_PROXY={}\nTMPDIR=/tmp/{MARKER}file\n", secret("file"))).unwrap();
    let launcher = |first: &[&str]| {
        let args = ["--toolchain", "python", "--env-file", file.to_str().unwrap(), "run", "--", "sh"];
        let launcher = place.launcher(&[first, &args].concat());
        launcher.env("HTTPS_PROXY", secret("caller")).env("AIFO_ENV_HTTP_PROXY", secret("agent"))
    };
    let dry = Ran::of(&mut launcher(&["--dry-run"]).command);
    assert!(!dry.expect(0).contains(MARKER), "{dry}");
    let mut session = launcher(&["-v"]).start_shell();
    let seen = session.expect(0, "echo $HTTPS_PROXY $HTTP_PROXY $ALL_PROXY $TMPDIR");
    let expected = [secret("caller"), secret("agent"), secret("file"), format!("/tmp/{MARKER}file")].join(" ");
    assert_eq!(seen, expected);
    assert_eq!(session.expect(1, "env | grep AIFO_ENV_"), "");
    // What is not said to the tool is the sidecar's own.
    let ask = "python3 -c 'import os; print(os.environ.get(\"HTTPS_PROXY\"), os.environ.get(\"HTTP_PROXY\"))'";
    let seen = session.expect(0, &format!("unset HTTPS_PROXY HTTP_PROXY; {ask}"));
    assert_eq!(seen, format!("{} None", secret("caller")));
    let argv = processes().into_iter().find(|process| process.command.contains(MARKER));
    assert!(argv.is_none(), "{argv:?}");
    for part in ["proxy", "python"] {
        let shown = docker(&["inspect", &session.name(part)]).expect(0);
        assert!(!shown.contains(MARKER), "{part}: {shown}");
    }
    // The docker client has the caller's proxy, as ever, and not the agent's.
    let environ = fs::read_to_string(format!("/proc/{}/environ", session.client_of("agent"))).unwrap();
    for name in ["HTTP_PROXY=", "ALL_PROXY=", "TMPDIR="] {
        assert!(!environ.split('\0').any(|variable| variable.starts_with(name)), "{name}");
    }
    let said = session.finish();
    assert!(!said.err().contains(MARKER), "{said}");
}

/// Tries what a tool could do to get at its first process, the supervisor that started it, and its own environment.
const PRY: &str = r#"
import ctypes, os
def attempt(what, action):
    try:
        print("REACHED", what, action())
    except OSError as error:
        print("kept", what, error.errno)
for pid in (1, os.getppid()):
    for name in ("environ", "mem", "maps", "auxv", "stack"):
        attempt(f"{pid} {name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(64))
    for fd in range(10):
        attempt(f"{pid} fd/{fd}", lambda: os.readlink(f"/proc/{pid}/fd/{fd}"))
        attempt(f"{pid} fd/{fd}", lambda: os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY))
    libc = ctypes.CDLL(None, use_errno=True)
    PTRACE_SEIZE = 0x4206
    print("REACHED ptrace" if libc.ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 else "kept ptrace")
    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(pid)
        print("REACHED pidfd_getfd" if libc.syscall(438, fd, 0, 0) >= 0 else "kept pidfd_getfd")
print("REACHED own" if any(name.startswith("AIFO_") for name in os.environ) else "kept own")
"#;

#[test]
#[ignore = "needs docker"]
fn a_tool_cannot_reach_the_secret_of_its_sidecar_nor_the_agents_token() {
    for place in [Place::new(), Place::of_plain_user()] {
        place.put("pry.py", PRY);
        let mut session = place.launcher(&["--toolchain", "python", "run", "--", "sh"]).start_shell();
        let said = session.expect(0, "python3 pry.py");
        assert!(!said.contains("REACHED"), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("kept")).count(), 55, "{said}");
        session.finish().expect(0);
    }
}

/// Dials the sidecars' socket with guesses, with all that the agent has, and without a word.
const DIAL: &str = r#"
import os, socket
def dial(record):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(20)
        peer.connect("/run/aifo/execd.sock")
        try:
            peer.send(record)
            return peer.recv(100)
        except ConnectionError:
            return b""
token = os.environ.get("AIFO_TOOLEEXEC_TOKEN", "x")
guesses = [f"kind=python&secret={token}&tool=make", "kind=python&secret=&tool=make", "kind=go&secret=x"]
for record in guesses + ["call", "\xff"]:
    assert dial(record.encode()) == b"", record
"#;

#[test]
#[ignore = "needs docker"]
fn neither_agent_nor_tool_passes_for_a_sidecar() {
    let place = Place::new();
    place.put("dial.py", DIAL);
    // An agent that has a python of its own.
    let image = concat!("aifo-coder-toolchain-python:release-", env!("CARGO_PKG_VERSION"));
    let args = ["--toolchain", "python", "run", "--image", image, "--", "sh"];
    let mut session = place.launcher(&args).start_shell();
    session.expect(0, "python3 --version");
    session.expect(0, "/usr/bin/python3 dial.py");
    session.expect(0, "python3 dial.py");
    // A tool finds the agent's socket as well, but not the token.
    let ask = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/aifo/exec.sock'); \
               s.send(b'POST /exec HTTP/1.1\\r\\nHost: x\\r\\nX-Aifo-Proto: 2\\r\\nContent-Length: 0\\r\\n\\r\\n'); \
               print(s.recv(100).split(b'\\r')[0].decode())";
    assert_eq!(session.expect(0, &format!("python3 -c \"{ask}\"")), "HTTP/1.1 401 Unauthorized");
    session.expect(86, "AIFO_TOOLEEXEC_TOKEN=wrong python3 --version");
    assert!(session.expect(0, "python3 --version").starts_with("Python 3"));
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn nobody_replaces_the_sockets_or_the_programs() {
    for place in [Place::new(), Place::of_plain_user()] {
        let args = ["--toolchain", "python", "--tool", "python:dash", "run", "--", "sh"];
        let mut session = place.launcher(&args).start_shell();
        let tries = "for try in 'rm -f /run/aifo/exec.sock' 'mv /run/aifo/exec.sock /run/aifo/x' 'touch /run/aifo/x' \
                     'ln -sf /tmp/x /run/aifo/execd.sock' 'chmod 700 /run/aifo' 'rm /run/aifo/bin/dash' \
                     'ln -s /tmp/x /run/aifo/bin/ls' 'rm -f /opt/aifo/bin/cargo' 'touch /opt/aifo/bin/x' \
                     'mount -o remount,rw /opt/aifo/bin' 'umount /run/aifo'; do \
                     $try >/dev/null 2>&1 && echo \"$try worked\"; done; true";
        assert_eq!(session.expect(0, tries), "");
        session.tell(&format!("cat >/tmp/tries <<'EOF'\n{tries}\nEOF\n"));
        assert_eq!(session.expect(0, "dash /tmp/tries"), "");
        assert!(session.expect(0, "python3 --version").starts_with("Python 3"));
        session.finish().expect(0);
    }
}
