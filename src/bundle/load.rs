//! Gives docker the images of a checked bundle as one archive, piece by piece.
//!
//! The archive is that of `docker save`, which every engine reads. The file that names the images is its last: an archive
//! that breaks off is nothing to an engine. Each layer goes in once, whoever shares it.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use aifo_shim::{json::Json, tar::file_header};

use super::{
    check::Bundle,
    contents::{Image, blob},
};
use crate::{digest::Sha256, docker::Docker, error::Error, report};

/// Loads the images for a platform, and gives their names.
///
/// # Errors
/// [`Error::Bundle`] when there are none, or when a file has changed since it was checked; docker's own.
pub(super) fn all(
    docker: &Docker,
    folder: &Path,
    bundle: &Bundle,
    platform: &str,
    dry_run: bool,
) -> Result<Vec<String>, Error> {
    let images: Vec<&Image> = bundle.contents.images.iter().filter(|image| image.platform == platform).collect();
    if images.is_empty() {
        return Err(Error::Bundle { folder: folder.to_owned(), why: format!("it has no images for {platform}") });
    }
    if !dry_run {
        report::say(format_args!("loading {} images", images.len()));
        docker.feed_by(&["load", "--quiet"].map(str::to_owned), |docker| write(docker, folder, &images))?;
    }
    images.iter().for_each(|image| report::out(format_args!("{}\n", image.reference)));
    Ok(images.iter().map(|image| image.reference.clone()).collect())
}

/// The outer error is ours and must stop docker; the inner one is docker's pipe, and docker knows why.
fn write(to: &mut impl Write, folder: &Path, images: &[&Image]) -> Result<io::Result<()>, Error> {
    let mut parts: Vec<&str> =
        images.iter().flat_map(|image| image.layers.iter().chain([&image.config])).map(String::as_str).collect();
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        if let Err(cause) = copy(to, folder, part)? {
            return Ok(Err(cause));
        }
    }
    let list = manifest(images);
    let Some(header) = file_header("manifest.json", list.len() as u64) else { return Ok(Ok(())) };
    let end = vec![0; list.len().next_multiple_of(512) - list.len() + 1024];
    Ok([&header[..], list.as_bytes(), &end].into_iter().try_for_each(|piece| to.write_all(piece)))
}

/// Copies a part of an image, and makes sure that it is still the one that was checked.
fn copy(to: &mut impl Write, folder: &Path, part: &str) -> Result<io::Result<()>, Error> {
    let path = folder.join(blob(part));
    let failed = |cause| Error::Read(path.clone(), cause);
    let changed = |why: &str| Error::Bundle { folder: folder.to_owned(), why: format!("`{}` {why}", blob(part)) };
    let mut file = File::open(&path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let header = file_header(&name(part), length).ok_or_else(|| changed("is larger than 8 GiB"))?;
    if let Err(cause) = to.write_all(&header) {
        return Ok(Err(cause));
    }
    let (mut sum, mut left, mut piece) = (Sha256::default(), length, vec![0; 128 * 1024]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let count = file.read(piece.get_mut(..most).unwrap_or_default()).map_err(failed)?;
        let read =
            piece.get(..count).filter(|read| !read.is_empty()).ok_or_else(|| changed("was cut while it was read"))?;
        sum.add(read);
        if let Err(cause) = to.write_all(read) {
            return Ok(Err(cause));
        }
        left -= count as u64;
    }
    if sum.hex() != part {
        return Err(changed("has changed since it was checked"));
    }
    let rest = usize::try_from(length.next_multiple_of(512) - length).unwrap_or(0);
    Ok(to.write_all(&vec![0; rest]))
}

/// What a part is called in the archive.
fn name(part: &str) -> String {
    format!("{part}.part")
}

/// What docker reads last: names, configurations, layers.
fn manifest(images: &[&Image]) -> String {
    let object = |image: &&Image| {
        Json::object([
            ("Config", Json::text(name(&image.config))),
            ("RepoTags", Json::texts([&image.reference])),
            ("Layers", Json::texts(image.layers.iter().map(|layer| name(layer)))),
        ])
    };
    Json::List(images.iter().map(object).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;
    use crate::digest::sha256;

    #[test]
    fn what_changed_after_the_check_ends_the_archive_before_its_list() {
        let folder = env::temp_dir().join(format!("aifo-load-{}", process::id()));
        fs::create_dir_all(folder.join("images/blobs/sha256")).unwrap();
        let (config, layer) = (sha256(b"config"), sha256(b"layer"));
        fs::write(folder.join(blob(&config)), "config").unwrap();
        let image = Image { platform: String::new(), reference: "a:1".into(), config, layers: vec![layer.clone()] };
        let archive = |content: &str| {
            fs::write(folder.join(blob(&layer)), content).unwrap();
            let mut archive = Vec::new();
            let result = write(&mut archive, &folder, &[&image]);
            let is_named = archive.windows(13).any(|window| window == b"manifest.json");
            (result.map(|written| written.is_ok()).map_err(|error| error.to_string()), is_named, archive.len() % 512)
        };
        assert_eq!(archive("layer"), (Ok(true), true, 0));
        let (result, is_named, _) = archive("Layer");
        assert!(result.unwrap_err().contains("has changed since it was checked") && !is_named);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn docker_is_told_names_configurations_and_layers() {
        let image = Image {
            platform: "linux/amd64".into(),
            reference: "a:1".into(),
            config: "c".into(),
            layers: vec!["x".into(), "y".into()],
        };
        let wanted = r#"[{"Config":"c.part","RepoTags":["a:1"],"Layers":["x.part","y.part"]}]"#;
        assert_eq!(manifest(&[&image]), wanted);
    }
}
