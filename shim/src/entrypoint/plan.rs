//! `aifo-entrypoint`'s options. Pure: words in, a plan out.

use std::{ffi::OsString, path::PathBuf};

use aifo_shim::error::ShimError;

/// What is to be made ready, and what to run then.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// `--path`: what comes first in PATH.
    pub(crate) first: Vec<PathBuf>,
    /// `--login-files`: whether login shells are told too.
    pub(crate) login_files: bool,
    /// `--state`: folders that outlive the session, each linked from HOME at the path behind their root.
    pub(crate) state: Vec<PathBuf>,
    /// `--config`, `--config-max-size`, `--config-extensions`: what is copied into HOME.
    pub(crate) config: Option<PathBuf>,
    pub(crate) config_max_size: u64,
    pub(crate) config_extensions: Vec<String>,
    /// `--git`: whether git's settings come in a variable.
    pub(crate) git: bool,
    /// `--gnupg`: keys to copy.
    pub(crate) gnupg: Option<PathBuf>,
    /// `--shell-setting KEY=FILE`: a JSON file below HOME that names the agent's shell.
    pub(crate) shell_setting: Option<(String, PathBuf)>,
    /// `--or`: other names of the program.
    pub(crate) other_names: Vec<OsString>,
    pub(crate) command: Vec<OsString>,
}

impl Plan {
    /// # Errors
    /// [`ShimError::NoCommand`] when nothing is left to run.
    pub(crate) fn parse(words: &[OsString]) -> Result<Self, ShimError> {
        let mut plan = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(ShimError::NoCommand);
            match word.to_str() {
                Some("--path") => plan.first.push(value()?.into()),
                Some("--login-files") => plan.login_files = true,
                Some("--state") => plan.state.push(value()?.into()),
                Some("--config") => plan.config = Some(value()?.into()),
                Some("--config-max-size") => plan.config_max_size = text(value()?).parse().unwrap_or(0),
                Some("--config-extensions") => {
                    plan.config_extensions = text(value()?).split(',').map(|ending| ending.trim().to_owned()).collect();
                }
                Some("--git") => plan.git = true,
                Some("--gnupg") => plan.gnupg = Some(value()?.into()),
                Some("--shell-setting") => {
                    let setting = text(value()?);
                    plan.shell_setting = setting.split_once('=').map(|(key, file)| (key.to_owned(), file.into()));
                }
                Some("--or") => plan.other_names.push(value()?.clone()),
                Some("--") => break,
                _ => {
                    plan.command.push(word.clone());
                    break;
                }
            }
        }
        plan.command.extend(words.cloned());
        if plan.command.is_empty() { Err(ShimError::NoCommand) } else { Ok(plan) }
    }
}

/// The launcher writes these as text.
fn text(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Result<Plan, ShimError> {
        Plan::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_end_at_the_command() {
        let full =
            plan("--path /a --login-files --path /b --or pdx --shell-setting shellPath=.pi/s.json -- claude --path")
                .unwrap();
        assert_eq!((full.first.len(), full.login_files, full.command.len()), (2, true, 2));
        assert_eq!(full.shell_setting, Some(("shellPath".to_owned(), ".pi/s.json".into())));
        let plain = Plan { command: vec!["bash".into(), "--".into()], ..Plan::default() };
        assert_eq!(plan("bash --").unwrap(), plain);
        assert!(plan("--login-files").is_err() && plan("--path").is_err() && plan("--").is_err());
    }
}
