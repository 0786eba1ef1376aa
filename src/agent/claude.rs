//! Claude Code: a native program that starts the shell named by a variable, if the name looks like one it knows.
//!
//! It wraps each command: a snapshot of the user's shell is sourced, the command is `eval`ed from one quoted word, and
//! the directory behind it is written to a file of its own. Only that exact shape is unwrapped; anything else that it
//! sends is evaluated as it stands, for a wrapper that is merely similar could hide a command.

use super::{Agent, Copied, Normalized, ShellHook};

#[derive(Debug)]
pub(super) struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn summary(&self) -> &'static str {
        "Claude Code"
    }

    fn binary_names(&self) -> &'static [&'static str] {
        &["claude"]
    }

    fn env(&self) -> &'static [(&'static str, &'static str)] {
        // One folder holds all of its state, so that nothing of it lies beside, where it would be lost.
        &[("CLAUDE_CONFIG_DIR", "/home/coder/.claude"), ("DISABLE_AUTOUPDATER", "1")]
    }

    fn normalize_command(&self, raw: &str) -> Normalized {
        unwrap(raw).map_or_else(|| Normalized::evaluated(raw), |command| Normalized { command, evaluate: true })
    }

    fn configure_shell(&self) -> ShellHook {
        ShellHook::Variables(&["CLAUDE_CODE_SHELL"])
    }

    fn state(&self) -> &'static [&'static str] {
        &[".claude"]
    }

    fn config(&self) -> &'static [Copied] {
        const FILES: &[Copied] = &[
            Copied { from: ".claude.json", to: ".claude/.claude.json" },
            Copied::same(".claude/.credentials.json"),
            Copied::same(".claude/settings.json"),
            Copied::same(".claude/CLAUDE.md"),
        ];
        FILES
    }

    fn credentials(&self) -> &'static [&'static str] {
        &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "ANTHROPIC_SMALL_FAST_MODEL",
            "ANTHROPIC_CUSTOM_HEADERS",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_REGION",
            "IS_SANDBOX",
        ]
    }
}

/// The command inside the wrapper; none when the line is not exactly the wrapper.
fn unwrap(raw: &str) -> Option<String> {
    let mut rest = raw;
    if let Some(behind) = rest.strip_prefix("source ") {
        let (snapshot, behind) = behind.split_once(" 2>/dev/null || true && ")?;
        rest = is_path(snapshot).then_some(behind)?;
    }
    for options in ["shopt -u extglob 2>/dev/null || true && ", "setopt NO_EXTENDED_GLOB 2>/dev/null || true && "] {
        rest = rest.strip_prefix(options).unwrap_or(rest);
    }
    let (command, behind) = quoted(rest.strip_prefix("eval ")?)?;
    let behind =
        behind.strip_prefix(" < /dev/null").or_else(|| behind.strip_prefix(" \\< /dev/null")).unwrap_or(behind);
    let file = behind.strip_prefix(" && pwd -P >| ")?;
    is_path(file).then_some(command)
}

/// One word in single quotes, in which a single quote is written `'\''` or `'"'"'`, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (part, behind) = rest.split_once('\'')?;
        word.push_str(part);
        rest = match behind.strip_prefix("\\''").or_else(|| behind.strip_prefix("\"'\"'")) {
            Some(behind) => behind,
            None => return Some((word, behind)),
        };
        word.push('\'');
    }
}

/// A plain absolute path: nothing in it that a shell would take for anything else.
fn is_path(text: &str) -> bool {
    let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
    text.starts_with('/') && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(quoted: &str) -> String {
        format!(
            "source /home/coder/.claude/shell-snapshots/snapshot-bash-1.sh 2>/dev/null || true && shopt -u extglob \
             2>/dev/null || true && eval {quoted} < /dev/null && pwd -P >| /tmp/claude-1a2b-cwd"
        )
    }

    #[test]
    fn the_wrapper_is_taken_off() {
        for (raw, command) in [
            (wrapped("'ls -la'"), "ls -la"),
            (wrapped(r"'echo '\''a b'\'''"), "echo 'a b'"),
            (wrapped(r#"'echo '"'"'a'"'"' && rm -rf x'"#), "echo 'a' && rm -rf x"),
            ("eval 'cargo test' \\< /dev/null && pwd -P >| /tmp/claude-ff-cwd".to_owned(), "cargo test"),
            ("shopt -u extglob 2>/dev/null || true && eval 'a\nb' && pwd -P >| /tmp/x".to_owned(), "a\nb"),
        ] {
            assert_eq!(Claude.normalize_command(&raw), Normalized::evaluated(command), "{raw}");
        }
    }

    #[test]
    fn what_only_looks_like_the_wrapper_is_evaluated_as_it_stands() {
        for raw in [
            "ls -la".to_owned(),
            "env".to_owned(),
            wrapped("'ls'; rm -rf ~ #"),
            wrapped("\"ls\""),
            wrapped("'ls"),
            format!("{}; rm -rf ~", wrapped("'ls'")),
            format!("rm -rf ~; {}", wrapped("'ls'")),
            wrapped("'ls'").replace("/tmp/claude-1a2b-cwd", "/tmp/$(rm -rf ~)"),
            wrapped("'ls'").replace("snapshot-bash-1.sh", "x;rm"),
            "eval 'ls'".to_owned(),
            "eval 'ls' < /etc/passwd && pwd -P >| /tmp/x".to_owned(),
        ] {
            assert_eq!(Claude.normalize_command(&raw), Normalized::evaluated(&raw), "{raw}");
        }
    }
}
