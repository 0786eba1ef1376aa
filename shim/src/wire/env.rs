//! Which variables of the caller reach a tool in a sidecar.
//!
//! A tool should see what it would have seen in place: `CI`, `RUST_LOG`, `CFLAGS`, the user's own names. It must not see
//! what looks like a secret, what belongs to the agent or to this system, what would load code into the tool, or what
//! describes the agent's container instead of the sidecar. The shim leaves those out so that they never travel, and the
//! proxy leaves them out again because not every client is our shim.

/// Names that describe the caller's own process or container.
const PLACES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "HOSTNAME",
    "MAIL",
    "TMPDIR",
    "TERMCAP",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "GNUPGHOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOPATH",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "PNPM_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
];

/// Names that make a program load or run something before its own first line.
const LOADERS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GCONV_PATH",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
];

/// Beginnings of names: this system's own, loaders with many names, and the accounts of model and cloud providers.
const PREFIXES: &[&str] = &[
    "AIFO_",
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "PYTHON",
    "GIT_",
    "XDG_",
    "MALLOC_",
    "GLIBC_",
    "ANTHROPIC_",
    "OPENAI_",
    "AZURE_",
    "GEMINI_",
    "GOOGLE_",
    "AWS_",
    "OPENROUTER_",
    "MISTRAL_",
    "GROQ_",
    "DEEPSEEK_",
    "XAI_",
    "LITELLM_",
    "LLM_",
];

/// Words that make a name look like a secret, wherever they stand in it between underscores.
const SECRET_WORDS: &[&str] = &["PAT", "AUTH", "PASS", "SSHPASS"];

/// The same also as a part of a word: `PGPASSWORD`.
pub const SECRET_PARTS: &[&str] =
    &["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL", "AUTHORIZATION", "BEARER"];

/// The same as the end of a word: `NPM_CONFIG__AUTHTOKEN`, but not `TOKENIZERS_PARALLELISM`.
pub const SECRET_WORD_ENDINGS: &[&str] = &["TOKEN", "TOKENS", "APIKEY", "ACCESSKEY", "PRIVATEKEY"];

/// Endings of names that look like a secret. A bare `KEY` in the middle (`KEYBOARD`, `KEY_DIR`) does not.
const SECRET_ENDINGS: &[&str] = &["_KEY", "_KEYS", "_KEY_ID", "_PASS", "_PWD", "_COOKIE", "_DSN"];

/// The name in `NAME=value`; none where there is no name.
pub fn name_of(variable: &[u8]) -> Option<&[u8]> {
    let equals = variable.iter().position(|&byte| byte == b'=')?;
    if equals == 0 { None } else { variable.get(..equals) }
}

/// Whether a variable of this name may leave the agent's container.
pub fn may_cross(name: &[u8]) -> bool {
    // Names that are not text are nobody's habit; shells cannot even set them.
    let Ok(name) = str::from_utf8(name) else { return false };
    let name = name.to_ascii_uppercase();
    let is = |list: &[&str]| list.contains(&name.as_str());
    !(is(PLACES) || is(LOADERS) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || looks_secret(&name))
}

/// Whether a name in capitals, its words apart by underscores, looks like that of a secret.
pub fn looks_secret(name: &str) -> bool {
    SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.split('_').any(is_secret_word)
}

fn is_secret_word(word: &str) -> bool {
    SECRET_WORDS.contains(&word) || SECRET_WORD_ENDINGS.iter().any(|ending| word.ends_with(ending))
}
