//! What the user sets: transport, limits, network, certificates.

use std::time::{Duration, Instant};

use crate::support::docker::{Place, docker};

const SLEEPY: [&str; 6] = ["--toolchain", "c-cpp", "--tool", "c-cpp:sleep", "--tool", "c-cpp:dash"];

#[test]
#[ignore = "needs docker"]
fn over_tcp_calls_go_by_protocol_2() {
    let place = Place::new();
    place.put("Makefile", "all:\n\t@echo out; echo err >&2; exit 3\n");
    let launcher = place.launcher(&[&["-v"][..], &SLEEPY, &["run", "--", "/bin/bash"]].concat());
    let mut session = launcher.env("AIFO_TOOLEEXEC_USE_TCP", "1").start_shell();
    assert_eq!(session.expect(0, "echo $AIFO_TOOLEEXEC_URL"), "http://127.0.0.1:8642/exec");
    // One stream, and no standard input: that is protocol 2.
    let said = session.expect(2, "make 2>/dev/null");
    assert!(said.starts_with("out\nerr\n") && said.contains("Error 3"), "{said}");
    assert_eq!(session.expect(0, "echo unread | dash -c 'cat; test -t 1 || echo no terminal'"), "no terminal");
    for code in [0, 7, 255] {
        session.expect(code, &format!("dash -c 'exit {code}'"));
    }
    session.expect(143, "dash -c 'kill -TERM $$; sleep 5'");
    session.expect(130, "timeout --signal=INT --foreground --preserve-status 0.3 sleep 30");
    session.expect(86, "AIFO_TOOLEEXEC_TOKEN=wrong make");
    // On loopback alone.
    let listening = "sed -n 's/^ *[0-9]*: \\([0-9A-F:]*\\) [0-9A-F:]* 0A.*/\\1/p' /proc/net/tcp /proc/net/tcp6";
    assert_eq!(session.expect(0, listening), format!("0100007F:{:04X}", 8642));
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn t45_a_tool_at_its_limit_ends_with_124_and_the_session_goes_on() {
    let place = Place::new();
    for tcp in ["0", "1"] {
        let launcher = place.launcher(&[&SLEEPY[..], &["run", "--", "/bin/dash"]].concat());
        let launcher = launcher.env("AIFO_TOOLEEXEC_MAX_SECS", "1").env("AIFO_TOOLEEXEC_USE_TCP", tcp);
        let mut session = launcher.start_shell();
        let begun = Instant::now();
        let said = session.expect(124, "sleep 60");
        assert!(said.contains("stopped after its limit of 1 s"), "{said}");
        assert!(
            begun.elapsed() > Duration::from_secs(1) && begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        session.expect(124, "dash -c 'trap \"\" INT TERM; while :; do sleep 1; done'");
        session.expect(0, "sleep 0.1");
        assert!(!docker(&["top", &session.name("c-cpp")]).expect(0).contains("sleep"));
        session.finish().expect(0);
    }
}

#[test]
#[ignore = "needs docker"]
fn calls_over_the_limit_wait_and_none_is_lost() {
    let place = Place::new();
    let launcher = place.launcher(&[&SLEEPY[..], &["run", "--", "/bin/bash"]].concat());
    let mut session = launcher.env("AIFO_TOOLEEXEC_MAX_CONNECTIONS", "2").start_shell();
    let all = "for i in $(seq 30); do dash -c \"sleep 0.05; echo $i; exit $((i % 7))\" & pids=\"$pids $!\"; done; \
               i=0; for pid in $pids; do i=$((i+1)); wait $pid; test $? = $((i % 7)) || echo call $i is wrong; done";
    let said = session.expect(0, all);
    let mut numbers: Vec<u32> = said.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{said}"))).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=30).collect::<Vec<_>>());
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn a_session_without_network_has_its_tools_and_its_localhost() {
    let place = Place::new();
    let launcher = place.launcher(&["--toolchain", "python", "run", "--", "/bin/bash"]);
    let mut session = launcher.env("AIFO_SESSION_NETWORK", "none").start_shell();
    let devices = "sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev | grep -v -e tunl -e sit -e gre";
    assert_eq!(session.expect(0, devices), "lo");
    place.put(
        "server.py",
        "import socket\nserver = socket.create_server((\"127.0.0.1\", 8125))\nprint(\"up\", flush=True)\n\
         peer, _ = server.accept()\npeer.send(b\"hi\\n\")\n",
    );
    session.tell("python3 server.py >/tmp/server </dev/null &\n");
    session.expect(0, "until test -s /tmp/server; do sleep 0.05; done");
    assert_eq!(session.expect(0, "cat </dev/tcp/127.0.0.1/8125"), "hi");
    session.expect(1, "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)' 2>/dev/null");
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn agent_and_tools_run_as_the_user_that_was_asked_for() {
    let place = Place::of_plain_user();
    let launcher = place.launcher(&["--toolchain", "c-cpp", "--tool", "c-cpp:id", "run", "--", "sh"]);
    let mut session = launcher.env("AIFO_CODER_USER", "4321:8765").start_shell();
    for id in ["/usr/bin/id", "id"] {
        assert_eq!(session.expect(0, &format!("{id} -u; {id} -g; {id} -G")), "4321\n8765\n8765");
    }
    session.finish().expect(0);
}

#[test]
#[ignore = "needs docker"]
fn root_can_write_in_a_folder_that_is_somebody_elses() {
    // Whoever runs the tests starts it, in a folder of a plain user's.
    let place = Place::of_plain_user();
    let mut launcher = place.launcher(&[]);
    launcher.command = crate::support::clean(crate::support::program("aifo-coder"));
    let script = "touch x && make --version >/dev/null && dash -c 'touch y' && stat -c %u x y";
    let args = ["--toolchain", "c-cpp", "--tool", "c-cpp:dash", "run", "--", "sh", "-c", script];
    launcher.command.args(args).current_dir(place.workspace()).env("HOME", place.home());
    assert_eq!(launcher.run().expect(0), format!("{0}\n{0}", place.uid()));
}

#[test]
#[ignore = "needs docker"]
fn a_network_of_the_users_is_used_and_stays() {
    let place = Place::new();
    let network = format!("it-network-{}", std::process::id());
    docker(&["network", "create", &network]).expect(0);
    let launcher = place.launcher(&["--toolchain", "c-cpp", "run", "--", "sh"]);
    let mut session = launcher.env("AIFO_SESSION_NETWORK", &network).start_shell();
    session.expect(0, "make --version");
    let used = session.inspect("proxy", "{{.HostConfig.NetworkMode}}");
    session.finish().expect(0);
    docker(&["network", "rm", &network]).expect(0);
    assert_eq!(used, network);
}

/// A company's certificate authority, and a server of its own that both package managers may ask.
const SERVER: &str = r#"
import http.server, io, json, ssl, zipfile
wheel = io.BytesIO()
with zipfile.ZipFile(wheel, "w") as file:
    info = "probe_it-1.0.dist-info/"
    file.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: probe-it\nVersion: 1.0\n")
    file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    file.writestr(info + "RECORD", "")
version = {"name": "is-number", "version": "7.0.0"}
package = {"name": "is-number", "dist-tags": {"latest": "7.0.0"}, "versions": {"7.0.0": version}}
file = "probe_it-1.0-py3-none-any.whl"
pages = {
    "/simple/probe-it/": ("text/html", f"<!DOCTYPE html><a href='/{file}'>{file}</a>".encode()),
    "/" + file: ("application/octet-stream", wheel.getvalue()),
    "/is-number": ("application/json", json.dumps(package).encode()),
    "/": ("text/plain", b"trusted"),
}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind, body = pages.get(self.path.split("?")[0], ("text/plain", None))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print("up", flush=True)
server.serve_forever()
"#;

const MAKE_CERTIFICATES: &str = "set -e; new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
$new -x509 -keyout ca.key -out ca.pem -days 2 -subj /CN=aifo-it -addext basicConstraints=critical,CA:TRUE
$new -keyout key.pem -out csr.pem -subj /CN=localhost
echo subjectAltName=DNS:localhost,IP:127.0.0.1 >ext
openssl x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out cert.pem";

/// Each asks the server in a tool's own way.
const ASKING: [(&str, &str); 4] = [
    (
        "pip download --no-deps --retries 0 --dest /tmp/got --index-url https://localhost:8443/simple probe-it \
         && ls /tmp/got",
        "probe_it-1.0-py3-none-any.whl",
    ),
    ("npm view is-number version --registry https://localhost:8443/ --fetch-retries 0", "7.0.0"),
    (
        "python3 -c 'import urllib.request as r; print(r.urlopen(\"https://localhost:8443/\").read().decode())'",
        "trusted",
    ),
    ("node -e 'fetch(\"https://localhost:8443/\").then(a => a.text()).then(console.log)'", "trusted"),
];

#[test]
#[ignore = "needs docker"]
fn a_companys_certificates_are_trusted_by_tools_when_given_and_only_then() {
    let place = Place::new();
    place.put("server.py", SERVER);
    place.launcher(&["toolchain", "python", "--", "sh", "-c", MAKE_CERTIFICATES]).run().expect(0);
    let ca = place.workspace().join("ca.pem");
    for is_given in [true, false] {
        // A cache would answer for the server.
        let mut launcher = place
            .launcher(&["--toolchain", "python", "--toolchain", "node", "run", "--", "/bin/bash"])
            .env("AIFO_TOOLCHAIN_CACHE", "0");
        if is_given {
            launcher = launcher.env("AIFO_CODER_CA", &ca);
        }
        let mut session = launcher.start_shell();
        session.tell("python3 server.py >/tmp/server 2>/tmp/log </dev/null &\n");
        session.expect(0, "until test -s /tmp/server; do sleep 0.05; done");
        for (script, answer) in ASKING {
            let (code, said) = session.ask(script);
            if is_given {
                assert!(code == 0 && said.lines().any(|line| line == answer), "{script}: {code}\n{said}");
            } else {
                let is_about_trust = said.to_lowercase().contains("cert");
                assert!(code != 0 && is_about_trust, "{script}: {code}\n{said}");
            }
        }
        session.expect(0, if is_given { "cmp $SSL_CERT_FILE ca.pem" } else { "test -z \"$SSL_CERT_FILE\"" });
        session.expect(0, "kill %1; wait; true");
        session.finish().expect(0);
    }
}

#[test]
#[ignore = "needs docker"]
fn certificates_that_are_not_there_are_named() {
    let place = Place::new();
    let (said, _) = place.launcher(&["run", "--", "true"]).env("AIFO_CODER_CA", "/nowhere/ca.pem").refused();
    assert!(said.starts_with("cannot read `/nowhere/ca.pem`: "), "{said}");
}
