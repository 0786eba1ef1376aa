//! Names and secrets that nobody can guess: the system's randomness, as digits.

use std::{
    fs::File,
    io::{self, Read},
};

/// So many random bytes in hexadecimal digits: 16 make a name, 32 a secret.
///
/// # Errors
/// What the kernel says; without randomness there is no session.
pub(crate) fn hex(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut buffer)?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}
