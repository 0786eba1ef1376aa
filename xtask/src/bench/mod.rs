//! `cargo xtask bench`: the numbers of the README, measured, with rivals in the same run.
//!
//! Every figure is a median of many, rivals take turns, and ratios are what counts: this is a comparison on one machine,
//! not a claim about others. Nothing here is a test; a missed bar is printed, not failed.

mod calls;
mod figures;
mod inside;
mod overhead;
mod session;
mod sizes;
mod start;
mod storm;
mod stream;

use std::{ffi::OsString, fs, path::PathBuf};

use self::figures::Figure;
pub(crate) use self::{
    inside::main as inside,
    overhead::{CLOCK, clock},
};
use crate::{
    build::{self, Arch},
    cmd::{self, Failure, io_failure},
    images, report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask bench [--json] [--quick] [NAME]...

Measures: calls, start, overhead, storm, stream, sizes; all without a NAME.
--quick takes a tenth of the samples and bytes. Needs docker.
";

/// What a run was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Plan {
    json: bool,
    quick: bool,
    names: Vec<String>,
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }

    /// A number of samples, or a tenth of it.
    fn samples(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }
}

type Measure = fn(&Plan) -> Result<Vec<Figure>, Failure>;

const MEASURES: &[(&str, Measure)] = &[
    ("calls", calls::measure),
    ("start", start::measure),
    ("overhead", overhead::measure),
    ("storm", storm::measure),
    ("stream", stream::measure),
    ("sizes", sizes::measure),
];

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let Some(plan) = parse(&args)? else {
        report::out(HELP);
        return Ok(());
    };
    build::build(Arch::host())?;
    build_own()?;
    images::main(["shell", "toolchain-cpp", "toolchain-node"].map(OsString::from).to_vec())?;
    let mut figures = Vec::new();
    for (name, measure) in MEASURES.iter().filter(|(name, _)| plan.wants(name)) {
        report::say(format_args!("measuring {name}"));
        figures.extend(measure(&plan)?);
    }
    report::out(&if plan.json { figures::json(&figures) } else { figures::table(&figures) });
    Ok(())
}

fn parse(args: &[OsString]) -> Result<Option<Plan>, Failure> {
    let mut plan = Plan::default();
    for word in args.iter().filter_map(|word| word.to_str()) {
        match word {
            "-h" | "--help" => return Ok(None),
            "--json" => plan.json = true,
            "--quick" => plan.quick = true,
            _ if MEASURES.iter().any(|(name, _)| *name == word) => plan.names.push(word.to_owned()),
            _ => return Err(Failure::new(format!("bench: no measure `{word}`")).hint("cargo xtask bench --help")),
        }
    }
    Ok(Some(plan))
}

/// This very program, static, because its inner half runs in containers: loops, sources and sinks.
fn build_own() -> Result<(), Failure> {
    let target = Arch::host().target();
    cmd::run(cmd::cargo().args(["build", "--release", "--quiet", "--package", "xtask", "--target", target]))
}

/// A fresh workspace that holds the inner half as `/workspace/bench`.
fn workspace(name: &str) -> Result<PathBuf, Failure> {
    let folder = root().join("target/bench").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(io_failure("remove", folder.display()))?;
    }
    fs::create_dir_all(&folder).map_err(io_failure("create", folder.display()))?;
    let own = root().join("target").join(Arch::host().target()).join("release/xtask");
    fs::copy(&own, folder.join("bench")).map_err(io_failure("copy", own.display()))?;
    Ok(folder)
}
