//! The known word that somebody may have meant. Pure.

/// The nearest of the known words, if there is a near one.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() {
        return None;
    }
    let (distance, name) = known.map(|name| (distance(word, name), name)).min()?;
    (distance <= 2 || (distance == 3 && word.len() > 6)).then_some(name)
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
        assert_eq!(nearest("flavour", ["color", "flavor"].into_iter()), Some("flavor"));
        assert_eq!(nearest("x", ["color", "flavor"].into_iter()), None);
        assert_eq!(nearest("", ["gc", "ps"].into_iter()), None, "nobody has meant anything by it");
    }
}
