//! `cargo xtask fuzz [--seconds N] [TARGET…]`: every parser of the wire protocol against what nobody thought of.
//!
//! The targets are a workspace of their own under `tests/fuzz`, because they need a nightly compiler. cargo-fuzz is
//! installed under `target/` when it is missing; a nightly compiler is the machine's own affair.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cmd::{self, Failure, io_failure},
    report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask fuzz [--seconds N] [TARGET...]

Runs the fuzz targets of tests/fuzz, all of them or those named, N seconds each
(60), from the seeds there and what earlier runs found. Needs a nightly Rust.
";

/// Seconds for a target when nothing else is asked.
const SECONDS: u32 = 60;

#[derive(Debug, PartialEq, Eq)]
struct Plan {
    seconds: u32,
    targets: Vec<String>,
}

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    if words.iter().any(|word| matches!(*word, "-h" | "--help")) {
        report::out(HELP);
        return Ok(());
    }
    let home = root().join("tests/fuzz");
    let plan = parse(&words, &targets(&home.join("seeds"))?)?;
    cmd::capture(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]))
        .map_err(|_missing| Failure::new("fuzzing needs a nightly Rust").hint("rustup toolchain install nightly"))?;
    let tool = cargo_fuzz()?;
    for target in &plan.targets {
        // The first folder also receives what is found; the second is only read.
        let found = home.join("corpus").join(target);
        fs::create_dir_all(&found).map_err(io_failure("create", found.display()))?;
        let mut fuzz = Command::new("rustup");
        fuzz.args(["run", "nightly"]).arg(&tool).args(["run", "--fuzz-dir"]).arg(&home).arg(target).arg(&found);
        fuzz.arg(home.join("seeds").join(target));
        fuzz.args(["--", "-verbosity=0", "-print_final_stats=1"]).arg(format!("-max_total_time={}", plan.seconds));
        cmd::run(fuzz.current_dir(root()))?;
    }
    Ok(())
}

fn parse(words: &[&str], known: &[String]) -> Result<Plan, Failure> {
    let mut plan = Plan { seconds: SECONDS, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--seconds" {
            let seconds = words.next().and_then(|value| value.parse().ok()).filter(|&seconds| seconds > 0);
            plan.seconds = seconds.ok_or_else(|| Failure::new("fuzz: --seconds wants a number from 1"))?;
        } else if known.iter().any(|target| target == word) {
            plan.targets.push(word.to_owned());
        } else {
            let failure = Failure::new(format!("fuzz: no target `{word}`; there are {}", known.join(", ")));
            return Err(failure.hint("cargo xtask fuzz --help"));
        }
    }
    if plan.targets.is_empty() {
        plan.targets = known.to_vec();
    }
    Ok(plan)
}

/// Every target has seeds, so that no run starts from nothing.
fn targets(seeds: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(seeds).map_err(io_failure("read", seeds.display()))?;
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// The installed cargo-fuzz, or one under `target/`.
fn cargo_fuzz() -> Result<PathBuf, Failure> {
    let installed = PathBuf::from("cargo-fuzz");
    if cmd::capture(Command::new(&installed).arg("--version")).is_ok() {
        return Ok(installed);
    }
    let place = root().join("target/tools");
    cmd::run(cmd::cargo().args(["install", "--quiet", "--locked", "cargo-fuzz", "--root"]).arg(&place))?;
    Ok(place.join("bin/cargo-fuzz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_make_a_plan_and_unknown_targets_are_refused() {
        let known = targets(&root().join("tests/fuzz/seeds")).unwrap();
        assert_eq!(parse(&[], &known).unwrap(), Plan { seconds: SECONDS, targets: known.clone() });
        let one = parse(&["--seconds", "5", "head"], &known).unwrap();
        assert_eq!(one, Plan { seconds: 5, targets: vec!["head".to_owned()] });
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["haed"]] {
            assert!(parse(wrong, &known).is_err(), "{wrong:?}");
        }
    }
}
