//! Words that are not known, and the nearest that are.

use super::{FORMS, SWITCHES};
use crate::{agent::AGENTS, config::SETTINGS, error::Error};

/// An unknown word, with the nearest known one where there is a near one.
pub(crate) fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let bare = word.trim_start_matches('-');
    let nearest = known.map(|name| (distance(bare, name), name)).min();
    let dashes = word.get(..word.len() - bare.len()).unwrap_or_default();
    Error::Usage(match nearest {
        Some((distance, name)) if distance <= 2 || (distance == 3 && bare.len() > 6) => {
            format!("no {what} `{word}`; did you mean `{dashes}{name}`?")
        }
        _ => format!("no {what} `{word}`; see aifo-coder --help"),
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

/// Insertions, deletions and replacements between two words (Wagner and Fischer).
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (at, from) in one.chars().enumerate() {
        let mut diagonal = at;
        row[0] = at + 1;
        for (column, to) in two.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_near() {
        assert_eq!(distance("shell", "shell"), 0);
        assert_eq!(distance("shel", "shell"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
