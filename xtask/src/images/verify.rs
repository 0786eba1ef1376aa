//! `cargo xtask images verify`: runs the program of each image that is here as it will be run: any user, nothing
//! writable but memory, no capability, no network.
//!
//! An agent answers `--version`; a slim image holds none of the programs that slim promises to leave out. What is not
//! built is said and is no failure; what does not run is one.

use std::{
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use super::{
    engine::Engine,
    table::{self, Flavor, Image, Role},
};
use crate::{
    cmd::{Failure, io_failure, shown},
    report,
};

/// What a slim image leaves out: editors, compilers, downloaders, package managers.
const LEFT_OUT: &str = "apt apt-get cargo cc clang conda curl dpkg ed emacs ex g++ gcc go mg nano npm npx nvi pip pip3 \
                        pnpm tcc uv vi vim wget yarn";

/// Says which of the first argument's words are programs here, other than shims; then runs the other arguments.
const LOOK_AND_RUN: &str = "for name in $1; do
    for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /opt/*/bin; do
        if [ \"$folder\" != /opt/aifo/bin ] && [ -e \"$folder/$name\" ]; then
            echo \"holds $folder/$name\" >&2
            exit 1
        fi
    done
done
shift
exec \"$@\"";

/// How an image answered.
#[derive(Debug)]
struct Answer {
    words: Result<String, String>,
    took: Duration,
}

/// Tries the images that the words name, of both flavors; no word means all.
///
/// # Errors
/// When a word names no image, docker does not answer, or an image does not run.
pub(super) fn run(engine: &Engine, words: &[String]) -> Result<(), Failure> {
    let all = ["all".to_owned()];
    let words = if words.is_empty() { &all[..] } else { words };
    let (mut table, mut bad) = (String::new(), 0);
    for image in table::wanted(words, &[Flavor::Full, Flavor::Slim])? {
        let Some(question) = question(image) else { continue };
        let name = image.name;
        if engine.inspect(&image.reference())?.is_none() {
            table.push_str(&format!("{name:<20} {:>9}  not built\n", "-"));
            continue;
        }
        let Answer { words, took } = ask(engine, image, &question)?;
        bad += usize::from(words.is_err());
        let said = words.unwrap_or_else(|why| format!("FAILED: {why}"));
        table.push_str(&format!("{name:<20} {:>6} ms  {said}\n", took.as_millis()));
    }
    report::out(&table);
    if bad == 0 { Ok(()) } else { Err(Failure::new(format!("{bad} images do not run as they must"))) }
}

/// What an image is asked; nothing where it is not for running.
fn question(image: &Image) -> Option<Vec<&'static str>> {
    match (image.role, image.kind) {
        (Role::Agent(_), _) if image.folder == "shell" => Some(vec!["bash", "--version"]),
        (Role::Agent(_), _) => Some(vec![image.folder, "--version"]),
        (Role::Toolchain, Some("rust")) => Some(vec!["cargo", "--version"]),
        (Role::Toolchain, Some("node")) => Some(vec!["node", "--version"]),
        (Role::Toolchain, Some("python")) => Some(vec!["python3", "--version"]),
        (Role::Toolchain, Some("c-cpp")) => Some(vec!["gcc", "--version"]),
        (Role::Toolchain, Some("go")) => Some(vec!["go", "version"]),
        _ => None,
    }
}

fn ask(engine: &Engine, image: &Image, question: &[&str]) -> Result<Answer, Failure> {
    let left_out = if image.role == Role::Agent(Flavor::Slim) { LEFT_OUT } else { "" };
    let mut command = engine.command();
    command.args(["run", "--rm", "--user", "12345:12345", "--read-only", "--cap-drop", "ALL", "--network", "none"]);
    command.args(["--security-opt", "no-new-privileges"]);
    command.args(["--tmpfs", "/tmp:exec,mode=1777", "--tmpfs", "/home/coder:exec,mode=1777"]);
    // As the launcher sets them for agents that are written for a runtime of their own.
    for name in ["AIFO_SHIM_SMART", "AIFO_SHIM_SMART_NODE", "AIFO_SHIM_SMART_PYTHON"] {
        command.args(["--env", &format!("{name}=1")]);
    }
    command.arg(image.reference()).args(["sh", "-c", LOOK_AND_RUN, "sh", left_out]).args(question);
    let start = Instant::now();
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(io_failure("start", shown(&command)))?;
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    // Some say their version on the wrong side, some warn there.
    let said = first(&stdout).or(first(&stderr)).unwrap_or_else(|| "it said nothing".to_owned());
    let words = if status.success() { Ok(said) } else { Err(first(&stderr).unwrap_or(said)) };
    Ok(Answer { words, took: start.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::{Role, question, table::IMAGES};

    #[test]
    fn every_image_that_is_run_is_asked() {
        for image in IMAGES {
            let runs = matches!(image.role, Role::Agent(_) | Role::Toolchain);
            assert_eq!(question(image).is_some(), runs, "{}", image.name);
        }
    }
}
