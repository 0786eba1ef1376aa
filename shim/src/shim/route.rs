//! Local or carried: the decision, as a pure function of tool, arguments, directory and switches.
//!
//! Agents that are written for Node or Python start their own runtime for programs that lie in their image. Those must
//! run in place, everything else is carried (seed "smart shims", sections 4 and 5). A decision never looks at the file
//! system, so that it can be read off a table; paths are compared after `.` and `..` were taken out of them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use aifo_shim::{
    settings::Smart,
    tools::{LOCAL_NODE, LOCAL_PYTHON},
};

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Carried,
    Local(Local),
}

/// A call that runs in place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) reason: &'static str,
    pub(crate) program: PathBuf,
    /// Absolute paths in order of preference; PATH is never searched, for it would find the shim again.
    pub(crate) candidates: &'static [&'static str],
}

/// Decides for one call.
pub(crate) fn route(tool: &OsStr, args: &[OsString], cwd: &Path, smart: &Smart) -> Route {
    let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
    match tool.as_bytes() {
        b"node" if smart.node => outside(node_program(&args), cwd, smart, LOCAL_NODE),
        b"python" | b"python3" if smart.python => match python_program(&args) {
            Python::Module(module) => {
                Route::Local(Local { reason: "module-mode", program: path(module), candidates: LOCAL_PYTHON })
            }
            Python::Script(script) => outside(Some(script), cwd, smart, LOCAL_PYTHON),
            Python::Neither => Route::Carried,
        },
        _ => Route::Carried,
    }
}

fn outside(program: Option<&[u8]>, cwd: &Path, smart: &Smart, candidates: &'static [&'static str]) -> Route {
    match program.map(|program| flatten(&cwd.join(path(program)))) {
        Some(program) if !program.starts_with(&smart.workspace) => {
            Route::Local(Local { reason: "outside-workspace", program, candidates })
        }
        _ => Route::Carried,
    }
}

/// Node's options that take the next word as their value; with `=` they are one word.
const NODE_VALUES: &[&[u8]] = &[
    b"-r",
    b"--require",
    b"--import",
    b"--loader",
    b"--experimental-loader",
    b"-C",
    b"--conditions",
    b"--env-file",
    b"--env-file-if-exists",
    b"--eval-file",
    b"--icu-data-dir",
    b"--input-type",
    b"--inspect-port",
    b"--debug-port",
    b"--openssl-config",
    b"--title",
];
/// Node's options that leave no program to run.
const NODE_PROGRAMLESS: &[&[u8]] =
    &[b"-e", b"--eval", b"-p", b"--print", b"-pe", b"-h", b"--help", b"-v", b"--version", b"-"];

fn node_program<'a>(args: &[&'a [u8]]) -> Option<&'a [u8]> {
    let mut words = args.iter().copied();
    while let Some(word) = words.next() {
        match word {
            b"--" => return words.next(),
            _ if NODE_PROGRAMLESS.contains(&word) => return None,
            _ if NODE_VALUES.contains(&word) => drop(words.next()),
            [b'-', ..] => {}
            _ => return Some(word),
        }
    }
    None
}

#[derive(Debug, PartialEq, Eq)]
enum Python<'a> {
    Module(&'a [u8]),
    Script(&'a [u8]),
    Neither,
}

fn python_program<'a>(args: &[&'a [u8]]) -> Python<'a> {
    let mut words = args.iter().copied();
    while let Some(word) = words.next() {
        match word {
            b"--" => return words.next().map_or(Python::Neither, Python::Script),
            b"-" => return Python::Neither,
            b"--check-hash-based-pycs" => drop(words.next()),
            [b'-', b'-', ..] => {}
            [b'-', letters @ ..] => match python_letters(letters) {
                Letters::Flags => {}
                Letters::TakesNext => drop(words.next()),
                Letters::Code => return Python::Neither,
                Letters::Module([]) => return words.next().map_or(Python::Neither, Python::Module),
                Letters::Module(name) => return Python::Module(name),
            },
            _ => return Python::Script(word),
        }
    }
    Python::Neither
}

enum Letters<'a> {
    Flags,
    TakesNext,
    Code,
    Module(&'a [u8]),
}

/// A cluster such as `-Im`: the first letter that takes a value takes the rest of the word, or the next one.
fn python_letters(letters: &[u8]) -> Letters<'_> {
    for (at, letter) in letters.iter().enumerate() {
        let rest = &letters[at + 1..];
        match letter {
            b'c' => return Letters::Code,
            b'm' => return Letters::Module(rest),
            b'W' | b'X' if rest.is_empty() => return Letters::TakesNext,
            b'W' | b'X' => return Letters::Flags,
            _ => {}
        }
    }
    Letters::Flags
}

/// An absolute path without `.` and `..`; symbolic links are not looked at.
fn flatten(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(flat.pop()),
            Component::CurDir => {}
            _ => flat.push(part),
        }
    }
    flat
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (tool and arguments, directory, what is expected: `carried` or `reason program`)
    const TABLE: &[(&str, &str, &str)] = &[
        ("node /opt/agent/cli.js --flag", "/workspace", "outside-workspace /opt/agent/cli.js"),
        ("node cli.js", "/opt/agent", "outside-workspace /opt/agent/cli.js"),
        ("node /workspace/app.js", "/", "carried"),
        ("node app.js", "/workspace/sub", "carried"),
        ("node /workspaces/app.js", "/workspace", "outside-workspace /workspaces/app.js"),
        ("node ../opt/app.js", "/workspace", "outside-workspace /opt/app.js"),
        ("node /opt/../workspace/app.js", "/", "carried"),
        ("node", "/opt", "carried"),
        ("node -", "/opt", "carried"),
        ("node -e 1 /opt/x.js", "/opt", "carried"),
        ("node -p 1", "/opt", "carried"),
        ("node --eval 1", "/opt", "carried"),
        ("node --version", "/opt", "carried"),
        ("node -r ./hook.js /opt/x.js", "/workspace", "outside-workspace /opt/x.js"),
        ("node --require /opt/hook.js app.js", "/workspace", "carried"),
        ("node --loader /opt/l.mjs --import /opt/i.mjs app.js", "/workspace", "carried"),
        ("node --require=/opt/hook.js app.js", "/workspace", "carried"),
        ("node --max-old-space-size=9 /opt/x.js", "/workspace", "outside-workspace /opt/x.js"),
        ("node -- /opt/x.js", "/workspace", "outside-workspace /opt/x.js"),
        ("node -- -e", "/workspace", "carried"),
        ("python -m pytest", "/workspace", "module-mode pytest"),
        ("python3 -mpytest", "/workspace", "module-mode pytest"),
        ("python3 -Im venv x", "/workspace", "module-mode venv"),
        ("python3 -m", "/workspace", "carried"),
        ("python3 script.py -m x", "/workspace", "carried"),
        ("python3 /opt/agent/main.py", "/workspace", "outside-workspace /opt/agent/main.py"),
        ("python3 -u -W ignore -X dev /opt/main.py", "/workspace", "outside-workspace /opt/main.py"),
        ("python3 -Wignore main.py", "/workspace", "carried"),
        ("python3 -c code /opt/x.py -m y", "/opt", "carried"),
        ("python3 -Bc code", "/opt", "carried"),
        ("python3 -", "/opt", "carried"),
        ("python3", "/opt", "carried"),
        ("python3 -- /opt/x.py", "/workspace", "outside-workspace /opt/x.py"),
        ("pip install x", "/opt", "carried"),
        ("pip3 install x", "/opt", "carried"),
        ("uv run /opt/x.py", "/opt", "carried"),
        ("uvx ruff", "/opt", "carried"),
        ("npm run x", "/opt", "carried"),
        ("cargo build", "/opt", "carried"),
    ];

    fn decide(line: &str, cwd: &str, node: bool, python: bool) -> String {
        let mut words = line.split(' ').map(OsString::from);
        let tool = words.next().unwrap();
        let args: Vec<OsString> = words.collect();
        match route(&tool, &args, Path::new(cwd), &Smart { node, python, workspace: "/workspace".into() }) {
            Route::Carried => "carried".to_owned(),
            Route::Local(Local { reason, program, .. }) => format!("{reason} {}", program.display()),
        }
    }

    #[test]
    fn smart_rules_decide_as_the_seed_says() {
        for (line, cwd, expected) in TABLE {
            assert_eq!(decide(line, cwd, true, true), *expected, "`{line}` in {cwd}");
        }
    }

    #[test]
    fn without_its_switch_every_call_is_carried() {
        for (line, cwd, expected) in TABLE {
            let python = line.starts_with("python");
            assert_eq!(decide(line, cwd, python, !python), "carried", "`{line}` in {cwd}, expected of it: {expected}");
        }
    }

    #[test]
    fn local_runtimes_are_absolute_paths() {
        assert!(LOCAL_NODE.iter().chain(LOCAL_PYTHON).all(|path| path.starts_with("/usr/")));
    }
}
