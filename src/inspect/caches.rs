//! `aifo-coder toolchain-cache-clear`: removes every cache volume of ours, and nothing else.
//!
//! What is ours carries our label. A volume of one of our names without the label was made by somebody else, perhaps by
//! an older program of the same name; it is named and left alone.

use super::{print, remove};
use crate::{
    cli::Switches,
    config::Config,
    docker::Docker,
    error::Error,
    launch::{CACHE_LABEL, CACHES},
    report,
};

/// Removes, or with `--dry-run` only tells.
pub(crate) fn clear(switches: Switches, config: &Config) -> Result<(), Error> {
    let docker = Docker::find(&config.docker())?;
    let list = |filter: &[&str]| {
        let words = [&["volume", "ls", "--format", "{{.Name}}"], filter].concat();
        docker.capture(&words).map(|names| names.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let ours = list(&["--filter", &format!("label={CACHE_LABEL}")])?;
    let strangers = list(&[])?
        .into_iter()
        .filter(|name| !ours.contains(name) && CACHES.iter().any(|cache| name.starts_with(cache.volume)));
    for name in strangers {
        report::warn(format_args!("volume `{name}` has our name but not our label; it is left alone"));
    }
    let mut rows = Vec::new();
    for name in ours {
        let done = if switches.dry_run { "would be removed" } else { remove(&docker, &["volume", "rm", &name])? };
        rows.push(vec![name, done.to_owned()]);
    }
    if rows.is_empty() && !switches.json {
        report::say("there are no caches");
    } else {
        print(switches.json, "caches", &["volume", "state"], &rows);
    }
    Ok(())
}
