//! `aifo-coder config show`: every setting, its value, and with `--origin` where it comes from.

use super::print;
use crate::{cli::Switches, config::Config, error::Error};

/// Prints the list.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let rows = config.all().iter().map(|resolved| {
        let shown: Vec<&str> = resolved.values.iter().map(|value| shown(resolved.setting.key, value)).collect();
        let mut row = vec![resolved.setting.key.to_owned(), shown.join(" ")];
        row.extend(switches.origin.then(|| resolved.origin.to_string()));
        row
    });
    let head: &[&str] = if switches.origin { &["setting", "value", "origin"] } else { &["setting", "value"] };
    print(switches.json, "settings", head, &rows.collect::<Vec<_>>());
    Ok(())
}

/// A variable's value may be a secret, and this list is what people paste into reports.
fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    if key == "session.env" { value.split('=').next().unwrap_or_default() } else { value }
}
