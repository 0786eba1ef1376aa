//! JSON as far as lists need it: building and writing (RFC 8259).

use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Self>),
    /// Members in the order in which they were given.
    Object(Vec<(&'static str, Self)>),
}

impl Json {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::text(text.as_ref())).collect())
    }

    /// A document with the version of its shape, which changes only when a member changes its meaning or goes.
    pub(crate) fn document(members: Vec<(&'static str, Self)>) -> Self {
        Self::Object([("version", Self::Number(1))].into_iter().chain(members).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(text) => write_text(text, f),
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
                    write_text(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            // The rest that must be escaped, and what a terminal would obey.
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_must_be_escaped_is() {
        let list = Json::List(["a\"b\\", "\n\u{1b}\u{7f}", "ü"].map(Json::text).to_vec());
        let json = Json::document(vec![("list", list), ("ok", Json::Bool(true)), ("none", Json::List(Vec::new()))]);
        assert_eq!(json.to_string(), r#"{"version":1,"list":["a\"b\\","\n\u001b\u007f","ü"],"ok":true,"none":[]}"#);
    }
}
