//! The rows of the table: what docker knows of our images, what their parts weigh, and what became of them just now.

use std::collections::HashMap;

use super::{
    build::{End, Outcome},
    engine::{Engine, Facts},
    parts,
    summary::{self, Row},
    table::{IMAGES, Image, Role},
};
use crate::{cmd::Failure, report};

/// Prints all images.
///
/// # Errors
/// When docker cannot be asked.
pub(super) fn list(engine: &Engine) -> Result<(), Failure> {
    let images: Vec<&Image> = IMAGES.iter().collect();
    let mut rows = rows(engine, &images)?;
    for row in &mut rows {
        row.state = if row.facts.is_some() { "here" } else { "not built" }.to_owned();
    }
    report::out(&summary::table(&rows));
    Ok(())
}

/// Prints the table; fails if any image did.
///
/// # Errors
/// The last image's failure, after the others were told; or when docker cannot be asked.
pub(super) fn conclude(engine: &Engine, images: &[&'static Image], outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let mut rows = rows(engine, images)?;
    let mut failures = Vec::new();
    for Outcome { image, end, took } in outcomes {
        let reference = engine.tag(image.name);
        let Some(row) = rows.iter_mut().find(|row| row.reference == reference) else { continue };
        row.took = Some(took);
        row.state = match end {
            End::Built { news, .. } => format!("built: {news}"),
            End::Unchanged { .. } => "unchanged".to_owned(),
            End::Skipped => "skipped".to_owned(),
            End::Lacking if row.facts.is_some() => format!("left as it is; needs {}", wanted_file(image)),
            End::Lacking => format!("needs {}", wanted_file(image)),
            End::Failed(failure) => {
                failures.push(failure);
                "FAILED".to_owned()
            }
        };
    }
    report::show(&summary::table(&rows));
    let Some(last) = failures.pop() else { return Ok(()) };
    failures.iter().for_each(report::failed);
    Err(last)
}

/// A row for each image with what docker knows of it; time and state are still to be said.
fn rows(engine: &Engine, images: &[&'static Image]) -> Result<Vec<Row>, Failure> {
    let known = known(engine)?;
    let mut rows = Vec::new();
    for image in images {
        let reference = engine.tag(image.name);
        let facts = known.get(&reference).cloned();
        let parent = image.parents.first().and_then(|(_, name)| known.get(&engine.tag(name)));
        let base = known.get(&engine.tag(parts::ground(image).name));
        let (mut told, mut limit) = (None, "-");
        if let (Role::Agent(_), Some(facts), Some(parent), Some(base)) = (image.role, &facts, parent, base) {
            let parts = parts::parts(facts, parent, base, &engine.steps(&reference)?);
            limit = parts::verdict(image.role, facts.size, parts);
            told = Some(parts);
        }
        rows.push(Row { reference, facts, parts: told, took: None, limit, state: String::new() });
    }
    Ok(rows)
}

/// What the user has to type to have it built.
pub(super) fn wanted_file(image: &Image) -> String {
    format!("--file {}=PATH", image.file.unwrap_or(image.name))
}

/// What docker knows of all our images, by their references.
///
/// # Errors
/// When docker cannot be asked.
pub(super) fn known(engine: &Engine) -> Result<HashMap<String, Facts>, Failure> {
    let all: Vec<String> = IMAGES.iter().map(|image| engine.tag(image.name)).collect();
    Ok(engine.inspect_all(&all)?.into_iter().collect())
}
