//! `cargo xtask images`: builds our images with docker and lists them.
//!
//! What there is stands in `table`, what is pinned in `images/versions`, what an image holds in its own Dockerfile.
//! Everything else is either a decision (pure, tested) or one of the few places that run docker.

mod args;
mod build;
mod context;
mod debian;
#[cfg(test)]
mod dockerfiles;
mod engine;
mod log;
mod proxy;
mod summary;
mod table;
mod versions;

use std::{
    env,
    ffi::OsString,
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use self::{
    args::{Order, Wishes},
    build::{End, Job, Outcome},
    context::Sources,
    engine::Engine,
    summary::Row,
    table::Image,
    versions::Values,
};
use crate::{
    cmd::{Failure, io_failure},
    report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask images [build] [NAME...] [OPTIONS]   build those named, or all
cargo xtask images list                          what there is, and its size

A name is that of a folder in images/, or a toolchain's kind (rust, c-cpp).
An image brings those it starts from. Logs: target/images/NAME.log

Options:
  --base REF        start from this Debian bookworm image; without it from
                    debian:bookworm-slim, or from Debian's packages
  --ca FILE         trust these PEM certificates while building, no longer
                    (default: what SSL_CERT_FILE names, if it is set)
  --jobs N          builds at a time (default: number of processors)
  --fresh           run every step again: brings in Debian's latest updates
  --arg NAME=VALUE  instead of the value in images/versions (KEEP_APT=1, ...)
  -h, --help        this text

Environment: AIFO_CODER_DOCKER names the docker program; HTTP_PROXY,
HTTPS_PROXY, ALL_PROXY and NO_PROXY are handed to the builds; DOCKER_BUILDKIT
forces a builder.
";

/// Runs the task with the words that follow its name.
///
/// # Errors
/// When the words make no sense, docker does not serve us, or an image could not be built.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    match args::parse(args)? {
        Order::Help => report::out(HELP),
        Order::List => list()?,
        Order::Build(wishes) => build_images(&wishes)?,
    }
    Ok(())
}

fn list() -> Result<(), Failure> {
    let engine = Engine::find()?;
    let mut rows = Vec::new();
    for image in table::IMAGES {
        let reference = image.reference();
        let facts = engine.inspect(&reference)?;
        let state = if facts.is_some() { "here" } else { "not built" };
        rows.push(Row { reference, facts, took: None, state });
    }
    report::out(&summary::table(&rows));
    Ok(())
}

fn build_images(wishes: &Wishes) -> Result<(), Failure> {
    let images = table::wanted(&wishes.names)?;
    let versions = root().join("images/versions");
    let values = versions::parse(&read(&versions)?)?;
    let values = versions::overridden(values, &wishes.values)?;
    let logs = root().join("target/images");
    fs::create_dir_all(&logs).map_err(io_failure("create", logs.display()))?;
    let engine = Engine::find()?;
    let sources = Sources {
        images: root().join("images"),
        ca: wishes.ca.clone().or_else(|| env::var_os("SSL_CERT_FILE").map(PathBuf::from)),
        dist: root().join(format!("target/dist/linux-{}", engine.arch)),
    };
    let contexts = contexts(&images, &sources, &logs.join("context"))?;
    let debian = debian::pick(&engine, wishes.base.as_deref(), &logs)?;
    report::say(format_args!("{} images from {debian}, by {}", images.len(), engine.builder));
    let mut jobs = jobs(&engine, &contexts, &debian, &values, &logs)?;
    if wishes.fresh {
        // An option of `docker build`, whose name is always the first word.
        jobs.iter_mut().for_each(|job| job.argv.insert(1, "--no-cache".into()));
    }
    let at_a_time = wishes.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN);
    conclude(build::run(&engine, &jobs, at_a_time))
}

fn contexts(
    images: &[&'static Image],
    sources: &Sources,
    folder: &Path,
) -> Result<Vec<(&'static Image, PathBuf)>, Failure> {
    images.iter().map(|image| Ok((*image, context::stage(image, sources, folder)?))).collect()
}

fn jobs(
    engine: &Engine,
    contexts: &[(&'static Image, PathBuf)],
    debian: &str,
    values: &Values,
    logs: &Path,
) -> Result<Vec<Job>, Failure> {
    let proxies = proxy::variables(|name| env::var_os(name));
    let mut jobs = Vec::new();
    for (image, context) in contexts {
        let mut parents: Vec<(&str, String)> =
            image.parents.iter().map(|(arg, parent)| (*arg, table::reference(parent))).collect();
        if parents.is_empty() {
            parents.push(("BASE", debian.to_owned()));
        }
        let dockerfile = context.join("Dockerfile");
        let args = versions::build_args(&read(&dockerfile)?, &parents, values)?;
        let mut argv = build::argv(image, context, &args, engine.builder);
        proxy::name_in(&mut argv, &proxies);
        jobs.push(Job { image, argv, env: proxies.clone(), log: logs.join(format!("{}.log", image.name)) });
    }
    Ok(jobs)
}

/// Prints the table; fails if any image did.
fn conclude(outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    for Outcome { image, end, took } in outcomes {
        let (facts, state) = match end {
            End::Built(facts) => (Some(facts), "built"),
            End::Cached(facts) => (Some(facts), "cached"),
            End::Skipped => (None, "skipped"),
            End::Failed(failure) => {
                failures.push(failure);
                (None, "FAILED")
            }
        };
        rows.push(Row { reference: image.reference(), facts, took: Some(took), state });
    }
    report::out(&summary::table(&rows));
    let Some(last) = failures.pop() else { return Ok(()) };
    failures.iter().for_each(report::failed);
    Err(last)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(io_failure("read", path.display()))
}
