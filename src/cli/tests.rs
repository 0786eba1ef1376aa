//! The command line, by example.

use super::*;
use crate::{agent::AGENTS, config::SETTINGS, error::Error};

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
fn what_follows_an_agents_name_is_untouched() {
    for agent in AGENTS {
        let line = format!("-q --toolchain rust {} --toolchain node -v --resume -- x", agent.name());
        let invocation = parse(&line).unwrap();
        assert_eq!(invocation.settings.len(), 1, "{line}");
        let Command::Agent { agent: found, args } = invocation.command else { panic!("{line}") };
        assert_eq!((found.name(), args), (agent.name(), words("--toolchain node -v --resume -- x")));
    }
}

#[test]
fn a_command_to_run_begins_at_its_first_word() {
    for line in ["run -- make -j --image x", "run make -j --image x"] {
        let Command::Run { words: found } = parse(line).unwrap().command else { panic!("{line}") };
        assert_eq!(found, words("make -j --image x"), "{line}");
    }
    let invocation = parse("run --image foreign:1 --toolchain go -- -weird --").unwrap();
    assert_eq!(
        invocation.settings.iter().map(|(setting, _)| setting.key).collect::<Vec<_>>(),
        ["image.agent", "session.toolchain"]
    );
    let Command::Run { words: found } = invocation.command else { panic!() };
    assert_eq!(found, words("-weird --"));
    let Command::Toolchain { spec, words: found } = parse("toolchain cpp=gcc:13 -- make").unwrap().command else {
        panic!()
    };
    assert_eq!((spec.image.as_deref(), found), (Some("gcc:13"), words("make")));
}

#[test]
fn options_may_follow_the_commands_that_list() {
    assert!(parse("ps --json").unwrap().switches.json);
    assert!(parse("--dry-run gc").unwrap().switches.dry_run);
    for line in ["config show --origin --json", "--origin --json config show", "config --origin show --json"] {
        let switches = parse(line).unwrap().switches;
        assert!(switches.origin && switches.json, "{line}");
    }
    assert!(matches!(parse("doctor claude --json").unwrap().command, Command::Doctor { agent: Some(_) }));
    let Command::Normalize { command, .. } = parse("normalize pi -- -c").unwrap().command else { panic!() };
    assert_eq!(command, "-c");
    let cache = parse("--no-toolchain-cache shell").unwrap().settings;
    assert_eq!((cache[0].0.key, cache[0].1.as_str()), ("toolchain.cache", "0"));
}

#[test]
fn help_comes_whatever_else_stands_there() {
    assert!(matches!(parse("").unwrap().command, Command::Help { long: false }));
    assert!(matches!(parse("-h nonsense").unwrap().command, Command::Help { long: false }));
    assert!(matches!(parse("-v --help").unwrap().command, Command::Help { long: true }));
    assert!(matches!(parse("-V").unwrap().command, Command::Version));
    for line in ["ps --help", "run --help", "toolchain --help", "toolchain rust --help", "doctor claude --help"] {
        assert!(matches!(parse(line).unwrap().command, Command::Help { long: true }), "{line}");
    }
    assert!(matches!(parse("claude --help").unwrap().command, Command::Agent { .. }), "the agent's own");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, part) in [
        ("shel", "did you mean `shell`?"),
        ("calude", "did you mean `claude`?"),
        ("claud --resume", "did you mean `claude`?"),
        ("toolchains", "did you mean `toolchain`?"),
        ("frobnicate", "see aifo-coder --help"),
        ("--toolchian rust shell", "did you mean `--toolchain`?"),
        ("-x shell", "no option `-x`"),
        ("--toolchain", "missing argument"),
        ("run", "needs a command"),
        ("run --", "needs a command"),
        ("toolchain", "needs a kind"),
        ("toolchain ruby", "no toolchain kind"),
        ("toolchain pyton", "did you mean `python`?"),
        ("ps x", "`ps` takes no argument, got `x`"),
        ("config", "`config` takes show, got nothing"),
        ("completions tcsh", "takes bash|zsh|fish, got `tcsh`"),
        ("normalize claude", "takes AGENT COMMAND"),
        ("--dry-run=yes shell", "unexpected"),
        ("--dry-run doctor", "--dry-run is for sessions, and `doctor` really runs some"),
        ("doctor claude --dry-run", "aifo-coder --dry-run shell, or aifo-coder doctor"),
        ("support --dry-run", "--dry-run is for sessions, and `support` really runs some"),
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
fn the_help_fits_and_names_everything() {
    let text = long_help();
    assert!(text.lines().all(|line| line.chars().count() <= 79 && line.trim_end() == line), "{text}");
    let names = near::commands().filter(|name| *name != "help").map(|name| format!("\n  {name}"));
    let options = near::options().map(|option| format!("--{option}"));
    let keys = SETTINGS.iter().map(|setting| format!("\n  {}", setting.key));
    for name in names.chain(options).chain(keys) {
        assert!(text.contains(&name), "{name}");
    }
}

#[test]
fn completions_and_manual_name_everything() {
    for text in [completions("bash"), completions("zsh"), completions("fish"), man_page().replace("\\-", "-")] {
        for name in near::commands().filter(|name| *name != "help").chain(near::options()) {
            assert!(text.contains(name), "{name} in {text}");
        }
    }
}
