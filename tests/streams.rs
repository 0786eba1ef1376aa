//! Output on its way (T41 to T43): whole, in order, apart, and no faster than it is taken.

use std::{
    fs::{self, File},
    io::{Read, Write},
    process::Command,
    time::Duration,
};

use crate::support::{Answer, Background, Plan, Ran, Rig, is_alive, process, read_all, shell_code, under, wait_until};

const SHIMS: [fn(&Rig, &str) -> Command; 2] = [Rig::shim, Rig::shim_by_tcp];

fn served() -> Rig {
    Rig::with(Plan { kinds: vec!["c-cpp", "python"], tcp: true, ..Plan::default() })
}

/// What `seq 1 LAST` prints.
fn numbers(last: u32) -> Vec<u8> {
    let mut text = Vec::new();
    (1..=last).for_each(|number| writeln!(text, "{number}").expect("memory takes it"));
    text
}

/// Waits until a process writes no more because nobody reads.
#[track_caller]
fn wait_until_stuck(pid: u32) {
    let written = || fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let (mut last, mut same) = (String::new(), 0);
    wait_until("it is stuck", || {
        let now = written();
        same = if now == last { same + 1 } else { 0 };
        last = now;
        same == 20
    });
}

#[test]
fn t41_defect_5_promise_4_a_reader_may_pause_and_nothing_is_lost() {
    const LAST: u32 = 5_500_000;
    let rig = served();
    let expected = numbers(LAST);
    for shim in SHIMS {
        drop(fs::remove_file(rig.file("pid")));
        let (mut reader, writer) = std::io::pipe().unwrap();
        let script = format!("echo $$ > pid; exec seq 1 {LAST}");
        let mut call = Background::with_output_as_set(shim(&rig, "bash").args(["-c", &script]).stdout(writer));
        wait_until("it runs", || !process::pids_in(&rig.file("pid")).is_empty());
        let tool = process::pids_in(&rig.file("pid"))[0];
        wait_until_stuck(tool);
        assert!(is_alive(tool) && !call.has_ended());
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
        assert_eq!(shell_code(call.status_within(Duration::from_secs(60))), 0);
    }
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", &format!("echo $$ > third; exec seq 1 {LAST}")])).unwrap();
    wait_until("it runs", || process::pids_in(&rig.file("third")).len() == 1);
    wait_until_stuck(process::pids_in(&rig.file("third"))[0]);
    let answer = Answer::of(&read_all(stream));
    assert!(answer.body == expected && answer.code() == "0");
}

#[test]
fn t42_any_bytes_in_any_pieces_arrive() {
    let rig = served();
    // All bytes, one by one, without a line end; then more than any buffer at once; then nothing at all.
    let script = "
import os, sys
for number in range(20000): os.write(1, bytes([number % 256]))
for piece in (bytes(range(256)) * 1000, b'\\0' * 100000, b'\\r\\n\\r\\n0\\r\\n\\r\\n', b'end'): sys.stdout.buffer.write(piece)
sys.stdout.flush()
os.close(1); os.close(2)
os._exit(3)";
    let bytes = |count: u32| (0..count).map(|number| number.to_le_bytes()[0]).collect::<Vec<u8>>();
    let expected = [bytes(20_000), bytes(256_000), vec![0; 100_000], b"\r\n\r\n0\r\n\r\nend".to_vec()].concat();
    for shim in SHIMS {
        let ran = Ran::of(shim(&rig, "python3").args(["-c", script]));
        assert_eq!(ran.code(), 3, "{}", ran.err());
        assert!(ran.output.stdout == expected, "{} of {} bytes", ran.output.stdout.len(), expected.len());
    }
    for proto in [1, 2] {
        let answer = rig.ask(&rig.call(proto, "python3", &["-c", script]));
        assert!(answer.body == expected && answer.code() == "3", "protocol {proto}");
    }
    for script in ["exit 6", "exec >&- 2>&-; sleep 0.05; exit 6", "printf ''; exit 6"] {
        for shim in SHIMS {
            assert_eq!(Ran::of(shim(&rig, "bash").args(["-c", script])).expect(6), "", "{script}");
        }
    }
}

#[test]
fn defect_8_errors_stay_apart_from_output_and_refusals_are_errors() {
    let rig = served();
    let ran = Ran::of(&mut rig.bash("echo out; echo err >&2; printf 'no end'; printf 'no end either' >&2"));
    assert_eq!((ran.out().as_str(), ran.err().as_str(), ran.code()), ("out\nno end", "err\nno end either", 0));
    // By the older protocol it is one stream, in the order of its writing.
    let script = "for i in {1..200}; do echo out; echo err >&2; done";
    let ran = Ran::of(rig.shim_by_tcp("bash").args(["-c", script]));
    assert_eq!((ran.expect(0), ran.err().as_str()), ("out\nerr\n".repeat(200).trim_end().to_owned(), ""));
    Ran::of(&mut rig.shim("cargo")).expect_said(86, "no rust sidecar");
    Ran::of(&mut rig.shim_by_tcp("cargo")).expect_said(86, "no rust sidecar");
}

#[test]
fn t43_defect_4_promise_2_a_closed_pipe_runs_nothing_twice() {
    let rig = served();
    for shim in SHIMS {
        for (tool, first) in [("yes", "y"), ("seq 1 100000000", "1")] {
            drop(fs::remove_file(rig.file("ran")));
            let mut call = shim(&rig, "bash");
            call.args(["-c", &format!("echo ran >> ran; exec {tool}")]);
            let mut pipe = under(&["bash", "-c", "\"$0\" \"$@\" | head -1; echo ${PIPESTATUS[@]}"], &call);
            assert_eq!(Ran::of(&mut pipe).expect(0), format!("{first}\n141 0"));
            assert_eq!(rig.content("ran"), "ran\n");
        }
    }
    let mut stream = rig.connect();
    stream.write_all(&rig.call(2, "bash", &["-c", "echo again >> ran; echo $$ > pid; exec yes"])).unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"y\n") {
        let mut some = [0; 10];
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&some[..count]);
    }
    drop(stream);
    wait_until("its tool has ended", || process::pids_in(&rig.file("pid")).first().is_some_and(|pid| !is_alive(*pid)));
    assert_eq!(rig.content("ran"), "ran\nagain\n");
}

#[test]
fn t43_output_that_cannot_be_written_is_an_error() {
    let rig = served();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    // The tool itself meets the full device.
    let mut call = Background::with_output_as_set(
        rig.bash("cat /etc/passwd").stdout(full()).stderr(File::create(rig.file("err")).unwrap()),
    );
    assert_eq!(shell_code(call.status_within(Duration::from_secs(60))), 1);
    assert!(rig.content("err").contains("No space left"), "{}", rig.content("err"));
    // By the older protocol the shim does, and says so.
    let script = "echo $$ > pid; exec yes";
    let mut call = Background::with_output_as_set(
        rig.shim_by_tcp("bash").args(["-c", script]).stdout(full()).stderr(File::create(rig.file("err")).unwrap()),
    );
    assert_eq!(shell_code(call.status_within(Duration::from_secs(60))), 125);
    assert!(
        rig.content("err").starts_with("aifo-shim: bash: cannot write output: No space left"),
        "{}",
        rig.content("err")
    );
    wait_until("its tool has ended", || process::pids_in(&rig.file("pid")).first().is_some_and(|pid| !is_alive(*pid)));
    // Nor does it matter that there is nowhere to say it.
    let mut refused = Background::with_output_as_set(rig.shim("cargo").stdout(full()).stderr(full()));
    assert_eq!(shell_code(refused.status_within(Duration::from_secs(60))), 86);
}

#[test]
fn a_call_without_output_streams_is_a_call() {
    let rig = served();
    for shim in SHIMS {
        drop(fs::remove_file(rig.file("ran")));
        let mut call = shim(&rig, "bash");
        call.args(["-c", "echo out; echo err >&2; cat; echo ran > ran; exit 4"]);
        let mut caller = under(&["bash", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"], &call);
        let status = Background::with_output_as_set(&mut caller).status_within(Duration::from_secs(60));
        assert_eq!((shell_code(status), rig.content("ran").as_str()), (4, "ran\n"));
    }
}
