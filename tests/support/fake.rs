//! A server that is no proxy: it answers with whatever a test wants, and keeps what it was asked.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
};

use super::{TempDir, clean, program};

/// The server. It answers the first connection with the first answer and so on, all further ones with the last.
#[derive(Debug)]
pub(crate) struct Fake {
    dir: TempDir,
    url: String,
    seen: Receiver<Vec<u8>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// On a Unix socket.
    pub(crate) fn on_socket(answers: &[&[u8]]) -> Self {
        let dir = TempDir::new();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).expect("a socket in a folder of its own");
        Self::serve(dir, format!("unix://{}", path.display()), answers, move || listener.accept().map(|(s, _)| s))
    }

    /// On TCP.
    pub(crate) fn on_tcp(answers: &[&[u8]]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let accept = move || listener.accept().map(|(stream, _)| stream);
        Self::serve(TempDir::new(), format!("http://{address}/exec"), answers, accept)
    }

    fn serve<S>(
        dir: TempDir,
        url: String,
        answers: &[&[u8]],
        accept: impl Fn() -> io::Result<S> + Send + 'static,
    ) -> Self
    where
        S: Read + Write,
    {
        let answers: Vec<Vec<u8>> = answers.iter().map(|answer| answer.to_vec()).collect();
        let (sender, seen) = mpsc::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let thread = thread::spawn(move || {
            let mut next = answers.iter().chain(answers.last().into_iter().cycle());
            while let (Ok(mut stream), Some(answer)) = (accept(), next.next()) {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                drop(sender.send(read_request(&mut stream)));
                // A client that has read enough closes.
                drop(stream.write_all(answer));
            }
        });
        Self { dir, url, seen, stopping, thread: Some(thread) }
    }

    /// The shim under a tool's name, with this server for its proxy.
    pub(crate) fn shim(&self, tool: &str) -> Command {
        let link = self.dir.path().join(tool);
        drop(std::os::unix::fs::symlink(program("aifo-shim"), &link));
        let mut command = clean(link);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("AIFO_TOOLEEXEC_URL", &self.url).env("AIFO_TOOLEEXEC_TOKEN", "token");
        command
    }

    /// Ends the server and gives every request that came, in order.
    pub(crate) fn requests(mut self) -> Vec<String> {
        self.stop();
        self.seen.try_iter().map(|request| String::from_utf8_lossy(&request).into_owned()).collect()
    }

    fn stop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // One last connection wakes it.
        match self.url.strip_prefix("unix://") {
            Some(path) => drop(UnixStream::connect(path)),
            None => drop(TcpStream::connect(self.url.trim_start_matches("http://").trim_end_matches("/exec"))),
        }
        self.thread.take().into_iter().for_each(|thread| thread.join().expect("the server does not panic"));
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

/// A head and as much body as it announces.
fn read_request(stream: impl Read) -> Vec<u8> {
    let (mut stream, mut request, mut length) = (BufReader::new(stream), Vec::new(), 0);
    while !request.ends_with(b"\r\n\r\n") {
        let before = request.len();
        if stream.read_until(b'\n', &mut request).is_ok_and(|count| count == 0) {
            return request;
        }
        let line = String::from_utf8_lossy(&request[before..]).to_ascii_lowercase();
        length = line.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap_or(0));
    }
    drop(stream.take(length).read_to_end(&mut request));
    request
}
