//! One client's request, from its first byte to its answer.
//!
//! Read as a recipe in [`converse`]: head, admission, body, then what was asked for. Nothing of a request is acted on
//! before it was admitted.

use std::os::fd::OwnedFd;

use aifo_shim::{
    socket::Socket,
    wire::{
        body::BodyReader,
        form::{self, FormError},
        head::Framing,
        signal,
    },
};

use super::{
    State,
    admit::{Target, admit},
    conn::Conn,
    exec, ready,
    refusal::Refusal,
};
use crate::channel;

/// Serves a connection, which carries one request, to its end.
pub(super) fn request(socket: Socket, state: &State) {
    let mut conn = Conn::new(socket);
    match converse(&mut conn, state) {
        Ok(()) | Err(Refusal::Vanished) => {}
        Err(refusal) => conn.refuse(&refusal),
    }
}

fn converse(conn: &mut Conn, state: &State) -> Result<(), Refusal> {
    let head = conn.receive_head()?;
    let admitted = admit(&head, &state.settings.token, conn.transport())?;
    let body = BodyReader::new(head.framing)?;
    if admitted.expects_continue && head.framing != Framing::Absent {
        conn.send_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    match admitted.target {
        Target::Exec => exec::serve(conn, body, admitted, state),
        Target::Signal => pass_signal(conn, body, state),
        Target::Session => hold(conn),
    }
}

/// Passes a signal to a running call.
fn pass_signal(conn: &mut Conn, body: BodyReader, state: &State) -> Result<(), Refusal> {
    let mut form = Vec::new();
    conn.receive_body(body, |bytes| {
        form.extend_from_slice(bytes);
        if form.len() > 4096 { Err(Refusal::BodyTooLarge) } else { Ok(()) }
    })?;
    let bad = |error: FormError| Refusal::BadRequest(error.to_string());
    let (mut id, mut name) = (None, None);
    for pair in form::decode(&form).map_err(bad)? {
        let value = String::from_utf8_lossy(&pair.value).into_owned();
        match pair.key.as_slice() {
            b"exec_id" => id = Some(value),
            b"signal" => name = Some(value),
            _ => {}
        }
    }
    let id = id.filter(|id| !id.is_empty()).ok_or_else(|| Refusal::BadRequest("no exec_id".to_owned()))?;
    let number = signal::number(name.as_deref().unwrap_or("TERM"))
        .ok_or_else(|| Refusal::BadRequest("unknown signal".to_owned()))?;
    let call = state.calls.channel(&id).ok_or(Refusal::NotFound("no such call is running"))?;
    let none: [OwnedFd; 0] = [];
    // A call that ends at this moment needs no signal any more.
    drop(channel::send(&call, &channel::signal_record(number), &none));
    conn.send_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
}

/// Answers, and lets the answer last until the client or the session ends.
fn hold(conn: &mut Conn) -> Result<(), Refusal> {
    conn.send_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\
          Connection: close\r\n\r\n",
    )?;
    ready::poll([Some(conn.hangup())], None)?;
    Ok(())
}
