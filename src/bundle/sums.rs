//! The list of sums: a line a file, sum and path, in the order of their paths. Pure.
//!
//! It comes from elsewhere, so a path that leaves the folder, hides something or stands there twice ends the reading.

/// The list's own name.
pub(super) const NAME: &str = "SHA256SUMS";

/// Its signature's.
pub(super) const SIGNATURE: &str = "SHA256SUMS.sig";

/// No list is longer: a bundle has some hundred files.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// Paths with their sums, sorted by path.
///
/// # Errors
/// What is wrong, and in which line.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let (sum, path) = line.split_once("  ").ok_or(format!("line {number} of {NAME} is not `SUM  PATH`"))?;
        if !is_sum(sum) {
            return Err(format!("line {number} of {NAME} has no SHA-256 sum"));
        }
        if !is_inside(path) || [NAME, SIGNATURE].contains(&path) {
            return Err(format!("line {number} of {NAME} names a path that no bundle has"));
        }
        if files.last().is_some_and(|(before, _)| before.as_str() >= path) {
            return Err(format!("line {number} of {NAME} is not in order"));
        }
        files.push((path.to_owned(), sum.to_owned()));
    }
    if files.is_empty() { Err(format!("{NAME} is empty")) } else { Ok(files) }
}

/// 64 digits, lower case.
pub(super) fn is_sum(word: &str) -> bool {
    word.len() == 64 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a path is plain, relative, and stays below where it starts.
fn is_inside(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+/".contains(&byte);
    path.bytes().all(is_plain) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The sum of a file of a parsed list.
pub(super) fn sum_of<'a>(files: &'a [(String, String)], path: &str) -> Option<&'a str> {
    let at = files.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
    files.get(at).map(|(_, sum)| sum.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_list_is_sums_and_paths_in_order() {
        let files = parse(&format!("{SUM}  BUNDLE\n{SUM}  bin/linux-amd64/aifo-coder\n")).unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!((sum_of(&files, "BUNDLE"), sum_of(&files, "bin")), (Some(SUM), None));
    }

    #[test]
    fn a_path_cannot_leave_the_folder_or_come_twice() {
        for path in
            ["", "/etc/passwd", "..", "a/../b", "./a", "a//b", "a/", "a b", "a\tb", "\u{1b}[2J", "ü", "SHA256SUMS"]
        {
            assert!(parse(&format!("{SUM}  {path}\n")).unwrap_err().contains("no bundle has"), "{path:?}");
        }
        for (text, why) in [
            ("", "is empty"),
            ("x\n", "line 1 of SHA256SUMS is not"),
            ("0  a\n", "no SHA-256 sum"),
            (&format!("{SUM}  b\n{SUM}  a\n"), "line 2 of SHA256SUMS is not in order"),
            (&format!("{SUM}  a\n{SUM}  a\n"), "not in order"),
            (&format!("{}  a\n", SUM.to_uppercase()), "no SHA-256 sum"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text:?}");
        }
    }
}
