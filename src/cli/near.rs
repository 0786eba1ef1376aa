//! Words that are not known, and the nearest that are.

use super::{FORMS, SWITCHES};
use crate::{agent::AGENTS, config::SETTINGS, error::Error, near::nearest};

/// An unknown word, with the nearest known one where there is a near one.
pub(crate) fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let bare = word.trim_start_matches('-');
    let dashes = word.get(..word.len() - bare.len()).unwrap_or_default();
    Error::Usage(match nearest(bare, known) {
        Some(name) => format!("no {what} `{word}`; did you mean `{dashes}{name}`?"),
        None => format!("no {what} `{word}`; see aifo-coder --help"),
    })
}

/// A known command with words that it does not take, or no command at all.
pub(super) fn misused(word: &str, words: &[&str]) -> Error {
    let Some(form) = FORMS.iter().find(|form| form.name == word) else {
        return unknown("agent or command", word, commands());
    };
    let got = words.first().map_or_else(|| "nothing".to_owned(), |first| format!("`{first}`"));
    Error::Usage(match form.words {
        "" => format!("`{word}` takes no argument, got {got}"),
        wanted => format!("`{word}` takes {wanted}, got {got}"),
    })
}

/// Every long option.
pub(super) fn options() -> impl Iterator<Item = &'static str> {
    let settings = SETTINGS.iter().map(|setting| setting.option).filter(|option| !option.is_empty());
    settings.chain(SWITCHES.iter().map(|switch| switch.long))
}

/// Every word that may stand where a command does.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.name()).chain(FORMS.iter().map(|form| form.name)).chain(["help"])
}
