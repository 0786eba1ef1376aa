//! The help, short and long, made from the tables: agents, commands, options, settings. Both fit 79 columns.

use super::{FORMS, SWITCHES};
use crate::{
    agent::AGENTS,
    config::{SETTINGS, Setting},
};

/// One line, for the manual page too.
pub(super) const PURPOSE: &str = "run coding agents in slim containers, their toolchains in sidecars";

/// What people type, for the manual page too.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("aifo-coder claude", "an agent in the current folder"),
    ("aifo-coder --toolchain rust --toolchain node codex --full-auto", "with cargo and npm in sidecars"),
    ("aifo-coder --toolchain c-cpp run -- make test", "any command as the agent"),
    ("aifo-coder toolchain rust -- cargo build --release", "a command where the tools are"),
    ("aifo-coder --toolchain rust --dry-run claude", "only print what would run"),
    ("aifo-coder doctor", "what works, and what to type where it does not"),
];

/// Exit codes and who says them, for the manual page too.
pub(super) const EXIT_CODES: &[(&str, &str)] = &[
    ("0-255", "that of the agent, verbatim; 128 + n when signal n ended it"),
    ("1", "doctor, support: a check failed"),
    ("2", "a word or a setting is not understood"),
    ("86", "in the agent: a tool call was refused, or no proxy is configured"),
    ("124", "in the agent: a tool reached the limit that you set"),
    ("125", "aifo-coder or docker failed before the agent ran"),
    ("126", "the command was found but cannot be executed"),
    ("127", "the command was not found"),
];

const WIDTH: usize = 79;

/// What `-h` prints.
pub(crate) fn short() -> String {
    let mut text = format!(
        "aifo-coder: {PURPOSE}\n\nUsage: aifo-coder [OPTIONS] AGENT [ARGS]\n       aifo-coder [OPTIONS] COMMAND\n"
    );
    text.push_str("\nAgents; ARGS are their own:\n");
    for agent in AGENTS {
        entry(&mut text, agent.name(), agent.summary());
    }
    text.push_str("\nCommands:\n");
    for form in FORMS {
        entry(&mut text, format!("{} {}", form.name, form.words).trim(), form.meaning);
    }
    text.push_str("\nOptions:\n");
    for setting in SETTINGS.iter().filter(|setting| !setting.option.is_empty()) {
        let default = default_of(setting);
        entry(&mut text, &format!("--{} {}", setting.option, setting.value), &format!("{}{default}", setting.meaning));
    }
    for switch in SWITCHES {
        let short = if switch.short.is_empty() { String::new() } else { format!("-{}, ", switch.short) };
        entry(&mut text, &format!("{short}--{}", switch.long), switch.meaning);
    }
    text
}

/// What `--help` prints.
pub(crate) fn long() -> String {
    let mut text = short();
    text.push_str("\nExamples:\n");
    for (line, meaning) in EXAMPLES {
        text.push_str(&format!("  {line}\n      {meaning}\n"));
    }
    text.push_str("\nExit codes:\n");
    for (code, meaning) in EXIT_CODES {
        entry(&mut text, code, meaning);
    }
    text.push_str(
        "\nSettings, in ~/.config/aifo-coder/config (all) and .aifo-coder/config of a\n\
         project (those marked *), as in git's files, and as variables:\n",
    );
    for setting in SETTINGS {
        let mark = if setting.widens { "" } else { " *" };
        let variable = if setting.variable.is_empty() { String::new() } else { format!(", {}", setting.variable) };
        text.push_str(&format!("  {}{mark}{variable}\n", setting.key));
        wrap(&mut text, 6, &format!("{}{}", setting.meaning, default_of(setting)));
    }
    text
}

fn default_of(setting: &Setting) -> String {
    if setting.default.is_empty() { String::new() } else { format!(" ({})", setting.default) }
}

/// A name and its meaning in two columns; the meaning begins on a line of its own where the name is long.
fn entry(text: &mut String, name: &str, meaning: &str) {
    const COLUMN: usize = 25;
    if name.len() + 3 > COLUMN {
        text.push_str(&format!("  {name}\n"));
        wrap(text, COLUMN, meaning);
    } else {
        let mut lines = String::new();
        wrap(&mut lines, COLUMN, meaning);
        text.push_str(&format!("  {name:<width$}{}", lines.trim_start(), width = COLUMN - 2));
    }
}

/// Words in lines of the help's width, each behind so many blanks.
fn wrap(text: &mut String, indent: usize, words: &str) {
    let mut line = String::new();
    for word in words.split(' ') {
        if !line.is_empty() && indent + line.len() + 1 + word.len() > WIDTH {
            text.push_str(&format!("{:indent$}{line}\n", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(&format!("{:indent$}{line}\n", ""));
}
