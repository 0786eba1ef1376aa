//! 2,000 calls of a shimmed compiler, 200 at a time: all run, once each, with the right code.

use std::{fs, time::Instant};

use super::{Plan, figures::Figure, session::Session, workspace};
use crate::cmd::{Failure, io_failure};

pub(super) fn measure(plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let folder = workspace("storm")?;
    let calls = plan.samples(2000);
    for number in 0..calls {
        // Every tenth does not compile.
        let source = if is_broken(number) {
            "int broken(".to_owned()
        } else {
            format!("int f{number}(void) {{ return {number}; }}\n")
        };
        let path = folder.join(format!("f{number}.c"));
        fs::write(&path, source).map_err(io_failure("write", path.display()))?;
    }
    let mut session = Session::start(&folder, &["--toolchain", "c-cpp"], &[])?;
    session.run("gcc --version >/dev/null")?;
    let begun = Instant::now();
    // Compiled once, an object is there; compiled twice, the second run finds it and its name in the log is doubled.
    let line = format!("/workspace/bench inside storm {calls} 200 gcc -c /workspace/f{{}}.c -o /workspace/f{{}}.o");
    let codes = session.run(&line)?;
    let elapsed = begun.elapsed().as_secs_f64();
    let right = codes.iter().filter(|line| is_right(line)).count();
    let objects = (0..calls).filter(|number| folder.join(format!("f{number}.o")).is_file()).count();
    let expected = (0..calls).filter(|&number| !is_broken(number)).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
    let figures = vec![
        Figure::one(format!("{calls} compiler calls, 200 at a time: right exit codes"), "", right as f64)
            .at_least(calls as f64),
        Figure::one("their objects, of those that compile", "", objects as f64).at_least(expected as f64),
        Figure::one("calls a second", "/s", calls as f64 / elapsed),
        Figure::one("proxy: peak resident size behind it", "MiB", session.peak_kib("proxy")? / 1024.0),
    ];
    Ok(figures)
}

fn is_broken(number: usize) -> bool {
    number % 10 == 7
}

/// `NUMBER CODE`.
fn is_right(line: &str) -> bool {
    let (number, code) = line.split_once(' ').unwrap_or_default();
    number.parse().is_ok_and(|number| code == if is_broken(number) { "1" } else { "0" })
}
