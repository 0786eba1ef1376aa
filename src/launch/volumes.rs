//! `--volume`: which host path is where in the containers. Pure but for looking at what the host path is.
//!
//! Docker makes a mount point that is missing, as root's and for good. So nothing is mounted where such a folder would be
//! left in what is the user's, and nothing over a place that a session needs itself. What lies in a folder that the agent
//! keeps is mounted through its state: see [`Inside::place_of`].

use std::{
    env,
    path::{Component, Path, PathBuf},
};

use super::{
    inside::Inside,
    places::{USERS, WORKSPACE},
};
use crate::{config::expanded, docker::Mount, error::Error, toolchain::HOME};

/// What a session has in its containers. `/var/run` is `/run` in most images.
const OURS: &[&str] =
    &[WORKSPACE, HOME, "/opt/aifo", "/run/aifo", "/var/run/aifo", "/tmp", "/proc", "/sys", "/dev", "/etc", USERS];

/// What a session has in HOME.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    pub(super) inside: &'a Inside,
    /// The caches of its sidecars.
    pub(super) caches: Vec<&'static str>,
}

/// Why a volume cannot be, and what to type instead.
struct Refusal {
    why: String,
    instead: String,
}

/// `HOST:PATH[:ro|rw]` each; the host's path may be relative or begin with `~/`.
///
/// # Errors
/// [`Error::Unfit`].
pub(super) fn mounts(words: &[String], taken: &Taken<'_>) -> Result<Vec<Mount>, Error> {
    let unfit = |word: &str, Refusal { why, instead }| Error::Unfit { what: format!("volume `{word}` {why}"), instead };
    let cwd = env::current_dir().unwrap_or_default();
    let mut mounts: Vec<Mount> = Vec::new();
    for word in words {
        let mount = mount(word, &cwd).and_then(|mount| taken.leaves(&mount).map(|()| mount));
        let mount = mount.map_err(|refusal| unfit(word, refusal))?;
        let beside = mounts.iter().try_for_each(|other| apart(&mount, other));
        beside.map_err(|refusal| unfit(word, refusal))?;
        mounts.push(mount);
    }
    Ok(mounts)
}

fn mount(word: &str, cwd: &Path) -> Result<Mount, Refusal> {
    let bad = |why: &str| refusal(why, "--volume HOST:PATH[:ro]");
    let (rest, read_only) = match word.rsplit_once(':') {
        Some((rest, "ro")) => (rest, true),
        Some((rest, "rw")) => (rest, false),
        _ => (word, false),
    };
    let (source, target) = rest.rsplit_once(':').ok_or_else(|| bad("is not HOST:PATH[:ro]"))?;
    let source = cwd.join(expanded(source));
    let target = normal(target).ok_or_else(|| bad("needs an absolute path in the container"))?;
    if !source.exists() {
        return Err(bad("names a host path that is not there"));
    }
    // Docker's reader of `--mount` takes the one for a line end, and its words are text.
    if source.to_str().is_none_or(|name| name.contains('\r')) || target.contains('\r') {
        return Err(bad("has a name that docker cannot mount"));
    }
    Ok(Mount { source, target, read_only })
}

/// An absolute path without `.`, `//` and a slash at its end; none for one that climbs.
fn normal(path: &str) -> Option<String> {
    let mut normal = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::RootDir => normal.push("/"),
            Component::Normal(name) => normal.push(name),
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    normal.is_absolute().then(|| normal.to_str().map(str::to_owned)).flatten()
}

impl Taken<'_> {
    /// Whether a volume leaves the session what is the session's.
    fn leaves(&self, mount: &Mount) -> Result<(), Refusal> {
        let at = Path::new(&mount.target);
        let crosses = |place: &Path| at.starts_with(place) || place.starts_with(at);
        let in_home = at.starts_with(HOME) && at != Path::new(HOME);
        let own = OURS.iter().filter(|place| !in_home || **place != HOME).map(Path::new);
        if own.chain(self.inside.own_places()).any(crosses) {
            return Err(refusal("would hide what the session needs there", "another place, such as /mnt/NAME"));
        }
        if self.caches.iter().any(|cache| crosses(Path::new(cache))) {
            return Err(refusal("meets the sidecars' caches", "--no-toolchain-cache, or a place outside ~/.cache"));
        }
        self.inside.kept_places().try_for_each(|kept| self.leaves_state(mount, &kept))
    }

    /// What is below a kept folder is mounted through the state. A volume in the folder's own place keeps it instead.
    fn leaves_state(&self, mount: &Mount, kept: &Path) -> Result<(), Refusal> {
        let at = Path::new(&mount.target);
        let shown = format!("`~/{}`", kept.strip_prefix(HOME).unwrap_or(kept).display());
        if kept.starts_with(at) && kept != at {
            let why = format!("would hide what the agent keeps in {shown}");
            return Err(refusal(&why, "mount the folders below it that are needed, each by itself"));
        }
        if !at.starts_with(kept) {
            return Ok(());
        }
        if !mount.source.is_dir() {
            let copy = self.inside.host_place_of(at).unwrap_or_default();
            let why = format!("would leave an empty file in {shown}, which the agent keeps");
            return Err(refusal(&why, &format!("cp {} {}", mount.source.display(), copy.display())));
        }
        if at == kept && mount.read_only {
            return Err(refusal(&format!("would keep the agent from keeping {shown}"), "the same without `:ro`"));
        }
        Ok(())
    }
}

/// Whether two volumes leave each other alone: one in another needs its mount point there.
fn apart(one: &Mount, other: &Mount) -> Result<(), Refusal> {
    if one.target == other.target {
        return Err(refusal("has the same place as another", "one of the two"));
    }
    let is_in = |inner: &Mount, outer: &Mount| Path::new(&inner.target).starts_with(&outer.target);
    let (inner, outer) = if is_in(one, other) { (one, other) } else { (other, one) };
    let Ok(below) = Path::new(&inner.target).strip_prefix(&outer.target) else { return Ok(()) };
    let point = outer.source.join(below);
    if point.exists() && point.is_dir() == inner.source.is_dir() {
        return Ok(());
    }
    let (why, make) =
        (format!("needs `{}` to be there", point.display()), if inner.source.is_dir() { "mkdir -p" } else { "touch" });
    Err(refusal(&why, &format!("{make} {}", point.display())))
}

fn refusal(why: &str, instead: &str) -> Refusal {
    Refusal { why: why.to_owned(), instead: instead.to_owned() }
}

/// The folders of HOME between it and these places, but for those in what is mounted anyway. Docker would make them as
/// root's, and HOME is where the user's programs make their own.
pub(super) fn folders_above<'a>(places: impl Iterator<Item = &'a str>, mounted: &[&str]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for place in places.map(Path::new) {
        let above = place.ancestors().skip(1).take_while(|folder| *folder != Path::new(HOME));
        let above: Vec<&Path> = above.filter(|folder| folder.starts_with(HOME)).collect();
        for folder in above.into_iter().rev().filter(|folder| !mounted.iter().any(|place| folder.starts_with(place))) {
            folders.extend(folder.to_str().map(str::to_owned).filter(|folder| !folders.contains(folder)));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folders: &'static [&'static str]) -> Inside {
        Inside { kept: folders, state: Some("/s/x".into()), ..Inside::default() }
    }

    fn mounted(words: &[&str], inside: &Inside, caches: &[&'static str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mounts = mounts(&words, &Taken { inside, caches: caches.to_vec() }).map_err(|error| {
            assert!(error.exit_code() == 2 && error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
            error.to_string()
        })?;
        Ok(mounts.iter().map(|m| format!("{} {} {}", m.source.display(), m.target, m.read_only)).collect())
    }

    #[test]
    fn volumes_hide_nothing_that_a_session_needs() {
        let one = |word: &str| mounted(&[word], &Inside::default(), &[]);
        for (word, expected) in [
            ("/usr:/data:ro", "/usr /data true"),
            ("/usr:/data/", "/usr /data false"),
            ("/usr://data/./x,\"y//", "/usr /data/x,\"y false"),
            ("/usr:/home/coder/x:rw", "/usr /home/coder/x false"),
            ("/usr:/optional", "/usr /optional false"),
        ] {
            assert_eq!(one(word), Ok(vec![expected.to_owned()]), "{word}");
        }
        for word in [
            "/usr",
            "/usr:data",
            "/usr:/",
            "/usr:/.",
            "/usr:/workspace",
            "/usr:/workspace/x",
            "/usr:/tmp/x",
            "/usr://tmp",
            "/usr:/./tmp",
            "/usr:/./opt/aifo/bin",
            "/usr:/opt",
            "/usr:/run",
            "/usr:/var/run",
            "/usr:/home",
            "/usr:/var/lib",
            "/usr:/a/../tmp",
            "/nowhere:/data",
            "/usr:/a\rb",
            "/usr:/home/coder",
            "/usr:/home//coder/.aifo-state/x",
            "/usr:/home/coder/.aifo-config-host",
        ] {
            assert!(one(word).is_err(), "{word}");
        }
    }

    #[test]
    fn two_volumes_leave_no_mount_point_in_each_other() {
        let two = |one: &str, two: &str| mounted(&[one, two], &Inside::default(), &[]);
        assert!(two("/usr:/x", "/usr:/y").is_ok());
        assert!(two("/usr:/x", "/usr:/xy").is_ok());
        assert!(two("/usr:/x", "/etc:/x/bin").is_ok(), "it is there");
        assert!(two("/usr:/x", "/usr:/./x").unwrap_err().contains("the same place"));
        for (one, other) in [("/usr:/x", "/etc:/x/no-such"), ("/etc:/x/no-such", "/usr:/x")] {
            assert!(two(one, other).unwrap_err().contains("needs `/usr/no-such` to be there"), "{one} {other}");
        }
        assert!(two("/usr:/x", "/etc/passwd:/x/bin").is_err(), "a file on a folder");
    }

    #[test]
    fn what_an_agent_keeps_is_neither_hidden_nor_littered() {
        let inside = kept(&[".config/opencode", ".claude"]);
        let one = |word: &str| mounted(&[word], &inside, &[]);
        for word in ["/usr:/home/coder/.config/gh", "/usr:/home/coder/.claude/skills:ro", "/usr:/home/coder/.claude"] {
            assert!(one(word).is_ok(), "{word}");
        }
        for (word, why) in [
            ("/usr:/home/coder/.config", "would hide what the agent keeps in `~/.config/opencode`"),
            ("/usr:/home/coder/.claude:ro", "would keep the agent from keeping `~/.claude`"),
            ("/etc/passwd:/home/coder/.claude/x.md:ro", "would leave an empty file in `~/.claude`"),
        ] {
            assert!(one(word).unwrap_err().contains(why), "{word}");
        }
        let error = mounts(
            &["/etc/passwd:/home/coder/.claude/x.md".to_owned()],
            &Taken { inside: &inside, caches: Vec::new() },
        );
        assert_eq!(error.unwrap_err().hint().as_deref(), Some("cp /etc/passwd /s/x/.claude/x.md"));
    }

    #[test]
    fn caches_hold_what_tools_put_there_and_no_mount_point() {
        let caches = ["/home/coder/.cache", "/home/coder/.cache/cargo/git"];
        let one = |target: &str| mounted(&[&format!("/usr:/home/coder/{target}")], &Inside::default(), &caches);
        assert!(one(".cached").is_ok());
        for target in [".cache", ".cache/x", ".cache/cargo"] {
            assert!(one(target).unwrap_err().contains("caches"), "{target}");
        }
    }

    #[test]
    fn what_lies_above_a_volume_in_home_is_named_from_the_top() {
        let above = |place: &str, mounted: &[&str]| folders_above([place].into_iter(), mounted).join(" ");
        assert_eq!(above("/home/coder/.config/a/b", &[]), "/home/coder/.config /home/coder/.config/a");
        assert_eq!(above("/home/coder/.config/a/b", &["/home/coder/.config"]), "");
        assert_eq!(above("/home/coder/x", &[]), "");
        assert_eq!(above("/data/x/y", &[]), "");
        let both = ["/home/coder/.config/a", "/home/coder/.config/b"];
        assert_eq!(folders_above(both.into_iter(), &[]), ["/home/coder/.config"]);
    }
}
