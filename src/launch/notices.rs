//! What the proxy tells while a session runs, for the user who asked for it with `-v`.

use std::{
    io::{BufRead, BufReader, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use super::mask;
use crate::{
    control::{CallRecord, Notice},
    report,
};

/// Reads the proxy's notices; the first one goes to whoever waits for it, the others are told with `-v`. What the end of
/// a session takes down is not worth a word.
pub(super) fn listen(out: impl Read + Send + 'static, ending: Arc<AtomicBool>) -> Receiver<Notice> {
    let (first, waiting) = mpsc::channel();
    thread::spawn(move || {
        let mut is_first = true;
        for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
            let Some(notice) = Notice::decode(&line) else { continue };
            match notice {
                _ if is_first => drop(first.send(notice)),
                Notice::Gone { .. } if ending.load(Ordering::SeqCst) => {}
                _ => tell(&notice),
            }
            is_first = false;
        }
    });
    waiting
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Ready { .. } => {}
        Notice::Up { kind } => report::detail(format_args!("the {kind} sidecar is up")),
        Notice::Gone { kind } => report::detail(format_args!("the {kind} sidecar is gone")),
        Notice::Lost { count } => report::detail(format_args!("{count} notices were lost")),
        Notice::Call(call) => report::detail(shown(call)),
    }
}

/// A call in one line, without what may be secret in it.
fn shown(call: &CallRecord) -> String {
    let mut words = vec![call.tool.clone()];
    words.extend(mask::shown(&call.args));
    if call.args_total > call.args.len() {
        words.push(format!("… {} more", call.args_total - call.args.len()));
    }
    let end = match (call.signal, call.reason.as_str()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, "") => call.code.to_string(),
        (None, reason) => format!("{} ({reason})", call.code),
    };
    let ms = call.wall_us / 1000;
    format!(
        "{}: {} in {} ended with {end} after {ms} ms",
        call.kind,
        words.join(" "),
        String::from_utf8_lossy(&call.cwd)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_without_its_secrets() {
        let call = CallRecord {
            kind: "node".into(),
            tool: "npm".into(),
            args: ["publish", "--token", "abc", "--api-key=def", "a\nb"].map(|arg| arg.as_bytes().to_vec()).to_vec(),
            args_total: 7,
            cwd: b"/workspace".to_vec(),
            code: 1,
            wall_us: 2_500,
            ..CallRecord::default()
        };
        let line = "node: npm publish --token *** --api-key=*** a b … 2 more in /workspace ended with 1 after 2 ms";
        assert_eq!(shown(&call), line);
    }
}
