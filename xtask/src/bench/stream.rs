//! 10 GB of output through a slow reader, by protocols 3 and 2: nothing lost, little held.

use std::time::Instant;

use super::{Plan, figures::Figure, session::Session, workspace};
use crate::cmd::Failure;

/// The resident size that proxy and execd may reach, in MiB.
const MOST: f64 = 16.0;
/// What the reader waits after each MiB, in microseconds: it takes about a gigabyte a second at best.
const PAUSE: u64 = 500;

pub(super) fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let bytes = plan.samples(10_000_000_000);
    let mut figures = Vec::new();
    for (protocol, env) in [(3, [("AIFO_TOOLEEXEC_USE_TCP", "0")]), (2, [("AIFO_TOOLEEXEC_USE_TCP", "1")])] {
        let folder = workspace(&format!("stream-{protocol}"))?;
        let mut session = Session::start(&folder, &["--toolchain", "c-cpp", "--tool", "c-cpp:dash"], &env)?;
        let begun = Instant::now();
        let source = format!("dash -c 'exec /workspace/bench inside source {bytes} 2>/workspace/sent'");
        let line = format!("{source} | /workspace/bench inside sink {PAUSE}; cat /workspace/sent");
        let printed = session.run(&line)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let rest = |start: &str| printed.iter().find_map(|line| line.strip_prefix(start).map(str::to_owned));
        let same = rest("sink ").is_some_and(|sink| Some(sink) == rest("source "));
        let peaks = [session.peak_kib("proxy")?, session.peak_kib("c-cpp")?];
        let gigabytes = f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX)) / 1e3;
        let what = |rest: &str| format!("{gigabytes} GB by protocol {protocol}, slow reader: {rest}");
        figures.extend([
            Figure::one(what("bytes and checksum agree"), "", f64::from(u8::from(same))).at_least(1.0),
            Figure::one(what("throughput"), "GB/s", gigabytes / elapsed),
            Figure::one(what("proxy, peak"), "MiB", peaks[0] / 1024.0).at_most(MOST),
            Figure::one(what("execd, peak"), "MiB", peaks[1] / 1024.0).at_most(MOST),
        ]);
    }
    Ok(figures)
}
