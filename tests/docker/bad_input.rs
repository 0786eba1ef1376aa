//! What a user may get wrong: one line that says what, one that says what to type, the documented exit code, nothing
//! started and nothing left. Of what is about images, files and locks, the rows stand with those.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use crate::support::docker::Place;

/// Words, variables, exit code, the sentence's beginning, a part of the hint.
type Row = (&'static [&'static str], &'static [(&'static str, &'static str)], i32, &'static str, &'static str);

const HELP: &str = "aifo-coder --help";

const ROWS: &[Row] = &[
    (&["calude"], &[], 2, "no agent or command `calude`; did you mean `claude`?", HELP),
    (&["claud", "--resume"], &[], 2, "no agent or command `claud`; did you mean `claude`?", HELP),
    (&["frobnicate"], &[], 2, "no agent or command `frobnicate`; see aifo-coder --help", HELP),
    (&["doctor", "cluade"], &[], 2, "no agent `cluade`; did you mean `claude`?", HELP),
    (&["--toolchian", "rust", "shell"], &[], 2, "no option `--toolchian`; did you mean `--toolchain`?", HELP),
    (&["--toolchain", "ruby", "shell"], &[], 2, "no toolchain kind `ruby`; did you mean `rust`?", HELP),
    (&["--toolchain", "fortran", "shell"], &[], 2, "no toolchain kind `fortran`; there are rust, node,", HELP),
    (&["--toolchain", "rust@", "shell"], &[], 2, "toolchain `rust@` has an empty part", HELP),
    (&["toolchain", "pyton"], &[], 2, "no toolchain kind `pyton`; did you mean `python`?", HELP),
    (&["--tool", "vite", "shell"], &[], 2, "tool `vite` is not KIND:NAME", HELP),
    (&["run"], &[], 2, "`run` needs a command", HELP),
    (&["ps", "x"], &[], 2, "`ps` takes no argument, got `x`", HELP),
    (&["completions", "tcsh"], &[], 2, "`completions` takes bash|zsh|fish, got `tcsh`", HELP),
    (&["--json=yes", "ps"], &[], 2, "unexpected argument for option '--json'", HELP),
    (&["--env", "1A=b", "shell"], &[], 2, "variable `1A` is no name", HELP),
    (&["--env", "PATH=/x", "shell"], &[], 2, "variable `PATH` belongs to the container", HELP),
    (&["--env", "LD_PRELOAD=/x", "shell"], &[], 2, "variable `LD_PRELOAD` belongs to the system", HELP),
    (&["shell"], &[("AIFO_ENV_HOME", "/x")], 2, "AIFO_ENV_HOME: variable `HOME` belongs to the container", HELP),
    (&["--env-file", "nowhere", "shell"], &[], 125, "cannot read `nowhere`: No such file", ""),
    (&["--volume", "/etc", "shell"], &[], 2, "volume `/etc` is not HOST:PATH[:ro]", "--volume HOST:PATH"),
    (&["--volume", "/nowhere:/x", "shell"], &[], 2, "volume `/nowhere:/x` names a host path that is not there", "HOST"),
    (&["--volume", "/etc:/tmp/x", "shell"], &[], 2, "volume `/etc:/tmp/x` would hide what the session needs", "/mnt"),
    (&["--volume", "/etc://tmp", "shell"], &[], 2, "volume `/etc://tmp` would hide what the session needs", "/mnt"),
    (&["--volume", "/etc:/./opt", "shell"], &[], 2, "volume `/etc:/./opt` would hide what the session needs", "/mnt"),
    (&["--volume", "/etc:/x", "--volume", "/etc:/x/", "shell"], &[], 2, "volume `/etc:/x/` has the same place", "one"),
    (
        &["--volume", "/etc:/x", "--volume", "/etc:/x/no/such", "shell"],
        &[],
        2,
        "volume `/etc:/x/no/such` needs `/etc/no/such` to be there",
        "mkdir -p /etc/no/such",
    ),
    (
        &["--volume", "/etc:/home/coder/.config", "opencode"],
        &[],
        2,
        "volume `/etc:/home/coder/.config` would hide what the agent keeps in `~/.config/opencode`",
        "below it",
    ),
    (
        &["--toolchain", "rust", "--volume", "/etc:/home/coder/.cache/x", "shell"],
        &[],
        2,
        "volume `/etc:/home/coder/.cache/x` meets the sidecars' caches",
        "--no-toolchain-cache",
    ),
    (&["--publish", "80", "shell"], &[], 2, "port `80` is not [IP:]HOST:PORT", HELP),
    (&["--publish", "x:80:80", "shell"], &[], 2, "port `x:80:80` is not [IP:]HOST:PORT", HELP),
    (
        &["--network", "none", "--publish", "8080:80", "shell"],
        &[],
        2,
        "nothing can be published in network `none`",
        "--network bridge",
    ),
    (
        &["--publish", "8080:80", "shell"],
        &[("AIFO_SESSION_NETWORK", "host")],
        2,
        "nothing can be published in network `host`",
        "--network bridge",
    ),
    (&["claude"], &[("AIFO_CODER_CONFIG_HOST_DIR", "/nowhere")], 2, "`/nowhere` is no folder to copy", HELP),
    (&["shell"], &[("AIFO_CODER_CA", "/nowhere/ca.pem")], 125, "cannot read `/nowhere/ca.pem`: No such file", ""),
    (
        &["shell"],
        &[("AIFO_CODER_APPARMOR_PROFILE", "no-such")],
        125,
        "AppArmor profile `no-such` cannot be used",
        "=none",
    ),
    (&["claude"], &[("HOME", "")], 125, "HOME names no folder", "HOME="),
    (&["claude"], &[("HOME", "relative")], 125, "HOME names no folder", "HOME="),
];

#[test]
#[ignore = "needs docker"]
fn each_mistake_is_named_in_one_line_with_what_to_type_and_starts_nothing() {
    let place = Place::new();
    for (words, variables, code, sentence, hint) in ROWS {
        let launcher = place.launcher(words);
        let launcher = variables.iter().fold(launcher, |launcher, (name, value)| launcher.env(name, value));
        let (said, told) = launcher.refused_with(*code);
        assert!(said.starts_with(sentence), "{words:?}: {said}");
        assert!(told.unwrap_or_default().contains(hint), "{words:?}: {said}");
        let left: Vec<String> = place.listing();
        assert_eq!(left, ["home", "workspace"], "{words:?}");
    }
}

#[test]
#[ignore = "needs docker"]
fn a_folder_that_is_no_project_is_refused() {
    let place = Place::new();
    for (folder, why) in
        [("/".into(), "it is the root of the file system"), (place.home(), "it is your home directory")]
    {
        let mut launcher = place.launcher(&["claude"]);
        launcher.command.current_dir(&folder);
        let (said, hint) = launcher.refused();
        assert_eq!(said, format!("`{}` cannot be the workspace: {why}", folder.display()));
        assert!(hint.unwrap().starts_with("cd to a project"));
    }
}

#[test]
#[ignore = "needs docker"]
fn a_home_that_cannot_be_written_keeps_only_those_from_running_who_need_it() {
    let place = Place::of_plain_user();
    fs::set_permissions(place.home(), Permissions::from_mode(0o555)).unwrap();
    let args = ["--image", crate::support::docker::agents::SHELL_IMAGE, "claude"];
    let before = place.listing();
    let (said, hint) = place.launcher(&args).refused();
    let state = place.home().join(".local/state/aifo-coder/claude");
    assert_eq!(
        said,
        format!("cannot keep the agent's state in `{}`: Permission denied (os error 13)", state.display())
    );
    assert_eq!(hint.as_deref(), Some("AIFO_CODER_STATE_DIR=FOLDER, one that you may write"));
    assert_eq!(place.listing(), before);
    // What keeps nothing runs, and so does what the hint says.
    place.launcher(&["shell", "-c", "true"]).run().expect(0);
    place.put("state/x", "");
    let launcher = crate::support::docker::agents::stand_in(&place, &[], "claude", &[]);
    let mut session = launcher.env("AIFO_CODER_STATE_DIR", "state").start_shell();
    session.expect(0, "echo 1 >~/.claude/kept");
    session.finish().expect(0);
    assert!(place.workspace().join("state/claude/.claude/kept").exists());
    fs::set_permissions(place.home(), Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[ignore = "needs docker"]
fn a_port_that_is_taken_is_named() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ran = place.launcher(&["--publish", &format!("{port}:80"), "run", "--", "true"]).run();
    ran.expect(125);
    assert!(
        ran.err().contains("error: the proxy ended before the session did: ") && ran.err().contains(&port.to_string()),
        "{ran}"
    );
}

#[test]
#[ignore = "needs docker"]
fn a_variable_that_is_no_text_harms_nobody() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let place = Place::new();
    let launcher = place.launcher(&["run", "--", "sh", "-c", "echo \"$FINE\""]).env("AIFO_ENV_FINE", "fine");
    let launcher = launcher.env("ODD", OsStr::from_bytes(b"\xff")).env("AIFO_ENV_ODD", OsStr::from_bytes(b"\xfe"));
    assert_eq!(launcher.run().expect(0), "fine");
}
