//! Whether the key that the user names has signed the list of sums: gpg's answer, with the user's own keys.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{Order, refused, sums};
use crate::error::Error;

/// # Errors
/// [`Error::Bundle`] unless gpg says that exactly this key has signed exactly these bytes; [`Error::Start`].
pub(super) fn check(order: &Order, key: &str, list: &[u8]) -> Result<(), Error> {
    let signature = order.folder.join(sums::SIGNATURE);
    if !signature.is_file() {
        return Err(refused(order, format!("it is not signed: no `{}`", sums::SIGNATURE)));
    }
    let start = |cause| Error::Start("gpg".into(), cause);
    let mut gpg = Command::new("gpg");
    // The bytes go in by standard input: what was read is what is judged.
    gpg.args(["--batch", "--no-tty", "--status-fd", "1", "--verify"]).arg(&signature).arg("-");
    let mut child = gpg.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(start)?;
    // A gpg that ends early says why by its status.
    drop(child.stdin.take().map(|mut stdin| stdin.write_all(list)));
    let output = child.wait_with_output().map_err(start)?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && is_by(&said, key) {
        return Ok(());
    }
    let why =
        if said.contains("NO_PUBKEY") { "its signer's key is not among yours" } else { "the signature does not hold" };
    Err(refused(order, format!("key {key} has not signed it: {why}")))
}

/// Reads gpg's status lines: one good signature, by this key or a subkey of it, neither expired nor revoked.
fn is_by(status: &str, key: &str) -> bool {
    let lines = || status.lines().filter_map(|line| line.strip_prefix("[GNUPG:] "));
    let count = |word: &str| lines().filter(|line| line.split(' ').next() == Some(word)).count();
    let bad = ["BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG"].iter().any(|word| count(word) > 0);
    let is_valid = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.first() == Some(&"VALIDSIG") && (words.get(1) == Some(&key) || words.last() == Some(&key))
    };
    !bad && count("GOODSIG") == 1 && lines().any(is_valid)
}

#[cfg(test)]
mod tests {
    use super::is_by;

    #[test]
    fn only_a_good_signature_by_that_key_counts() {
        let (key, sub) = ("A".repeat(40), "B".repeat(40));
        let valid = format!("[GNUPG:] VALIDSIG {sub} 2026-11-22 1 0 4 0 22 8 00 {key}\n");
        let good = format!("[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 1 me\n{valid}");
        assert!(is_by(&good, &key) && is_by(&good, &sub));
        assert!(!is_by(&good, &"C".repeat(40)));
        assert!(!is_by(&format!("[GNUPG:] EXPKEYSIG 1 me\n{valid}"), &key));
        assert!(!is_by(&format!("{good}[GNUPG:] BADSIG 2 you\n"), &key));
        assert!(!is_by(&format!("[GNUPG:] GOODSIG 1 VALIDSIG {key}\n"), &key));
        assert!(!is_by("", &key));
    }
}
