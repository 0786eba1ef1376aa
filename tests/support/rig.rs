//! A proxy and sidecars as plain processes, driven directly: the same programs and the same conversation that the
//! launcher has with them, without a launcher in between.
//!
//! Every process that a rig starts, by whatever detour, carries a variable that names the rig. So a rig knows at its end
//! what is left of it, and a test whose rig leaves something fails.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::{fs::symlink, net::UnixStream, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use aifo_shim::wire::form;
use rustix::process::Signal;

use super::{Answer, TempDir, clean, process, program, wait_until};

/// Tools beyond the table that the `c-cpp` sidecar of a rig carries.
const ADDED: &[&str] = &[
    "bash", "cat", "dd", "echo", "env-of", "false", "head", "id", "ls", "printf", "pwd", "seq", "sh", "sleep", "stty",
    "true", "tty", "wc", "yes",
];

/// The longest that a single answer may take.
const PATIENCE: Duration = Duration::from_secs(100);

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
    /// The user whose connections the proxy takes; that of the test by default.
    pub(crate) uid: u32,
    /// Where a test runs the sidecars under another program.
    pub(crate) sidecar_under: &'static [&'static str],
    /// Variables of the sidecars beside those of the test.
    pub(crate) env: Vec<(&'static str, String)>,
    /// The same for the proxy.
    pub(crate) proxy_env: Vec<(&'static str, String)>,
}

impl Default for Plan {
    fn default() -> Self {
        // The system's own programs first: a version manager's wrappers would be slow and start more than was asked for.
        let path = format!("/usr/local/bin:/usr/bin:/bin:{}", env::var("PATH").unwrap_or_default());
        Self {
            kinds: vec!["c-cpp"],
            expected: Vec::new(),
            max_secs: None,
            max_calls: 256,
            tcp: false,
            uid: rustix::process::getuid().as_raw(),
            sidecar_under: &[],
            env: vec![("PATH", path)],
            proxy_env: Vec::new(),
        }
    }
}

/// A running proxy with its sidecars.
#[derive(Debug)]
pub(crate) struct Rig {
    dir: TempDir,
    pub(crate) plan: Plan,
    pub(crate) proxy: Child,
    proxy_input: Option<ChildStdin>,
    notices: Mutex<Receiver<String>>,
    /// Who holds it keeps notices from being read.
    pub(crate) hearing: Arc<Mutex<()>>,
    pub(crate) sidecars: Vec<Child>,
    inputs: Vec<ChildStdin>,
    tcp: Option<String>,
    token: String,
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
        let token = token_of(dir.path());
        let mut command = clean(program("aifo-coder"));
        command.arg("proxy").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command.envs(plan.proxy_env.iter().map(|(name, value)| (name, value))).env("RIG", dir.path());
        let mut proxy = command.spawn().expect("the proxy starts");
        let mut proxy_input = proxy.stdin.take().expect("piped");
        proxy_input.write_all(&settings(&plan, dir.path(), &token)).expect("the proxy listens");
        let hearing = Arc::new(Mutex::new(()));
        let notices = Mutex::new(listen(proxy.stdout.take().expect("piped"), Arc::clone(&hearing)));
        let mut rig = Self {
            dir,
            plan: plan.clone(),
            proxy,
            proxy_input: Some(proxy_input),
            notices,
            hearing,
            sidecars: Vec::new(),
            inputs: Vec::new(),
            tcp: None,
            token,
        };
        let ready = rig.notice("ready=");
        rig.tcp = Some(ready.replace("%3A", ":")).filter(|address| !address.is_empty());
        plan.kinds.iter().for_each(|kind| rig.start_sidecar(kind, &[]));
        rig
    }

    /// Starts a sidecar with these variables beside those of the plan, and waits until the proxy knows it.
    #[track_caller]
    pub(crate) fn start_sidecar(&mut self, kind: &str, env: &[(&str, &str)]) {
        let mut words = self.plan.sidecar_under.iter().map(Into::into).chain([program("aifo-coder")]);
        let mut command = clean(words.next().expect("a program"));
        command.args(words).arg("execd").stdin(Stdio::piped()).process_group(0);
        command.envs(self.plan.env.iter().map(|(name, value)| (name, value))).envs(env.iter().copied());
        let mut sidecar = command.env("RIG", self.dir.path()).spawn().expect("execd starts");
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
        let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let notice = notices.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no notice {start}"));
            if let Some(rest) = notice.strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    /// A file in the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// What is in a file of the workspace; empty while it is not there.
    pub(crate) fn content(&self, name: &str) -> String {
        fs::read(self.file(name)).map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
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
        drop(symlink(shim, &link));
        let mut command = clean(link);
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command.env("RIG", self.dir.path());
        command.env("AIFO_TOOLEEXEC_URL", format!("unix://{}", self.socket().display()));
        command.env("AIFO_TOOLEEXEC_TOKEN", &self.token);
        command.env("AIFO_WORKSPACE", self.workspace());
        command
    }

    /// The shim by TCP, and so by protocol 2.
    #[track_caller]
    pub(crate) fn shim_by_tcp(&self, tool: &str) -> Command {
        let mut command = self.shim(tool);
        command.env("AIFO_TOOLEEXEC_URL", format!("http://{}/exec", self.tcp()));
        command
    }

    /// A call of `bash -c SCRIPT` in the sidecar; arguments that are added are `$1` and so on.
    #[track_caller]
    pub(crate) fn bash(&self, script: &str) -> Command {
        let mut command = self.shim("bash");
        command.args(["-c", script, "bash"]);
        command
    }

    /// Connects as an agent would.
    #[track_caller]
    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).expect("the proxy listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket option");
        stream
    }

    /// The same by TCP.
    #[track_caller]
    pub(crate) fn connect_tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(self.tcp()).expect("the proxy listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket option");
        stream
    }

    /// Sends bytes to the proxy and reads everything that it answers.
    #[track_caller]
    pub(crate) fn ask(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A refusal may come before everything is sent.
        drop(stream.write_all(request));
        Answer::of(&read_all(stream))
    }

    /// The same by TCP.
    #[track_caller]
    pub(crate) fn ask_by_tcp(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect_tcp();
        drop(stream.write_all(request));
        Answer::of(&read_all(stream))
    }

    /// A request with good fields; `fields` come behind them.
    pub(crate) fn request(&self, target: &str, proto: u8, fields: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nX-Aifo-Proto: {proto}\r\n\
             {fields}Content-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    /// A good request to run a tool in the workspace.
    pub(crate) fn call(&self, proto: u8, tool: &str, args: &[&str]) -> Vec<u8> {
        let mut pairs = vec![("tool", tool)];
        pairs.extend(args.iter().map(|arg| ("arg", *arg)));
        self.request("/exec", proto, "", &form(&pairs))
    }

    /// Whether proxy and sidecars still serve: the session goes on.
    #[track_caller]
    pub(crate) fn assert_serves(&self) {
        let answer = self.ask(&self.call(2, "echo", &["still here"]));
        assert_eq!((answer.text().as_str(), answer.code().as_str()), ("still here\n", "0"), "{answer:?}");
    }

    /// Ends the session as a launcher does, and waits until everything that belongs to it is gone.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        drop(self.proxy_input.take());
        for child in [&mut self.proxy].into_iter().chain(&mut self.sidecars) {
            wait_until("proxy and sidecars end", || child.try_wait().expect("a child").is_some());
        }
        wait_until("nothing of the rig is left", || self.leftovers().is_empty());
    }

    /// The processes of this rig that live, those that the test itself holds included.
    pub(crate) fn leftovers(&self) -> Vec<u32> {
        process::with_variable(&format!("RIG={}", self.dir.path().display()))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.finish();
        }
        for child in [&mut self.proxy].into_iter().chain(&mut self.sidecars) {
            drop(child.kill());
            drop(child.wait());
        }
        self.leftovers().into_iter().for_each(|pid| process::signal(pid, Signal::KILL));
    }
}

/// Encodes a form.
pub(crate) fn form(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut form = Vec::new();
    pairs.iter().for_each(|(key, value)| form::encode(key, value.as_bytes(), &mut form));
    form
}

/// Everything that comes until the other side closes; a reset counts as its end.
pub(crate) fn read_all(mut stream: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    drop(stream.read_to_end(&mut all));
    all
}

fn settings(plan: &Plan, dir: &Path, token: &str) -> Vec<u8> {
    let (exec, execd) = (dir.join("exec.sock"), dir.join("execd.sock"));
    let uid = plan.uid.to_string();
    let calls = plan.max_calls.to_string();
    let secs = plan.max_secs.map(|secs| secs.to_string());
    let added: Vec<String> = ADDED.iter().map(|tool| format!("c-cpp:{tool}")).collect();
    let sidecars: Vec<String> =
        plan.kinds.iter().chain(&plan.expected).map(|kind| format!("{kind}:{}", secret(kind))).collect();
    let mut pairs = vec![
        ("exec_socket", text(&exec)),
        ("execd_socket", text(&execd)),
        ("token", token),
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
    [form(pairs), b"\n".to_vec()].concat()
}

/// Each rig's own.
fn token_of(dir: &Path) -> String {
    let name = dir.file_name().expect("a folder of its own").to_string_lossy();
    format!("{:0>32}", name.replace(['-', '_'], ""))
}

fn secret(kind: &str) -> String {
    format!("secret of {kind}")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are text")
}

fn listen(out: ChildStdout, hearing: Arc<Mutex<()>>) -> Receiver<String> {
    let (sender, notices) = mpsc::channel();
    let mut out = BufReader::new(out);
    thread::spawn(move || {
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|count| count > 0) && sender.send(line.trim_end().to_owned()).is_ok() {
            line.clear();
            drop(hearing.lock());
        }
    });
    notices
}
