//! A registry on loopback, with one tiny image: open, or only for who logs in, or for nobody.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use super::{Ran, TempDir};

/// Whom it lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Open,
    /// `aifo` with `secret`.
    Login,
    Closed,
}

/// `aifo:secret` as HTTP says it.
const KEY: &str = "Basic YWlmbzpzZWNyZXQ=";
const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The registry; docker talks to loopback without TLS.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What it has, by the end of the path.
struct Content {
    door: Door,
    parts: Vec<(String, &'static str, Vec<u8>)>,
}

impl Registry {
    /// Serves an image under every name and this tag until the test's process ends.
    #[track_caller]
    pub(crate) fn start(door: Door, tag: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (heard, content) = (Arc::clone(&asked), Arc::new(Content { door, parts: parts(tag) }));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, content) = (Arc::clone(&heard), Arc::clone(&content));
                thread::spawn(move || answer(stream, &content, &heard));
            }
        });
        Self { address, asked }
    }

    /// The first lines of all requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic with it").clone()
    }
}

fn answer(mut stream: TcpStream, content: &Content, heard: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
    let mut lines = (&mut reader).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    // Docker tries TLS first; that is no line of ours.
    let Some(request) = lines.next().filter(|line| line.contains(" /v2/")) else { return };
    let has_key = lines.any(|line| line.split_once(": ").is_some_and(|(_, value)| value == KEY));
    heard.lock().expect("no panic with it").push(request.clone());
    let path = request.split(' ').nth(1).unwrap_or_default();
    let is_let_in = content.door == Door::Open || (content.door == Door::Login && has_key);
    let found = content.parts.iter().find(|(end, ..)| path.ends_with(end.as_str()));
    let (status, kind, body) = match found {
        _ if !is_let_in => ("401 Unauthorized", "application/json", &br#"{"errors":[{"code":"UNAUTHORIZED"}]}"#[..]),
        Some((_, kind, body)) => ("200 OK", *kind, &body[..]),
        None => ("404 Not Found", "application/json", &br#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#[..]),
    };
    let digest = found.map_or_else(String::new, |(_, _, body)| format!("Docker-Content-Digest: {}\r\n", sha256(body)));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{digest}Docker-Distribution-Api-Version: \
         registry/2.0\r\nWWW-Authenticate: Basic realm=\"it\"\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if request.starts_with("HEAD") { &[] } else { body };
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
}

/// An image of one small file, as a registry keeps it.
fn parts(tag: &str) -> Vec<(String, &'static str, Vec<u8>)> {
    let dir = TempDir::new();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("file"), format!("{tag}\n")).expect("a file");
    let run = |line: &str| Ran::of(Command::new("sh").args(["-c", line]).current_dir(dir.path())).expect(0);
    run("tar -cf layer.tar file && gzip -nk layer.tar");
    let read = |name: &str| fs::read(path(name)).expect("a file");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config = format!(
        r#"{{"architecture":"{architecture}","os":"linux","config":{{}},"rootfs":{{"type":"layers","diff_ids":["{}"]}}}}"#,
        sha256(&read("layer.tar"))
    );
    let (config, layer) = (config.into_bytes(), read("layer.tar.gz"));
    let part = |kind: &str, bytes: &[u8]| {
        format!(r#"{{"mediaType":"{kind}","size":{},"digest":"{}"}}"#, bytes.len(), sha256(bytes))
    };
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]}}"#,
        part("application/vnd.docker.container.image.v1+json", &config),
        part("application/vnd.docker.image.rootfs.diff.tar.gzip", &layer)
    );
    let manifest = manifest.into_bytes();
    vec![
        ("/v2/".to_owned(), "application/json", b"{}".to_vec()),
        (format!("/manifests/{tag}"), MANIFEST, manifest.clone()),
        (format!("/manifests/{}", sha256(&manifest)), MANIFEST, manifest),
        (format!("/blobs/{}", sha256(&config)), "application/octet-stream", config),
        (format!("/blobs/{}", sha256(&layer)), "application/octet-stream", layer),
    ]
}

fn sha256(bytes: &[u8]) -> String {
    let dir = TempDir::new();
    let file = dir.path().join("bytes");
    fs::write(&file, bytes).expect("a file");
    let said = Ran::of(Command::new("sha256sum").arg(&file)).expect(0);
    format!("sha256:{}", said.split(' ').next().unwrap_or_default())
}
