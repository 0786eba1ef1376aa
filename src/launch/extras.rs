//! What the user adds to a session by hand: variables, variable files, ports. Pure but for reading files.

use std::{env, ffi::OsString, fs, path::Path};

use aifo_shim::given;

use crate::{
    config::{Config, expanded},
    docker::Env,
    error::Error,
};

/// Variables that belong to the container or to this system.
const RESERVED: &[&str] = &["HOME", "USER", "LOGNAME", "SHELL", "PATH", "PWD", "TERM"];
/// The caller's variables that every container gets, where they are set, besides the proxies.
const INHERITED: &[&str] = &[
    "TERM",
    "COLORTERM",
    "LANG",
    "TZ",
    // Who commits may be said for one run; it comes before every configuration.
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];
/// Where there is a way to the network.
const PROXIES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"];

/// What every container of a session gets of the caller: language, and the time zone by its name.
///
/// The zone's file is not mounted: a daemon that runs elsewhere has another one there, or none.
pub(crate) fn common() -> Vec<Env> {
    let set = INHERITED.iter().filter(|name| env::var_os(name).is_some());
    let mut common: Vec<Env> = set.map(|name| Env::Inherited((*name).to_owned())).collect();
    if env::var_os("TZ").is_none()
        && let Some(zone) = fs::canonicalize("/etc/localtime").ok().as_deref().and_then(zone_of)
    {
        common.push(Env::Plain("TZ".to_owned(), zone));
    }
    common
}

/// The way to the network that agent and tools have, as the caller has it. An address may hold a password.
pub(crate) fn proxies() -> Vec<(String, OsString)> {
    PROXIES.iter().filter_map(|name| Some(((*name).to_owned(), env::var_os(name)?))).collect()
}

/// `Area/Place`, out of the path of a zone's file.
fn zone_of(file: &Path) -> Option<String> {
    let (_, zone) = file.to_str()?.rsplit_once("/zoneinfo/")?;
    Some(zone.to_owned())
}

/// Variables from `AIFO_ENV_NAME`, files and options; the last of a name counts.
///
/// # Errors
/// [`Error::Usage`], [`Error::Read`].
pub(crate) fn variables(config: &Config) -> Result<Vec<Env>, Error> {
    let mut variables: Vec<Env> = Vec::new();
    let mut put = |variable: Env| {
        variables.retain(|other| other.name() != variable.name());
        variables.push(variable);
    };
    for (whole, value) in env::vars_os() {
        // What is no text cannot be one of ours.
        let (Ok(whole), Ok(value)) = (whole.into_string(), value.into_string()) else { continue };
        let Some(name) = whole.strip_prefix(given::PREFIX) else { continue };
        put(Env::Given(checked(name).map_err(|error| Error::Usage(format!("{whole}: {error}")))?, value));
    }
    for path in config.list("session.env-file") {
        let path = expanded(path);
        let text = fs::read_to_string(&path).map_err(|cause| Error::Read(path.clone(), cause))?;
        lines(&text, &path)?.into_iter().for_each(&mut put);
    }
    for word in config.list("session.env") {
        match word.split_once('=') {
            Some((name, value)) => put(Env::Given(checked(name)?, value.to_owned())),
            // A name alone passes the caller's value on; one that is not set stays unset, as docker does it.
            None if env::var_os(word).is_some() => put(Env::Inherited(checked(word)?)),
            None => drop(checked(word)?),
        }
    }
    Ok(variables)
}

/// `NAME=VALUE` lines; comments and empty lines do not count.
fn lines(text: &str, path: &Path) -> Result<Vec<Env>, Error> {
    let content =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    content
        .map(|(number, line)| {
            let bad = |why: String| Error::Usage(format!("{}:{}: {why}", path.display(), number + 1));
            let (name, value) = line.split_once('=').ok_or_else(|| bad("expected NAME=VALUE".to_owned()))?;
            if value.contains('\0') {
                return Err(bad(format!("the value of `{name}` holds a NUL, which no variable can")));
            }
            Ok(Env::Given(checked(name).map_err(|error| bad(error.to_string()))?, value.to_owned()))
        })
        .collect()
}

fn checked(name: &str) -> Result<String, Error> {
    check_name(name).map(|()| name.to_owned()).map_err(|why| Error::Usage(format!("variable `{name}` {why}")))
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match name {
        _ if name.is_empty() || !plain || name.starts_with(|c: char| c.is_ascii_digit()) => Err("is no name"),
        _ if RESERVED.contains(&name) => Err("belongs to the container"),
        _ if name.starts_with("AIFO_") || name.starts_with("DOCKER_") || name.starts_with("LD_") => {
            Err("belongs to the system")
        }
        _ => Ok(()),
    }
}

/// `[IP:]HOST:PORT`, on loopback where no address is given.
///
/// # Errors
/// [`Error::Usage`]; [`Error::Unfit`] for a network that has no ports of its own.
pub(crate) fn ports(config: &Config) -> Result<Vec<String>, Error> {
    let words = config.list("session.publish");
    let network = config.text("session.network").unwrap_or_default();
    if !words.is_empty() && (matches!(network, "host" | "none") || network.starts_with("container:")) {
        let what = format!("nothing can be published in network `{network}`, which has no ports of its own");
        return Err(Error::Unfit { what, instead: "--network bridge, or no --publish".to_owned() });
    }
    words.iter().map(|word| port(word)).collect()
}

fn port(word: &str) -> Result<String, Error> {
    let bad = || Error::Usage(format!("port `{word}` is not [IP:]HOST:PORT"));
    let (rest, inside) = word.rsplit_once(':').ok_or_else(bad)?;
    let (address, outside) = rest.rsplit_once(':').unwrap_or(("127.0.0.1", rest));
    let is_address = address.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_address && is_port(outside) && is_port(inside) {
        Ok(format!("{address}:{outside}:{inside}"))
    } else {
        Err(bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_told_by_its_name() {
        for (file, zone) in [
            ("/usr/share/zoneinfo/Europe/Berlin", Some("Europe/Berlin")),
            ("/private/var/db/timezone/tz/2025a/zoneinfo/UTC", Some("UTC")),
            ("/etc/localtime", None),
        ] {
            assert_eq!(zone_of(Path::new(file)).as_deref(), zone, "{file}");
        }
    }

    #[test]
    fn ports_are_published_on_loopback_unless_said_otherwise() {
        for (word, expected) in [
            ("8080:80", Some("127.0.0.1:8080:80")),
            ("0.0.0.0:8080:80", Some("0.0.0.0:8080:80")),
            ("[::1]:8080:80", Some("[::1]:8080:80")),
            ("80", None),
            ("x:80:80", None),
            ("0:80", None),
            ("80:70000", None),
        ] {
            assert_eq!(port(word).ok().as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn t54_names_are_held_and_values_are_free() {
        let read = lines("# c\nA=1\n\nB=x=y \n", Path::new("f")).unwrap();
        assert_eq!(read, [Env::Given("A".into(), "1".into()), Env::Given("B".into(), "x=y ".into())]);
        assert!(lines("A=1\nB=a\0b\n", Path::new("f")).unwrap_err().to_string().contains("f:2: the value of `B`"));
        assert!(lines("A\n", Path::new("f")).unwrap_err().to_string().contains("f:1"));
        for name in ["", "1A", "A-B", "PATH", "HOME", "AIFO_X", "LD_PRELOAD", "DOCKER_HOST"] {
            assert!(checked(name).is_err(), "{name}");
        }
    }
}
