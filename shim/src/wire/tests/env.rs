//! Which variables cross, by example.

use crate::wire::env::{may_cross, name_of};

#[test]
fn what_a_build_needs_crosses() {
    for name in [
        "CI",
        "RUST_LOG",
        "RUST_BACKTRACE",
        "NODE_ENV",
        "CC",
        "CFLAGS",
        "TERM",
        "COLORTERM",
        "LANG",
        "LC_ALL",
        "TZ",
        "CARGO_TERM_COLOR",
        "CARGO_TARGET_DIR",
        "MAKEFLAGS",
        "NO_COLOR",
        "MY_APP_MODE",
        "DATABASE_URL",
        "KEYBOARD",
        "TOKENIZERS_PARALLELISM",
        "AUTHOR",
        "HTTP_PROXY",
        "no_proxy",
        "DEBUG",
        "PATHS",
        "npm_config_loglevel",
    ] {
        assert!(may_cross(name.as_bytes()), "{name}");
    }
}

#[test]
fn t30_secrets_loaders_and_places_do_not_cross() {
    for name in [
        "AUTHORIZATION",
        "MY_BEARER",
        "AIFO_TOOLEEXEC_TOKEN",
        "AIFO_AGENT_NAME",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "MY_API_KEY",
        "GITHUB_TOKEN",
        "NPM_TOKEN",
        "github_token",
        "DB_PASSWORD",
        "PGPASSWORD",
        "SSHPASS",
        "SMTP_PASS",
        "npm_config__authToken",
        "GITHUBTOKEN",
        "MYSECRETKEY",
        "SECRET_THING",
        "AWS_ACCESS_KEY_ID",
        "CARGO_REGISTRIES_X_TOKEN",
        "GH_PAT",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "ENV",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "BASH_FUNC_x%%",
        "PATH",
        "HOME",
        "PWD",
        "SSH_AUTH_SOCK",
        "VIRTUAL_ENV",
        "CARGO_HOME",
        "XDG_CACHE_HOME",
        "NODE_AUTH_TOKEN",
        "IFS",
    ] {
        assert!(!may_cross(name.as_bytes()), "{name}");
    }
    assert!(!may_cross(b"\xff"));
}

#[test]
fn a_variable_needs_a_name() {
    assert_eq!(name_of(b"A=b=c"), Some(b"A".as_slice()));
    assert_eq!(name_of(b"=b"), None);
    assert_eq!(name_of(b"A"), None);
}
