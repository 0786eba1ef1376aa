//! Looking at sessions, images and settings from outside, and clearing up: everything that runs no agent.

mod caches;
mod doctor;
mod gc;
mod images;
mod sessions;
mod settings;
mod support;

pub(crate) use self::{
    caches::clear as cache_clear, doctor::run as doctor, gc::run as gc, images::run as images, sessions::run as ps,
    settings::run as config, support::run as support,
};
use aifo_shim::json::Json;

use crate::{docker::Docker, error::Error, report};

/// A document with the version of its shape, which changes only when a member changes its meaning or goes.
fn document<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::object([("version", Json::number(1))].into_iter().chain(members))
}

/// Has docker remove something, and tells what became of it.
fn remove(docker: &Docker, words: &[&str]) -> Result<&'static str, Error> {
    match docker.capture(words) {
        Ok(_) => Ok("removed"),
        // A session still needs it.
        Err(Error::Docker { said, .. }) if said.contains("in use") || said.contains("being used") => Ok("in use"),
        // A volume goes with its last container, and a container may be going by itself at this moment.
        Err(Error::Docker { said, .. }) if is_gone(&said) => Ok("removed"),
        Err(other) => Err(other),
    }
}

fn is_gone(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("no such") || said.contains("already in progress")
}

/// Prints a list: as JSON under its name, or as columns with a head.
fn print(json: bool, name: &'static str, head: &[&'static str], rows: &[Vec<String>]) {
    if json {
        let object = |row: &Vec<String>| {
            // Heads are upper case for people; members are not.
            let members = head.iter().zip(row).map(|(head, cell)| (*head, Json::text(cell)));
            Json::object(members)
        };
        let list = Json::List(rows.iter().map(object).collect());
        report::out(format_args!("{}\n", document([(name, list)])));
        return;
    }
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(at, head)| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(|cell| cell.chars().count())
                .chain([head.len()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    report::out(format_args!("{}\n", line(&mut head.iter().map(|head| head.to_ascii_uppercase()))));
    for row in rows {
        report::out(format_args!("{}\n", line(&mut row.iter().map(|cell| visible(cell)))));
    }
}

/// Names are the user's; what a terminal would obey in them is shown instead.
fn visible(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}
