//! Names that nobody can guess: of running calls, and of files for a moment.

use std::{
    fs::File,
    io::{self, Read},
};

/// 128 random bits: knowing one call's id says nothing about another's.
pub(super) fn unguessable() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
