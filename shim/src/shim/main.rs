//! `aifo-shim`: stands in `/opt/aifo/bin` under the name of every carried tool and takes each call where it belongs.
//!
//! `argv[0]` says what is meant. A tool is routed: to a local runtime by absolute path, or through the proxy into its
//! sidecar. `env` is looked through. The shim links nothing, starts no thread, writes no file, and never ends with 0 for a
//! call that did not.

mod arena;
mod client;
mod route;
mod signals;
mod trampoline;

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
    process::ExitCode,
};

use aifo_shim::{
    error::{self, ShimError},
    proxy::Proxy,
    settings::{DEPTH, Settings},
    sys::{self, Ended, TerminalModes},
    wire::{
        env::may_cross,
        exec::{CStrings, ExecRequest},
    },
};

use crate::route::{Local, Route};

/// The environment that the tool's call starts from.
type Variables = Vec<(OsString, OsString)>;

fn main() -> ExitCode {
    let mut words = env::args_os();
    let own_name = words.next().unwrap_or_default();
    let args: Vec<OsString> = words.collect();
    let name = Path::new(&own_name).file_name().unwrap_or_default();
    let ended = match name.as_bytes() {
        b"aifo-shim" if args == ["--version"] => {
            drop(writeln!(io::stdout(), "aifo-shim {}", env!("CARGO_PKG_VERSION")));
            Ok(Ended::Code(0))
        }
        b"aifo-shim" => Err(ShimError::Usage),
        b"env" => run_env(&args),
        _ => run_tool(name, &args, env::vars_os().collect()),
    };
    error::end(name, ended)
}

fn run_env(words: &[OsString]) -> Result<Ended, ShimError> {
    let Some(plan) = trampoline::parse(words) else {
        return run_real_env(words);
    };
    run_tool(&plan.tool, &plan.args, plan.changes.apply(env::vars_os()))
}

fn run_real_env(words: &[OsString]) -> Result<Ended, ShimError> {
    const PLACES: &[&str] = &["/usr/bin/env", "/bin/env"];
    exec(PLACES, words, env::vars_os().collect())
}

fn run_tool(tool: &OsStr, args: &[OsString], variables: Variables) -> Result<Ended, ShimError> {
    let settings = Settings::from_env();
    let cwd = env::current_dir().map_err(ShimError::NoDirectory)?;
    match route::route(tool, args, &cwd, &settings.smart) {
        Route::Local(local) if local.candidates.iter().any(|path| is_runnable(&path)) => {
            run_local(tool, args, variables, &settings, &local)
        }
        // An agent without a runtime of its own has no programs that would need one: what it means is the sidecar's.
        Route::Local(_) | Route::Carried => {
            let request = ExecRequest {
                tool: tool.as_bytes().to_vec(),
                cwd: cwd.as_os_str().as_bytes().to_vec(),
                args: strings(args.iter().map(|arg| arg.as_bytes())),
                env: forwarded(&variables),
            };
            carry(tool, &Proxy::from_settings(&settings)?, &request)
        }
    }
}

fn carry(tool: &OsStr, proxy: &Proxy, request: &ExecRequest) -> Result<Ended, ShimError> {
    let modes = TerminalModes::of_stdin();
    // A passed terminal stops nobody who reads it from the background, so the tool would take its shell's keys. What
    // POSIX gives an asynchronous command without job control is an empty input.
    let in_background = modes.as_ref().is_some_and(TerminalModes::is_in_background);
    let input = if in_background { File::open("/dev/null").ok() } else { None };
    let carried = client::carry(proxy, request, input.as_ref());
    // A tool that did not end by itself may have left the terminal raw.
    if !matches!(carried, Ok((Ended::Code(_), _)))
        && let Some(mut modes) = modes
    {
        modes.restore();
    }
    let (ended, reason) = carried?;
    if !reason.is_empty() {
        error::say(tool, reason);
    }
    Ok(ended)
}

fn run_local(
    tool: &OsStr,
    args: &[OsString],
    mut variables: Variables,
    settings: &Settings,
    local: &Local,
) -> Result<Ended, ShimError> {
    if settings.is_too_deep() {
        return Err(ShimError::TooDeep);
    }
    variables.retain(|(name, _)| name != DEPTH);
    variables.push((DEPTH.into(), (settings.depth + 1).to_string().into()));
    if settings.verbose {
        let chosen = local.candidates.iter().find(is_runnable).unwrap_or(&"none");
        let (name, reason, program) = (tool.display(), local.reason, local.program.display());
        drop(writeln!(
            io::stderr(),
            "aifo-shim: smart: tool={name} mode=local reason={reason} program={program} local={chosen}"
        ));
    }
    exec(local.candidates, args, variables)
}

/// Becomes the first of these programs that is there; comes back only with an error.
fn exec(places: &'static [&'static str], args: &[OsString], variables: Variables) -> Result<Ended, ShimError> {
    let path = places.iter().find(is_runnable).ok_or(ShimError::NoLocalRuntime(places))?;
    let mut argv = strings([path.as_bytes()].into_iter());
    args.iter().for_each(|arg| argv.push(arg.as_bytes()));
    let envp = strings(variables.iter().map(joined));
    Err(ShimError::LocalFailed(path.into(), sys::exec(&argv, &envp)))
}

/// There, and not this very program under another name.
fn is_runnable(path: &&&str) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let found = identity(Path::new(path));
    found.is_some() && found != identity(Path::new("/proc/self/exe"))
}

fn forwarded(variables: &Variables) -> CStrings {
    strings(variables.iter().filter(|(name, _)| may_cross(name.as_bytes())).map(joined))
}

fn joined((name, value): &(OsString, OsString)) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_bytes()].concat()
}

fn strings<T: AsRef<[u8]>>(list: impl Iterator<Item = T>) -> CStrings {
    let mut strings = CStrings::default();
    list.for_each(|string| strings.push(string.as_ref()));
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t31_this_very_program_is_never_a_local_runtime() {
        let own = env::current_exe().unwrap();
        for (path, expected) in
            [("/proc/self/exe", false), (own.to_str().unwrap(), false), ("/bin/sh", true), ("/nonexistent", false)]
        {
            assert_eq!(is_runnable(&&path), expected, "{path}");
        }
    }
}
