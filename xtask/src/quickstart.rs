//! `cargo xtask quickstart`: from a checkout to a real session, and what to type next.
//!
//! Builds what is missing, writes a small project with one program a language, and lets an agent (a shell script) call
//! the real tools: on docker where one answers, as plain processes otherwise, saying so.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    build::{self, Arch},
    cmd::{self, Failure, io_failure},
    images, report, root,
};

pub(crate) const HELP: &str = "\
cargo xtask quickstart

Builds the programs and, where docker answers, the images; then runs a session
whose agent calls cargo, make, python3, node and go. Shows what ran where.
";

/// One language: its sidecar, the file and what the agent does with it.
struct Demo {
    kind: &'static str,
    image: &'static str,
    /// What must be there to do without a sidecar's image.
    tools: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    script: &'static str,
}

const DEMOS: &[Demo] = &[
    Demo {
        kind: "rust",
        image: "toolchain-rust",
        tools: &["cargo"],
        files: &[
            (
                "crate/Cargo.toml",
                "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
            ),
            (
                "crate/src/lib.rs",
                "pub fn twice(n: u32) -> u32 {\n    n * 2\n}\n\n#[test]\nfn twice_is_double() {\n    assert_eq!(twice(21), 42);\n}\n",
            ),
        ],
        script: "cd crate && cargo test --quiet --offline",
    },
    Demo {
        kind: "c-cpp",
        image: "toolchain-cpp",
        tools: &["make", "cc"],
        files: &[
            ("c/hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello from C\"); return 0; }\n"),
            ("c/Makefile", "hello: hello.c\n\t$(CC) -Wall -o $@ $<\nrun: hello\n\t@./hello\n"),
        ],
        script: "make --no-print-directory -C c run",
    },
    Demo {
        kind: "python",
        image: "toolchain-python",
        tools: &["python3"],
        files: &[("squares.py", "import sys\nprint('squares from', sys.executable, [n * n for n in range(6)])\n")],
        script: "python3 - < squares.py",
    },
    Demo {
        kind: "node",
        image: "toolchain-node",
        tools: &["node"],
        files: &[("hello.js", "console.log('hello from node', process.version)\n")],
        script: "node hello.js",
    },
    Demo {
        kind: "go",
        image: "toolchain-go",
        tools: &["go"],
        files: &[("go/hello.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello from go\") }\n")],
        script: "go run go/hello.go",
    },
];

/// Runs the task.
pub(crate) fn main(args: Vec<OsString>) -> Result<(), Failure> {
    if !args.is_empty() {
        report::out(HELP);
        return Ok(());
    }
    let begun = Instant::now();
    build::build(Arch::host())?;
    let docker = cmd::docker_answers();
    let demos = if docker { with_images()? } else { with_tools() };
    let project = project(&demos)?;
    if !docker {
        report::say("no docker answers: this session runs as plain processes, without isolation");
    }
    report::say(format_args!("ready after {:.0} s; now the session", begun.elapsed().as_secs_f64()));
    session(&project, &demos, docker)?;
    report::out(&next_steps(docker));
    Ok(())
}

/// Builds the images; a toolchain that cannot be had is left out, and the log says why.
fn with_images() -> Result<Vec<&'static Demo>, Failure> {
    images::main(vec!["shell".into()])?;
    if let Err(failure) = images::main(DEMOS.iter().map(|demo| demo.image.into()).collect()) {
        report::failed(&failure);
    }
    let is_here = |demo: &&Demo| {
        let reference = format!("aifo-coder-{}:release-{}", demo.image, env!("CARGO_PKG_VERSION"));
        cmd::capture(cmd::docker().args(["image", "inspect", "--format", "{{.Id}}", &reference])).is_ok()
    };
    some(DEMOS.iter().filter(is_here).collect(), "no toolchain image could be built")
}

fn with_tools() -> Vec<&'static Demo> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &&str| env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    DEMOS.iter().filter(|demo| demo.tools.iter().all(is_there)).collect()
}

fn some(demos: Vec<&'static Demo>, otherwise: &str) -> Result<Vec<&'static Demo>, Failure> {
    if demos.is_empty() { Err(Failure::new(otherwise).hint("cargo xtask images")) } else { Ok(demos) }
}

/// Writes the project afresh.
fn project(demos: &[&Demo]) -> Result<PathBuf, Failure> {
    let folder = root().join("target/quickstart");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(io_failure("remove", folder.display()))?;
    }
    let mut script = String::from("# What the agent of `cargo xtask quickstart` does.\nfailed=0\n");
    for demo in demos {
        demo.files.iter().try_for_each(|(name, text)| write(&folder.join(name), text))?;
        script.push_str(&format!("echo '$ {0}'\n( {0} ) || failed=1\n", demo.script));
    }
    script.push_str("exit $failed\n");
    write(&folder.join("agent.sh"), &script)?;
    Ok(folder)
}

/// Runs the agent; the launcher's `-v` tells each call, which makes the table.
fn session(project: &Path, demos: &[&Demo], docker: bool) -> Result<(), Failure> {
    let mut command = Command::new(Arch::host().dist().join("aifo-coder"));
    command.arg("-v").args(if docker { &[][..] } else { &["--runtime", "local"] });
    command.args(demos.iter().flat_map(|demo| ["--toolchain", demo.kind]));
    command.args(["run", "--", "sh", "agent.sh"]).current_dir(project);
    let begun = Instant::now();
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    let output = child.and_then(std::process::Child::wait_with_output).map_err(io_failure("run", "aifo-coder"))?;
    let elapsed = begun.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        report::say(said.trim_end());
        return Err(Failure::new(format!("the session ended with {}", output.status)).hint("aifo-coder doctor"));
    }
    let calls: Vec<[&str; 4]> = said.lines().filter_map(call).collect();
    if calls.is_empty() {
        return Err(Failure::new("the session ran, but no call was carried"));
    }
    report::out(&table(&calls));
    report::say(format_args!("{} calls in one session of {elapsed:.1} s, start and end included", calls.len()));
    Ok(())
}

/// `aifo-coder: KIND: WORDS in CWD ended with CODE after N ms`, as the launcher's `-v` says it.
fn call(line: &str) -> Option<[&str; 4]> {
    let (kind, rest) = line.strip_prefix("aifo-coder: ")?.split_once(": ")?;
    let (words, end) = rest.rsplit_once(" ended with ")?;
    let (tool, _cwd) = words.rsplit_once(" in ")?;
    let (code, time) = end.split_once(" after ")?;
    Some([tool, kind, code, time])
}

fn table(calls: &[[&str; 4]]) -> String {
    let mut text = format!("\n{:<44} {:<9} {:>6} {:>9}\n", "TOOL CALL", "SIDECAR", "CODE", "TIME");
    for [tool, kind, code, time] in calls {
        text.push_str(&format!("{tool:<44} {kind:<9} {code:>6} {time:>9}\n"));
    }
    text
}

fn next_steps(docker: bool) -> String {
    let launcher = Arch::host().dist().join("aifo-coder");
    let launcher = launcher.display();
    if docker {
        format!(
            "\nNext, in a project of yours:\n  {launcher} --toolchain rust shell\n  {launcher} --toolchain c-cpp run -- make\n  {launcher} doctor\n"
        )
    } else {
        format!(
            "\nNext: install Docker, or in a project of yours:\n  {launcher} --runtime local --toolchain c-cpp shell\n"
        )
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(io_failure("create", folder.display()))?;
    fs::write(path, text).map_err(io_failure("write", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_from_the_launchers_line() {
        let line = "aifo-coder: rust: cargo test in my dir in /workspace/a b ended with 0 after 812 ms";
        assert_eq!(call(line), Some(["cargo test in my dir", "rust", "0", "812 ms"]));
        assert_eq!(call("aifo-coder: the rust sidecar is up"), None);
    }
}
