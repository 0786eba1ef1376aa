//! How long a call takes: `true` through the shim, by `docker exec`, and by fork and exec on the spot.

use std::time::Instant;

use super::{
    Plan,
    figures::{Figure, quantile},
    session::{Session, docker},
    workspace,
};
use crate::cmd::Failure;

/// Turns that the rivals take, so that a slow moment of the machine hits all of them.
const ROUNDS: usize = 10;

pub(super) fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let folder = workspace("calls")?;
    let mut session = Session::start(&folder, &["--toolchain", "c-cpp", "--tool", "c-cpp:true"], &[])?;
    let sidecar = session.container("c-cpp");
    session.run("true; /workspace/bench inside spawn 50 /run/aifo/bin/true >/dev/null")?;
    let (mut shim, mut spot, mut exec) = (Vec::new(), Vec::new(), Vec::new());
    let loops = plan.samples(100).to_string();
    for _ in 0..ROUNDS {
        shim.extend(micros(session.run(&format!("/workspace/bench inside spawn {loops} /run/aifo/bin/true"))?.iter()));
        let inside = docker(&["exec", &sidecar, "/workspace/bench", "inside", "spawn", &loops, "/bin/true"])?;
        spot.extend(micros(inside.lines()));
        for _ in 0..plan.samples(10) {
            let begun = Instant::now();
            docker(&["exec", &sidecar, "/bin/true"])?;
            exec.push(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    // The agent's first process, once more: with a session to watch, and nothing to make ready.
    let (mut entry, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let spawned = |words: &str| format!("/workspace/bench inside spawn {loops} {words}");
        entry.extend(micros(session.run(&spawned("/opt/aifo/bin/aifo-entrypoint -- /bin/true"))?.iter()));
        plain.extend(micros(session.run(&spawned("/bin/true"))?.iter()));
    }
    let middle = |samples: &[f64]| quantile(samples, 0.5);
    let (against_exec, against_spot) = (middle(&exec) / middle(&shim), middle(&shim) / middle(&spot));
    Ok(vec![
        Figure::of("`true` through the shim, in a running session", "ms", &shim),
        Figure::of("`true` by docker exec, in the same sidecar", "ms", &exec),
        Figure::of("`true` by fork and exec, inside the same sidecar", "ms", &spot),
        Figure::one("aifo-entrypoint with nothing to do, beyond `true` itself", "ms", middle(&entry) - middle(&plain))
            .at_most(2.0),
        Figure::one("the shim against docker exec: times faster", "x", against_exec).at_least(40.0),
        Figure::one("the shim against fork and exec: times as long", "x", against_spot).at_most(3.0),
    ])
}

/// Lines of microseconds as milliseconds.
fn micros<T: AsRef<str>>(lines: impl Iterator<Item = T>) -> Vec<f64> {
    lines.filter_map(|line| line.as_ref().parse::<f64>().ok()).map(|micros| micros / 1e3).collect()
}
