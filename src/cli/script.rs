//! Completions for three shells and the manual page, from the same tables as the help.

use super::{
    FORMS, SWITCHES,
    help::{EXAMPLES, EXIT_CODES, PURPOSE},
    near,
};
use crate::{
    agent::AGENTS,
    config::{Kind, SETTINGS, Setting},
};

/// A completion script; `shell` is one of those that the parser lets through.
pub(crate) fn completions(shell: &str) -> String {
    match shell {
        "bash" => bash(),
        "zsh" => zsh(),
        _ => fish(),
    }
}

/// Settings with an option.
fn optional() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| !setting.option.is_empty())
}

/// What an option's value can be, where that is known.
fn choices(setting: &Setting) -> Vec<&'static str> {
    match (setting.kind, setting.option) {
        (_, "toolchain") => crate::toolchain::KINDS.iter().map(|kind| kind.name).collect(),
        (Kind::Choice(choices), _) => choices.to_vec(),
        (Kind::Switch, _) => vec!["1", "0"],
        _ => Vec::new(),
    }
}

fn words<'a>(list: impl Iterator<Item = &'a str>) -> String {
    list.collect::<Vec<_>>().join(" ")
}

fn bash() -> String {
    let options = near::options().map(|option| format!("--{option}")).collect::<Vec<_>>().join(" ");
    let mut cases = String::new();
    for setting in optional() {
        let completion = match setting.kind {
            Kind::Path => "compgen -f -- \"$word\"".to_owned(),
            _ => format!("compgen -W '{}' -- \"$word\"", words(choices(setting).into_iter())),
        };
        cases.push_str(&format!("    --{}) mapfile -t COMPREPLY < <({completion}); return ;;\n", setting.option));
    }
    format!(
        "# bash completion for aifo-coder\n_aifo_coder() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n  \
         case $before in\n{cases}  esac\n  case $word in\n    -*) mapfile -t COMPREPLY < <(compgen -W '{options}' -- \"$word\") ;;\n    \
         *) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\") ;;\n  esac\n}}\ncomplete -o default -F _aifo_coder aifo-coder\n",
        words(near::commands())
    )
}

fn zsh() -> String {
    let escaped = |text: &str| text.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]").replace(':', "\\:");
    let mut text = String::from("#compdef aifo-coder\n_arguments -S \\\n");
    for setting in optional() {
        let values = match setting.kind {
            Kind::Path => "_files".to_owned(),
            _ => format!("({})", words(choices(setting).into_iter())),
        };
        let star = if setting.kind == Kind::List { "*" } else { "" };
        text.push_str(&format!(
            "  '{star}--{}=[{}]:{}:{values}' \\\n",
            setting.option,
            escaped(setting.meaning),
            setting.option
        ));
    }
    for switch in SWITCHES {
        text.push_str(&format!("  '--{}[{}]' \\\n", switch.long, escaped(switch.meaning)));
    }
    text.push_str("  '1:agent or command:((");
    for agent in AGENTS {
        text.push_str(&format!("{}\\:\"{}\" ", agent.name(), escaped(agent.summary())));
    }
    for form in FORMS {
        text.push_str(&format!("{}\\:\"{}\" ", form.name, escaped(form.meaning)));
    }
    text.push_str("))' \\\n  '*::arguments:_default'\n");
    text
}

fn fish() -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut text = String::from("# fish completion for aifo-coder\n");
    for setting in optional() {
        let values = words(choices(setting).into_iter());
        let values = if values.is_empty() { String::new() } else { format!(" -f -a '{values}'") };
        text.push_str(&format!(
            "complete -c aifo-coder -l {} -r{values} -d '{}'\n",
            setting.option,
            escaped(setting.meaning)
        ));
    }
    for switch in SWITCHES {
        let short = if switch.short.is_empty() { String::new() } else { format!(" -s {}", switch.short) };
        text.push_str(&format!("complete -c aifo-coder{short} -l {} -d '{}'\n", switch.long, escaped(switch.meaning)));
    }
    let first = "complete -c aifo-coder -n __fish_use_subcommand -f";
    let agents = AGENTS.iter().map(|agent| (agent.name(), agent.summary()));
    for (name, meaning) in agents.chain(FORMS.iter().map(|form| (form.name, form.meaning))) {
        text.push_str(&format!("{first} -a {name} -d '{}'\n", escaped(meaning)));
    }
    text
}

/// The manual page, in man(7)'s language.
pub(crate) fn man_page() -> String {
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    // Names must not be hyphenated: people copy them.
    let mut text = format!(".TH AIFO-CODER 1 \"\" \"aifo-coder {}\"\n.nh\n.ad l\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&format!(".SH NAME\naifo\\-coder \\- {}\n", plain(PURPOSE)));
    text.push_str(".SH SYNOPSIS\n.B aifo\\-coder\n[OPTIONS] AGENT [ARGS]\n.br\n.B aifo\\-coder\n[OPTIONS] COMMAND\n");
    let mut section = |title: &str, entries: Vec<(String, String)>| {
        text.push_str(&format!(".SH {title}\n"));
        for (name, meaning) in entries {
            text.push_str(&format!(".TP\n.B {}\n{}\n", plain(name.trim()), plain(&meaning)));
        }
    };
    let owned = |name: &str, meaning: &str| (name.to_owned(), meaning.to_owned());
    section("AGENTS", AGENTS.iter().map(|agent| owned(agent.name(), agent.summary())).collect());
    section(
        "COMMANDS",
        FORMS.iter().map(|form| (format!("{} {}", form.name, form.words), form.meaning.to_owned())).collect(),
    );
    let options =
        optional().map(|setting| (format!("--{} {}", setting.option, setting.value), setting.meaning.to_owned()));
    let switches = SWITCHES.iter().map(|switch| (format!("--{}", switch.long), switch.meaning.to_owned()));
    section("OPTIONS", options.chain(switches).collect());
    section("EXAMPLES", EXAMPLES.iter().map(|(line, meaning)| owned(line, meaning)).collect());
    section("EXIT STATUS", EXIT_CODES.iter().map(|(code, meaning)| owned(code, meaning)).collect());
    let setting = |setting: &Setting| {
        let who = if setting.widens { "user's file" } else { "user's and project's file" };
        let default =
            if setting.default.is_empty() { String::new() } else { format!(" Default: {}.", setting.default) };
        (
            setting.key.to_owned(),
            format!(
                "{} ({who}{}).{default}",
                setting.meaning,
                if setting.variable.is_empty() { String::new() } else { format!(", {}", setting.variable) }
            ),
        )
    };
    section("SETTINGS", SETTINGS.iter().map(setting).collect());
    text
}
