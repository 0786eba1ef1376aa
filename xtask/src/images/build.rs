//! Runs the builds: as many at a time as asked for, each after its parents, each into its own log.
//!
//! `docker build --tag` names an image only after its last step went well, so a broken build leaves the old name or
//! none; nothing here ever tags. A failure stops what starts from the failed image; the others go on, so that one run
//! tells all that is wrong.

use std::{
    ffi::OsString,
    fs::File,
    io::Write as _,
    num::NonZero,
    path::{Path, PathBuf},
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{
    engine::{Builder, Engine, Facts},
    log,
    table::{Image, VERSION},
};
use crate::{
    cmd::{Failure, io_failure, shown},
    report,
};

/// One build, ready to run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) image: &'static Image,
    /// What follows `docker`.
    pub(super) argv: Vec<OsString>,
    /// Proxy variables: names in argv, values only here.
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) log: PathBuf,
}

/// How a build ended.
#[derive(Debug)]
pub(super) enum End {
    /// The name points to an image that it did not point to before.
    Built(Facts),
    /// Docker found every step in its cache.
    Cached(Facts),
    Failed(Failure),
    /// An image that it starts from failed.
    Skipped,
}

/// The end of one build, and how long it took.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) image: &'static Image,
    pub(super) end: End,
    pub(super) took: Duration,
}

/// Where a build stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Good,
    Bad,
}

/// The words after `docker` for one image.
pub(super) fn argv(image: &Image, context: &Path, args: &[(String, String)], builder: Builder) -> Vec<OsString> {
    let mut argv: Vec<OsString> = ["build", "--tag"].map(Into::into).into();
    argv.push(image.reference().into());
    for (label, value) in [
        ("aifo.image", image.name.to_owned()),
        ("org.opencontainers.image.title", format!("aifo-coder-{}", image.name)),
        ("org.opencontainers.image.version", VERSION.to_owned()),
    ] {
        argv.extend(["--label".into(), format!("{label}={value}").into()]);
    }
    for (name, value) in args {
        argv.extend(["--build-arg".into(), format!("{name}={value}").into()]);
    }
    match builder {
        Builder::BuildKit => argv.extend(["--progress".into(), "plain".into()]),
        // The classic builder leaves the container of a failed step behind unless told otherwise.
        Builder::Classic => argv.push("--force-rm".into()),
        Builder::AsSet => {}
    }
    argv.push(context.into());
    argv
}

/// Runs all jobs, which stand parents first, and returns their outcomes in that order.
pub(super) fn run(engine: &Engine, jobs: &[Job], at_a_time: NonZero<usize>) -> Vec<Outcome> {
    let mut states = vec![State::Waiting; jobs.len()];
    let mut outcomes: Vec<Option<Outcome>> = jobs.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let (ended, ends) = mpsc::channel();
        loop {
            let mut running = states.iter().filter(|state| **state == State::Running).count();
            while let Some(at) = (running < at_a_time.get()).then(|| next(jobs, &states)).flatten() {
                let (ended, job) = (ended.clone(), &jobs[at]);
                states[at] = State::Running;
                running += 1;
                // The receiver outlives the scope's threads.
                scope.spawn(move || drop(ended.send((at, one(engine, job)))));
            }
            if running == 0 {
                break;
            }
            let Ok((at, outcome)) = ends.recv() else { break };
            states[at] = if matches!(outcome.end, End::Failed(_)) { State::Bad } else { State::Good };
            outcomes[at] = Some(outcome);
        }
    });
    let skipped = |job: &Job| Outcome { image: job.image, end: End::Skipped, took: Duration::ZERO };
    outcomes.into_iter().zip(jobs).map(|(outcome, job)| outcome.unwrap_or_else(|| skipped(job))).collect()
}

/// The first build that waits and whose parents are all there.
fn next(jobs: &[Job], states: &[State]) -> Option<usize> {
    let good = |name: &str| {
        let parent = jobs.iter().zip(states).find(|(job, _)| job.image.name == name);
        parent.is_some_and(|(_, state)| *state == State::Good)
    };
    jobs.iter()
        .zip(states)
        .position(|(job, state)| *state == State::Waiting && job.image.parents.iter().all(|(_, parent)| good(parent)))
}

/// Runs one build and says when it starts and how it ended.
fn one(engine: &Engine, job: &Job) -> Outcome {
    let name = job.image.name;
    report::say(format_args!("{name}: building"));
    let start = Instant::now();
    let end = docker_build(engine, job).unwrap_or_else(End::Failed);
    let took = start.elapsed();
    let how = match &end {
        End::Built(_) => "built",
        End::Cached(_) => "cached",
        End::Failed(_) | End::Skipped => "FAILED",
    };
    report::say(format_args!("{name}: {how} in {:.1} s", took.as_secs_f64()));
    Outcome { image: job.image, end, took }
}

fn docker_build(engine: &Engine, job: &Job) -> Result<End, Failure> {
    let reference = job.image.reference();
    let before = engine.inspect(&reference)?;
    let mut command = engine.command();
    command.args(&job.argv).envs(job.env.iter().map(|(name, value)| (name, value)));
    let mut log = File::create(&job.log).map_err(io_failure("create", job.log.display()))?;
    writeln!(log, "$ {}", shown(&command)).map_err(io_failure("write", job.log.display()))?;
    let side = || log.try_clone().map(Stdio::from).map_err(io_failure("write", job.log.display()));
    let status = command.stdout(side()?).stderr(side()?).status().map_err(io_failure("start", shown(&command)))?;
    if !status.success() {
        return Err(log::failure(job.image.name, &job.log));
    }
    let after = engine.inspect(&reference)?;
    let after = after.ok_or_else(|| Failure::new(format!("docker built `{reference}` but does not know it")))?;
    Ok(if before.as_ref() == Some(&after) { End::Cached(after) } else { End::Built(after) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Builder, Job, State, argv, next};
    use crate::images::table::IMAGES;

    fn jobs() -> Vec<Job> {
        let job = |image| Job { image, argv: Vec::new(), env: Vec::new(), log: "log".into() };
        IMAGES.iter().map(job).collect()
    }

    #[test]
    fn children_wait_for_all_parents() {
        let jobs = jobs();
        let mut states = vec![State::Waiting; jobs.len()];
        assert_eq!(next(&jobs, &states), Some(0));
        states[0] = State::Running;
        assert_eq!(next(&jobs, &states), None);
        states[0] = State::Good;
        assert_eq!(next(&jobs, &states), Some(1));
        states[1] = State::Good;
        assert_eq!(next(&jobs, &states), Some(2));
    }

    #[test]
    fn what_starts_from_a_failed_image_never_runs() {
        let jobs = jobs();
        let mut states = vec![State::Waiting; jobs.len()];
        (states[0], states[1]) = (State::Good, State::Bad);
        assert_eq!(next(&jobs, &states), None);
    }

    #[test]
    fn a_build_names_labels_and_arguments() {
        let args = [("BASE".to_owned(), "debian:12".to_owned())];
        let words = argv(&IMAGES[2], Path::new("ctx"), &args, Builder::Classic);
        let line = words.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        assert!(line.starts_with("build --tag aifo-coder-shell:release-"), "{line}");
        assert!(line.contains("--label aifo.image=shell --label org.opencontainers.image.title=aifo-coder-shell"));
        assert!(line.ends_with("--build-arg BASE=debian:12 --force-rm ctx"), "{line}");
    }
}
