//! Which folder an agent may have: the current one, unless it holds what no agent should see.
//!
//! A home directory is told by HOME and by the system's list of users, because HOME may be missing or somebody else's
//! (sudo). All comparisons are of real paths. Only the last step is not pure: it looks at this process.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::error::Error;

/// Below a home directory: what programs keep secrets in.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".local/share/keyrings",
    "Library/Keychains",
];

/// The current folder, if an agent may have it. Docker mounts only what it can name.
///
/// # Errors
/// [`Error::Workspace`], [`Error::Read`].
pub(crate) fn current(allow_home: bool, for_docker: bool) -> Result<PathBuf, Error> {
    let folder = env::current_dir().and_then(fs::canonicalize).map_err(|cause| Error::Read(".".into(), cause))?;
    let homes = homes(&folder);
    let secrets = homes.iter().flat_map(|home| CREDENTIALS.iter().map(|below| home.join(below)));
    let secrets: Vec<PathBuf> = real(secrets).collect();
    let why = refusal(&folder, &homes, &secrets, allow_home).or_else(|| nameless(&folder).filter(|_| for_docker));
    why.map_or_else(|| Ok(folder.clone()), |why| Err(Error::Workspace { folder: folder.clone(), why }))
}

/// Those that are there, without links.
fn real(paths: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    paths.filter_map(|path| fs::canonicalize(path).ok())
}

/// Why a folder cannot be the workspace.
fn refusal(folder: &Path, homes: &[PathBuf], secrets: &[PathBuf], allow_home: bool) -> Option<&'static str> {
    if folder == Path::new("/") {
        Some("it is the root of the file system")
    } else if secrets.iter().any(|place| folder.starts_with(place)) {
        Some("programs keep secrets in it")
    } else if allow_home {
        None
    } else if homes.iter().any(|home| home == folder) {
        Some("it is your home directory")
    } else if homes.iter().any(|home| home.starts_with(folder)) {
        Some("your home directory lies in it")
    } else {
        None
    }
}

fn nameless(folder: &Path) -> Option<&'static str> {
    match folder.to_str() {
        None => Some("its name is not UTF-8, which docker cannot mount"),
        Some(name) if name.contains('\r') => Some("its name holds a carriage return, which docker cannot mount"),
        Some(_) => None,
    }
}

/// The home directories of whoever may be asking: the caller, the caller behind sudo, and for root the folder's owner, as
/// whom root's agents run.
fn homes(folder: &Path) -> Vec<PathBuf> {
    let caller = rustix::process::getuid();
    let sudo = env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    let owner = fs::metadata(folder).ok().map(|about| about.uid()).filter(|_| caller.is_root());
    let uids: Vec<u32> = [caller.as_raw()].into_iter().chain(sudo).chain(owner).collect();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    // The standard library asks the system's own directory of users where HOME is not set.
    let named = env::home_dir().into_iter().chain(listed(&users, &uids));
    real(named.filter(|home| home.is_absolute())).collect()
}

/// The homes of these users in a list as passwd(5) has it. `/` is nobody's home, whatever the list says.
fn listed(users: &str, uids: &[u32]) -> Vec<PathBuf> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let uid = fields.get(2)?.parse().ok().filter(|uid| uids.contains(uid));
        uid.and_then(|_| fields.get(5)).filter(|home| **home != "/").map(PathBuf::from)
    };
    users.lines().filter_map(home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_what_is_above_it_and_its_secrets_are_no_workspace() {
        let homes = [PathBuf::from("/home/me"), "/root".into()];
        let secrets = ["/home/me/.ssh", "/home/me/.gnupg", "/home/me/.config/gcloud", "/mnt/keys"].map(PathBuf::from);
        for (folder, said, allowed) in [
            ("/", Some("root of the file system"), false),
            ("/home", Some("home directory lies in it"), true),
            ("/home/me", Some("is your home directory"), true),
            ("/root", Some("is your home directory"), true),
            ("/home/me/.ssh", Some("secrets"), false),
            ("/home/me/.gnupg/private-keys-v1.d", Some("secrets"), false),
            ("/home/me/.config/gcloud", Some("secrets"), false),
            ("/mnt/keys", Some("secrets"), false),
            ("/home/me/.config", None, true),
            ("/home/me/.sshd", None, true),
            ("/home/me/project/.ssh", None, true),
            ("/home/mean", None, true),
            ("/srv", None, true),
        ] {
            let found = refusal(Path::new(folder), &homes, &secrets, false);
            assert!(found.is_some() == said.is_some() && found.unwrap_or("").contains(said.unwrap_or("")), "{folder}");
            assert_eq!(refusal(Path::new(folder), &homes, &secrets, true).is_none(), allowed, "{folder}");
        }
    }

    #[test]
    fn homes_are_read_from_the_list_of_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000:Me,,,:/home/me:/bin/zsh\n#\nbad:x\nd:x:7:7::/:/x\n";
        assert_eq!(listed(users, &[1000, 7]), [PathBuf::from("/home/me")]);
        assert_eq!(listed(users, &[0, 1000]), [PathBuf::from("/root"), "/home/me".into()]);
        assert_eq!(listed(users, &[5]), Vec::<PathBuf>::new());
    }
}
