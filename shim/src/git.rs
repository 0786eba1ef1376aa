//! Git's settings for the user of a container: a file of its HOME, as the launcher has written it.
//!
//! It is the lesser of the two files that git reads there: what the user copies or mounts to `~/.gitconfig` comes before
//! it, and so does every repository's own.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The variable in which an agent's container is told the file's text.
pub const TEXT: &str = "AIFO_GIT_CONFIG";

/// Writes the text to where git looks for it; a file that is there already stays.
///
/// # Errors
/// When it cannot be written.
pub fn configure(home: &Path, text: &str) -> io::Result<()> {
    let xdg = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    write(&xdg.unwrap_or_else(|| home.join(".config")).join("git"), text)
}

fn write(folder: &Path, text: &str) -> io::Result<()> {
    let file = folder.join("config");
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("cannot write `{}`: {error}", file.display()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    match fs::File::options().write(true).create_new(true).mode(0o600).open(&file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        opened => opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays() {
        let folder = env::temp_dir().join(format!("aifo-git-file-{}", std::process::id()));
        for text in ["one", "two"] {
            write(&folder.join(".config/git"), text).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.join(".config/git/config")).unwrap(), "one");
        fs::write(folder.join("plain"), "").unwrap();
        assert!(write(&folder.join("plain/git"), "one").unwrap_err().to_string().contains("cannot write `"));
        fs::remove_dir_all(folder).unwrap();
    }
}
