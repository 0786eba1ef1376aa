//! Where things are in a session's containers.

/// The workspace, in every container.
pub(super) const WORKSPACE: &str = "/workspace";
/// Our programs, in every container.
pub(super) const BIN: &str = "/opt/aifo/bin";
/// Our shell, under a name that has `bash` in it: some agents look for that.
pub(super) const SHELL: &str = "/opt/aifo/bin/aifo-bash";
/// The proxy's sockets, in every container.
pub(super) const SOCKETS: &str = "/run/aifo";
/// Links for tools that the user added, made by the proxy beside its sockets.
pub(super) const ADDED_BIN: &str = "/run/aifo/bin";
/// The certificates that the user wants trusted, put there by the proxy as well.
pub(super) const CA: &str = "/run/aifo/ca.crt";
/// Where our images look for the user's name.
pub(super) const USERS: &str = "/var/lib/extrausers";
/// The agent's state; its folders are linked from HOME.
pub(super) const STATE: &str = "/home/coder/.aifo-state";
/// Where the user's own files lie, read-only, until they are copied.
pub(super) const CONFIG: &str = "/home/coder/.aifo-config-host";
pub(super) const GNUPG: &str = "/home/coder/.gnupg-host";
/// Where the entrypoint puts its copies.
pub(super) const COPIED: &str = "/home/coder/.aifo-config";
pub(super) const KEYS: &str = "/home/coder/.gnupg";
