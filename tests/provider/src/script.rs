//! The script: shell commands, one a turn, and a last word.

use serde_json::{Map, Value};

use crate::shell_tool;

/// What an agent is made to run.
#[derive(Debug, Clone)]
pub struct Script {
    steps: Vec<Step>,
    last_word: String,
}

/// A command, and what else its tool is told.
#[derive(Debug, Clone)]
struct Step {
    command: String,
    others: Map<String, Value>,
}

/// A request as all APIs have it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) tools: Vec<Tool>,
    /// What the tools have answered so far.
    pub(crate) results: Vec<String>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) schema: Value,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Text(String),
    Call { id: String, tool: String, arguments: Value },
}

impl Script {
    /// A step is a command, or a JSON object with a `command` and whatever else the agent's tool is to be told.
    pub fn new<S: AsRef<str>>(steps: impl IntoIterator<Item = S>, last_word: &str) -> Self {
        let step = |text: S| match serde_json::from_str(text.as_ref()) {
            Ok(Value::Object(mut others)) => {
                let command = others.remove("command").and_then(|command| command.as_str().map(str::to_owned));
                Step { command: command.unwrap_or_default(), others }
            }
            _ => Step { command: text.as_ref().to_owned(), others: Map::new() },
        };
        Self { steps: steps.into_iter().map(step).collect(), last_word: last_word.to_owned() }
    }

    /// The step behind those whose results are there; the last word when none is left, or nothing can run it.
    pub(crate) fn reply(&self, asked: &Asked) -> Reply {
        let at = asked.results.len();
        match (self.steps.get(at), shell_tool::pick(&asked.tools)) {
            (Some(step), Some(tool)) => Reply::Call {
                id: format!("call_{at}"),
                tool: tool.name.clone(),
                arguments: shell_tool::arguments(tool, &step.command, &step.others),
            },
            _ => Reply::Text(self.last_word.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(results: usize) -> Asked {
        let schema = json!({"properties": {"command": {"type": "string"}}});
        let tools = vec![Tool { name: "bash".to_owned(), schema }];
        Asked { tools, results: vec![String::new(); results], ..Asked::default() }
    }

    #[test]
    fn steps_come_in_order_and_the_last_word_behind_them() {
        let script = Script::new(["make", r#"{"command": "sleep 9", "timeout": 5}"#], "done");
        let call = |at: usize, arguments| Reply::Call { id: format!("call_{at}"), tool: "bash".to_owned(), arguments };
        assert_eq!(script.reply(&asked(0)), call(0, json!({"command": "make"})));
        assert_eq!(script.reply(&asked(1)), call(1, json!({"command": "sleep 9", "timeout": 5})));
        assert_eq!(script.reply(&asked(2)), Reply::Text("done".to_owned()));
        assert_eq!(script.reply(&Asked::default()), Reply::Text("done".to_owned()));
    }
}
