//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{list, text};
use crate::script::{Reply, Tool};

pub(super) fn read(body: &Value) -> (Vec<Tool>, Vec<String>) {
    let tools = list(&body["tools"]).filter(|tool| tool["input_schema"].is_object());
    let tools = tools.map(|tool| Tool { name: text(&tool["name"]), schema: tool["input_schema"].clone() });
    let blocks = list(&body["messages"]).flat_map(|message| list(&message["content"]));
    let results = blocks.filter(|block| block["type"] == "tool_result").map(|block| text(&block["content"]));
    (tools.collect(), results.collect())
}

pub(super) fn whole(model: &str, reply: &Reply) -> Value {
    let mut message = begun(model);
    message["content"] = json!([block(reply)]);
    message["stop_reason"] = json!(stop(reply));
    message
}

pub(super) fn events(model: &str, reply: &Reply) -> Vec<Value> {
    let mut empty = block(reply);
    let delta = match reply {
        Reply::Text(text) => {
            empty["text"] = json!("");
            json!({"type": "text_delta", "text": text})
        }
        Reply::Call { arguments, .. } => {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()})
        }
    };
    vec![
        json!({"type": "message_start", "message": begun(model)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop(reply), "stop_sequence": null},
            "usage": {"output_tokens": 5},
        }),
        json!({"type": "message_stop"}),
    ]
}

fn begun(model: &str) -> Value {
    json!({
        "id": "msg_fake", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1},
    })
}

fn block(reply: &Reply) -> Value {
    match reply {
        Reply::Text(text) => json!({"type": "text", "text": text}),
        Reply::Call { id, tool, arguments } => json!({"type": "tool_use", "id": id, "name": tool, "input": arguments}),
    }
}

fn stop(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "end_turn",
        Reply::Call { .. } => "tool_use",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_arrives_whole_and_in_parts() {
        let call = Reply::Call { id: "a".to_owned(), tool: "Bash".to_owned(), arguments: json!({"command": "ls"}) };
        assert_eq!(whole("m", &call)["content"][0]["input"]["command"], "ls");
        let events = events("m", &call);
        assert_eq!(events[1]["content_block"]["input"], json!({}));
        let parts: Value = serde_json::from_str(events[2]["delta"]["partial_json"].as_str().unwrap()).unwrap();
        assert_eq!(parts, json!({"command": "ls"}));
        assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
    }
}
