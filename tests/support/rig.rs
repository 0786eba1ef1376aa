//! A proxy and sidecars as plain processes, driven directly: the same programs and the same conversation that the
//! launcher has with them, without a launcher in between.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::symlink, net::UnixStream, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use aifo_shim::wire::form;

use super::{TempDir, program, wait_until};

/// Every rig's token.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Tools beyond the table that the `c-cpp` sidecar of a rig carries.
const ADDED: &[&str] = &[
    "bash", "cat", "dd", "echo", "env-of", "false", "head", "id", "ls", "printf", "pwd", "seq", "sh", "sleep", "stty",
    "true", "tty", "wc", "yes",
];

/// What a rig is to be.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Sidecars that are started.
    pub(crate) kinds: Vec<&'static str>,
    /// Sidecars that the proxy expects beyond those; the test starts or fails them.
    pub(crate) expected: Vec<&'static str>,
    pub(crate) max_secs: Option<u64>,
    pub(crate) max_calls: usize,
    pub(crate) tcp: bool,
    /// PATH of the sidecars; that of the test by default.
    pub(crate) path: Option<String>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { kinds: vec!["c-cpp"], expected: Vec::new(), max_secs: None, max_calls: 256, tcp: false, path: None }
    }
}

/// A running proxy with its sidecars.
#[derive(Debug)]
pub(crate) struct Rig {
    dir: TempDir,
    pub(crate) plan: Plan,
    pub(crate) proxy: Child,
    proxy_input: Option<ChildStdin>,
    notices: Receiver<String>,
    pub(crate) sidecars: Vec<Child>,
    inputs: Vec<ChildStdin>,
    tcp: Option<String>,
}

impl Rig {
    /// A proxy and one `c-cpp` sidecar.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::with(Plan::default())
    }

    #[track_caller]
    pub(crate) fn with(plan: Plan) -> Self {
        let dir = TempDir::new();
        fs::create_dir(dir.path().join("workspace")).expect("a workspace");
        fs::create_dir(dir.path().join("links")).expect("a folder for links");
        let mut command = Command::new(program("aifo-coder"));
        command.arg("proxy").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut proxy = command.spawn().expect("the proxy starts");
        let mut proxy_input = proxy.stdin.take().expect("piped");
        proxy_input.write_all(&settings(&plan, dir.path())).expect("the proxy listens");
        let notices = listen(proxy.stdout.take().expect("piped"));
        let mut rig = Self {
            dir,
            plan: plan.clone(),
            proxy,
            proxy_input: Some(proxy_input),
            notices,
            sidecars: Vec::new(),
            inputs: Vec::new(),
            tcp: None,
        };
        let ready = rig.notice("ready=");
        rig.tcp = Some(ready.replace("%3A", ":")).filter(|address| !address.is_empty());
        plan.kinds.iter().for_each(|kind| rig.start_sidecar(kind));
        rig
    }

    /// Starts a sidecar and waits until the proxy knows it.
    #[track_caller]
    pub(crate) fn start_sidecar(&mut self, kind: &str) {
        let mut command = Command::new(program("aifo-coder"));
        command.arg("execd").stdin(Stdio::piped()).process_group(0);
        command.envs(self.plan.path.as_ref().map(|path| ("PATH", path)));
        let mut sidecar = command.spawn().expect("execd starts");
        let mut input = sidecar.stdin.take().expect("piped");
        let socket = self.dir.path().join("execd.sock");
        let line = line(&[
            ("socket", text(&socket)),
            ("kind", kind),
            ("secret", &secret(kind)),
            ("root", text(&self.workspace())),
            ("root", "/tmp"),
            ("login", "0"),
        ]);
        input.write_all(&line).expect("execd listens");
        self.sidecars.push(sidecar);
        self.inputs.push(input);
        assert_eq!(self.notice("up="), kind);
    }

    /// Tells the proxy something, as the launcher would.
    pub(crate) fn tell_proxy(&mut self, pairs: &[(&str, &str)]) {
        self.proxy_input.as_mut().expect("still open").write_all(&line(pairs)).expect("the proxy listens");
    }

    /// The next notice that starts so, without that start.
    #[track_caller]
    pub(crate) fn notice(&self, start: &str) -> String {
        loop {
            let notice =
                self.notices.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("no notice {start}"));
            if let Some(rest) = notice.strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    /// The socket that agents use.
    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("exec.sock")
    }

    /// `host:port` of a rig with TCP.
    #[track_caller]
    pub(crate) fn tcp(&self) -> &str {
        self.tcp.as_deref().expect("a rig with tcp")
    }

    /// The shim under a tool's name, configured for this proxy, in the workspace.
    #[track_caller]
    pub(crate) fn shim(&self, tool: &str) -> Command {
        self.shim_at(tool, &program("aifo-shim"))
    }

    /// The same for another shim.
    #[track_caller]
    pub(crate) fn shim_at(&self, tool: &str, shim: &Path) -> Command {
        let link = self.dir.path().join("links").join(tool);
        if !link.exists() {
            symlink(shim, &link).expect("a link");
        }
        let mut command = Command::new(link);
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command.env("AIFO_TOOLEEXEC_URL", format!("unix://{}", self.socket().display()));
        command.env("AIFO_TOOLEEXEC_TOKEN", TOKEN);
        command.env("AIFO_WORKSPACE", self.workspace());
        command
    }

    /// A call of `bash -c SCRIPT ARGS…` in the sidecar.
    #[track_caller]
    pub(crate) fn bash(&self, script: &str) -> Command {
        let mut command = self.shim("bash");
        command.args(["-c", script, "bash"]);
        command
    }

    /// Sends bytes to the proxy and reads everything that it answers.
    #[track_caller]
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = UnixStream::connect(self.socket()).expect("the proxy listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket option");
        // A refusal may come before everything is sent.
        drop(stream.write_all(request));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request to the proxy with good fields; `fields` come behind them.
    pub(crate) fn request(target: &str, proto: u8, fields: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nX-Aifo-Proto: {proto}\r\n\
             {fields}Content-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    /// Whether proxy and sidecars still serve: the session goes on.
    #[track_caller]
    pub(crate) fn assert_serves(&self) {
        let output = self.shim("echo").arg("still here").output().expect("the shim starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "still here\n", "{output:?}");
    }

    /// Ends the session as a launcher does, and waits until proxy and sidecars are gone.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        drop(self.proxy_input.take());
        let proxy = &mut self.proxy;
        wait_until("the proxy ends", || proxy.try_wait().expect("a child").is_some());
        for sidecar in &mut self.sidecars {
            wait_until("execd ends", || sidecar.try_wait().expect("a child").is_some());
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.proxy_input.take());
        for child in [&mut self.proxy].into_iter().chain(&mut self.sidecars) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn settings(plan: &Plan, dir: &Path) -> Vec<u8> {
    let (exec, execd) = (dir.join("exec.sock"), dir.join("execd.sock"));
    let uid = rustix::process::getuid().as_raw().to_string();
    let calls = plan.max_calls.to_string();
    let secs = plan.max_secs.map(|secs| secs.to_string());
    let added: Vec<String> = ADDED.iter().map(|tool| format!("c-cpp:{tool}")).collect();
    let sidecars: Vec<String> =
        plan.kinds.iter().chain(&plan.expected).map(|kind| format!("{kind}:{}", secret(kind))).collect();
    let mut pairs = vec![
        ("exec_socket", text(&exec)),
        ("execd_socket", text(&execd)),
        ("token", TOKEN),
        ("uid", &uid),
        ("max_calls", &calls),
        ("version", env!("CARGO_PKG_VERSION")),
    ];
    pairs.extend(plan.tcp.then_some(("tcp", "127.0.0.1:0")));
    pairs.extend(secs.iter().map(|secs| ("max_secs", secs.as_str())));
    pairs.extend(sidecars.iter().map(|sidecar| ("sidecar", sidecar.as_str())));
    pairs.extend(added.iter().map(|tool| ("tool", tool.as_str())));
    line(&pairs)
}

fn line(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut line = Vec::new();
    pairs.iter().for_each(|(key, value)| form::encode(key, value.as_bytes(), &mut line));
    line.push(b'\n');
    line
}

fn secret(kind: &str) -> String {
    format!("secret of {kind}")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are text")
}

fn listen(out: ChildStdout) -> Receiver<String> {
    let (sender, notices) = mpsc::channel();
    thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    notices
}
