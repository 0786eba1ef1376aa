//! The user's git identity: name, mail, and whether commits are signed.
//!
//! Asked of git itself, for the user's own configuration only: it is run in `/`, where no repository can have a say, with
//! the system's and the workspace's files left out (threat T53).

use std::process::{Command, Stdio};

/// What the user's configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    name: Option<String>,
    email: Option<String>,
    signing_key: Option<String>,
    signs: bool,
    /// GnuPG's is the format when none is named.
    format: Option<String>,
}

impl Identity {
    /// Asks git; empty where there is none, or it knows nobody.
    pub(crate) fn read() -> Self {
        let output = Command::new("git")
            .args([
                "config",
                "--global",
                "--null",
                "--get-regexp",
                r"^(user\.(name|email|signingkey)|commit\.gpgsign|gpg\.format)$",
            ])
            .current_dir("/")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            // Settings of the caller's for one command, which git counts and would miss some of.
            .env_remove("GIT_CONFIG_COUNT")
            .env_remove("GIT_CONFIG_PARAMETERS")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        output.map_or_else(|_no_git| Self::default(), |output| Self::parse(&output.stdout))
    }

    /// Entries are `key LF value NUL`.
    fn parse(listed: &[u8]) -> Self {
        let mut identity = Self::default();
        for entry in listed.split(|&byte| byte == 0) {
            let text = String::from_utf8_lossy(entry);
            let Some((key, value)) = text.split_once('\n') else { continue };
            let value = value.to_owned();
            match key {
                "user.name" => identity.name = Some(value),
                "user.email" => identity.email = Some(value),
                "user.signingkey" => identity.signing_key = Some(value),
                "commit.gpgsign" => identity.signs = matches!(value.as_str(), "true" | "yes" | "on" | "1"),
                "gpg.format" => identity.format = Some(value),
                _ => {}
            }
        }
        identity
    }

    /// Whether the agent shall sign with GnuPG: as git is set to, or as the user says here.
    pub(crate) fn signs(&self, wish: Option<&str>) -> bool {
        let is_gnupg = self.format.as_deref().is_none_or(|format| format == "openpgp");
        match wish {
            Some("1") => is_gnupg,
            Some("0") => false,
            _ => self.signs && is_gnupg,
        }
    }

    /// The variables that carry it.
    pub(crate) fn variables(&self, wish: Option<&str>) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        let mut put = |name: &str, value: &Option<String>| {
            variables.extend(value.iter().map(|value| (name.to_owned(), value.clone())));
        };
        for role in ["AUTHOR", "COMMITTER"] {
            put(&format!("GIT_{role}_NAME"), &self.name);
            put(&format!("GIT_{role}_EMAIL"), &self.email);
        }
        let mut settings = vec![("commit.gpgsign", self.signs(wish).to_string())];
        settings.extend(self.signing_key.clone().filter(|_| self.signs(wish)).map(|key| ("user.signingkey", key)));
        variables.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
        for (number, (key, value)) in settings.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), key.to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), value));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_becomes_variables() {
        let listed = b"user.name\nA B\0user.email\na@b\0commit.gpgsign\ntrue\0user.signingkey\nKEY\0other\0";
        let identity = Identity::parse(listed);
        let shown = |wish| {
            identity.variables(wish).iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown(None),
            "GIT_AUTHOR_NAME=A B GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A B GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_COUNT=2 \
             GIT_CONFIG_KEY_0=commit.gpgsign GIT_CONFIG_VALUE_0=true GIT_CONFIG_KEY_1=user.signingkey GIT_CONFIG_VALUE_1=KEY"
        );
        assert!(
            shown(Some("0")).ends_with("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=commit.gpgsign GIT_CONFIG_VALUE_0=false")
        );
        let with_ssh = Identity { format: Some("ssh".to_owned()), ..identity };
        assert!(!with_ssh.signs(None) && !with_ssh.signs(Some("1")));
    }
}
