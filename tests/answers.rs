//! The real shim and servers that answer nonsense: never 0, one line, and not asked twice (T16 to T18).

use crate::support::{Fake, Ran};

const STREAM: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Exec-Id: ab\r\n\r\n";
const UPGRADE: &[u8] = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 4\r\n\r\nold\n";

fn stream(rest: &str) -> String {
    format!("{STREAM}{rest}")
}

/// Ends of which the shim must not make a success, with what it has to say.
fn nonsense() -> Vec<(String, &'static str)> {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let many = (0..33).map(|number| format!("A{number}: b\r\n")).collect::<String>();
    vec![
        (String::new(), "connection to the proxy was lost"),
        ("HTTP/1.1 200 OK\r\nTransfer-Enc".into(), "connection to the proxy was lost"),
        (STREAM.into(), "connection to the proxy was lost"),
        (stream("5\r\nhel"), "connection to the proxy was lost"),
        (stream("5\r\nhello\r\n"), "connection to the proxy was lost"),
        (stream("0\r\nX-Exit-Code: 0\r\n"), "connection to the proxy was lost"),
        (stream("0\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Cod: 0\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: 0\r\nX-Exit-Code: 0\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: 0\r\nx-exit-code: 1\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: zero\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code:\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: -1\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: +0\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: 00\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: 256\r\n\r\n"), "no exit code"),
        (stream("0\r\nX-Exit-Code: 4294967296\r\n\r\n"), "no exit code"),
        (STREAM.replace("X-Exec", "X-Exit-Code: 0\r\nX-Exec") + "0\r\n\r\n", "no exit code"),
        (format!("{page}Content-Length: 5\r\n\r\nhello"), "not a tool-exec proxy"),
        (format!("{page}\r\nhello"), "not a tool-exec proxy"),
        (format!("{page}X-Exit-Code: 0\r\nContent-Length: 0\r\n\r\n"), "not a tool-exec proxy"),
        ("HTTP/1.1 204 No Content\r\n\r\n".into(), "not a tool-exec proxy"),
        ("HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000), "not a tool-exec proxy"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".into(), "not a tool-exec proxy"),
        (stream("0\r\nX-Exit-Code: 0\r\n\r\nmore"), "went on after its answer had ended"),
        (stream("0\r\nX-Exit-Code: 0\r\n\r\n").repeat(2), "went on after its answer had ended"),
        ("HTTP/1.0 200 OK\r\nX-Exit-Code: 0\r\n\r\n".into(), "answer is malformed"),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n".into(), "answer is malformed"),
        ("HTTP/1.1 200 OK\nX-Exit-Code: 0\n\n".into(), "answer is malformed"),
        ("HTTP/1.1 020 OK\r\n\r\n".into(), "answer is malformed"),
        ("A".repeat(10 << 20), "answer is malformed"),
        (format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200)), "answer is malformed"),
        (STREAM.replace("X-Exec", "Content-Length: 5\r\nX-Exec"), "answer is malformed"),
        (stream("00000000000000001\r\na\r\n0\r\nX-Exit-Code: 0\r\n\r\n"), "stream is malformed"),
        (stream("+1\r\na\r\n0\r\nX-Exit-Code: 0\r\n\r\n"), "stream is malformed"),
        (stream("1\r\nab\r\n0\r\nX-Exit-Code: 0\r\n\r\n"), "stream is malformed"),
        (stream(&format!("0\r\nX-Exit-Code: 0\r\n{many}\r\n")), "stream is malformed"),
        (stream(&format!("0\r\nX-Exit-Code: 0\r\nX: {}\r\n\r\n", "y".repeat(9000))), "stream is malformed"),
        (stream("0\r\nX-Exit-Code: 0\r\nX-Exit-Reason: \x1b[31mred\r\n\r\n"), "stream is malformed"),
    ]
}

#[test]
fn t16_t17_t18_nonsense_is_never_success_and_never_asked_twice() {
    for (answer, said) in nonsense() {
        let shown = &answer[..answer.len().min(200)];
        for fake in [Fake::on_socket(&[answer.as_bytes()]), Fake::on_tcp(&[answer.as_bytes()])] {
            let ran = Ran::of(fake.shim("make").arg("all"));
            let err = ran.err();
            assert_eq!(ran.code(), 125, "{shown}\n{ran}");
            assert!(err.starts_with("aifo-shim: make: ") && err.contains(said), "{shown}\n{ran}");
            assert_eq!(err.lines().count(), 1, "{shown}\n{ran}");
            assert_eq!(fake.requests().len(), 1, "{shown}");
        }
    }
}

#[test]
fn refusals_end_with_the_codes_of_the_document() {
    for (status, code) in [
        (301, 125),
        (400, 86),
        (401, 86),
        (403, 86),
        (404, 86),
        (408, 125),
        (409, 86),
        (413, 86),
        (417, 86),
        (431, 86),
        (500, 125),
        (502, 125),
        (503, 125),
        (504, 124),
    ] {
        let answer = format!("HTTP/1.1 {status} X\r\nX-Exit-Code: 0\r\nContent-Length: 11\r\n\r\nthe reason\n");
        for fake in [Fake::on_socket(&[answer.as_bytes()]), Fake::on_tcp(&[answer.as_bytes()])] {
            Ran::of(&mut fake.shim("make")).expect_said(code, &format!("refused by the proxy ({status}): the reason"));
            assert_eq!(fake.requests().len(), 1, "{status}");
        }
    }
}

#[test]
fn a_refusals_text_cannot_play_tricks_on_a_terminal_or_fill_it() {
    let tricks = b"HTTP/1.1 403 X\r\nContent-Length: 24\r\n\r\n\x1b]0;title\x07\x1b[2J\r\nsecond\xff\x00";
    let fake = Fake::on_socket(&[tricks]);
    let ran = Ran::of(&mut fake.shim("make"));
    ran.expect_said(86, "title");
    assert!(ran.err().trim_end().chars().all(|c| !c.is_control()), "{ran}");
    let endless = [b"HTTP/1.1 403 X\r\n\r\n".as_slice(), &vec![b'a'; 10 << 20]].concat();
    let fake = Fake::on_tcp(&[&endless]);
    let ran = Ran::of(&mut fake.shim("make"));
    ran.expect_said(86, "aaaa");
    assert!(ran.err().len() < 5000, "{}", ran.err().len());
}

#[test]
fn promise_2_after_426_the_call_goes_out_once_more_by_protocol_2() {
    let good = stream("6\r\nhello\n\r\n0\r\nX-Exit-Code: 5\r\n\r\n");
    let fake = Fake::on_socket(&[UPGRADE, good.as_bytes()]);
    assert_eq!(Ran::of(fake.shim("make").args(["a b", "c"])).expect(5), "hello");
    let requests = fake.requests();
    let protos: Vec<bool> = requests.iter().map(|request| request.contains("\r\nX-Aifo-Proto: 3\r\n")).collect();
    assert_eq!(protos, [true, false], "{requests:?}");
    assert!(requests[1].contains("\r\nX-Aifo-Proto: 2\r\n") && requests[1].contains("&arg=a+b&arg=c"));
    assert_eq!(requests[0].replace("X-Aifo-Proto: 3", "X-Aifo-Proto: 2"), requests[1]);
}

#[test]
fn promise_2_a_second_426_is_the_end() {
    for (fake, asked) in [(Fake::on_socket(&[UPGRADE]), 2), (Fake::on_tcp(&[UPGRADE]), 1)] {
        let ran = Ran::of(&mut fake.shim("make"));
        assert_ne!(ran.code(), 0, "{ran}");
        assert_eq!((ran.out().as_str(), ran.err().lines().count()), ("", 1), "{ran}");
        assert_eq!(fake.requests().len(), asked);
    }
}

#[test]
fn t35_a_signal_that_ends_nothing_is_still_an_end() {
    // 17 is ignored by default, 19 and 20 would stop the shim, the others are no signals.
    for signal in [0, 17, 18, 19, 20, 21, 22, 65, 200, 255] {
        let answer = stream(&format!("0\r\nX-Exit-Code: 0\r\nX-Exit-Signal: {signal}\r\n\r\n"));
        let fake = Fake::on_socket(&[answer.as_bytes()]);
        assert_eq!(Ran::of(&mut fake.shim("make")).code(), (128 + signal).min(255), "{signal}");
    }
}

#[test]
fn no_answer_to_a_signal_leads_astray() {
    // The id comes with the answer; one that is no word must not break the request that carries it on.
    let odd = STREAM.replace("ab", "a b&signal=KILL/../?#") + "0\r\nX-Exit-Code: 0\r\n\r\n";
    let fake = Fake::on_socket(&[odd.as_bytes()]);
    assert_eq!(Ran::of(&mut fake.shim("make")).expect(0), "");
    assert_eq!(fake.requests().len(), 1);
}
