//! Who a session is, and its secrets, made of the system's randomness and of nothing else.

use crate::{error::Error, random};

/// Who a session is, and its secrets: known to launcher and proxy, each to one other.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) token: String,
    secrets: String,
    /// `uid:gid` of the caller.
    pub(crate) user: String,
}

impl Identity {
    /// # Errors
    /// [`Error::Random`]: without randomness there is no session.
    pub(crate) fn new() -> Result<Self, Error> {
        let random = |bytes| random::hex(bytes).map_err(Error::Random);
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Ok(Self { id: random(4)?, token: random(32)?, secrets: random(32)?, user: format!("{uid}:{gid}") })
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
}
