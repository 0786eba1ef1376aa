//! Claude Code: a native program that starts the shell named by a variable, if the name looks like one it knows.
//!
//! It wraps each command: a snapshot of the user's shell is sourced, options and names that would get in the way are
//! undone, the command is `eval`ed from one word, and the directory behind it is written to a file of its own. Only that
//! exact shape is unwrapped; anything else that it sends is evaluated as it stands, for a wrapper that is merely similar
//! could hide a command. Two lines are its own plumbing: `env`, and the script that takes the snapshot, known by its sum.

use super::{Agent, Copied, Normalized, ShellHook};
use crate::digest::sha256;

/// The script that takes the snapshot, without what changes with every run; of the version in `images/versions`.
const SNAPSHOT: &str = "85cc70891608991584f6202280dd5dad6a75bed46b381f1a18634b2079df1b10";
/// What the snapshot's text ends with in the script, before a few letters of its own.
const MARKER: &str = "CLAUDE_CODE_END";

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
        match unwrap(raw) {
            Some(command) => Normalized::evaluated(&command),
            None if raw == "env" || snapshot(raw).is_some_and(|text| sha256(text.as_bytes()) == SNAPSHOT) => {
                Normalized::plumbing(raw)
            }
            None => Normalized::evaluated(raw),
        }
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
    for options in ["\\builtin shopt -u extglob", "shopt -u extglob", "setopt NO_EXTENDED_GLOB"] {
        let behind = rest.strip_prefix(options).and_then(|rest| rest.strip_prefix(" 2>/dev/null || true && "));
        rest = behind.unwrap_or(rest);
    }
    while let Some(behind) = rest.strip_prefix("{ \\builtin unalias -- '") {
        let (name, behind) = behind.split_once('\'')?;
        let undone = format!("; \\builtin unset -f -- '{name}'; }} >/dev/null 2>&1 || true && ");
        rest = behind.strip_prefix(&undone).filter(|_| is_plain(name))?;
    }
    let (command, behind) = word(rest.strip_prefix("eval ")?)?;
    let behind =
        behind.strip_prefix(" < /dev/null").or_else(|| behind.strip_prefix(" \\< /dev/null")).unwrap_or(behind);
    let file = behind.strip_prefix(" && pwd -P >| ")?;
    is_path(file).then_some(command)
}

/// The word that is evaluated, and what follows it. One in which nothing is special stands without quotes.
fn word(text: &str) -> Option<(String, &str)> {
    if text.starts_with('\'') {
        return quoted(text);
    }
    let (word, _) = text.split_once(' ')?;
    is_plain(word).then(|| (word.to_owned(), &text[word.len()..]))
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
    text.starts_with('/') && is_plain(text)
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:=".contains(c))
}

/// The script that takes the snapshot, without the three things that change with every run: the file's name, the marker's
/// letters, and the value of PATH, which stands right before the marker.
fn snapshot(raw: &str) -> Option<String> {
    let (file, script) = raw.strip_prefix("SNAPSHOT_FILE=")?.split_once('\n')?;
    let (_, behind) = script.split_once(&format!("<< '{MARKER}_"))?;
    let (letters, _) = behind.split_once('\'')?;
    let end = format!("{MARKER}_{letters}");
    let (before, rest) = script.split_once("\nexport PATH=")?;
    let (path, rest) = rest.split_once('\n').filter(|(_, rest)| rest.starts_with(&end))?;
    let text = format!("{before}\n{rest}").replace(&end, MARKER);
    (is_path(file) && is_plain(letters) && is_path(path)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it was recorded of the real agent.
    fn wrapped(word: &str) -> String {
        format!(
            r"source /home/coder/.claude/shell-snapshots/snapshot-bash-1795311349189-fbbo5p.sh 2>/dev/null || true && \builtin shopt -u extglob 2>/dev/null || true && {{ \builtin unalias -- 'which'; \builtin unset -f -- 'which'; }} >/dev/null 2>&1 || true && {{ \builtin unalias -- 'unsetenv'; \builtin unset -f -- 'unsetenv'; }} >/dev/null 2>&1 || true && eval {word} && pwd -P >| /tmp/claude-1f4e-cwd"
        )
    }

    #[test]
    fn the_wrapper_is_taken_off_of_what_was_recorded() {
        for (word, command) in [
            ("make < /dev/null", "make"),
            ("'make -s all' < /dev/null", "make -s all"),
            (
                r#"'cc --version | head -1; echo "it'"'"'s $HOME"' < /dev/null"#,
                r#"cc --version | head -1; echo "it's $HOME""#,
            ),
            ("'ls </dev/null'", "ls </dev/null"),
            ("'echo a > /tmp/x; cat < /tmp/x'", "echo a > /tmp/x; cat < /tmp/x"),
            ("'for i in 1 2; do\n echo $i\ndone' < /dev/null", "for i in 1 2; do\n echo $i\ndone"),
            ("'cat <<EOF\nit'\"'\"'s \"quoted\" $HOME\nEOF'", "cat <<EOF\nit's \"quoted\" $HOME\nEOF"),
            ("'sleep 0.1 &' < /dev/null", "sleep 0.1 &"),
            (r"'echo a\ b' < /dev/null", r"echo a\ b"),
        ] {
            assert_eq!(Claude.normalize_command(&wrapped(word)), Normalized::evaluated(command), "{word}");
        }
    }

    #[test]
    fn the_wrapper_of_other_versions_is_taken_off() {
        for (raw, command) in [
            (r"shopt -u extglob 2>/dev/null || true && eval 'a'\''b' && pwd -P >| /tmp/x", "a'b"),
            (r"eval 'cargo test' \< /dev/null && pwd -P >| /tmp/claude-ff-cwd", "cargo test"),
            (r"setopt NO_EXTENDED_GLOB 2>/dev/null || true && eval 'ls' && pwd -P >| '/tmp/x'", "ls"),
        ] {
            assert_eq!(Claude.normalize_command(raw), Normalized::evaluated(command), "{raw}");
        }
    }

    #[test]
    fn what_only_looks_like_the_wrapper_is_evaluated_as_it_stands() {
        for raw in [
            "ls -la".to_owned(),
            "env -i".to_owned(),
            wrapped("'ls'; rm -rf ~ #"),
            wrapped("\"ls\""),
            wrapped("'ls"),
            wrapped("ls;rm"),
            wrapped("$(rm)"),
            wrapped("ls -la"),
            format!("{}; rm -rf ~", wrapped("'ls'")),
            format!("rm -rf ~; {}", wrapped("'ls'")),
            wrapped("'ls'").replace("/tmp/claude-1f4e-cwd", "/tmp/$(rm -rf ~)"),
            wrapped("'ls'").replace("-fbbo5p.sh", "x;rm"),
            wrapped("'ls'").replace("-- 'which'; }", "-- 'which'; rm -rf ~; }"),
            wrapped("'ls'").replace("'unsetenv'", "$(rm)"),
            "eval 'ls'".to_owned(),
            "eval 'ls' < /etc/passwd && pwd -P >| /tmp/x".to_owned(),
        ] {
            assert_eq!(Claude.normalize_command(&raw), Normalized::evaluated(&raw), "{raw}");
        }
    }

    #[test]
    fn its_own_plumbing_is_known_by_every_letter() {
        assert_eq!(Claude.normalize_command("env"), Normalized::plumbing("env"));
        let script = |path: &str, more: &str| {
            format!(
                "SNAPSHOT_FILE=/home/x.sh\n{more}cat >> \"$SNAPSHOT_FILE\" << 'CLAUDE_CODE_END_a1'\ntext\nexport \
                 PATH={path}\nCLAUDE_CODE_END_a1\ndone\n"
            )
        };
        let blank = "cat >> \"$SNAPSHOT_FILE\" << 'CLAUDE_CODE_END'\ntext\nCLAUDE_CODE_END\ndone\n";
        assert_eq!(snapshot(&script("/a:/b", "")).as_deref(), Some(blank));
        assert_eq!(snapshot(&script("$(rm)", "")), None);
        for more in ["export PATH=/tmp\n", "\nexport PATH=/tmp\n", "rm -rf ~\n"] {
            assert_ne!(snapshot(&script("/a", more)).as_deref(), Some(blank), "{more}");
        }
        let raw = script("/a", "");
        assert_eq!(Claude.normalize_command(&raw), Normalized::evaluated(&raw), "not what was recorded");
    }
}
