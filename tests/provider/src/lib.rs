//! A stand-in for the servers of model providers: a real agent that is pointed at it runs a script of shell commands.
//!
//! It speaks as much of three APIs as agents need: Anthropic's Messages, OpenAI's Chat Completions and OpenAI's Responses,
//! each whole and as a stream of events. It keeps no conversation: which step comes next is told by the request itself,
//! which carries the results of all steps before. Every request is recorded, its secrets as seen or not seen. It must
//! never guess: a request that it does not know is answered 404 and recorded like any other.

mod dialect;
mod http;
mod record;
mod script;
mod shell_tool;

use std::{
    fs::File,
    io::{self, BufReader, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    dialect::Dialect,
    http::{Answer, Request},
};
pub use crate::{record::Record, script::Script};

/// An agent that says nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; its threads end with the process.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    records: Mutex<Vec<Record>>,
    /// Gets every record as a line of JSON, as soon as the request was read.
    log: Option<File>,
}

impl Provider {
    /// Serves on a free port of this address.
    ///
    /// # Errors
    /// When there is none.
    pub fn start(address: IpAddr, script: Script, log: Option<File>) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { script, records: Mutex::new(Vec::new()), log });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(&stream));
            }
        });
        Ok(Self { address, shared })
    }

    /// `http://ADDRESS:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn records(&self) -> Vec<Record> {
        self.shared.records().clone()
    }

    /// What the agent has told of the script's steps, in their order, as far as any request went.
    pub fn results(&self) -> Vec<String> {
        let told = self.records().into_iter().map(|record| record.results);
        told.max_by_key(Vec::len).unwrap_or_default()
    }
}

impl Shared {
    /// One connection, one request; an agent that breaks off has nobody to be told.
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = Request::read(&mut BufReader::new(stream)).ok()??;
        let answer = self.answer(&request);
        answer.write(&mut &*stream).ok()
    }

    fn answer(&self, request: &Request) -> Answer {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let dialect = Dialect::of_path(&request.path).filter(|_| request.method == "POST" && body.is_object());
        let asked = dialect.map(|dialect| dialect.read(&body));
        self.keep(Record::of(request, asked.as_ref()));
        match (dialect, asked) {
            (Some(dialect), Some(asked)) => dialect.write(&asked, &self.script.reply(&asked)),
            _ => other(request),
        }
    }

    fn keep(&self, record: Record) {
        if let Some(mut log) = self.log.as_ref() {
            // A log that cannot be written shows as a record that is missing there.
            drop(log.write_all(format!("{}\n", record.to_json()).as_bytes()));
        }
        self.records().push(record);
    }

    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What agents ask besides: whether anybody is there, which models there are, how long a text is.
fn other(request: &Request) -> Answer {
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("GET" | "HEAD", "/") => Answer::json(200, &serde_json::json!({})),
        ("GET", _) if path.ends_with("/models") => Answer::json(200, &dialect::models()),
        ("POST", _) if path.ends_with("/count_tokens") => Answer::json(200, &serde_json::json!({"input_tokens": 10})),
        _ => Answer::json(404, &serde_json::json!({"error": {"type": "not_found_error", "message": path}})),
    }
}
