//! One key of an agent's JSON settings, set for the session and put back behind it.
//!
//! Some agents learn of their shell only from a file. The key is set by cutting the text, so that everything else in the
//! file stays byte for byte as it is; the file is replaced whole; and what was there before is noted beside it first, so
//! that the next session can put it back if this one does not come to it.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

/// A setting that is in force until it is put back.
#[derive(Debug)]
pub(crate) struct Setting {
    file: PathBuf,
    key: String,
}

/// What stood in the file before, in the note: the value's text, or this.
const ABSENT: &str = "(absent)";

impl Setting {
    /// Sets `key` to the text `value`, after an earlier session was put right.
    pub(crate) fn set(file: PathBuf, key: &str, value: &str) -> io::Result<Self> {
        let setting = Self { file, key: key.to_owned() };
        setting.put_back()?;
        let text = setting.read()?;
        let before = find(&text, key).map_or(ABSENT, |range| &text[range]);
        replace(&setting.note(), before)?;
        replace(&setting.file, &with(&text, key, &format!("\"{value}\"")).ok_or_else(not_an_object)?)?;
        Ok(setting)
    }

    /// Puts back what the note says; what the agent has changed elsewhere in the file stays.
    pub(crate) fn put_back(&self) -> io::Result<()> {
        let before = match fs::read_to_string(self.note()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            before => before?,
        };
        let text = self.read()?;
        let put_back = if before == ABSENT { without(&text, &self.key) } else { with(&text, &self.key, &before) };
        replace(&self.file, &put_back.ok_or_else(not_an_object)?)?;
        fs::remove_file(self.note())
    }

    fn read(&self) -> io::Result<String> {
        match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok("{}\n".to_owned()),
            text => text,
        }
    }

    fn note(&self) -> PathBuf {
        self.file.with_extension("before-aifo")
    }
}

fn not_an_object() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the settings file is no JSON object")
}

/// Written beside and renamed: whoever reads sees the old or the new file, never a part.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // A link into the kept state stays a link.
    let file = fs::canonicalize(file).unwrap_or_else(|_new| file.to_owned());
    let fresh = file.with_extension("aifo-new");
    fs::write(&fresh, text)?;
    fs::rename(fresh, file)
}

/// The text with the key set.
fn with(text: &str, key: &str, value: &str) -> Option<String> {
    if let Some(range) = find(text, key) {
        return Some(format!("{}{value}{}", &text[..range.start], &text[range.end..]));
    }
    let open = body(text)?;
    let is_empty = text[open..].trim_start().starts_with('}');
    let comma = if is_empty { "" } else { "," };
    Some(format!("{}\n  \"{key}\": {value}{comma}{}", &text[..open], &text[open..]))
}

/// The text without the key, and without the comma that went with it.
fn without(text: &str, key: &str) -> Option<String> {
    let Some(value) = find(text, key) else { return body(text).map(|_| text.to_owned()) };
    let start = text[..value.start].rfind(&format!("\"{key}\""))?;
    let behind = text[value.end..].trim_start();
    if let Some(rest) = behind.strip_prefix(',') {
        return Some(format!("{}{}", text[..start].trim_end(), rest));
    }
    let before = text[..start].trim_end().trim_end_matches(',');
    Some(format!("{before}{}", &text[value.end..]))
}

/// Behind the object's opening brace.
fn body(text: &str) -> Option<usize> {
    let open = text.find(|c: char| !c.is_whitespace())?;
    (text[open..].starts_with('{') && text.trim_end().ends_with('}')).then_some(open + 1)
}

/// The text range of a member's value at the top of the object.
fn find(text: &str, key: &str) -> Option<Range<usize>> {
    let mut at = body(text)?;
    let mut depth = 0;
    let mut expects_key = true;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => {
                let end = string_end(text, at)?;
                let is_it = depth == 0 && expects_key && text[at + 1..end - 1] == *key;
                at = end;
                if is_it {
                    let colon = at + text[at..].find(':')?;
                    let start = colon + 1 + text[colon + 1..].find(|c: char| !c.is_whitespace())?;
                    return Some(start..value_end(text, start)?);
                }
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ':' if depth == 0 => expects_key = false,
            ',' if depth == 0 => expects_key = true,
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// Behind the closing quote of the string that begins at `at`.
fn string_end(text: &str, at: usize) -> Option<usize> {
    let mut escaped = false;
    for (offset, c) in text[at + 1..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1 + offset + 1),
            _ => {}
        }
    }
    None
}

/// Behind the value that begins at `start`: up to a comma or a closing bracket of its own level.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => {
                at = string_end(text, at)?;
                continue;
            }
            '{' | '[' => depth += 1,
            ',' | '}' | ']' if depth == 0 => return Some(start + text[start..at].trim_end().len()),
            '}' | ']' => depth -= 1,
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: &str = "\"/opt/aifo/bin/aifo-bash\"";

    #[test]
    fn one_key_is_set_and_nothing_else_changes() {
        for (before, after) in [
            ("{}", "{\n  \"k\": V}"),
            ("{ \"a\": 1 }\n", "{\n  \"k\": V, \"a\": 1 }\n"),
            ("{\"k\": \"old\", \"a\": [1, {\"k\": 2}]}", "{\"k\": V, \"a\": [1, {\"k\": 2}]}"),
            ("{\"a\": \"k\", \"b\": {\"k\": 1}, \"k\" : [1, \"}\"] }", "{\"a\": \"k\", \"b\": {\"k\": 1}, \"k\" : V }"),
            ("{\"a\\\"k\": 1, \"k\": null}", "{\"a\\\"k\": 1, \"k\": V}"),
        ] {
            assert_eq!(with(before, "k", SHELL).as_deref(), Some(after.replace('V', SHELL).as_str()), "{before}");
        }
        for text in ["", "[]", "{", "null", "{\"a\""] {
            assert_eq!(with(text, "k", SHELL).filter(|_| text != "{\"a\""), None, "{text}");
        }
    }

    #[test]
    fn the_key_is_taken_out_with_its_comma() {
        for (before, after) in [
            ("{\n  \"k\": 1}", "{}"),
            ("{\n  \"k\": 1, \"a\": 2 }", "{ \"a\": 2 }"),
            ("{\"a\": 2, \"k\": 1 }", "{\"a\": 2 }"),
            ("{\"a\": 2}", "{\"a\": 2}"),
        ] {
            assert_eq!(without(before, "k").as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_was_there_is_put_back_also_after_a_crash() {
        let folder = std::env::temp_dir().join(format!("aifo-setting-{}", std::process::id()));
        let file = folder.join("agent/settings.json");
        for original in ["{\n \"shellPath\": \"/bin/zsh\",\n \"x\": [1]\n}\n", "{ \"x\": [1] }\n"] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, original).unwrap();
            let crashed = Setting::set(file.clone(), "shellPath", "/opt/aifo/bin/aifo-bash").unwrap();
            assert!(fs::read_to_string(&file).unwrap().contains(SHELL));
            std::mem::forget(crashed);
            let setting = Setting::set(file.clone(), "shellPath", "/opt/aifo/bin/aifo-bash").unwrap();
            let changed = fs::read_to_string(&file).unwrap().replace("[1]", "[1, 2]");
            fs::write(&file, changed).unwrap();
            setting.put_back().unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), original.replace("[1]", "[1, 2]"));
            assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no note is left");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
