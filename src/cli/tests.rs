//! The command line, by example.

use super::*;

fn parse(line: &str) -> Result<Invocation, Error> {
    super::parse(line.split_whitespace().map(OsString::from))
}

fn usage(line: &str) -> String {
    match parse(line) {
        Err(error @ Error::Usage(_)) => {
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
            text
        }
        other => panic!("`{line}` gave {other:?}"),
    }
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

#[test]
fn what_follows_the_shells_name_is_untouched() {
    let invocation = parse("-q --toolchain rust shell --toolchain node -v -- x").unwrap();
    assert_eq!(invocation.options.toolchains.len(), 1);
    assert_eq!(invocation.command, Command::Shell { args: words("--toolchain node -v -- x") });
}

#[test]
fn a_command_to_run_begins_at_its_first_word() {
    for line in ["run -- make -j --image x", "run make -j --image x"] {
        assert_eq!(parse(line).unwrap().command, Command::Run { command: words("make -j --image x") }, "{line}");
    }
    let invocation = parse("run --image foreign:1 --toolchain go -- -weird --").unwrap();
    assert_eq!(invocation.options.image.as_deref(), Some("foreign:1"));
    assert_eq!(invocation.command, Command::Run { command: words("-weird --") });
    let Command::Toolchain { spec, command } = parse("toolchain cpp=gcc:13 -- make").unwrap().command else { panic!() };
    assert_eq!((spec.image().as_str(), command), ("gcc:13", words("make")));
    let Command::Toolchain { command, .. } = parse("toolchain go").unwrap().command else { panic!() };
    assert_eq!(command, words(""));
}

#[test]
fn options_may_follow_the_commands_that_list() {
    assert!(parse("ps --json").unwrap().options.json);
    assert!(parse("--dry-run gc").unwrap().options.dry_run);
    assert_eq!(parse("doctor --toolchain rust --runtime local").unwrap().options.runtime, Runtime::Local);
}

#[test]
fn help_comes_whatever_else_stands_there() {
    assert_eq!(parse("").unwrap().command, Command::Help { long: false });
    assert_eq!(parse("-h nonsense").unwrap().command, Command::Help { long: false });
    assert_eq!(parse("-v --help").unwrap().command, Command::Help { long: true });
    assert_eq!(parse("-V").unwrap().command, Command::Version);
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, part) in [
        ("shel", "did you mean `shell`?"),
        ("toolchains", "did you mean `toolchain`?"),
        ("frobnicate", "see aifo-coder --help"),
        ("--toolchian rust shell", "did you mean `--toolchain`?"),
        ("-x shell", "no option `-x`"),
        ("--toolchain", "missing argument"),
        ("--toolchain ruby shell", "no toolchain kind `ruby`"),
        ("--toolchain rust@ shell", "empty part"),
        ("--runtime podman shell", "docker and local"),
        ("--tool vite shell", "not KIND:NAME"),
        ("--tool node:../x shell", "not KIND:NAME"),
        ("--tool ruby:x shell", "no toolchain kind"),
        ("run", "needs a command"),
        ("run --", "needs a command"),
        ("toolchain", "needs a kind"),
        ("ps x", "takes no argument"),
        ("--dry-run=yes shell", "unexpected"),
    ] {
        let text = usage(line);
        assert!(text.contains(part), "`{line}`: {text}");
    }
}

#[test]
fn every_sequence_of_awkward_words_is_parsed_or_refused() {
    const AWKWARD: &[&str] = &[
        "",
        "-",
        "--",
        "---",
        "-h",
        "-hv",
        "--json=",
        "--=",
        "shell",
        "run",
        "toolchain",
        "ps",
        "=",
        "rust=",
        "\u{ff}",
    ];
    for one in AWKWARD {
        for two in AWKWARD {
            for three in AWKWARD {
                drop(super::parse([one, two, three].into_iter().map(OsString::from)));
            }
        }
    }
}

#[test]
fn the_help_fits_and_names_every_option_and_command() {
    let text = long_help();
    assert!(text.lines().all(|line| line.chars().count() <= 79), "{text}");
    for command in COMMANDS {
        assert!(text.contains(&format!("\n  {command}")), "{command}");
    }
    for name in help::option_names() {
        let line = if matches!(name, "--toolchain" | "--tool" | "--image" | "--runtime") {
            format!("{name} go:x=docker shell")
        } else {
            format!("{name} shell")
        };
        if let Err(error) = parse(&line) {
            assert!(!error.to_string().contains("no option"), "{name}: {error}");
        }
    }
}

#[test]
fn near_words_are_near() {
    assert_eq!(distance("shell", "shell"), 0);
    assert_eq!(distance("shel", "shell"), 1);
    assert_eq!(distance("", "abc"), 3);
    assert_eq!(distance("kitten", "sitting"), 3);
}
