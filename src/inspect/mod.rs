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

use crate::report;

/// A document with the version of its shape, which changes only when a member changes its meaning or goes.
fn document<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::object([("version", Json::number(1))].into_iter().chain(members))
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
