//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{list, text};
use crate::script::{Reply, Tool};

pub(super) fn read(body: &Value) -> (Vec<Tool>, Vec<String>) {
    let tools = list(&body["tools"]).map(|tool| &tool["function"]).filter(|function| function.is_object());
    let tools = tools.map(|tool| Tool { name: text(&tool["name"]), schema: tool["parameters"].clone() });
    let results = list(&body["messages"]).filter(|message| message["role"] == "tool");
    (tools.collect(), results.map(|message| text(&message["content"])).collect())
}

pub(super) fn whole(model: &str, reply: &Reply) -> Value {
    let mut message = said(reply);
    message["role"] = json!("assistant");
    let choice = json!({"index": 0, "message": message, "finish_reason": stop(reply)});
    json!({
        "id": "chatcmpl-fake", "object": "chat.completion", "created": 1, "model": model, "choices": [choice],
        "usage": usage(),
    })
}

pub(super) fn chunks(model: &str, reply: &Reply) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({
            "id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice],
        })
    };
    let mut first = said(reply);
    first["role"] = json!("assistant");
    let mut last = chunk(json!({}), json!(stop(reply)));
    last["usage"] = usage();
    vec![chunk(first, Value::Null), last]
}

fn said(reply: &Reply) -> Value {
    match reply {
        Reply::Text(text) => json!({"content": text}),
        Reply::Call { id, tool, arguments } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            json!({"content": null, "tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]})
        }
    }
}

fn stop(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "stop",
        Reply::Call { .. } => "tool_calls",
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_arrives_whole_and_in_parts() {
        let call = Reply::Call { id: "a".to_owned(), tool: "bash".to_owned(), arguments: json!({"command": "ls"}) };
        let arguments = json!({"command": "ls"}).to_string();
        let message = &whole("m", &call)["choices"][0]["message"];
        assert_eq!(message["tool_calls"][0]["function"]["arguments"], json!(arguments));
        let chunks = chunks("m", &call);
        assert_eq!(chunks[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"], json!(arguments));
        assert_eq!(chunks[1]["choices"][0]["finish_reason"], "tool_calls");
    }
}
