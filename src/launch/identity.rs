//! Who a session is, and its secrets, made of the system's randomness and of nothing else; and whom its containers run as.

use crate::{docker::Users, error::Error, random};

/// Who a session is, and its secrets: known to launcher and proxy, each to one other.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) token: String,
    secrets: String,
    pub(crate) caller: Account,
}

/// User and group, by their numbers on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Whom agent and sidecars run as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    /// `uid:gid` in the containers.
    pub(crate) name: String,
    /// What the user should know of it.
    pub(crate) warning: Option<String>,
}

impl User {
    /// The user that is wished for, else one that can work in the workspace: the container's root has no more rights than
    /// others, so it must be the folder's own.
    pub(crate) fn choose(wish: Option<&str>, caller: Account, owner: Account, users: Users) -> Self {
        let of = |Account { uid, gid }| format!("{uid}:{gid}");
        let plain = |name| Self { name, warning: None };
        match (wish, users) {
            (wish, Users::Remapped) => Self {
                name: wish.map_or_else(|| of(caller), str::to_owned),
                warning: Some(
                    "docker gives containers other users (userns-remap), who can hardly write your files; a rootless \
                     docker can"
                        .to_owned(),
                ),
            },
            (Some(wish), _) => plain(wish.to_owned()),
            (None, Users::Rootless) => plain("0:0".to_owned()),
            (None, Users::Same) if caller.uid == 0 && owner.uid != 0 => Self {
                name: of(owner),
                warning: Some(format!(
                    "you are root, and the workspace is not: agent and tools run as its owner, {}; AIFO_CODER_USER=0:0 \
                     for root",
                    of(owner)
                )),
            },
            (None, Users::Same) => plain(of(caller)),
        }
    }
}

impl Identity {
    /// # Errors
    /// [`Error::Random`]: without randomness there is no session.
    pub(crate) fn new() -> Result<Self, Error> {
        let random = |bytes| random::hex(bytes).map_err(Error::Random);
        let caller = Account { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() };
        Ok(Self { id: random(4)?, token: random(32)?, secrets: random(32)?, caller })
    }

    /// Each sidecar has a secret of its own, so that none can pass for another.
    pub(crate) fn secret_of(&self, kind: &str) -> String {
        crate::digest::sha256(format!("{}:{kind}", self.secrets).as_bytes())
    }

    /// Two categories out of 1024 (SELinux MCS), from the session's id.
    pub(crate) fn selinux_level(&self) -> String {
        let number = u32::from_str_radix(&self.id, 16).unwrap_or(1);
        let (low, high) = (number % 511, 512 + number / 511 % 511);
        format!("s0:c{low},c{high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t23_every_session_and_sidecar_has_secrets_of_its_own() {
        let (one, two) = (Identity::new().unwrap(), Identity::new().unwrap());
        let all = [&one.token, &two.token, &one.secret_of("rust"), &one.secret_of("go"), &two.secret_of("rust")];
        assert!((0..all.len()).all(|a| (0..a).all(|b| all[a] != all[b])));
        assert!(all.iter().all(|secret| secret.len() == 64));
        assert!(one.selinux_level().starts_with("s0:c"));
    }

    #[test]
    fn a_session_runs_as_somebody_who_can_write_the_workspace() {
        let account = |uid| Account { uid, gid: uid + 1 };
        let chosen = |wish, caller, owner, users| User::choose(wish, account(caller), account(owner), users);
        for (caller, owner, users, name, warns) in [
            (1000, 1000, Users::Same, "1000:1001", false),
            (1000, 0, Users::Same, "1000:1001", false),
            (0, 0, Users::Same, "0:1", false),
            (0, 1000, Users::Same, "1000:1001", true),
            (1000, 1000, Users::Rootless, "0:0", false),
            (0, 1000, Users::Rootless, "0:0", false),
            (1000, 1000, Users::Remapped, "1000:1001", true),
        ] {
            let user = chosen(None, caller, owner, users);
            assert_eq!((user.name.as_str(), user.warning.is_some()), (name, warns), "{caller} {owner} {users:?}");
            let wished = chosen(Some("7:8"), caller, owner, users);
            assert_eq!((wished.name.as_str(), wished.warning.is_some()), ("7:8", users == Users::Remapped));
        }
    }
}
