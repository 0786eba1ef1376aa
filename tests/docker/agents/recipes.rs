//! How each agent is pointed at a server, told to ask nothing, and given its one task: as a user would do it.

/// One agent's way.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) name: &'static str,
    /// Words behind its name.
    pub(super) words: &'static [&'static str],
    /// The launcher's options, for what no credential's name stands for.
    pub(super) options: &'static [&'static str],
    /// Variables of the user. `SERVER` stands for its URL.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// A file of the user below HOME, and what it says.
    pub(super) file: Option<(&'static str, &'static str)>,
    /// How the script reaches it.
    pub(super) hand: Hand,
    /// What it leaves in a project by its own will.
    pub(super) leaves: &'static [&'static str],
}

/// How an agent gets to run commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    /// Its tool starts a shell with each command.
    Shell,
    /// Its tool types each command into one shell.
    Typed,
    /// It has no tool; it runs a test command after each edit.
    TestCommand,
}

pub(super) const CLAUDE: Recipe = Recipe {
    name: "claude",
    words: &["--print", "--dangerously-skip-permissions", "go"],
    options: &["--env", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"],
    env: &[("ANTHROPIC_BASE_URL", "SERVER"), ("ANTHROPIC_API_KEY", "key")],
    file: None,
    hand: Hand::Shell,
    leaves: &[],
};

pub(super) const CODEX: Recipe = Recipe {
    name: "codex",
    words: &["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"],
    options: &[],
    env: &[("OPENAI_API_KEY", "key")],
    file: Some((
        ".codex/config.toml",
        "model = \"fake\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"SERVER/v1\"\n\
         env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n",
    )),
    hand: Hand::Shell,
    leaves: &[],
};

pub(super) const OPENCODE: Recipe = Recipe {
    name: "opencode",
    words: &["run", "go"],
    options: &[],
    env: &[("OPENCODE_DISABLE_MODELS_FETCH", "1")],
    file: Some((
        ".config/opencode/opencode.json",
        r#"{"model": "fake/fake", "permission": {"bash": "allow", "external_directory": "allow"}, "provider": {"fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"fake": {"name": "fake"}},
            "options": {"baseURL": "SERVER/v1", "apiKey": "key"}}}}"#,
    )),
    hand: Hand::Shell,
    leaves: &[],
};

pub(super) const PI: Recipe = Recipe {
    name: "pi",
    words: &["--provider", "fake", "--model", "fake", "--print", "go"],
    options: &[],
    env: &[("PI_OFFLINE", "1"), ("OPENAI_API_KEY", "key")],
    file: Some((
        ".pi/agent/models.json",
        r#"{"providers": {"fake": {"baseUrl": "SERVER/v1", "api": "openai-completions", "apiKey": "OPENAI_API_KEY",
            "models": [{"id": "fake"}]}}}"#,
    )),
    hand: Hand::Shell,
    leaves: &[],
};

pub(super) const LETTA: Recipe = Recipe {
    name: "letta",
    words: &["--backend", "local", "--model", "llama-cpp/fake", "--yolo", "-p", "go"],
    options: &[],
    env: &[("LLAMA_CPP_BASE_URL", "SERVER/v1")],
    file: None,
    hand: Hand::Shell,
    leaves: &[".letta", ".letta/.lettaignore", ".letta/settings.local.json"],
};

pub(super) const AIDER: Recipe = Recipe {
    name: "aider",
    words: &[
        "--model",
        "openai/fake",
        "--no-git",
        "--no-stream",
        "--no-show-model-warnings",
        "--yes-always",
        "--message",
        "go",
        "notes.txt",
    ],
    options: &[],
    // By the names under which a company gives everybody's.
    env: &[("AIFO_API_BASE", "SERVER/v1"), ("AIFO_API_KEY", "key")],
    file: None,
    hand: Hand::TestCommand,
    leaves: &[".aider.chat.history.md", ".aider.input.history", "notes.txt"],
};

pub(super) const OPENHANDS: Recipe = Recipe {
    name: "openhands",
    words: &["--headless", "--always-approve", "--override-with-envs", "--task", "go"],
    options: &[],
    env: &[("LLM_BASE_URL", "SERVER/v1"), ("LLM_API_KEY", "key"), ("LLM_MODEL", "openai/fake")],
    file: None,
    hand: Hand::Typed,
    leaves: &[],
};
