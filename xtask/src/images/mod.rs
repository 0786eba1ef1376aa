//! `cargo xtask images`: builds our images with docker and lists them.
//!
//! What there is stands in `table`, what is pinned in `images/versions`, what an image holds in its own Dockerfile.
//! Everything else is either a decision (pure, tested) or one of the few places that run docker.

mod args;
mod argv;
mod build;
mod choice;
mod context;
mod debian;
#[cfg(test)]
mod dockerfiles;
mod engine;
mod foreign;
mod inputs;
mod layer;
mod log;
mod mounts;
mod parts;
mod proxy;
mod push;
mod refresh;
mod rows;
mod save;
mod sbom;
mod summary;
mod table;
mod verify;
mod versions;

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    num::NonZero,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use self::{
    args::{Order, Wishes},
    build::{End, Job, Outcome},
    context::Sources,
    engine::Engine,
    table::{Flavor, IMAGES, Image, Role},
    versions::Values,
};
use crate::{
    cmd::{Failure, io_failure},
    report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask images [build] [NAME...] [OPTIONS]   build those named
cargo xtask images list                          what there is, and its size
cargo xtask images verify [NAME...]              run each as any user
cargo xtask images layer                         the sum of our own layer
cargo xtask images refresh [NAME...] [--ca FILE] pin the newest versions
cargo xtask images sbom [NAME...] [--output DIR] what is in each, as SPDX
cargo xtask images push [NAME...] --registry REF to a registry of yours
cargo xtask images save [NAME...] --output DIR   a bundle for machines without
                                                 internet: programs, images,
                                                 manual, SBOM, sums

A name is that of a folder in images/, a toolchain's kind (rust, c-cpp),
`agents` or `all`; none means shell and the toolchains. An image brings those
it starts from. Logs: target/images/NAME.log

Options:
  --flavor WHICH    of an agent: full (the default), slim (NAME-slim: no
                    editors), or both
  --file NAME=PATH  a program that no registry carries: crush, plandex
  --platform LIST   for linux/amd64, linux/arm64 or both, with a comma; an
                    image for another processor than docker's has that in its
                    tag, and its packages are installed by an emulator
  --base REF        start from this Debian bookworm image; without it from
                    debian:bookworm-slim, or from Debian's packages
  --base trixie=REF the same for the image that needs trixie: openhands
  --ca FILE         trust these PEM certificates while building, no longer
                    (default: what SSL_CERT_FILE names, if it is set)
  --secret F=FILE   lend a login for registries to the build, and to no image:
                    F is netrc (apt, pip, single packages of npm) or
                    npmrc (pi's and letta's packages); needs BuildKit
  --jobs N          builds at a time (default: number of processors)
  --fresh           run every step again: brings in Debian's latest updates
  --arg NAME=VALUE  instead of the value in images/versions (KEEP_APT=1, ...)
  --output DIR      where save and sbom write; save wants a new folder
  --registry REF    push: HOST[:PORT][/FOLDER], as image.internal-registry
  --sign KEY        save: have gpg sign the list of sums with this key
  --with-claude     save, push: also what its licence lets nobody pass on
  -h, --help        this text

refresh asks the registries for the newest version of what it is given, or of
all (node npm pnpm yarn typescript uv claude codex opencode pi letta aider
openhands), and writes versions and sums into images/. It runs npm and uv in
the images of the toolchains node and python.

verify runs the program of each image that is here, as any user with nothing
writable, and looks for what slim leaves out.

In the table, INTERPRETER and PACKAGE are what others made; NEEDS is what all
agents share above the base; OURS is our own programs, at most 1.5 MB.

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
        Order::List => rows::list(&Engine::find()?)?,
        Order::Build(wishes) => build_images(&wishes)?,
        Order::Verify(names) => verify::run(&Engine::find()?, &names)?,
        Order::Save(wishes) => save::run(&Engine::find()?, &wishes)?,
        Order::Layer => {
            let engine = Engine::find()?;
            layer::run(&engine, &sources(&engine, None, Vec::new()), &root().join("target/images/context-layer"))?;
        }
        Order::Push(wishes) => push::run(&Engine::find()?, &wishes)?,
        Order::Sbom(wishes) => sbom::run(&Engine::find()?, &wishes.names, wishes.output)?,
        Order::Refresh { names, ca } => refresh::run(&Engine::find()?, &names, certificates(ca))?,
    }
    Ok(())
}

/// The certificates that downloads are checked with besides the usual ones.
fn certificates(asked: Option<PathBuf>) -> Option<PathBuf> {
    asked.or_else(|| env::var_os("SSL_CERT_FILE").map(PathBuf::from))
}

fn build_images(wishes: &Wishes) -> Result<(), Failure> {
    let flavors = if wishes.flavors.is_empty() { &[Flavor::Full][..] } else { &wishes.flavors };
    let images = table::wanted(&wishes.names, flavors)?;
    let versions = root().join("images/versions");
    let values = versions::parse(&read(&versions)?)?;
    let values = versions::overridden(values, &wishes.values)?;
    let logs = root().join("target/images");
    fs::create_dir_all(&logs).map_err(io_failure("create", logs.display()))?;
    let engine = Engine::find()?;
    let _alone = alone(&logs)?;
    if wishes.platforms.is_empty() {
        return build_for(&engine, &images, wishes, &values, &logs);
    }
    // All of them can be built, or none is begun.
    let engines: Vec<Engine> = wishes.platforms.iter().map(|arch| engine.for_arch(arch)).collect::<Result<_, _>>()?;
    engines.iter().try_for_each(|engine| build_for(engine, &images, wishes, &values, &logs))
}

/// Contexts and logs lie in one place, so a second build in this checkout waits for the first; the kernel ends the wait
/// when that is killed.
fn alone(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(io_failure("create", path.display()))?;
    if lock.try_lock().is_err() {
        report::say("waiting for another build in this checkout");
        lock.lock().map_err(io_failure("lock", path.display()))?;
    }
    Ok(lock)
}

/// Builds for one processor.
fn build_for(
    engine: &Engine,
    images: &[&'static Image],
    wishes: &Wishes,
    values: &Values,
    logs: &Path,
) -> Result<(), Failure> {
    mounts::check(engine, &wishes.secrets)?;
    let sources = sources(engine, certificates(wishes.ca.clone()), known_files(wishes)?);
    let (ready, lacking): (Vec<_>, Vec<_>) =
        images.iter().partition(|image| image.file.is_none() || sources.brought(image).is_some());
    let contexts = contexts(&ready, &sources, &logs.join(named("context", engine)))?;
    report::say(format_args!("{} images for {}, by {}", ready.len(), engine.arch, engine.builder));
    let mut jobs = jobs(engine, &contexts, wishes, values, logs)?;
    if wishes.fresh {
        for job in &mut jobs {
            job.inputs = None;
            // An option of `docker build`, whose name is always the first word.
            job.argv.insert(1, "--no-cache".into());
        }
    }
    let at_a_time = wishes.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN);
    let mut outcomes = build::run(engine, &jobs, at_a_time);
    for image in lacking {
        let wanted = rows::wanted_file(image);
        let why = format!("{}: not built: no registry carries it", image.name);
        let is_named = wishes.names.iter().any(|name| name == image.name || Some(name.as_str()) == image.file);
        let end = if is_named {
            End::Failed(Failure::new(why).hint(format!("bring it: cargo xtask images {} {wanted}", image.name)))
        } else {
            report::say(format_args!("{why}; bring it: {wanted}"));
            End::Lacking
        };
        outcomes.push(Outcome { image, end, took: Duration::ZERO });
    }
    rows::conclude(engine, images, outcomes)
}

/// A name of logs and contexts, which are apart for each processor.
fn named(name: &str, engine: &Engine) -> String {
    if engine.is_foreign() { format!("{name}-{}", engine.arch) } else { name.to_owned() }
}

/// Where the parts of contexts come from in this checkout.
fn sources(engine: &Engine, ca: Option<PathBuf>, files: Vec<(String, PathBuf)>) -> Sources {
    Sources {
        images: root().join("images"),
        ca,
        dist: root().join(format!("target/dist/linux-{}", engine.arch)),
        arch: engine.arch.clone(),
        files,
    }
}

/// The user's files, each of which some image must want.
fn known_files(wishes: &Wishes) -> Result<Vec<(String, PathBuf)>, Failure> {
    for (name, _) in &wishes.files {
        if !IMAGES.iter().any(|image| image.file == Some(name)) {
            return Err(Failure::new(format!("no image wants a file `{name}`")).hint("cargo xtask images --help"));
        }
    }
    Ok(wishes.files.clone())
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
    wishes: &Wishes,
    values: &Values,
    logs: &Path,
) -> Result<Vec<Job>, Failure> {
    let proxies = proxy::variables(|name| env::var_os(name));
    let mut known = rows::known(engine)?;
    let mut jobs = Vec::new();
    for (image, context) in contexts {
        let mut parents: Vec<(&str, String)> =
            image.parents.iter().map(|(arg, parent)| (*arg, engine.tag(parent))).collect();
        let mut foreign = None;
        if let Role::Workshop(debian) = image.role {
            let asked = wishes.bases.iter().rev().find(|(release, _)| *release == debian);
            let base = debian::pick(engine, debian, asked.map(|(_, reference)| reference.as_str()), logs)?;
            report::say(format_args!("{}: starts from {base}", image.name));
            foreign = engine.inspect(&base)?.map(|facts| facts.id);
            parents.push(("BASE", base));
        }
        let dockerfile = context.join("Dockerfile");
        if engine.has_mounts() {
            let text = mounts::lent(&read(&dockerfile)?, image.name, &wishes.secrets);
            fs::write(&dockerfile, text).map_err(io_failure("write", dockerfile.display()))?;
        }
        let args = versions::build_args(&read(&dockerfile)?, &parents, values)?;
        let mut argv = argv::argv(image, engine, context, &args);
        proxy::name_in(&mut argv, &proxies);
        mounts::name_in(&mut argv, &wishes.secrets);
        let labels = argv::labels(image).into_iter().map(|(label, value)| (label.to_owned(), value));
        let inputs = inputs::of_context(context, &args.into_iter().chain(labels).collect::<Vec<_>>())?;
        jobs.push(Job {
            image,
            tag: engine.tag(image.name),
            argv,
            env: proxies.clone(),
            log: logs.join(format!("{}.log", named(image.name, engine))),
            before: known.remove(&engine.tag(image.name)),
            inputs: Some(inputs),
            foreign,
        });
    }
    Ok(jobs)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(io_failure("read", path.display()))
}
