//! An OCI image layout: configurations, layers and manifests as files that are named by their own sums.
//!
//! Any tool for images reads it (`skopeo copy oci:images:NAME …`). Layers are compressed without name and time, each once
//! whoever shares it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
};

use super::{super::choice::Member, archive::Saved, put};
use aifo_shim::json::Json;

use crate::{
    cmd::{self, Failure, io_failure},
    report,
};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A file of the layout.
#[derive(Debug, Clone)]
struct Blob {
    sum: String,
    size: u64,
}

impl Blob {
    fn described(&self, media_type: &str) -> Vec<(String, Json)> {
        let members = Json::object([
            ("mediaType", Json::text(media_type)),
            ("digest", Json::text(format!("sha256:{}", self.sum))),
            ("size", Json::number(self.size)),
        ]);
        if let Json::Object(members) = members { members } else { Vec::new() }
    }
}

/// Writes the layout of these images and gives their parts by sum.
///
/// # Errors
/// When something cannot be read, compressed or written.
pub(super) fn write(members: &[Member], saved: &[Saved<PathBuf>], to: &Path) -> Result<Vec<Saved>, Failure> {
    let blobs = to.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(io_failure("create", blobs.display()))?;
    let layers = compressed(saved, &blobs)?;
    let (mut parts, mut index) = (Vec::new(), Vec::new());
    for (member, image) in members.iter().zip(saved) {
        let draft = blobs.join(".config");
        fs::copy(&image.config, &draft).map_err(io_failure("copy", image.config.display()))?;
        let config = named(&draft)?;
        let own: Vec<&Blob> = image.layers.iter().filter_map(|path| layers.get(&resolved(path))).collect();
        put(&blobs.join(".manifest"), &manifest(&config, &own).to_string())?;
        let manifest = named(&blobs.join(".manifest"))?;
        index.push(entry(&manifest, member));
        parts.push(Saved { config: config.sum, layers: own.iter().map(|blob| blob.sum.clone()).collect() });
    }
    let index = Json::object([
        ("schemaVersion", Json::number(2)),
        ("mediaType", Json::text(INDEX)),
        ("manifests", Json::List(index)),
    ]);
    put(&to.join("index.json"), &index.to_string())?;
    put(&to.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    Ok(parts)
}

/// The file that a layer is: engines let several images link to one.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_absent| path.to_owned())
}

/// Compresses each layer once, as many at a time as there are processors.
fn compressed(saved: &[Saved<PathBuf>], blobs: &Path) -> Result<BTreeMap<PathBuf, Blob>, Failure> {
    let mut sources: Vec<PathBuf> = saved.iter().flat_map(|image| &image.layers).map(|path| resolved(path)).collect();
    sources.sort();
    sources.dedup();
    let at_a_time = thread::available_parallelism().map_or(1, NonZero::get);
    let (queue, done) = (Mutex::new(sources.into_iter().enumerate()), Mutex::new(BTreeMap::new()));
    let work = || -> Result<(), Failure> {
        loop {
            let Some((number, source)) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return Ok(()) };
            report::say(format_args!("compressing layer {}", number + 1));
            let blob = compress(&source, &blobs.join(format!(".layer-{number}")))?;
            drop(done.lock().map(|mut done| done.insert(source, blob)));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(Failure::new("a worker ended"))))
    })?;
    Ok(done.into_inner().unwrap_or_default())
}

/// Compresses a layer into `draft` and names that by its sum; a layer that came compressed stays as it is.
fn compress(source: &Path, draft: &Path) -> Result<Blob, Failure> {
    let mut head = Vec::new();
    let input = File::open(source).map_err(io_failure("open", source.display()))?;
    (&input).take(2).read_to_end(&mut head).map_err(io_failure("read", source.display()))?;
    if head == [0x1f, 0x8b] {
        fs::copy(source, draft).map_err(io_failure("copy", source.display()))?;
        return named(draft);
    }
    let input = File::open(source).map_err(io_failure("open", source.display()))?;
    let output = File::create(draft).map_err(io_failure("create", draft.display()))?;
    let mut gzip = Command::new("gzip");
    gzip.args(["--no-name", "--stdout"]).stdin(input).stdout(output).stderr(Stdio::piped());
    let ended = gzip.spawn().and_then(Child::wait_with_output).map_err(io_failure("start", "gzip"))?;
    if !ended.status.success() {
        return Err(Failure::new(format!("gzip failed: {}", String::from_utf8_lossy(&ended.stderr).trim())));
    }
    named(draft)
}

/// Gives a file its sum as its name.
fn named(draft: &Path) -> Result<Blob, Failure> {
    let said = cmd::capture(Command::new("sha256sum").arg("--").arg(draft))?;
    let sum = said.split(' ').next().unwrap_or_default().to_owned();
    let size = fs::metadata(draft).map_err(io_failure("read", draft.display()))?.len();
    fs::rename(draft, draft.with_file_name(&sum)).map_err(io_failure("name", draft.display()))?;
    Ok(Blob { sum, size })
}

fn manifest(config: &Blob, layers: &[&Blob]) -> Json {
    let layers = layers.iter().map(|layer| Json::Object(layer.described(LAYER)));
    Json::object([
        ("schemaVersion", Json::number(2)),
        ("mediaType", Json::text(MANIFEST)),
        ("config", Json::Object(config.described(CONFIG))),
        ("layers", Json::List(layers.collect())),
    ])
}

/// A manifest in the index, with the name of its image and its processor.
fn entry(manifest: &Blob, Member { image, arch, .. }: &Member) -> Json {
    let mut members = manifest.described(MANIFEST);
    let platform = Json::object([("architecture", Json::text(arch)), ("os", Json::text("linux"))]);
    members.push(("platform".to_owned(), platform));
    let name = Json::object([("org.opencontainers.image.ref.name", Json::text(image.reference()))]);
    members.push(("annotations".to_owned(), name));
    Json::Object(members)
}
