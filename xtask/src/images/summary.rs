//! The table at the end: one line an image.

use std::time::Duration;

use super::{engine::Facts, parts::Parts};

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) reference: String,
    pub(super) facts: Option<Facts>,
    /// Of an agent's image.
    pub(super) parts: Option<Parts>,
    pub(super) took: Option<Duration>,
    pub(super) limit: &'static str,
    pub(super) state: String,
}

const HEAD: [&str; 11] =
    ["IMAGE", "SIZE", "BASE", "INTERPRETER", "PACKAGE", "NEEDS", "OURS", "LAYERS", "TIME", "SIZE LIMIT", "STATE"];

/// The columns with words, which start at the left.
const WORDS: [usize; 3] = [0, 9, 10];

/// The rows under a head line, columns aligned.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let mut widths = [0; HEAD.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if WORDS.contains(&column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn cells(row: &Row) -> [String; HEAD.len()] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let facts = row.facts.as_ref();
    let part =
        |bytes: fn(&Parts) -> u64| or_dash(row.parts.as_ref().map(bytes).filter(|bytes| *bytes > 0).map(megabytes));
    [
        row.reference.clone(),
        or_dash(facts.map(|facts| megabytes(facts.size))),
        part(|parts| parts.base),
        part(|parts| parts.interpreter),
        part(|parts| parts.package),
        part(|parts| parts.needs),
        part(|parts| parts.ours),
        or_dash(facts.map(|facts| facts.layers.len().to_string())),
        or_dash(row.took.map(|took| format!("{:.1} s", took.as_secs_f64()))),
        row.limit.to_owned(),
        row.state.clone(),
    ]
}

/// Millions of bytes, as docker counts them.
pub(super) fn megabytes(bytes: u64) -> String {
    let tenths = (bytes + 50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Parts, Row, megabytes, table};
    use crate::images::engine::Facts;

    #[test]
    fn sizes_are_rounded_to_a_tenth() {
        assert_eq!(megabytes(0), "0.0 MB");
        assert_eq!(megabytes(949_999), "0.9 MB");
        assert_eq!(megabytes(950_000), "1.0 MB");
        assert_eq!(megabytes(123_456_789), "123.5 MB");
    }

    #[test]
    fn columns_are_aligned() {
        let facts = Facts { id: "x".to_owned(), size: 1_200_000, layers: vec![String::new(); 2] };
        let parts = Parts { base: 300_000, interpreter: 0, package: 500_000, needs: 300_000, ours: 100_000 };
        let full = Row {
            reference: "a".to_owned(),
            facts: Some(facts),
            parts: Some(parts),
            took: Some(Duration::from_millis(1250)),
            limit: "met",
            state: "built: new".to_owned(),
        };
        let state = "skipped".to_owned();
        let bare = Row { reference: "long".to_owned(), facts: None, parts: None, took: None, limit: "-", state };
        let want = "\
IMAGE    SIZE    BASE  INTERPRETER  PACKAGE   NEEDS    OURS  LAYERS   TIME  SIZE LIMIT  STATE
a      1.2 MB  0.3 MB            -   0.5 MB  0.3 MB  0.1 MB       2  1.2 s  met         built: new
long        -       -            -        -       -       -       -      -  -           skipped
";
        assert_eq!(table(&[full, bare]), want);
    }
}
