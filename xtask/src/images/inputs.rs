//! What an image was made of, as one number, and the note of it that spares docker a question when nothing has changed.
//!
//! Docker's own cache would come to the same end, image by image and slower. A note counts only while the image has the
//! id that the note names, so that whoever else builds or tags is seen; a lost note costs one question. Like docker's
//! cache it knows nothing of what a registry has newer by now: that is what `--fresh` is for.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::cmd::{Failure, io_failure};

/// The number for a context and all that is said to docker besides.
///
/// # Errors
/// When the context cannot be read.
pub(super) fn of_context(context: &Path, said: &[(String, String)]) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    said.hash(&mut hasher);
    add(context, &mut hasher)?;
    Ok(hasher.finish())
}

/// The number with the images that it starts from, by their ids.
pub(super) fn with_parents(inputs: u64, ids: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (inputs, ids).hash(&mut hasher);
    hasher.finish()
}

/// Whether the note says that the image of this id was made of exactly this.
pub(super) fn is_noted(note: &Path, inputs: u64, id: &str) -> bool {
    fs::read_to_string(note).is_ok_and(|text| text == line(inputs, id))
}

/// Writes the note.
///
/// # Errors
/// When it cannot be written.
pub(super) fn note(note: &Path, inputs: u64, id: &str) -> Result<(), Failure> {
    fs::write(note, line(inputs, id)).map_err(io_failure("write", note.display()))
}

fn line(inputs: u64, id: &str) -> String {
    format!("{inputs:016x} {id}\n")
}

/// Adds a folder's names, modes, contents and links, in the order of their names.
fn add(folder: &Path, hasher: &mut DefaultHasher) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(io_failure("read", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let found = fs::symlink_metadata(&path).map_err(io_failure("read", path.display()))?;
        path.file_name().hash(hasher);
        if found.is_symlink() {
            fs::read_link(&path).map_err(io_failure("read", path.display()))?.hash(hasher);
        } else if found.is_dir() {
            found.permissions().mode().hash(hasher);
            add(&path, hasher)?;
            // Ends the folder: what follows belongs to the one above.
            hasher.write_u8(0);
        } else {
            found.permissions().mode().hash(hasher);
            fs::read(&path).map_err(io_failure("read", path.display()))?.hash(hasher);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{env, fs, os::unix::fs::symlink, process};

    use super::{is_noted, note, of_context, with_parents};

    #[test]
    fn every_change_gives_another_number() {
        let dir = env::temp_dir().join(format!("aifo-inputs-{}", process::id()));
        let context = dir.join("context");
        fs::create_dir_all(context.join("a")).unwrap();
        let number = || of_context(&context, &[("A".to_owned(), "1".to_owned())]).unwrap();
        let mut seen = vec![number(), of_context(&context, &[]).unwrap()];
        fs::write(context.join("a/b"), "1").unwrap();
        seen.push(number());
        fs::write(context.join("a/b"), "2").unwrap();
        seen.push(number());
        fs::rename(context.join("a/b"), context.join("b")).unwrap();
        seen.push(number());
        symlink("b", context.join("c")).unwrap();
        seen.push(number());
        assert_eq!(seen.last(), Some(&number()), "nothing changed");
        seen.extend([with_parents(1, &[]), with_parents(1, &["x".to_owned()])]);
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_note_is_about_one_image_made_of_one_thing() {
        let path = env::temp_dir().join(format!("aifo-note-{}", process::id()));
        assert!(!is_noted(&path, 7, "sha256:a"));
        note(&path, 7, "sha256:a").unwrap();
        assert!(is_noted(&path, 7, "sha256:a") && !is_noted(&path, 8, "sha256:a") && !is_noted(&path, 7, "sha256:b"));
        fs::remove_file(path).unwrap();
    }
}
