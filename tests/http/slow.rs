//! Clients that take their time, or send more than they should (T11, T12).

use std::{io::Write, net::Shutdown, os::unix::net::UnixStream};

use super::{assert_refusal, telltale};
use crate::support::{Answer, Rig, process, read_all, wait_until};

/// Waits ten seconds: that is the promise.
#[test]
fn t11_a_head_that_does_not_come_is_408_and_others_are_served_meanwhile() {
    let rig = Rig::start();
    let request = rig.request("/exec", 2, "", &telltale());
    let head = &request[..request.len() - telltale().len() - 2];
    let slow: Vec<UnixStream> = (0..100)
        .map(|number| {
            let mut slow = rig.connect();
            slow.write_all(&head[..head.len() * number / 100]).unwrap();
            slow
        })
        .collect();
    (0..20).for_each(|_| rig.assert_serves());
    for stream in slow {
        let answer = Answer::of(&read_all(stream));
        assert_eq!((answer.status, answer.text().as_str()), (408, "request too slow\n"));
        assert_refusal(&answer, "a slow head");
    }
    assert_eq!(rig.content("ran"), "");
    rig.assert_serves();
}

#[test]
fn t11_clients_that_go_away_half_way_leave_nothing_behind() {
    let rig = Rig::start();
    let request = rig.request("/exec", 2, "", &telltale());
    rig.assert_serves();
    let before = process::descriptors(rig.proxy.id());
    for length in 0..request.len() {
        let mut stream = rig.connect();
        stream.write_all(&request[..length]).unwrap();
        // Half of them only stop sending, as a client with nothing more to say would.
        if length % 2 == 0 {
            stream.shutdown(Shutdown::Write).unwrap();
            assert!(read_all(stream).is_empty(), "cut at {length}");
        }
    }
    rig.assert_serves();
    assert_eq!(rig.content("ran"), "");
    wait_until("their descriptors are closed", || process::descriptors(rig.proxy.id()) <= before);
}

#[test]
fn t12_byte_by_byte_is_the_same_as_in_one_piece() {
    let rig = Rig::start();
    let request = rig.call(2, "bash", &["-c", "echo out; echo ran >> ran; exit 7"]);
    let whole = rig.ask(&request);
    let mut stream = rig.connect();
    for byte in &request {
        stream.write_all(&[*byte]).unwrap();
    }
    let bytewise = Answer::of(&read_all(stream));
    assert_eq!((bytewise.text(), bytewise.code()), (whole.text(), whole.code()));
    assert_eq!((whole.text().as_str(), whole.code().as_str()), ("out\n", "7"));
    assert_eq!(rig.content("ran"), "ran\nran\n");
}

#[test]
fn t12_what_follows_a_request_is_not_read() {
    let rig = Rig::start();
    let request = rig.request("/exec", 2, "", &telltale());
    // `Answer::of` itself refuses anything that stands behind one answer.
    for behind in [request.as_slice(), b"GET / HTTP/1.1\r\n\r\n", &[0xff; 100_000]] {
        drop(std::fs::remove_file(rig.file("ran")));
        let answer = rig.ask(&[&request, behind].concat());
        assert_eq!((answer.status, answer.code().as_str()), (200, "0"), "{answer:?}");
        assert_eq!(rig.content("ran"), "ran\n");
    }
    rig.assert_serves();
}

#[test]
fn a_client_that_has_nothing_more_to_say_still_gets_its_answer() {
    let rig = Rig::start();
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", "sleep 0.3; echo out; exit 3"])).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let answer = Answer::of(&read_all(stream));
    assert_eq!((answer.text().as_str(), answer.code().as_str()), ("out\n", "3"));
}
