//! What the launcher prints for others to read: completions by the shells themselves, the manual page by its formatter,
//! colours by terminals.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
};

use crate::support::{Ran, docker::Place};

#[track_caller]
fn printed(place: &Place, args: &[&str]) -> String {
    let ran = Ran::of(place.launcher(args).command.stdin(Stdio::null()));
    let said = ran.expect(0);
    assert_eq!(ran.err(), "");
    said + "\n"
}

/// A file with what the launcher prints.
#[track_caller]
fn written(place: &Place, args: &[&str], name: &str) -> String {
    let file = place.path().join(name);
    fs::write(&file, printed(place, args)).unwrap();
    file.display().to_string()
}

#[test]
fn bash_completes_agents_commands_options_and_their_values() {
    let place = Place::new();
    let file = written(&place, &["completions", "bash"], "completions");
    for (line, expected, unexpected) in [
        ("aifo-coder cl", "claude", "codex"),
        ("aifo-coder toolchain-c", "toolchain-cache-clear", "toolchain "),
        ("aifo-coder --toolchain py", "python", "rust"),
        ("aifo-coder --flavor ", "slim", "claude"),
        ("aifo-coder --pub", "--publish", "--env"),
        ("aifo-coder --dry", "--dry-run", "--json"),
    ] {
        let script = format!(
            "set -eu; . '{file}'; COMP_WORDS=({line}{}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _aifo_coder; \
             printf '%s \\n' \"${{COMPREPLY[@]}}\"",
            if line.ends_with(' ') { "''" } else { "" }
        );
        let said = Ran::of(Command::new("bash").args(["--norc", "-c", &script])).expect(0);
        assert!(said.contains(expected) && !said.contains(unexpected), "{line}: {said}");
    }
}

#[test]
#[ignore = "needs zsh"]
fn zsh_reads_its_completions() {
    let place = Place::new();
    let file = written(&place, &["completions", "zsh"], "_aifo-coder");
    Ran::of(Command::new("zsh").args(["-n", &file])).expect(0);
    // As a user has it: found by its name, and asked for by the tab key.
    let script = format!(
        "fpath=('{}' $fpath); autoload -U compinit; compinit -u -d '{}/dump'; print ${{_comps[aifo-coder]}}",
        place.path().display(),
        place.path().display()
    );
    assert_eq!(Ran::of(Command::new("zsh").args(["-f", "-c", &script])).expect(0), "_aifo-coder");
    let terminal = crate::support::Terminal::open();
    let mut zsh = Command::new("zsh");
    zsh.args(["-f", "-i"]).current_dir(place.workspace()).env("PS1", "ready> ");
    let mut shell = terminal.run(&zsh);
    terminal.shows("ready> ");
    terminal.keys(&format!("{script}\r"));
    terminal.shows("\n_aifo-coder");
    terminal.keys("aifo-coder cla\t");
    terminal.shows("aifo-coder claude");
    terminal.keys("\u{15}aifo-coder --fla\t");
    terminal.shows("--flavor");
    terminal.keys("\u{15}exit\r");
    shell.status_within(std::time::Duration::from_secs(60));
}

#[test]
#[ignore = "needs fish"]
fn fish_completes_agents_commands_options_and_their_values() {
    let place = Place::new();
    let file = written(&place, &["completions", "fish"], "aifo-coder.fish");
    Ran::of(Command::new("fish").args(["--no-execute", &file])).expect(0);
    for (line, expected, unexpected) in [
        ("aifo-coder cl", "claude", "codex"),
        ("aifo-coder --toolchain py", "python", "rust"),
        ("aifo-coder --flavor ", "slim", "claude"),
        ("aifo-coder --dry", "--dry-run", "--json"),
    ] {
        let script = format!("source '{file}'; complete --do-complete '{line}'");
        let mut fish = Command::new("fish");
        let said = Ran::of(fish.args(["--no-config", "-c", &script]).env("HOME", place.home())).expect(0);
        let words: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(words.contains(&expected) && !words.contains(&unexpected), "{line}: {said}");
    }
}

#[test]
#[ignore = "needs groff"]
fn the_manual_page_is_formatted_without_a_warning_and_tells_everything() {
    let place = Place::new();
    let file = written(&place, &["man"], "aifo-coder.1");
    let mut groff = Command::new("groff");
    let ran = Ran::of(groff.args(["-man", "-Tascii", "-P-cbou", "-ww", &file]));
    let page = ran.expect(0);
    assert_eq!(ran.err(), "");
    let sections = ["NAME", "SYNOPSIS", "AGENTS", "COMMANDS", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SETTINGS"];
    for word in sections.into_iter().chain(["--toolchain", "toolchain-cache-clear", "AIFO_TOOLEEXEC_MAX_CONNECTIONS"]) {
        assert!(page.contains(word), "{word} in {page}");
    }
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let place = Place::new();
    for (options, variables, expected) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[], true),
        (&[], &[("AIFO_CODER_COLOR", "always")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&["--json"], &[("CLICOLOR_FORCE", "1")], false),
    ] {
        let launcher = place.launcher(&[&["--runtime", "local"], options, &["doctor", "shell"]].concat());
        let launcher = variables.iter().fold(launcher, |launcher, (name, value)| launcher.env(name, value));
        let ran = Ran::of({ launcher }.command.stdin(Stdio::null()));
        ran.expect(0);
        assert_eq!(ran.out().contains('\u{1b}'), expected, "{options:?} {variables:?}: {ran}");
    }
}

#[test]
fn help_fits_a_terminal_and_goes_where_results_go() {
    let place = Place::new();
    for args in [&["-h"][..], &["--help"], &["help"], &["ps", "--help"], &[]] {
        let text = printed(&place, args);
        assert!(text.lines().all(|line| line.chars().count() <= 79), "{text}");
        assert!(text.contains("Usage: aifo-coder [OPTIONS] AGENT [ARGS]"), "{text}");
        assert_eq!(text.contains("Examples:"), args.first().is_some_and(|word| *word != "-h"), "{args:?}");
    }
    assert_eq!(printed(&place, &["--version"]), concat!("aifo-coder ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn an_agents_command_is_taken_out_of_its_wrapper_or_evaluated_as_it_stands() {
    let place = Place::new();
    let wrapped =
        "shopt -u extglob 2>/dev/null || true && eval 'cargo test' < /dev/null && pwd -P >| /tmp/claude-1-cwd";
    for (agent, command, expected) in [
        ("claude", wrapped, "evaluated\ncargo test\n"),
        ("pi", wrapped, &format!("evaluated\n{wrapped}\n")),
        ("nobody", "ls", "evaluated\nls\n"),
    ] {
        assert_eq!(printed(&place, &["normalize", agent, command]), expected, "{agent}");
    }
}

#[test]
fn a_result_that_could_not_be_written_is_an_error_and_a_reader_that_left_is_none() {
    let place = Place::new();
    for args in [&["config", "show"][..], &["man"], &["-V"], &["--json", "config", "show"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = place.launcher(args).command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = "aifo-coder: error: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), &*said), (Some(125), expected), "{args:?}");
        let (reader, gone) = rustix::pipe::pipe().unwrap();
        drop(reader);
        let output = place.launcher(args).command.stdin(Stdio::null()).stdout(gone).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}
