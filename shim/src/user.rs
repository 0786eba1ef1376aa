//! A name for the user of a container, who is the caller's on the host and unknown to the image.
//!
//! Some programs fail for a user without one. Our images look for names in a second list (libnss-extrausers), whose folder
//! the launcher keeps in memory, so that nothing of the image has to be writable.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

const LIST: &str = "/var/lib/extrausers/passwd";

/// Enters this process's user, where the image does not know it and has such a list.
///
/// # Errors
/// When the list cannot be written.
pub fn name(home: &Path) -> io::Result<()> {
    let own = fs::metadata("/proc/self")?;
    let uid = own.uid().to_string();
    let is_known = |list: &str| {
        fs::read_to_string(list).unwrap_or_default().lines().any(|line| line.split(':').nth(2) == Some(&uid))
    };
    let has_list = Path::new(LIST).parent().is_some_and(Path::is_dir);
    if !has_list || is_known("/etc/passwd") || is_known(LIST) {
        return Ok(());
    }
    let written = fs::write(LIST, format!("coder:x:{uid}:{}::{}:/bin/bash\n", own.gid(), home.display()));
    written.map_err(|error| io::Error::new(error.kind(), format!("cannot write `{LIST}`: {error}")))
}
