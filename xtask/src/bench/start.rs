//! How long it takes until an agent prompts, and until both its sidecars have answered, against one `docker run`.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Instant,
};

use super::{
    Plan,
    figures::{Figure, quantile},
    workspace,
};
use crate::{
    build::Arch,
    cmd::{self, Failure, io_failure},
};

pub(super) fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let folder = workspace("start")?;
    let (mut prompt, mut answered, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let script = "echo prompt; make --version >/dev/null && node --version >/dev/null && echo answered";
    for _ in 0..plan.samples(20) {
        let mut session = Command::new(Arch::host().dist().join("aifo-coder"));
        session.args(["-q", "--toolchain", "c-cpp", "--toolchain", "node", "run", "--", "sh", "-c", script]);
        let times = until_lines(session.current_dir(&folder), &["prompt", "answered"])?;
        prompt.push(times[0]);
        answered.push(times[1]);
        let image = concat!("aifo-coder-shell:release-", env!("CARGO_PKG_VERSION"));
        let mut run = cmd::docker();
        run.args(["run", "--rm", "-i", "--pull", "never", image, "sh", "-c", "echo prompt"]);
        plain.push(until_lines(&mut run, &["prompt"])?[0]);
    }
    let middle = |samples: &[f64]| quantile(samples, 0.5);
    Ok(vec![
        Figure::of("session up: proxy, two sidecars, agent prompts", "ms", &prompt),
        Figure::of("session up: a tool of each sidecar has answered", "ms", &answered),
        Figure::of("one plain docker run, to its prompt", "ms", &plain),
        Figure::one("the prompt against one docker run", "x", middle(&prompt) / middle(&plain)).at_most(3.0),
        Figure::one("both sidecars' answers against one docker run", "x", middle(&answered) / middle(&plain))
            .at_most(3.0),
    ])
}

/// Milliseconds from the start until each line was printed; then waits for the end.
fn until_lines(command: &mut Command, expected: &[&str]) -> Result<Vec<f64>, Failure> {
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io_failure("start", command.get_program().display()))?;
    let mut lines = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines().map_while(Result::ok));
    let mut times = Vec::new();
    for line in expected {
        if lines.next().as_deref() != Some(*line) {
            return Err(Failure::new(format!("`{}` did not print `{line}`", command.get_program().display())));
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    drop(lines);
    child.wait().map_err(io_failure("wait for", "it"))?;
    Ok(times)
}
