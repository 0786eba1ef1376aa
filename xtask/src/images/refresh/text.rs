//! Words of registries and of our own files, read and written; pure.

use std::cmp::Ordering;

use crate::cmd::Failure;

/// The strings of a JSON string or of a JSON array of strings without escapes, which is all that npm answers us.
pub(super) fn strings(json: &str) -> Vec<String> {
    json.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The versions that all lists have, the newest first; previews are left out.
pub(super) fn common(lists: &[Vec<String>]) -> Vec<String> {
    let Some((first, others)) = lists.split_first() else { return Vec::new() };
    let everywhere = |version: &&String| others.iter().all(|list| list.contains(version));
    let mut versions: Vec<String> =
        first.iter().filter(|version| number(version).is_some()).filter(everywhere).cloned().collect();
    versions.sort_by(|a, b| order(b, a));
    versions
}

fn order(a: &str, b: &str) -> Ordering {
    number(a).cmp(&number(b))
}

/// The three numbers of a version that is no preview.
fn number(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let number = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(number)
}

/// The hex of npm's `sha512-BASE64`.
pub(super) fn hex(integrity: &str) -> Option<String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded = integrity.strip_prefix("sha512-")?.trim_end_matches('=');
    let (mut bits, mut held, mut hex) = (0_u32, 0, String::new());
    for letter in encoded.bytes() {
        bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|known| *known == letter)?).ok()?;
        held += 6;
        // A hex digit is four bits; what is over after the last byte is padding.
        while held >= 4 {
            held -= 4;
            hex.push(char::from_digit(bits >> held & 15, 16)?);
        }
        bits &= 15;
    }
    hex.truncate(128);
    (hex.len() == 128).then_some(hex)
}

/// The text of `images/versions` with another value for one name; all else stays as it is.
///
/// # Errors
/// When the file has no such line: only names that a person put there, with a comment, are written.
pub(super) fn with_value(text: &str, name: &str, value: &str) -> Result<String, Failure> {
    let head = format!("{name}=");
    if !text.lines().any(|line| line.starts_with(&head)) {
        return Err(Failure::new(format!("images/versions has no line `{head}`")).hint("add it, with any value"));
    }
    Ok(text
        .lines()
        .map(|line| if line.starts_with(&head) { format!("{head}{value}\n") } else { format!("{line}\n") })
        .collect())
}

/// The version in a line that starts with `name` and `mark`, up to what ends it.
pub(super) fn version_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = &text[text.find(mark)? + mark.len()..];
    Some(&rest[..rest.find(['"', ' ', '\n']).unwrap_or(rest.len())])
}

/// How many lines of `new` that name a package with its version are not in `old`.
pub(super) fn changed(old: &str, new: &str, names: impl Fn(&str) -> bool) -> usize {
    new.lines().filter(|line| names(line) && !old.lines().any(|known| known == *line)).count()
}

#[cfg(test)]
mod tests {
    use super::{changed, common, hex, strings, version_after, with_value};

    #[test]
    fn an_answer_is_one_string_or_several() {
        assert_eq!(strings("\"1.2.3\"\n"), ["1.2.3"]);
        assert_eq!(strings("[\n  \"1.2.3\",\n  \"1.10.0\"\n]"), ["1.2.3", "1.10.0"]);
        assert!(strings("").is_empty());
    }

    #[test]
    fn versions_are_numbers_that_all_have() {
        let list = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let lists = [list("1.9.0 1.10.0 2.0.0 2.1.0-beta.1"), list("1.10.0 1.9.0 3.0.0 2.1.0-beta.1")];
        assert_eq!(common(&lists), ["1.10.0", "1.9.0"]);
        assert!(common(&[]).is_empty());
    }

    #[test]
    fn a_sum_is_turned_into_hex() {
        let base64 = format!("sha512-{}AAECAw==", "A".repeat(80));
        assert_eq!(hex(&base64), Some(format!("{}00010203", "0".repeat(120))));
        assert_eq!(hex("sha512-AAECAw=="), None);
        assert_eq!(hex("sha1-AAECAw=="), None);
    }

    #[test]
    fn one_line_is_changed_and_no_other() {
        let text = "# A=0\nA=1\nAB=2\n";
        assert_eq!(with_value(text, "A", "3").unwrap(), "# A=0\nA=3\nAB=2\n");
        assert!(with_value(text, "B", "3").is_err());
    }

    #[test]
    fn versions_are_found_and_changes_counted() {
        assert_eq!(version_after("x\n    \"a/b\": \"1.2\"\n", "\"a/b\": \""), Some("1.2"));
        assert_eq!(version_after("# a\na==1.2 \\\n", "\na=="), Some("1.2"));
        assert_eq!(version_after("b==1", "a=="), None);
        assert_eq!(changed("a==1\nh\nb==1\n", "a==2\nj\nb==1\n", |line| line.contains("==")), 1);
    }
}
