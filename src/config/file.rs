//! The syntax of configuration files, which is git's: sections in brackets, `name = value` lines, comments. Pure.
//!
//! ```text
//! # comment, also with ;
//! [session]
//!     toolchain = rust
//!     toolchain = node        ; a list is repeated
//! [image]
//!     flavor = "slim"
//! [toolchain]
//!     cache                   ; a switch alone is on
//! ```
//!
//! What is not this is an error with its line: a file that is half understood would be half obeyed.

use std::fmt;

/// One setting as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    /// `section.name` in lower case.
    pub(super) key: String,
    pub(super) value: String,
}

/// Where a file stopped making sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) line: usize,
    pub(super) why: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Reads a file's text.
///
/// # Errors
/// The first line that is [`Malformed`].
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, Malformed> {
    let mut section = String::new();
    let mut entries = Vec::new();
    for (number, raw) in text.lines().enumerate() {
        let line = number + 1;
        let malformed = |why| Malformed { line, why };
        let content = raw.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let (name, behind) = rest.split_once(']').ok_or_else(|| malformed("a section is not closed"))?;
            if !is_name(name) || !is_comment(behind) {
                return Err(malformed("a section is `[name]`"));
            }
            section = name.to_ascii_lowercase();
            continue;
        }
        if section.is_empty() {
            return Err(malformed("a setting stands before the first section"));
        }
        let (name, rest) = content.split_once('=').map_or((content, None), |(name, value)| (name, Some(value)));
        let name = match rest {
            None => name.split(['#', ';']).next().unwrap_or(name).trim(),
            Some(_) => name.trim(),
        };
        if !is_name(name) {
            return Err(malformed("a setting is `name = value`"));
        }
        let value = rest.map_or_else(|| Ok("1".to_owned()), |text| value(text).map_err(malformed))?;
        entries.push(Entry { line, key: format!("{section}.{}", name.to_ascii_lowercase()), value });
    }
    Ok(entries)
}

/// A value: blanks around it do not count, quotes keep them, and a comment may follow.
fn value(text: &str) -> Result<String, &'static str> {
    let (mut value, mut kept) = (String::new(), 0);
    let mut quoted = false;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => value.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(c @ ('"' | '\\')) => c,
                _ => return Err("an escape is one of \\\\ \\\" \\n \\t"),
            }),
            '#' | ';' if !quoted => break,
            c => value.push(c),
        }
        if quoted || !c.is_whitespace() {
            kept = value.len();
        }
    }
    if quoted {
        return Err("a quote is not closed");
    }
    value.truncate(kept);
    Ok(value)
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with(['#', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "# c\n[Session] ; c\n\ttoolchain = rust ; c\n  Toolchain=node@22=a/b:1#c\n\n[image]\nname = \" a # b \" \n\
                    [x]\nswitch\nempty =\nother # on\nescape = a\\\\b\\\"\\n\n";
        let read: Vec<_> = parse(text).unwrap().into_iter().map(|entry| (entry.line, entry.key, entry.value)).collect();
        let expected = [
            (3, "session.toolchain", "rust"),
            (4, "session.toolchain", "node@22=a/b:1"),
            (7, "image.name", " a # b "),
            (9, "x.switch", "1"),
            (10, "x.empty", ""),
            (11, "x.other", "1"),
            (12, "x.escape", "a\\b\"\n"),
        ];
        let expected: Vec<_> = expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned())).to_vec();
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_malformed_is_named_with_its_line() {
        for (text, line) in [
            ("name = value", 1),
            ("[a\nb = c", 1),
            ("[a b]\n", 1),
            ("[a] b\n", 1),
            ("[a]\n= b\n", 2),
            ("[a]\nb c = d\n", 2),
            ("[a]\n\nb = \"c\n", 3),
            ("[a]\nb = \\x\n", 2),
            ("[1a]\n", 1),
        ] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
