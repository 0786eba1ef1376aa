//! What is kept of a request: enough to tell what an agent did, and no secret.

use serde_json::{Value, json};

use crate::{http::Request, script::Asked};

/// The headers in which agents send their keys.
const KEYS: &[&str] = &["authorization", "x-api-key", "api-key"];

/// A request as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub method: String,
    pub path: String,
    /// Whether it brought a key, whatever key.
    pub has_key: bool,
    pub model: String,
    /// The names of the tools that it offered.
    pub tools: Vec<String>,
    /// What it told of the tools that had been called.
    pub results: Vec<String>,
}

impl Record {
    pub(crate) fn of(request: &Request, asked: Option<&Asked>) -> Self {
        let asked = asked.cloned().unwrap_or_default();
        Self {
            method: request.method.clone(),
            path: request.path.clone(),
            has_key: KEYS.iter().any(|name| request.header(name).is_some_and(|key| !key.is_empty())),
            model: asked.model,
            tools: asked.tools.into_iter().map(|tool| tool.name).collect(),
            results: asked.results,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "method": self.method, "path": self.path, "key": self.has_key, "model": self.model,
            "tools": self.tools, "results": self.results,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_seen_and_not_kept() {
        for (header, seen) in [("x-api-key", true), ("authorization", true), ("accept", false)] {
            let headers = vec![(header.to_owned(), "Bearer hunter2".to_owned())];
            let record = Record::of(&Request { headers, ..Request::default() }, None);
            assert_eq!(record.has_key, seen, "{header}");
            assert!(!record.to_json().to_string().contains("hunter2"));
        }
    }
}
