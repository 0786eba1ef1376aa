//! `cargo xtask images layer`: the sum of the layer that is ours, which is the last of every agent's image.
//!
//! Whoever built the same sources elsewhere gets the same sum, and whoever has an image finds it in `docker inspect`.

use std::path::Path;

use super::{
    context::{self, Sources},
    engine::Engine,
    table,
};
use crate::{
    cmd::{self, Failure},
    report,
};

/// Builds the layer upon nothing, prints its sum, and leaves no image behind.
///
/// # Errors
/// When our programs are not built, or docker does not build.
pub(super) fn run(engine: &Engine, sources: &Sources, folder: &Path) -> Result<(), Failure> {
    // The agent that is nothing but our layer.
    let shell = table::find("shell").ok_or_else(|| Failure::new("no image `shell`"))?;
    let context = context::stage(shell, sources, folder)?;
    let mut build = engine.command();
    let id = cmd::capture(build.args(["build", "--quiet", "--no-cache", "--build-arg", "BASE=scratch"]).arg(&context))?;
    let id = id.lines().last().unwrap_or_default();
    let layers = engine.inspect(id)?.map(|facts| facts.layers).unwrap_or_default();
    cmd::capture(engine.command().args(["image", "rm", id]))?;
    let [sum] = layers.as_slice() else { return Err(Failure::new("our layer is not one layer")) };
    report::out(&format!("{sum}\n"));
    Ok(())
}
