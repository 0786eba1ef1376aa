//! `aifo-coder config show`: every setting, its value, and with `--origin` where it comes from.

use super::print;
use crate::{cli::Switches, config::Config, error::Error};

/// Prints the list.
pub(crate) fn run(switches: Switches, config: &Config) -> Result<(), Error> {
    let rows = config.all().iter().map(|resolved| {
        let mut row = vec![resolved.setting.key.to_owned(), resolved.values.join(" ")];
        row.extend(switches.origin.then(|| resolved.origin.to_string()));
        row
    });
    let head: &[&str] = if switches.origin { &["setting", "value", "origin"] } else { &["setting", "value"] };
    print(switches.json, "settings", head, &rows.collect::<Vec<_>>());
    Ok(())
}
