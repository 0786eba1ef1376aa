//! Holds a bundle against its list: the list itself, then the names of all files, then every byte.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use super::{
    Order,
    contents::{self, Contents},
    refused, signature, size, sums,
};
use crate::{
    digest::{Sha256, sha256},
    error::Error,
    report,
};

/// A bundle that was found to be whole.
#[derive(Debug)]
pub(super) struct Bundle {
    /// The sum of its list of sums.
    pub(super) digest: String,
    pub(super) contents: Contents,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// # Errors
/// [`Error::Bundle`] at the first thing that is not as the list says; [`Error::Read`].
pub(super) fn all(order: &Order) -> Result<Bundle, Error> {
    let list = small(order, sums::NAME)?;
    let digest = sha256(&list);
    if order.digest.as_ref().is_some_and(|wanted| *wanted != digest) {
        return Err(refused(order, format!("its digest is {digest}, not the one that was named")));
    }
    if let Some(key) = &order.key {
        signature::check(order, key, &list)?;
    }
    let text = String::from_utf8(list).map_err(|_bytes| refused(order, format!("{} is not text", sums::NAME)))?;
    let files = sums::parse(&text).map_err(|why| refused(order, why))?;
    same_names(order, &files)?;
    let contents = String::from_utf8_lossy(&small(order, contents::NAME)?).into_owned();
    let mut bytes = 0;
    for (path, wanted) in &files {
        report::detail(format_args!("checking {path}"));
        let (sum, length) = sum(&order.folder.join(path))?;
        if sum != *wanted {
            return Err(refused(order, format!("`{path}` is not what {} says", sums::NAME)));
        }
        bytes += length;
    }
    if sums::sum_of(&files, contents::NAME) != Some(sha256(contents.as_bytes()).as_str()) {
        return Err(refused(order, format!("`{}` is not what {} says", contents::NAME, sums::NAME)));
    }
    let contents = contents::parse(&contents, &files).map_err(|why| refused(order, why))?;
    report::detail(format_args!("{} files, {}", files.len(), size(bytes)));
    Ok(Bundle { digest, contents, files: files.len(), bytes })
}

/// The sum of a file and its length, read in pieces.
fn sum(path: &Path) -> Result<(String, u64), Error> {
    let failed = |cause| Error::Read(path.to_owned(), cause);
    let mut file = File::open(path).map_err(failed)?;
    let (mut sum, mut length, mut piece) = (Sha256::default(), 0, vec![0; 128 * 1024]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((sum.hex(), length)),
            Ok(count) => {
                sum.add(piece.get(..count).unwrap_or_default());
                length += count as u64;
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(failed(cause)),
        }
    }
}

/// A file that is read whole; it may not be longer than such files are.
pub(super) fn small(order: &Order, name: &str) -> Result<Vec<u8>, Error> {
    let path = order.folder.join(name);
    let plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= sums::MAX_BYTES);
    if !plain {
        return Err(refused(order, format!("it has no file `{name}`")));
    }
    fs::read(&path).map_err(|cause| Error::Read(path, cause))
}

/// Every file of the list is there, and nothing else is: no link, no device, no file that nobody vouches for.
fn same_names(order: &Order, files: &[(String, String)]) -> Result<(), Error> {
    let mut found = Vec::new();
    collect(order, "", &mut found)?;
    found.retain(|path| ![sums::NAME, sums::SIGNATURE].contains(&path.as_str()));
    found.sort();
    if let Some((path, _)) = files.iter().find(|(path, _)| found.binary_search(path).is_err()) {
        return Err(refused(order, format!("`{path}` is missing")));
    }
    match found.iter().find(|path| sums::sum_of(files, path).is_none()) {
        Some(path) => Err(refused(order, format!("`{}` is not in {}", path.escape_debug(), sums::NAME))),
        None => Ok(()),
    }
}

fn collect(order: &Order, below: &str, found: &mut Vec<String>) -> Result<(), Error> {
    let folder = order.folder.join(below);
    let failed = |cause| Error::Read(folder.clone(), cause);
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let path = format!("{below}{}", name.to_string_lossy());
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            collect(order, &format!("{path}/"), found)?;
        } else if kind.is_file() {
            found.push(path);
        } else {
            return Err(refused(order, format!("`{}` is no plain file", path.escape_debug())));
        }
    }
    Ok(())
}
