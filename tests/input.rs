//! Standard input (T44): whatever it is, the tool reads it as if it ran in place.

use std::{
    fs::{self, File},
    io::{Read, Write},
    process::Stdio,
    time::Duration,
};

use crate::support::{Background, Plan, Ran, Rig, shell_code, under};

fn served() -> Rig {
    Rig::with(Plan { kinds: vec!["c-cpp", "python"], tcp: true, ..Plan::default() })
}

/// The output of a pipeline into a call, run by the caller's shell.
#[track_caller]
fn piped(rig: &Rig, script: &str, tool: &str, args: &[&str]) -> String {
    let mut call = rig.shim(tool);
    call.args(args);
    Ran::of(&mut under(&["bash", "-c", &format!("set -o pipefail; {script}")], &call)).expect(0)
}

#[test]
fn t44_defect_7_programs_come_by_standard_input() {
    let rig = served();
    let heredoc = "\"$0\" \"$@\" <<'END'\nimport sys\nprint('python', sys.argv[1:])\nEND";
    assert_eq!(piped(&rig, heredoc, "python3", &["-", "a", "b"]), "python ['a', 'b']");
    let source = "echo 'int main(void) { return 42; }' | \"$0\" \"$@\" && ./answer; test $? = 42";
    piped(&rig, source, "cc", &["-x", "c", "-", "-o", "answer"]);
    assert!(rig.file("answer").exists());
    assert_eq!(
        piped(&rig, "\"$0\" \"$@\" < /etc/passwd", "wc", &["-c"]),
        fs::read("/etc/passwd").unwrap().len().to_string()
    );
}

#[test]
fn t44_a_gigabyte_comes_through_a_pipe_unchanged() {
    // SHA-256 of 2^30 zeros.
    const ZEROS: &str = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14  -";
    let rig = served();
    assert_eq!(piped(&rig, "head -c 1G /dev/zero | \"$0\" \"$@\"", "bash", &["-c", "exec sha256sum"]), ZEROS);
}

#[test]
fn t44_input_and_output_are_used_in_turn() {
    let rig = served();
    let mut child = rig.shim("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for line in ["one\n", "two\n", "three\n"] {
        input.write_all(line.as_bytes()).unwrap();
        let mut back = vec![0; line.len()];
        output.read_exact(&mut back).unwrap();
        assert_eq!(back, line.as_bytes());
    }
    // The end of the input is the tool's end, and not before.
    drop(input);
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() && child.wait().unwrap().success());
}

#[test]
fn t44_an_input_left_open_keeps_nobody() {
    let rig = served();
    for tcp in [false, true] {
        let mut shim = if tcp { rig.shim_by_tcp("bash") } else { rig.shim("bash") };
        let mut call = Background::start(shim.args(["-c", "echo done; exit 3"]).stdin(Stdio::piped()));
        let held = call.input();
        assert_eq!(call.end().expect(3), "done");
        drop(held);
    }
}

#[test]
fn t44_by_the_older_protocols_there_is_no_input() {
    let rig = served();
    let mut call = Background::start(rig.shim_by_tcp("cat").stdin(Stdio::piped()));
    let held = call.input();
    assert_eq!(call.end().expect(0), "");
    drop(held);
    for proto in [1, 2] {
        let answer = rig.ask(&rig.call(proto, "bash", &["-c", "cat; readlink /proc/self/fd/0"]));
        assert_eq!(answer.text(), "/dev/null\n", "protocol {proto}");
    }
}

#[test]
fn t44_nothing_null_and_closed_are_ends() {
    let rig = served();
    assert_eq!(Ran::of(rig.shim("cat").stdin(Stdio::null())).expect(0), "");
    assert_eq!(piped(&rig, "\"$0\" \"$@\" <&-", "cat", &[]), "");
    assert_eq!(piped(&rig, "true | \"$0\" \"$@\"", "cat", &[]), "");
    assert_eq!(piped(&rig, "printf x | \"$0\" \"$@\"", "cat", &[]), "x");
}

#[test]
fn t44_what_a_tool_does_not_read_is_left_to_the_next() {
    let rig = served();
    fs::write(rig.file("lines"), "1\n2\n3\n4\n").unwrap();
    let script = "{ \"$0\" \"$@\"; \"$0\" \"$@\"; read -r line; echo \"here $line\"; } < lines";
    assert_eq!(piped(&rig, script, "bash", &["-c", "read -r line; echo \"there $line\""]), "there 1\nthere 2\nhere 3");
    // A socket for an input, as node gives its children.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let theirs = std::os::fd::OwnedFd::from(theirs);
    let mut shim = rig.shim("cat");
    shim.stdin(theirs.try_clone().unwrap()).stdout(File::create(rig.file("out")).unwrap());
    let mut call = Background::with_output_as_set(&mut shim);
    drop((shim, theirs));
    (&ours).write_all(b"by socket\n").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(shell_code(call.status_within(Duration::from_secs(60))), 0);
    assert_eq!(rig.content("out"), "by socket\n");
}
