//! The three APIs: how each is asked, and how each answers. Pure: JSON in, JSON or events out.

mod chat;
mod messages;
mod responses;

use serde_json::{Value, json};

use crate::{
    http::Answer,
    script::{Asked, Reply},
};

/// An API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic's.
    Messages,
    /// OpenAI's older one, which everybody else offers too.
    Chat,
    /// OpenAI's newer one.
    Responses,
}

impl Dialect {
    /// By the end of the path, so that agents may put in front of it whatever they are used to.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        [(Self::Messages, "/messages"), (Self::Chat, "/chat/completions"), (Self::Responses, "/responses")]
            .into_iter()
            .find(|(_, end)| path.ends_with(end))
            .map(|(dialect, _)| dialect)
    }

    pub(crate) fn read(self, body: &Value) -> Asked {
        let (tools, results) = match self {
            Self::Messages => messages::read(body),
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
        };
        Asked { model: text(&body["model"]), stream: body["stream"] == json!(true), tools, results }
    }

    pub(crate) fn write(self, asked: &Asked, reply: &Reply) -> Answer {
        match (self, asked.stream) {
            (Self::Messages, false) => Answer::json(200, &messages::whole(&asked.model, reply)),
            (Self::Messages, true) => Answer::events(named(&messages::events(&asked.model, reply))),
            (Self::Chat, false) => Answer::json(200, &chat::whole(&asked.model, reply)),
            (Self::Chat, true) => {
                let chunks = chat::chunks(&asked.model, reply).into_iter().map(|chunk| chunk.to_string());
                Answer::events(chunks.chain(["[DONE]".to_owned()]).map(|data| (None, data)))
            }
            (Self::Responses, false) => Answer::json(200, &responses::whole(&asked.model, reply, "completed")),
            (Self::Responses, true) => Answer::events(named(&responses::events(&asked.model, reply))),
        }
    }
}

/// Events whose name is their `type`.
fn named(events: &[Value]) -> impl Iterator<Item = (Option<&str>, String)> {
    events.iter().map(|event| (event["type"].as_str(), event.to_string()))
}

/// What both families answer when they are asked for their models.
pub(crate) fn models() -> Value {
    let model = json!({"id": "fake", "object": "model", "type": "model", "display_name": "fake", "owned_by": "tests"});
    json!({"object": "list", "data": [model], "has_more": false})
}

/// A text, be it plain or in parts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_the_api() {
        for (path, expected) in [
            ("/v1/messages?beta=true", Some(Dialect::Messages)),
            ("/v1/chat/completions", Some(Dialect::Chat)),
            ("/responses", Some(Dialect::Responses)),
            ("/v1/messages/count_tokens", None),
            ("/v1/models", None),
        ] {
            assert_eq!(Dialect::of_path(path), expected, "{path}");
        }
    }

    /// (API, a request with one tool and one result)
    fn requests() -> [(Dialect, Value); 3] {
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
        [
            (
                Dialect::Messages,
                json!({
                    "model": "m", "stream": true,
                    "tools": [{"name": "Bash", "input_schema": schema}],
                    "messages": [
                        {"role": "user", "content": "go"},
                        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]},
                        {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "out"}]}
                        ]},
                    ],
                }),
            ),
            (
                Dialect::Chat,
                json!({
                    "model": "m", "stream": true,
                    "tools": [{"type": "function", "function": {"name": "Bash", "parameters": schema}}],
                    "messages": [
                        {"role": "user", "content": "go"},
                        {"role": "assistant", "tool_calls": []},
                        {"role": "tool", "tool_call_id": "a", "content": "out"},
                    ],
                }),
            ),
            (
                Dialect::Responses,
                json!({
                    "model": "m", "stream": true,
                    "tools": [{"type": "web_search"}, {"type": "function", "name": "Bash", "parameters": schema}],
                    "input": [
                        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                        {"type": "function_call", "call_id": "a"},
                        {"type": "function_call_output", "call_id": "a", "output": "out"},
                    ],
                }),
            ),
        ]
    }

    #[test]
    fn each_is_read_alike() {
        for (dialect, body) in requests() {
            let asked = dialect.read(&body);
            assert_eq!((asked.model.as_str(), asked.stream, asked.results.len()), ("m", true, 1), "{dialect:?}");
            assert_eq!(asked.results[0], "out", "{dialect:?}");
            let tools: Vec<&str> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(tools, ["Bash"], "{dialect:?}");
            assert!(asked.tools[0].schema["properties"]["command"].is_object(), "{dialect:?}");
        }
    }
}
