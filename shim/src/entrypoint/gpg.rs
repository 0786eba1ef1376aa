//! Signed commits: the person at the terminal is asked for the key's passphrase once, before the agent starts.
//!
//! An agent runs git where nobody could be asked. So gpg signs nothing at all here first: its own pinentry asks on the
//! terminal, its own agent keeps the answer in memory for the session. The passphrase never passes through this program,
//! an argument, a variable or a file. A key without one is not asked for.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
    process::{Command, Stdio},
};

use aifo_shim::sys;

/// Long enough for any session: the answer goes with the container's memory.
const AGENT_CONF: &str = "default-cache-ttl 604800\nmax-cache-ttl 604800\n";

/// Makes gpg ready to sign for the agent, in the folder that holds the session's copy of the keys.
///
/// # Errors
/// When gpg is not there or signs nothing: the agent runs all the same, and its signed commits fail.
pub(crate) fn prime(home: &Path) -> io::Result<()> {
    let conf = home.join("gpg-agent.conf");
    if !conf.exists() {
        fs::write(conf, AGENT_CONF)?;
    }
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    let mut gpg = Command::new("gpg");
    gpg.args(["--quiet", "--yes", "--output", "/dev/null"]);
    if let Some(key) = signing_key() {
        gpg.args(["--local-user", &key]);
    }
    gpg.args(["--detach-sign", "/dev/null"]).env("GNUPGHOME", home).stdout(Stdio::null());
    // Its pinentry opens the terminal by name.
    if let Ok(terminal) = fs::read_link("/proc/self/fd/0") {
        gpg.env("GPG_TTY", terminal);
    }
    sys::start_unblocked(&mut gpg);
    match gpg.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(io::Error::other(format!("gpg cannot sign, so no commit will be signed: {status}"))),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot start `gpg` to sign commits: {error}"))),
    }
}

/// The key that git signs with in this folder: the repository's own, else the user's.
fn signing_key() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["config", "--get", "user.signingkey"]).stdin(Stdio::null()).stderr(Stdio::null());
    sys::start_unblocked(&mut git);
    let said = git.output().ok().filter(|output| output.status.success())?;
    let key = String::from_utf8(said.stdout).ok()?;
    Some(key.trim().to_owned()).filter(|key| !key.is_empty())
}
