//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{list, text};
use crate::script::{Reply, Tool};

pub(super) fn read(body: &Value) -> (Vec<Tool>, Vec<String>) {
    let tools = list(&body["tools"]).filter(|tool| tool["type"] == "function");
    let tools = tools.map(|tool| Tool { name: text(&tool["name"]), schema: tool["parameters"].clone() });
    let results = list(&body["input"]).filter(|item| item["type"] == "function_call_output");
    (tools.collect(), results.map(|item| text(&item["output"])).collect())
}

pub(super) fn whole(model: &str, reply: &Reply, status: &str) -> Value {
    let done = status == "completed";
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    });
    json!({
        "id": "resp_fake", "object": "response", "created_at": 1, "model": model, "status": status,
        "output": if done { json!([item(reply, status)]) } else { json!([]) },
        "usage": if done { usage } else { Value::Null },
    })
}

pub(super) fn events(model: &str, reply: &Reply) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": whole(model, reply, "in_progress")}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item(reply, "in_progress")}),
    ];
    events.push(match reply {
        Reply::Text(text) => json!({
            "type": "response.output_text.delta", "item_id": "item_fake", "output_index": 0, "content_index": 0,
            "delta": text,
        }),
        Reply::Call { arguments, .. } => json!({
            "type": "response.function_call_arguments.done", "item_id": "item_fake", "output_index": 0,
            "arguments": arguments.to_string(),
        }),
    });
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item(reply, "completed")}));
    events.push(json!({"type": "response.completed", "response": whole(model, reply, "completed")}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn item(reply: &Reply, status: &str) -> Value {
    match reply {
        Reply::Text(text) => {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            json!({
                "type": "message", "id": "item_fake", "role": "assistant", "status": status,
                "content": if status == "completed" { content } else { json!([]) },
            })
        }
        Reply::Call { id, tool, arguments } => json!({
            "type": "function_call", "id": "item_fake", "call_id": id, "name": tool, "status": status,
            "arguments": if status == "completed" { arguments.to_string() } else { String::new() },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_arrives_whole_and_in_parts() {
        let call = Reply::Call { id: "a".to_owned(), tool: "exec".to_owned(), arguments: json!({"cmd": "ls"}) };
        assert_eq!(whole("m", &call, "completed")["output"][0]["call_id"], "a");
        let events = events("m", &call);
        let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert_eq!(events[1]["item"]["arguments"], "");
        assert_eq!(events[3]["item"]["arguments"], r#"{"cmd":"ls"}"#);
        assert_eq!(events[4]["response"]["output"][0], events[3]["item"]);
    }
}
