//! What `docker save` hands out, unpacked: each image's configuration and layers as files.
//!
//! Engines have two forms for it, an old one of their own and an OCI layout; both hold a `manifest.json` that says where
//! things lie, and only that is relied upon.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::super::engine::Engine;
use aifo_shim::json::Json;

use crate::cmd::{Failure, io_failure, shown};

/// An image in parts: as files of an archive, or as sums of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Saved<T = String> {
    pub(super) config: T,
    /// Lowest first.
    pub(super) layers: Vec<T>,
}

/// Unpacks these images, in this order, into a folder.
///
/// # Errors
/// When docker does not hand them out, or they cannot be unpacked.
pub(super) fn unpack(engine: &Engine, tags: &[&str], to: &Path) -> Result<Vec<Saved<PathBuf>>, Failure> {
    let mut save = engine.command();
    save.arg("save").args(tags).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut saving = save.spawn().map_err(io_failure("start", shown(&save)))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--no-same-owner", "--directory"]).arg(to);
    tar.stdin(saving.stdout.take().map_or_else(Stdio::null, Stdio::from));
    let Output { status, stderr, .. } = tar.output().map_err(io_failure("start", "tar"))?;
    let saved = saving.wait_with_output().map_err(io_failure("wait for", "docker save"))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(Failure::new(format!("cannot unpack the images: {}", said.lines().next().unwrap_or_default())));
    }
    if !saved.status.success() {
        let said = String::from_utf8_lossy(&saved.stderr);
        return Err(Failure::new(format!("docker save failed: {}", said.trim())));
    }
    let list = to.join("manifest.json");
    let text = fs::read_to_string(&list).map_err(io_failure("read", list.display()))?;
    let images = read(&text, tags).ok_or_else(|| Failure::new("docker save wrote a manifest that makes no sense"))?;
    let place = |path: &String| to.join(path);
    Ok(images
        .iter()
        .map(|Saved { config, layers }| Saved { config: place(config), layers: layers.iter().map(place).collect() })
        .collect())
}

/// Where the parts of each image lie; nothing where one is not there, or lies elsewhere.
fn read(manifest: &str, tags: &[&str]) -> Option<Vec<Saved>> {
    let manifest = Json::parse(manifest)?;
    let named = |image: &Json, tag: &str| {
        let names = image.get("RepoTags").map(Json::items).unwrap_or_default();
        // Podman writes `localhost/` before a name without a registry.
        names.iter().filter_map(Json::as_text).any(|name| name.trim_start_matches("localhost/") == tag)
    };
    let is_inside =
        |path: &str| !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let path = |json: &Json| json.as_text().filter(|path| is_inside(path)).map(str::to_owned);
    let parts = |tag: &&str| {
        let image = manifest.items().iter().find(|image| named(image, tag))?;
        let layers: Option<Vec<String>> = image.get("Layers")?.items().iter().map(path).collect();
        Some(Saved { config: path(image.get("Config")?)?, layers: layers.filter(|layers| !layers.is_empty())? })
    };
    tags.iter().map(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::{Saved, read};

    #[test]
    fn images_are_found_by_name_in_the_order_asked_for() {
        let text = r#"[{"Config":"c1","RepoTags":["a:1"],"Layers":["x/layer.tar"]},
            {"Config":"blobs/c2","RepoTags":["z","localhost/b:1"],"Layers":["x/layer.tar","y"]}]"#;
        let found = read(text, &["b:1", "a:1"]).unwrap();
        let second = Saved { config: "blobs/c2".to_owned(), layers: vec!["x/layer.tar".to_owned(), "y".to_owned()] };
        assert_eq!((&found[0], found[1].config.as_str()), (&second, "c1"));
        assert_eq!(read(text, &["c:1"]), None);
    }

    #[test]
    fn nothing_leaves_the_folder() {
        for path in ["/etc/passwd", "../x", ""] {
            let text = format!("[{{\"Config\":\"c\",\"RepoTags\":[\"a\"],\"Layers\":[\"{path}\"]}}]");
            assert_eq!(read(&text, &["a"]), None, "{path}");
        }
    }
}
