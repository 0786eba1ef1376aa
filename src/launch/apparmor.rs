//! Which AppArmor profile the containers get (seed "security architecture", section 3.2).
//!
//! On a Linux host `aifo-coder` where it is loaded, else `docker-default` where that is; where docker runs in a machine of
//! its own, what docker itself chooses. A profile that the user names must be there: a session that silently ran without
//! it would be worse than none.

use std::fs;

use crate::{docker::Daemon, error::Error};

/// Our own profile, from `images/apparmor/`.
pub(crate) const OURS: &str = "aifo-coder";
const LOADED: &str = "/sys/kernel/security/apparmor/profiles";
/// How one says "none".
const NONE: &[&str] = &["none", "no", "off", "false", "0", "disabled", "disable"];

/// The profile for this daemon; none where docker decides by itself.
///
/// # Errors
/// [`Error::NoProfile`].
pub(crate) fn choose(wish: Option<&str>, daemon: &Daemon) -> Result<Option<String>, Error> {
    let loaded = if daemon.is_native { fs::read_to_string(LOADED).ok() } else { None };
    judge(wish, daemon.has_apparmor, loaded.as_deref())
}

/// `loaded` is the kernel's list where it can be read: a line each, `NAME (MODE)`.
fn judge(wish: Option<&str>, has_apparmor: bool, loaded: Option<&str>) -> Result<Option<String>, Error> {
    let is_loaded = |profile: &str| {
        loaded.map(|list| list.lines().any(|line| line.rsplit_once(" (").is_some_and(|(name, _)| name == profile)))
    };
    match wish.unwrap_or("auto") {
        "auto" if !has_apparmor => Ok(None),
        "auto" => {
            Ok([OURS, "docker-default"].into_iter().find(|name| is_loaded(name) == Some(true)).map(str::to_owned))
        }
        wish if NONE.contains(&wish.to_ascii_lowercase().as_str()) => Ok(Some("unconfined".to_owned())),
        wish if !has_apparmor => {
            Err(Error::NoProfile { profile: wish.to_owned(), why: "docker's host has no AppArmor" })
        }
        wish if is_loaded(wish) == Some(false) => {
            Err(Error::NoProfile { profile: wish.to_owned(), why: "it is not loaded" })
        }
        // Where the list cannot be read, docker refuses a profile that is not there.
        wish => Ok(Some(wish.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_profile_that_is_there_is_taken() {
        const BOTH: &str = "docker-default (enforce)\naifo-coder (enforce)\n/usr/bin/man (enforce)\n";
        let shown = |wish, has, loaded| {
            judge(wish, has, loaded).map(Option::unwrap_or_default).unwrap_or_else(|error| error.to_string())
        };
        assert_eq!(shown(None, true, Some(BOTH)), "aifo-coder");
        assert_eq!(shown(Some("auto"), true, Some("docker-default (enforce)\n")), "docker-default");
        assert_eq!(shown(None, true, Some("aifo-coder-old (enforce)\n")), "");
        assert_eq!(shown(None, true, None), "", "docker decides");
        assert_eq!(shown(None, false, None), "");
        assert_eq!(shown(Some("Off"), true, Some(BOTH)), "unconfined");
        assert_eq!(shown(Some("mine"), true, None), "mine");
        assert!(shown(Some("mine"), true, Some(BOTH)).contains("not loaded"));
        assert!(shown(Some("mine"), false, None).contains("no AppArmor"));
    }
}
