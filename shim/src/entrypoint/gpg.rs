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

use aifo_shim::{given, sys};

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
    if let Some(key) = signing_key(&|name| given::var(name)?.into_string().ok()) {
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

/// The key that git is told to sign with by variables, as the launcher passes the user's own settings on.
fn signing_key(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let count: u32 = variable("GIT_CONFIG_COUNT")?.parse().ok()?;
    let is_key = |at: &u32| variable(&format!("GIT_CONFIG_KEY_{at}")).is_some_and(|key| key == "user.signingkey");
    // The last one counts for git.
    let at = (0..count.min(1000)).rev().find(is_key)?;
    variable(&format!("GIT_CONFIG_VALUE_{at}")).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::signing_key;

    #[test]
    fn the_key_is_the_one_that_git_is_told() {
        let key = |variables: &[(&str, &str)]| {
            signing_key(&|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let told = [
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "user.signingkey"),
            ("GIT_CONFIG_VALUE_0", "A"),
            ("GIT_CONFIG_KEY_1", "user.signingkey"),
            ("GIT_CONFIG_VALUE_1", "B"),
            ("GIT_CONFIG_KEY_2", "commit.gpgsign"),
        ];
        assert_eq!(key(&told).as_deref(), Some("B"));
        assert_eq!(key(&told[1..]), None);
        assert_eq!(key(&[("GIT_CONFIG_COUNT", "many")]), None);
    }
}
