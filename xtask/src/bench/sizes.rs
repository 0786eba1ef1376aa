//! What ships: sizes, what it links, and the system calls of one carried call.

use std::{
    fs,
    process::{Command, Stdio},
};

use aifo_shim::elf;

use super::{Plan, figures::Figure, workspace};
use crate::{
    build::Arch,
    cmd::{Failure, io_failure},
};

pub(super) fn measure(_plan: &Plan) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (program, most) in [("aifo-shim", 512.0), ("aifo-coder", 2048.0)] {
        let path = Arch::host().dist().join(program);
        let bytes = fs::read(&path).map_err(io_failure("read", path.display()))?;
        #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
        let kib = bytes.len() as f64 / 1024.0;
        figures.push(Figure::one(format!("{program}: size, stripped"), "KiB", kib).at_most(most));
        let needed = f64::from(u8::from(!elf::is_static(&bytes)));
        figures.push(Figure::one(format!("{program}: interpreters and libraries it needs"), "", needed).at_most(0.0));
    }
    figures.extend(system_calls()?);
    Ok(figures)
}

/// Counts with strace, in a session of plain processes, where it can look.
fn system_calls() -> Result<Option<Figure>, Failure> {
    let strace = Command::new("strace").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if strace.is_err() {
        crate::report::say("system calls are not counted: strace is not installed");
        return Ok(None);
    }
    let folder = workspace("sizes")?;
    let mut session = Command::new(Arch::host().dist().join("aifo-coder"));
    session.args(["-q", "--runtime", "local", "--toolchain", "c-cpp", "--tool", "c-cpp:true", "run", "--"]);
    // Not the first call: that one may wait for the sidecar.
    session.args(["bash", "-c", "p=$(dirname \"$(command -v env)\")/true; $p && $p && exec strace -o trace \"$p\""]);
    let status = session.current_dir(&folder).status().map_err(io_failure("start", "aifo-coder"))?;
    if !status.success() {
        return Err(Failure::new(format!("the traced call ended with {status}")));
    }
    let trace = fs::read_to_string(folder.join("trace")).map_err(io_failure("read", "the trace"))?;
    let calls = trace.lines().filter(|line| line.contains('(')).count();
    let calls = f64::from(u32::try_from(calls).unwrap_or(u32::MAX));
    Ok(Some(Figure::one("aifo-shim: system calls of a carried call", "", calls).at_most(40.0)))
}
