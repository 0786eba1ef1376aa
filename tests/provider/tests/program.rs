//! The program as an agent meets it: over a socket, by a client that is not ours.

#![expect(clippy::unwrap_used, reason = "where a test cannot go on, it fails")]

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

struct Running {
    child: Child,
    url: String,
    log: PathBuf,
}

impl Running {
    fn start(name: &str, steps: &[&str]) -> Self {
        let log = env::temp_dir().join(format!("aifo-provider-{}-{name}", std::process::id()));
        let mut program = Command::new(env!("CARGO_BIN_EXE_aifo-provider"));
        program.arg("127.0.0.1").arg(&log).arg("bye").args(steps).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned(), log }
    }

    /// What curl gets: the status behind a line of its own.
    fn curl(&self, path: &str, args: &[&str]) -> (String, String) {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--noproxy", "*", "--max-time", "20", "--write-out", "\n%{http_code}"]);
        let output = curl.args(args).arg(format!("{}{path}", self.url)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.to_owned(), body.to_owned())
    }

    fn log(&self) -> Vec<Value> {
        fs::read_to_string(&self.log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_file(&self.log));
    }
}

#[test]
fn a_client_gets_a_call_then_the_last_word_and_all_is_recorded() {
    let running = Running::start("turns", &["make test"]);
    let tool = json!({"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}});
    let first = json!({"model": "m", "tools": [tool], "messages": [{"role": "user", "content": "go"}]}).to_string();
    let (status, said) = running.curl("/v1/messages?beta=true", &["--header", "x-api-key: hunter2", "--data", &first]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status.as_str(), &said["content"][0]["input"]), ("200", &json!({"command": "make test"})));
    let result = json!({"type": "tool_result", "tool_use_id": "call_0", "content": "passed"});
    let second =
        json!({"model": "m", "stream": true, "tools": [tool], "messages": [{"role": "user", "content": [result]}]});
    let chunked = ["--header", "Transfer-Encoding: chunked", "--data", &second.to_string()];
    let (_, said) = running.curl("/v1/messages", &chunked);
    assert!(said.starts_with("event: message_start\ndata: {") && said.contains("\"text\":\"bye\""), "{said}");
    assert_eq!(running.curl("/v1/models", &[]).0, "200");
    assert_eq!(running.curl("/nowhere", &["--data", "{}"]).0, "404");
    let log = running.log();
    let paths: Vec<&str> = log.iter().filter_map(|record| record["path"].as_str()).collect();
    assert_eq!(paths, ["/v1/messages?beta=true", "/v1/messages", "/v1/models", "/nowhere"]);
    assert_eq!((&log[0]["key"], &log[1]["key"]), (&json!(true), &json!(false)));
    assert_eq!(log[1]["results"], json!(["passed"]));
    assert!(!fs::read_to_string(&running.log).unwrap().contains("hunter2"));
}

#[test]
fn it_ends_when_its_input_is_closed() {
    let mut running = Running::start("end", &[]);
    drop(running.child.stdin.take());
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn a_wrong_line_is_refused() {
    for words in [&["127.0.0.1"][..], &["nowhere", "/dev/null", "bye"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_aifo-provider")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stderr.starts_with(b"aifo-provider: "));
    }
}
