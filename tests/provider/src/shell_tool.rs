//! Which of an agent's tools runs shell commands, and how it wants to be told: read off the schemas that the agent sends.

use serde_json::{Map, Value, json};

use crate::script::Tool;

/// The words by which agents name what such a tool runs.
const COMMAND: &[&str] = &["command", "cmd"];
/// What the names of such tools hold.
const NAMES: &[&str] = &["bash", "shell", "terminal", "exec"];

/// The first that takes a command, of those that are named like one if there are any.
pub(crate) fn pick(tools: &[Tool]) -> Option<&Tool> {
    let takes = || tools.iter().filter(|tool| command_of(tool).is_some());
    let is_named = |tool: &&Tool| NAMES.iter().any(|part| tool.name.to_ascii_lowercase().contains(part));
    takes().find(is_named).or_else(|| takes().next())
}

/// The argument that is the command: free text, or words. A choice between words is an editor's, not a shell's.
fn command_of(tool: &Tool) -> Option<(&'static str, &Value)> {
    let property = |name: &&'static str| Some((*name, tool.schema.get("properties")?.get(*name)?));
    COMMAND.iter().filter_map(property).find(|(_, schema)| schema.get("enum").is_none())
}

/// The arguments of a call: the command, what the script adds, and something for whatever else is required.
pub(crate) fn arguments(tool: &Tool, command: &str, others: &Map<String, Value>) -> Value {
    let mut arguments = others.clone();
    if let Some((name, schema)) = command_of(tool) {
        let is_list = schema.get("type") == Some(&json!("array"));
        arguments.insert(name.to_owned(), if is_list { json!(["bash", "-lc", command]) } else { json!(command) });
    }
    let required = tool.schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let schema = tool.schema.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&Value::Null);
        arguments.entry(name).or_insert_with(|| anything(schema));
    }
    Value::Object(arguments)
}

/// The plainest value that fits.
fn anything(schema: &Value) -> Value {
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(1),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("a step of the script"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, properties: Value, required: &[&str]) -> Tool {
        Tool { name: name.to_owned(), schema: json!({"properties": properties, "required": required}) }
    }

    #[test]
    fn the_tool_that_takes_a_command_is_found() {
        let editor = tool("str_replace_editor", json!({"command": {"type": "string", "enum": ["view"]}}), &["command"]);
        let stop = tool("TaskStop", json!({"command": {"type": "string"}}), &[]);
        let bash = tool("Bash", json!({"command": {"type": "string"}}), &["command"]);
        assert_eq!(pick(&[editor.clone(), stop.clone(), bash.clone()]), Some(&bash));
        assert_eq!(pick(&[editor.clone(), stop.clone()]), Some(&stop));
        assert_eq!(pick(&[editor]), None);
    }

    #[test]
    fn it_is_told_as_it_wants() {
        let none = Map::new();
        let properties = json!({
            "cmd": {"type": "string"}, "why": {"type": "string"}, "tty": {"type": "boolean"},
            "risk": {"type": "string", "enum": ["LOW", "HIGH"]}, "wait": {"type": "number"},
        });
        let exec = tool("exec_command", properties, &["cmd", "why", "tty", "risk"]);
        let expected = json!({"cmd": "ls", "why": "a step of the script", "tty": false, "risk": "LOW"});
        assert_eq!(arguments(&exec, "ls", &none), expected);
        let words = tool("shell", json!({"command": {"type": "array"}}), &["command"]);
        assert_eq!(arguments(&words, "ls", &none), json!({"command": ["bash", "-lc", "ls"]}));
    }
}
