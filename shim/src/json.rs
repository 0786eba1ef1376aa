//! JSON (RFC 8259) as far as it is needed: what docker and npm wrote is read, what others will read is written.
//!
//! Pure. Reading is strict but for numbers, which are kept as they are written; nesting has a limit. The shim has no use
//! for it, so nothing of it is in the shim.

use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// As written.
    Number(String),
    /// A string, without its escapes.
    Text(String),
    /// An array.
    List(Vec<Self>),
    /// Members in their order.
    Object(Vec<(String, Self)>),
}

/// No document that we read is nested deeper.
const MAX_DEPTH: usize = 64;

impl Json {
    /// A string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A whole number.
    pub fn number(number: u64) -> Self {
        Self::Number(number.to_string())
    }

    /// An array of strings.
    pub fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::text(text.as_ref())).collect())
    }

    /// An object of members whose names differ.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A whole document; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.blanks();
        reader.rest.is_empty().then_some(value)
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The string that this is.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.blanks();
        match self.rest.chars().next()? {
            _ if depth > MAX_DEPTH => None,
            '{' => self.object(depth + 1),
            '[' => self.list(depth + 1),
            '"' => self.string().map(Json::Text),
            't' => self.take("true").map(|()| Json::Bool(true)),
            'f' => self.take("false").map(|()| Json::Bool(false)),
            'n' => self.take("null").map(|()| Json::Null),
            _ => self.numeral(),
        }
    }

    fn numeral(&mut self) -> Option<Json> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        number.parse::<f64>().ok()?;
        self.rest = rest;
        Some(Json::Number(number.to_owned()))
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.take("[")?;
        let mut items = Vec::new();
        self.blanks();
        if self.take("]").is_some() {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.blanks();
            if self.take("]").is_some() {
                return Some(Json::List(items));
            }
            self.take(",")?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take("{")?;
        let mut members = Vec::new();
        self.blanks();
        if self.take("}").is_some() {
            return Some(Json::Object(members));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            self.take(":")?;
            members.push((name, self.value(depth)?));
            self.blanks();
            if self.take("}").is_some() {
                return Some(Json::Object(members));
            }
            self.take(",")?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut text = String::new();
        loop {
            let end = self.rest.find(['"', '\\'])?;
            text.push_str(&self.rest[..end]);
            let is_end = self.rest[end..].starts_with('"');
            self.rest = &self.rest[end + 1..];
            if is_end {
                return Some(text);
            }
            let escape = self.rest.chars().next()?;
            self.rest = &self.rest[escape.len_utf8()..];
            text.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => self.unicode()?,
                '"' | '\\' | '/' => escape,
                _ => return None,
            });
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.take("\\u")?;
        let second = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.rest = &self.rest[4..];
        u32::from_str_radix(digits, 16).ok()
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => quoted(text, f),
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    f.write_str(if at > 0 { "," } else { "" })?;
                    quoted(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            // The rest that must be escaped, and what a terminal would obey.
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn what_is_read_is_written_again() {
        let text = r#"{"a":[1,-2.5e3,true,false,null,{}],"b\"\\":"ü\u000a","":[]}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(json.get("a").unwrap().items().len(), 6);
        assert_eq!(Json::parse(" \"\\u00fc\\ud83d\\ude00\\/\" ").unwrap().as_text(), Some("ü😀/"));
    }

    #[test]
    fn what_is_no_document_is_nothing() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[1,]", "{\"a\"}", "\"", "\"\\x\"", "\"\\ud800x\"", "1 2", "tru", "+-", &deep] {
            assert_eq!(Json::parse(text), None, "{}", &text[..text.len().min(20)]);
        }
    }
}
