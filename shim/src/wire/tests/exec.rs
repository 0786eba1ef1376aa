//! Calls: there and back, and what is refused.

use super::same_however_split;
use crate::wire::{
    exec::{CStrings, ExecDecoder, ExecError, ExecRequest},
    exit::Outcome,
    head::Fields,
    limits::{MAX_CWD, MAX_TOOL},
    signal,
};

fn decode(pieces: &[&[u8]]) -> Result<ExecRequest, ExecError> {
    let mut decoder = ExecDecoder::default();
    pieces.iter().try_for_each(|piece| decoder.feed(piece))?;
    decoder.finish()
}

fn strings(list: &[&[u8]]) -> CStrings {
    let mut strings = CStrings::default();
    list.iter().for_each(|string| strings.push(string));
    strings
}

#[test]
fn t25_t27_arguments_arrive_byte_for_byte() {
    let request = ExecRequest {
        tool: b"cargo".to_vec(),
        cwd: b"/workspace/a b/\xff".to_vec(),
        args: strings(&[b"", b"--", b"a\nb", b"$(x)`y`", b"'\"\\", b"\xfe\xff", "grün".as_bytes(), b"&=%+"]),
        env: strings(&[b"CI=1", b"EMPTY=", b"WEIRD=a=b\n\xff"]),
    };
    assert_eq!(same_however_split(&request.encode(), decode), Ok(request));
}

#[test]
fn variables_that_must_not_cross_are_dropped_on_arrival() {
    let request = decode(&[b"tool=x&env=AIFO_TOOLEEXEC_TOKEN%3d1&env=CI%3d1&env=LD_PRELOAD%3d/x.so"]).unwrap();
    assert_eq!(request.env, strings(&[b"CI=1"]));
}

#[test]
fn a_call_that_is_not_one_is_refused() {
    let cases: &[(&str, ExecError)] = &[
        ("", ExecError::NoTool),
        ("tool=", ExecError::NoTool),
        ("cwd=/workspace", ExecError::NoTool),
        ("tool=a&tool=b", ExecError::ToolTwice),
        ("tool=a&cwd=/&cwd=/", ExecError::CwdTwice),
        ("tool=a&cwd=&cwd=/", ExecError::CwdTwice),
        ("tool=a&env=X", ExecError::BadVariable),
        ("tool=a&env=%3dX", ExecError::BadVariable),
    ];
    for (form, cause) in cases {
        assert_eq!(same_however_split(form.as_bytes(), decode), Err(*cause), "{form}");
    }
    assert!(decode(&[b"tool=a&future=1"]).is_ok());
}

#[test]
fn tool_and_directory_have_limits() {
    let tool = |length: usize| decode(&[b"tool=", &vec![b'a'; length]]);
    assert!(tool(MAX_TOOL).is_ok());
    assert_eq!(tool(MAX_TOOL + 1), Err(ExecError::ToolTooLong));
    let cwd = |length: usize| decode(&[b"tool=a&cwd=", &vec![b'a'; length]]);
    assert!(cwd(MAX_CWD).is_ok());
    assert_eq!(cwd(MAX_CWD + 1), Err(ExecError::CwdTooLong));
}

#[test]
fn strings_come_back_from_their_bytes() {
    let list = strings(&[b"a", b"", b"c"]);
    assert_eq!(list.as_bytes(), b"a\0\0c\0");
    assert_eq!(CStrings::from_bytes(list.as_bytes().to_vec()), Some(list.clone()));
    assert_eq!(list.iter().collect::<Vec<_>>(), [b"a".as_slice(), b"", b"c"]);
    assert_eq!(CStrings::from_bytes(b"a\0b".to_vec()), None);
    assert_eq!(CStrings::from_bytes(Vec::new()), Some(CStrings::default()));
}

#[test]
fn all_256_exit_codes_and_all_signals_survive_the_trailers() {
    let back = |outcome: &Outcome| {
        let lines: String = outcome.trailers().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Outcome::from_fields(&Fields::parse(lines.as_bytes(), 9).unwrap())
    };
    for outcome in (0..=255).map(Outcome::exited).chain((1..=64).map(Outcome::signaled)) {
        assert_eq!(back(&outcome).as_ref(), Some(&outcome));
    }
    assert_eq!(back(&Outcome::said(124, "a\r\nb")), Some(Outcome::said(124, "a  b")));
}

#[test]
fn t16_an_exit_code_that_is_not_one_is_none() {
    for lines in [
        "",
        "X-Exit-Code: \r\n",
        "X-Exit-Code: 256\r\n",
        "X-Exit-Code: -1\r\n",
        "X-Exit-Code: 0\r\nX-Exit-Code: 0\r\n",
        "X-Exit-Code: 0x0\r\n",
        "X-Exit-Code: 00\r\n",
        "X-Exit-Code: 0, 0\r\n",
        "X-Exit-Codes: 0\r\n",
    ] {
        assert_eq!(Outcome::from_fields(&Fields::parse(lines.as_bytes(), 9).unwrap()), None, "{lines:?}");
    }
}

#[test]
fn signals_are_known_by_name() {
    assert_eq!(signal::number("int"), Some(2));
    for bad in ["", "SIGINT", "2", "STOP", "INT "] {
        assert_eq!(signal::number(bad), None, "{bad}");
    }
    assert_eq!(signal::name(28), Some("WINCH"));
}
