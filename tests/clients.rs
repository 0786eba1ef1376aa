//! Clients that are not ours: `curl` and Python's own HTTP library, for protocols 1 and 2 on both transports.

use std::{fs, process::Command};

use crate::support::{Plan, Ran, Rig, form};

/// Prints something on both streams, and ends with 7.
const SCRIPT: &str = "echo out; echo err >&2; exit 7";

fn served() -> Rig {
    Rig::with(Plan { tcp: true, ..Plan::default() })
}

/// curl for a call by a protocol, its head and trailers in the file `fields` of the workspace.
fn curl(rig: &Rig, proto: u8, by_tcp: bool, script: &str) -> Command {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-D"]).arg(rig.file("fields"));
    if by_tcp {
        curl.arg(format!("http://{}/exec", rig.tcp()));
    } else {
        curl.arg("--unix-socket").arg(rig.socket()).arg("http://localhost/exec");
    }
    curl.arg("-H").arg(format!("Authorization: Bearer {}", rig.token()));
    curl.arg("-H").arg(format!("X-Aifo-Proto: {proto}")).args(["-H", "TE: trailers"]);
    curl.args(["--data-urlencode", "tool=bash", "--data-urlencode", "arg=-c"]);
    curl.arg("--data-urlencode").arg(format!("arg={script}"));
    curl
}

#[test]
fn curl_gets_output_and_code_by_protocol_1() {
    let rig = served();
    for by_tcp in [false, true] {
        let ran = Ran::of(&mut curl(&rig, 1, by_tcp, SCRIPT));
        assert_eq!(ran.expect(0), "out\nerr");
        let fields = rig.content("fields");
        assert!(fields.starts_with("HTTP/1.1 200 OK\r\n"), "{fields}");
        for field in
            ["X-Exit-Code: 7", "Content-Length: 8", "Content-Type: text/plain; charset=utf-8", "Connection: close"]
        {
            assert!(fields.contains(&format!("\r\n{field}\r\n")), "{field} in {fields}");
        }
    }
}

#[test]
fn curl_gets_the_stream_and_the_trailers_by_protocol_2() {
    let rig = served();
    for by_tcp in [false, true] {
        let ran = Ran::of(&mut curl(&rig, 2, by_tcp, "echo out; echo err >&2; kill -KILL $$"));
        assert_eq!(ran.expect(0), "out\nerr");
        let fields = rig.content("fields");
        let (head, trailers) = fields.split_once("\r\n\r\n").expect("an empty line");
        assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n") && head.contains("\r\nTrailer: X-Exit-Code\r\n"));
        assert!(!head.contains("X-Exit-Code:"), "the code is not known yet: {head}");
        for trailer in ["X-Exit-Code: 137\r\n", "X-Exit-Signal: 9\r\n"] {
            assert!(trailers.contains(trailer), "{trailer} in {fields}");
        }
    }
}

#[test]
fn the_chunks_of_protocol_2_are_those_of_the_document() {
    let rig = served();
    let ran = Ran::of(curl(&rig, 2, false, "echo hello world").arg("--raw"));
    assert_eq!(ran.out(), "C\r\nhello world\n\r\n0\r\nX-Exit-Code: 0\r\n\r\n");
}

#[test]
fn curl_is_asked_to_continue_and_may_send_chunks() {
    let rig = served();
    let (long, padding) = ("y".repeat(100_000), "x".repeat(2 << 20));
    let words = ["-c", "printf %s ${#1}", "bash", &long].map(|word| ("arg", word));
    fs::write(rig.file("form"), form(&[&[("tool", "bash")], words.as_slice(), &[("other", &padding)]].concat()))
        .unwrap();
    for extra in ["Expect: 100-continue", "Transfer-Encoding: chunked"] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-D"]).arg(rig.file("fields")).arg("--unix-socket").arg(rig.socket());
        curl.arg("-H").arg(format!("Authorization: Bearer {}", rig.token())).args([
            "-H",
            "X-Aifo-Proto: 1",
            "-H",
            extra,
        ]);
        curl.arg("--data-binary").arg(format!("@{}", rig.file("form").display())).arg("http://localhost/exec");
        assert_eq!(Ran::of(&mut curl).expect(0), "100000", "{extra}");
        assert!(rig.content("fields").contains("X-Exit-Code: 0"), "{extra}");
    }
}

#[test]
fn curl_sees_refusals_as_refusals() {
    let rig = served();
    let mut foreign = curl(&rig, 1, true, SCRIPT);
    foreign.args(["-H", "Host: evil.example", "-o", "/dev/null", "-w", "%{http_code}"]);
    assert_eq!(Ran::of(&mut foreign).expect(0), "403");
    let mut unknown = curl(&rig, 3, true, SCRIPT);
    assert_eq!(Ran::of(&mut unknown).expect(0), "Unsupported shim protocol; expected 1 or 2");
    assert!(rig.content("fields").starts_with("HTTP/1.1 426 "));
    assert_eq!(Ran::of(curl(&rig, 2, true, SCRIPT).arg("--fail")).expect(0), "out\nerr");
}

/// Python's http.client, over a Unix socket and TCP, with bodies of known length and in chunks.
const PYTHON: &str = r#"
import http.client, socket, sys, urllib.parse
path, tcp, token = sys.argv[1:]

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)

def call(connection, proto, body, **how):
    fields = {"Authorization": "Bearer " + token, "X-Aifo-Proto": proto}
    if "encode_chunked" in how:
        fields["Transfer-Encoding"] = "chunked"
    connection.request("POST", "/exec", body, fields, **how)
    answer = connection.getresponse()
    return answer.status, answer.getheader("X-Exit-Code"), answer.read()

form = urllib.parse.urlencode([("tool", "bash"), ("arg", "-c"), ("arg", "printf '%s|' \"$@\"; exit 9"),
    ("arg", "bash"), ("arg", b"gr\xfcn & blau"), ("arg", ""), ("arg", "Stra\u00dfe=1")]).encode()
expected = b"gr\xfcn & blau||Stra\xc3\x9fe=1|"
for make in (lambda: Unix("localhost"), lambda: http.client.HTTPConnection(tcp)):
    assert call(make(), "1", form) == (200, "9", expected)
    pieces = (form[at:at + 7] for at in range(0, len(form), 7))
    assert call(make(), "1", pieces, encode_chunked=True) == (200, "9", expected)
    assert call(make(), "2", form) == (200, None, expected)
    assert call(make(), "9", form)[:2] == (426, "86")
print("all as expected")
"#;

#[test]
fn python_is_served_like_any_other_client() {
    let rig = served();
    let mut python = Command::new("python3");
    python.args(["-c", PYTHON]).arg(rig.socket()).args([rig.tcp(), rig.token()]);
    assert_eq!(Ran::of(&mut python).expect(0), "all as expected");
}
