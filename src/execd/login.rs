//! The environment that every tool of a sidecar starts from: the container's own, and what a login shell adds to it.
//!
//! Images put folders into PATH by `ENV` or by `/etc/profile.d`; a user who logs in sees both. `/etc/profile` also
//! *resets* PATH, so the two are merged: the container's entries first, then those that only the login shell knows.
//! Computed once, when the sidecar starts, because a login shell for every call would cost more than most calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use aifo_shim::{
    sys::{self, Want},
    wire::exec::CStrings,
};

/// A variable list, by name.
pub(super) type Variables = BTreeMap<OsString, OsString>;

/// Profile scripts may print; what is ours starts behind this.
const MARK: &[u8] = b"\0aifo-environment\0";
/// A profile that takes longer has hung; the container's own environment is used then.
const PATIENCE: Duration = Duration::from_secs(3);
/// Where tools of a kind install programs, below what a variable names: found behind all that the image brings.
const INSTALLED: &[(&str, &str)] =
    &[("CARGO_HOME", "bin"), ("GOPATH", "bin"), ("NPM_CONFIG_PREFIX", "bin"), ("HOME", ".local/bin")];
/// What a shell sets for itself.
const SHELLS_OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_"];

/// Prints this process's environment for [`of_sidecar`]; what `aifo-coder environment` does.
pub(crate) fn print() -> io::Result<()> {
    let mut out = MARK.to_vec();
    for (name, value) in env::vars_os() {
        out.extend_from_slice(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    io::stdout().write_all(&out)
}

/// The sidecar's environment, with what only its tools are told.
pub(super) fn of_sidecar(ask_login_shell: bool, told: Vec<(String, OsString)>) -> Variables {
    let told = told.into_iter().map(|(name, value)| (OsString::from(name), value));
    let own: Variables = env::vars_os().chain(told).collect();
    let login = if ask_login_shell { of_login_shell().unwrap_or_default() } else { Variables::new() };
    with_installed(merge(own, login))
}

fn with_installed(mut variables: Variables) -> Variables {
    let places =
        INSTALLED.iter().filter_map(|(name, below)| Some(Path::new(variables.get(OsStr::new(name))?).join(below)));
    let folders: Vec<PathBuf> = places.filter(|folder| folder.is_absolute()).collect();
    let path = variables.entry("PATH".into()).or_default();
    *path = appended(path, folders.into_iter());
    variables
}

/// PATH with what it does not hold yet; what is not absolute is left out.
fn appended(path: &OsStr, more: impl Iterator<Item = PathBuf>) -> OsString {
    let mut folders: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    for folder in more.filter(|folder| folder.is_absolute()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    env::join_paths(folders).unwrap_or_else(|_colon| path.to_owned())
}

/// The environment of one call: the sidecar's, then the caller's variables, then what the place decides.
pub(super) fn for_call(base: &Variables, forwarded: &CStrings, place: &[(&str, &OsStr)]) -> CStrings {
    let mut strings = CStrings::default();
    let mut seen: BTreeSet<&[u8]> = place.iter().map(|(name, _)| name.as_bytes()).collect();
    place.iter().for_each(|(name, value)| strings.push(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
    for variable in forwarded.iter() {
        let name = aifo_shim::wire::env::name_of(variable).unwrap_or_default();
        if seen.insert(name) {
            strings.push(variable);
        }
    }
    for (name, value) in base.iter().filter(|(name, _)| !seen.contains(name.as_bytes())) {
        strings.push(&[name.as_bytes(), b"=", value.as_bytes()].concat());
    }
    strings
}

fn merge(mut own: Variables, login: Variables) -> Variables {
    for (name, value) in login {
        if name == "PATH" {
            let path = own.entry(name).or_default();
            *path = appended(path, env::split_paths(&value));
        } else if !SHELLS_OWN.iter().any(|shells| *shells == name) {
            own.entry(name).or_insert(value);
        }
    }
    own
}

/// None when there is no shell, or it says nothing in time.
fn of_login_shell() -> Option<Variables> {
    let program = env::current_exe().ok()?;
    let mut shell = Command::new("/bin/sh")
        .args(["-l", "-c", "exec \"$0\" environment"])
        .arg(program)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdout = shell.stdout.take()?;
    let printed = read_until(&mut stdout, Instant::now() + PATIENCE);
    drop(shell.kill());
    drop(shell.wait());
    parse(&printed?)
}

/// Everything up to the end; none when the end does not come in time.
fn read_until(from: &mut (impl Read + AsFd), deadline: Instant) -> Option<Vec<u8>> {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let [ready] = sys::wait([(from.as_fd(), Want::Read)], Some(left)).ok()?;
        if !ready {
            return None;
        }
        match from.read(&mut buffer).ok()? {
            0 => return Some(all),
            count => all.extend_from_slice(buffer.get(..count)?),
        }
    }
}

fn parse(printed: &[u8]) -> Option<Variables> {
    let start = printed.windows(MARK.len()).position(|window| window == MARK)?;
    let list = printed.get(start + MARK.len()..)?;
    let pairs = list.split(|&byte| byte == 0).filter_map(|line| {
        let name = aifo_shim::wire::env::name_of(line)?;
        let owned = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((owned(name), owned(line.get(name.len() + 1..)?)))
    });
    Some(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Variables {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_profile_adds_to_the_image_and_never_takes_away() {
        let own = variables(&[("PATH", "/usr/local/cargo/bin:/usr/bin"), ("LANG", "C.UTF-8")]);
        let login = variables(&[("PATH", "/usr/bin:/bin:/opt/go/bin"), ("LANG", "C"), ("EDITOR", "vi"), ("PWD", "/")]);
        let merged = merge(own, login);
        let expected =
            [("EDITOR", "vi"), ("LANG", "C.UTF-8"), ("PATH", "/usr/local/cargo/bin:/usr/bin:/bin:/opt/go/bin")];
        assert_eq!(merged, variables(&expected));
    }

    #[test]
    fn what_tools_install_is_found_behind_what_the_image_brings() {
        let own = variables(&[("PATH", "/usr/bin"), ("HOME", "/h"), ("GOPATH", "/h/go"), ("CARGO_HOME", "relative")]);
        assert_eq!(with_installed(own)[OsStr::new("PATH")], "/usr/bin:/h/go/bin:/h/.local/bin");
    }

    #[test]
    fn what_a_profile_prints_is_not_taken_for_variables() {
        let printed = [b"Welcome=yes\n\0".as_slice(), MARK, b"A=1\0B=x=y\n\xff\0=z\0C\0"].concat();
        let parsed = parse(&printed).unwrap();
        assert_eq!(parsed.len(), 2);
        assert_eq!(parsed.get(OsStr::new("A")), Some(&"1".into()));
        assert_eq!(parse(b"A=1\0"), None);
    }

    #[test]
    fn the_place_wins_over_the_caller_and_the_caller_over_the_sidecar() {
        let base = variables(&[("LANG", "C"), ("PWD", "/"), ("HOME", "/home/coder")]);
        let mut forwarded = CStrings::default();
        [b"PWD=/evil".as_slice(), b"LANG=de", b"LANG=fr"].iter().for_each(|variable| forwarded.push(variable));
        let env = for_call(&base, &forwarded, &[("PWD", OsStr::new("/workspace"))]);
        let lines: Vec<_> = env.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        assert_eq!(lines, ["PWD=/workspace", "LANG=de", "HOME=/home/coder"]);
    }
}
