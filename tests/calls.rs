//! What reaches a tool: its arguments, its variables, its descriptors, and nothing else (T24 to T27, T30, T33, T34).

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::{self, File},
    os::unix::ffi::{OsStrExt, OsStringExt},
    time::Duration,
};

use crate::support::{Background, Plan, Ran, Rig, form, under};

/// Prints its arguments, each ended by a NUL.
const ARGUMENTS: &str = r#"for word; do printf '%s\0' "$word"; done"#;

fn words(ran: &Ran) -> Vec<&OsStr> {
    ran.output
        .stdout
        .split_inclusive(|&byte| byte == 0)
        .map(|word| OsStr::from_bytes(&word[..word.len() - 1]))
        .collect()
}

#[test]
fn t25_t27_promise_3_arguments_arrive_byte_for_byte() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let every_byte: Vec<u8> = (1..=255).collect();
    let mut args: Vec<OsString> = every_byte.iter().map(|byte| OsString::from_vec(vec![*byte])).collect();
    args.push(OsString::from_vec(every_byte));
    let awkward =
        ["", "--", "-", "a b", " a", "a\nb\n", "'", "\"", "$(touch ran)", "`touch ran`", "${HOME}", "*", "~", "\\"];
    args.extend(awkward.iter().chain(&["%00", "%", "+", "&arg=x", "a=b", "grün", "e\u{301}", ""]).map(Into::into));
    for mut command in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        let ran = Ran::of(command.args(["-c", ARGUMENTS, "bash"]).args(&args));
        assert_eq!(ran.code(), 0, "{ran}");
        assert_eq!(words(&ran), args);
    }
    assert_eq!(rig.content("ran"), "");
}

#[test]
fn t25_defect_11_twenty_thousand_arguments_and_a_megabyte_of_them_arrive() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    let many: Vec<String> = (0..20_000).map(|number| format!("argument {number}")).collect();
    let long: Vec<String> = (0..16).map(|number| char::from(b'a' + number).to_string().repeat(64 * 1024)).collect();
    let longest = vec!["x".repeat(131_071)];
    for args in [many, long, longest] {
        for mut command in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
            let ran = Ran::of(command.args(["-c", ARGUMENTS, "bash"]).args(&args));
            assert_eq!(ran.code(), 0, "{}", ran.err());
            assert!(words(&ran) == args.iter().map(OsStr::new).collect::<Vec<_>>(), "{} arguments changed", args.len());
        }
    }
}

#[test]
fn t26_what_the_kernel_does_not_take_ends_with_126_and_a_reason() {
    let rig = Rig::start();
    let too_long = "x".repeat(131_072);
    let many = vec!["y".repeat(100_000); 30];
    for args in [vec![too_long.as_str()], many.iter().map(String::as_str).collect()] {
        let words: Vec<&str> = ["-c", "touch ran", "bash"].into_iter().chain(args).collect();
        for proto in [1, 2] {
            let answer = rig.ask(&rig.call(proto, "bash", &words));
            assert_eq!((answer.status, answer.code().as_str()), (200, "126"), "{answer:?}");
            assert!(
                answer.reason().starts_with("cannot execute `bash`: Argument list too long"),
                "{}",
                answer.reason()
            );
        }
    }
    assert_eq!(rig.content("ran"), "");
    rig.assert_serves();
}

#[test]
fn t26_more_than_a_request_holds_is_126_without_asking() {
    let rig = Rig::start();
    // With a larger stack the kernel takes 6 MiB, which the form encoding triples.
    let script = r#"ulimit -s unlimited && a=$(printf '\377%.0s' {1..100000}) && exec "$0" -c 'touch ran' bash \
        $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a $a"#;
    let mut bash = under(&["bash", "-c", script], &rig.shim("bash"));
    Ran::of(bash.env("LC_ALL", "C")).expect_said(126, "bash: argument list too long");
    assert_eq!(rig.content("ran"), "");
}

#[test]
fn t24_names_that_are_on_no_list_run_nothing() {
    let rig = Rig::start();
    let name_65 = "a".repeat(65);
    for (tool, status) in [
        ("perl", 403),
        ("/bin/bash", 403),
        ("./bash", 403),
        ("../bash", 403),
        ("bash/", 403),
        ("..", 403),
        (".", 403),
        ("-bash", 403),
        ("--help", 403),
        ("bash ", 403),
        (" bash", 403),
        ("BASH", 403),
        ("bash\n", 403),
        ("bäsh", 403),
        ("bash\u{301}", 403),
        (name_65.as_str(), 400),
        ("", 400),
    ] {
        let body = form(&[("tool", tool), ("arg", "-c"), ("arg", "touch ran")]);
        let answer = rig.ask(&rig.request("/exec", 2, "", &body));
        assert_eq!(answer.status, status, "{tool:?}: {answer:?}");
        assert_eq!(answer.code(), "86", "{tool:?}");
    }
    // The name by which the shim is called is all that counts of argv[0].
    for (name, code) in
        [("perl", 86), ("-bash", 86), ("", 86), ("/x/../perl", 86), ("/usr/../x/bash", 0), ("aifo-shim", 2)]
    {
        let mut caller = under(&["bash", "-c", r#"exec -a "$1" "$0" -c true"#], rig.shim("bash").arg(name));
        assert_eq!(Ran::of(&mut caller).code(), code, "{name}");
    }
    assert_eq!(rig.content("ran"), "");
}

/// The environment that `env -0` printed.
fn variables(ran: &Ran) -> BTreeMap<String, Vec<u8>> {
    let pair = |line: &[u8]| {
        let equals = line.iter().position(|&byte| byte == b'=').expect("NAME=value");
        (String::from_utf8_lossy(&line[..equals]).into_owned(), line[equals + 1..].to_vec())
    };
    ran.output.stdout.split(|&byte| byte == 0).filter(|line| !line.is_empty()).map(pair).collect()
}

/// Names that must not cross, whoever sends them.
const KEPT_BACK: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "MY_SECRET",
    "DB_PASSWORD",
    "AWS_ACCESS_KEY_ID",
    "SSH_AUTH_SOCK",
    "AIFO_TOOLEEXEC_TOKEN",
    "AIFO_TOOLEEXEC_URL",
    "AIFO_ANYTHING",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_ls%%",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_COUNT",
    "PERL5OPT",
    "RUBYOPT",
    "SHELL",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "HOSTNAME",
];

#[test]
fn t30_defect_9_the_callers_variables_cross_and_its_secrets_do_not() {
    let sidecar = |name| Plan::default().env.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
    let mut plan = Plan::default();
    plan.env.extend([("HOME", "/sidecar".to_owned()), ("LANG", "C.UTF-8".to_owned()), ("OWN", "sidecar".to_owned())]);
    let rig = Rig::with(Plan { tcp: true, ..plan });
    for mut command in [rig.bash("exec env -0"), rig.bash("exec env -0")] {
        let url = format!("http://{}/exec", rig.tcp());
        command.envs(KEPT_BACK.iter().filter(|name| !name.starts_with("AIFO_TOOL")).map(|name| (name, "bad")));
        command.env_remove("LD_PRELOAD").env("AIFO_TOOLEEXEC_URL", url);
        command.env("CI", "1").env("RUST_LOG", "debug").env("NODE_ENV", "test").env("CFLAGS", "-O2 -DX='a b'");
        command
            .env("LINES_OF", "a\nb=c\n")
            .env("EMPTY", "")
            .env("OWN", "caller")
            .env("LATIN", OsStr::from_bytes(b"\xfc"));
        command.env("HOME", "/caller").env("PATH", "/caller/bin").env("PWD", "/caller").env("USER", "caller");
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code(), 0, "{ran}");
        let seen = variables(&ran);
        for (name, value) in [
            ("CI", b"1".as_slice()),
            ("RUST_LOG", b"debug"),
            ("NODE_ENV", b"test"),
            ("CFLAGS", b"-O2 -DX='a b'"),
            ("LINES_OF", b"a\nb=c\n"),
            ("EMPTY", b""),
            ("OWN", b"caller"),
            ("LATIN", b"\xfc"),
            ("LANG", b"C.UTF-8"),
            ("HOME", b"/sidecar"),
            ("PATH", format!("{}:/sidecar/.local/bin", sidecar("PATH").unwrap()).as_bytes()),
            ("PWD", rig.workspace().as_os_str().as_bytes()),
        ] {
            assert_eq!(seen.get(name).map(Vec::as_slice), Some(value), "{name}");
        }
        for name in KEPT_BACK {
            assert_ne!(seen.get(*name).map(Vec::as_slice), Some(b"bad".as_slice()), "{name}");
        }
    }
}

#[test]
fn t30_other_clients_cannot_send_what_the_shim_does_not() {
    let rig = Rig::start();
    let sent: Vec<String> =
        KEPT_BACK.iter().chain(&["PATH", "HOME", "path"]).map(|name| format!("{name}=bad")).collect();
    let mut pairs = vec![("tool", "bash"), ("arg", "-c"), ("arg", "env"), ("env", "CI=1"), ("env", "A=b=c")];
    pairs.extend(sent.iter().map(|variable| ("env", variable.as_str())));
    let answer = rig.ask(&rig.request("/exec", 1, "", &form(&pairs)));
    let lines: Vec<String> = answer.text().lines().map(str::to_owned).collect();
    assert!(lines.iter().any(|line| line == "CI=1") && lines.iter().any(|line| line == "A=b=c"), "{answer:?}");
    let crossed: Vec<_> = lines.iter().filter(|line| line.ends_with("=bad")).collect();
    assert!(crossed.is_empty(), "{crossed:?}");
}

#[test]
fn t33_a_tool_has_three_descriptors_whatever_its_caller_has_open() {
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    // `ls` itself opens the folder that it lists: that is the one beyond 0, 1 and 2.
    let script = r#"exec 7</etc/passwd 8>/dev/null 251</dev/zero; "$0" /proc/self/fd"#;
    for shim in [rig.shim("ls"), rig.shim_by_tcp("ls")] {
        assert_eq!(Ran::of(&mut under(&["bash", "-c", script], &shim)).expect(0), "0\n1\n2\n3", "{shim:?}");
    }
    // Nor what the sidecar itself was started with.
    let sidecar_under = &["bash", "-c", r#"exec 7</dev/zero 200</dev/zero; exec "$0" "$@""#];
    let rig = Rig::with(Plan { sidecar_under, ..Plan::default() });
    for _ in 0..5 {
        assert_eq!(Ran::of(rig.shim("ls").arg("/proc/self/fd")).expect(0), "0\n1\n2\n3");
    }
}

#[test]
fn t34_signals_of_a_tool_are_at_their_defaults_whatever_its_caller_ignores_or_blocks() {
    const CALLER: &str = "
import os, signal, sys
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
os.execv(sys.argv[1], ['bash', '-c', 'exec cat /proc/self/status'])";
    let rig = Rig::with(Plan { tcp: true, ..Plan::default() });
    for shim in [rig.shim("bash"), rig.shim_by_tcp("bash")] {
        let status = Ran::of(&mut under(&["python3", "-c", CALLER], &shim)).expect(0);
        let mask = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
            u64::from_str_radix(line.trim(), 16).expect("a mask")
        };
        // 32 to 34 belong to the C library, musl's and glibc's alike; no program sees them.
        let libraries_own = 0b111 << 31;
        for field in ["SigBlk:", "SigIgn:", "SigCgt:", "SigPnd:", "ShdPnd:"] {
            assert_eq!(mask(field) & !libraries_own, 0, "{field} in\n{status}");
        }
    }
}

#[test]
fn descriptors_arrive_as_what_they_are() {
    let rig = Rig::start();
    fs::write(rig.file("in"), "line 1\nline 2\n").unwrap();
    let mut shim =
        rig.bash("read -r first; echo \"got $first\"; echo err >&2; readlink /proc/self/fd/0 /proc/self/fd/1");
    shim.stdin(File::open(rig.file("in")).unwrap()).stdout(File::create(rig.file("out")).unwrap());
    let mut running = Background::with_output_as_set(shim.stderr(File::create(rig.file("err")).unwrap()));
    assert_eq!(running.end_within(Duration::from_secs(60)).code(), 0);
    let (input, output) = (rig.file("in"), rig.file("out"));
    let expected = format!("got line 1\n{}\n{}\n", input.display(), output.display());
    assert_eq!((rig.content("out"), rig.content("err")), (expected, "err\n".to_owned()));
    // The place in a file is shared, as with any child: bash has read one line ahead of nobody.
    assert_eq!(Ran::of(rig.shim("wc").arg("-l").stdin(File::open(input).unwrap())).expect(0), "2");
}
