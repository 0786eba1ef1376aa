//! Runs the builds: as many at a time as asked for, each after its parents, each into its own log.
//!
//! `docker build --tag` names an image only after its last step went well, so a broken build leaves the old name or
//! none; nothing here ever tags. A failure stops what starts from the failed image; the others go on, so that one run
//! tells all that is wrong.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    io::Write as _,
    num::NonZero,
    path::PathBuf,
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{
    engine::{Engine, Facts},
    inputs, log,
    summary::megabytes,
    table::Image,
};
use crate::{
    cmd::{Failure, io_failure, shown},
    report,
};

/// One build, ready to run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) image: &'static Image,
    /// What docker calls it.
    pub(super) tag: String,
    /// What follows `docker`.
    pub(super) argv: Vec<OsString>,
    /// Proxy variables: names in argv, values only here.
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) log: PathBuf,
    /// What the name points to now.
    pub(super) before: Option<Facts>,
    /// The number of what it is made of; nothing when it is built in any case.
    pub(super) inputs: Option<u64>,
    /// The id of a foreign image that it starts from.
    pub(super) foreign: Option<String>,
}

/// How a build ended.
#[derive(Debug)]
pub(super) enum End {
    /// The name points to an image that it did not point to before; the words say what is new about it.
    Built {
        id: String,
        news: String,
    },
    /// It is what it was.
    Unchanged {
        id: String,
    },
    Failed(Failure),
    /// An image that it starts from failed.
    Skipped,
    /// Not tried: the user did not bring the program that no registry has.
    Lacking,
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

/// Runs all jobs, which stand parents first, and returns their outcomes in that order.
pub(super) fn run(engine: &Engine, jobs: &[Job], at_a_time: NonZero<usize>) -> Vec<Outcome> {
    let mut states = vec![State::Waiting; jobs.len()];
    let mut outcomes: Vec<Option<Outcome>> = jobs.iter().map(|_| None).collect();
    let mut ids: HashMap<&str, String> = HashMap::new();
    thread::scope(|scope| {
        let (ended, ends) = mpsc::channel();
        loop {
            let mut running = states.iter().filter(|state| **state == State::Running).count();
            while let Some(at) = (running < at_a_time.get()).then(|| next(jobs, &states)).flatten() {
                let (ended, job) = (ended.clone(), &jobs[at]);
                let parents = job.image.parents.iter().filter_map(|(_, parent)| ids.get(parent).cloned());
                let parents: Vec<String> = parents.chain(job.foreign.clone()).collect();
                states[at] = State::Running;
                running += 1;
                // The receiver outlives the scope's threads.
                scope.spawn(move || drop(ended.send((at, one(engine, job, &parents)))));
            }
            if running == 0 {
                break;
            }
            let Ok((at, outcome)) = ends.recv() else { break };
            states[at] = State::Bad;
            if let End::Built { id, .. } | End::Unchanged { id } = &outcome.end {
                states[at] = State::Good;
                ids.insert(jobs[at].image.name, id.clone());
            }
            outcomes[at] = Some(outcome);
        }
    });
    let skipped = |job: &Job| Outcome { image: job.image, end: End::Skipped, took: Duration::ZERO };
    outcomes.into_iter().zip(jobs).map(|(outcome, job)| outcome.unwrap_or_else(|| skipped(job))).collect()
}

/// The first build that waits, whose parents are all there, and of whose folder no other runs: the two images of an
/// agent have most steps in common, and the second finds them in docker's cache.
fn next(jobs: &[Job], states: &[State]) -> Option<usize> {
    let is_any = |is: &dyn Fn(&Job) -> bool, state| jobs.iter().zip(states).any(|(job, at)| *at == state && is(job));
    let may_run = |image: &Image| {
        let mut parents = image.parents.iter();
        parents.all(|(_, parent)| is_any(&|job| job.image.name == *parent, State::Good))
            && !is_any(&|job| job.image.folder == image.folder, State::Running)
    };
    jobs.iter().zip(states).position(|(job, state)| *state == State::Waiting && may_run(job.image))
}

/// Runs one build if need be and says when it starts and how it ended.
fn one(engine: &Engine, job: &Job, parents: &[String]) -> Outcome {
    let name = job.image.name;
    let start = Instant::now();
    let inputs = job.inputs.map(|inputs| inputs::with_parents(inputs, parents));
    let noted = |facts: &&Facts| inputs.is_some_and(|inputs| inputs::is_noted(&note(job), inputs, &facts.id));
    if let Some(before) = job.before.as_ref().filter(noted) {
        return Outcome { image: job.image, end: End::Unchanged { id: before.id.clone() }, took: start.elapsed() };
    }
    report::say(format_args!("{name}: building"));
    let end = docker_build(engine, job).unwrap_or_else(End::Failed);
    let how = match &end {
        End::Built { id, .. } | End::Unchanged { id } => {
            // Without the note the next build asks docker again, which is no harm.
            drop(inputs.map(|inputs| inputs::note(&note(job), inputs, id)));
            if matches!(end, End::Built { .. }) { "built" } else { "unchanged" }
        }
        End::Failed(_) | End::Skipped | End::Lacking => "FAILED",
    };
    let took = start.elapsed();
    report::say(format_args!("{name}: {how} in {:.1} s", took.as_secs_f64()));
    Outcome { image: job.image, end, took }
}

/// Where the note of its inputs lies.
fn note(job: &Job) -> PathBuf {
    job.log.with_extension("inputs")
}

fn docker_build(engine: &Engine, job: &Job) -> Result<End, Failure> {
    let reference = &job.tag;
    let mut command = engine.command();
    command.args(&job.argv).envs(job.env.iter().map(|(name, value)| (name, value)));
    let mut log = File::create(&job.log).map_err(io_failure("create", job.log.display()))?;
    writeln!(log, "$ {}", shown(&command)).map_err(io_failure("write", job.log.display()))?;
    let side = || log.try_clone().map(Stdio::from).map_err(io_failure("write", job.log.display()));
    let status = command.stdout(side()?).stderr(side()?).status().map_err(io_failure("start", shown(&command)))?;
    if !status.success() {
        return Err(log::failure(job.image.name, &job.log));
    }
    let after = engine.inspect(reference)?;
    let after = after.ok_or_else(|| Failure::new(format!("docker built `{reference}` but does not know it")))?;
    Ok(match &job.before {
        Some(before) if before.id == after.id => End::Unchanged { id: after.id },
        before => End::Built { news: news(before.as_ref(), &after), id: after.id },
    })
}

/// What is new about an image, by its layers.
fn news(before: Option<&Facts>, after: &Facts) -> String {
    let Some(before) = before else { return "new".to_owned() };
    let same = before.layers.iter().zip(&after.layers).take_while(|(old, new)| old == new).count();
    if same == after.layers.len() && same == before.layers.len() {
        return "new settings".to_owned();
    }
    let (new, all) = (after.layers.len() - same, after.layers.len());
    let (more, less) = (after.size.saturating_sub(before.size), before.size.saturating_sub(after.size));
    let size = match (megabytes(more).as_str(), megabytes(less).as_str()) {
        ("0.0 MB", "0.0 MB") => "same size".to_owned(),
        ("0.0 MB", less) => format!("-{less}"),
        (more, _) => format!("+{more}"),
    };
    format!("{new} of {all} layers new, {size}")
}

#[cfg(test)]
mod tests {
    use super::{Facts, Job, State, news, next};
    use crate::images::table::{Flavor, wanted};

    /// Those of base-apt, base, agent-slim, agent, pi and pi-slim.
    fn jobs() -> Vec<Job> {
        let images = wanted(&["pi".to_owned()], &[Flavor::Full, Flavor::Slim]).unwrap();
        let job = |image| Job {
            image,
            tag: image.reference(),
            argv: Vec::new(),
            env: Vec::new(),
            log: "log".into(),
            before: None,
            inputs: None,
            foreign: None,
        };
        images.into_iter().map(job).collect()
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
    fn an_agents_images_are_built_one_after_the_other() {
        let jobs = jobs();
        let mut states = vec![State::Good; jobs.len()];
        (states[4], states[5]) = (State::Running, State::Waiting);
        assert_eq!(next(&jobs, &states), None);
        states[4] = State::Bad;
        assert_eq!(next(&jobs, &states), Some(5));
    }

    #[test]
    fn what_starts_from_a_failed_image_never_runs() {
        let jobs = jobs();
        let mut states = vec![State::Waiting; jobs.len()];
        (states[0], states[1]) = (State::Good, State::Bad);
        assert_eq!(next(&jobs, &states), None);
    }

    #[test]
    fn what_is_new_is_told_by_layers() {
        let facts = |id: &str, size, layers: &[&str]| Facts {
            id: id.to_owned(),
            size,
            layers: layers.iter().map(|layer| (*layer).to_owned()).collect(),
        };
        let old = facts("a", 5_000_000, &["x", "y", "z"]);
        assert_eq!(news(None, &old), "new");
        assert_eq!(news(Some(&old), &facts("b", 5_000_000, &["x", "y", "z"])), "new settings");
        assert_eq!(news(Some(&old), &facts("b", 6_000_000, &["x", "y", "w"])), "1 of 3 layers new, +1.0 MB");
        assert_eq!(news(Some(&old), &facts("b", 4_000_000, &["w"])), "1 of 1 layers new, -1.0 MB");
        assert_eq!(news(Some(&old), &facts("b", 5_000_001, &["x", "w"])), "1 of 2 layers new, same size");
    }
}
