//! The table at the end: one line an image.

use std::time::Duration;

use super::engine::Facts;

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) reference: String,
    pub(super) facts: Option<Facts>,
    pub(super) took: Option<Duration>,
    pub(super) state: &'static str,
}

/// The rows under a head line, columns aligned.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![["IMAGE", "SIZE", "LAYERS", "TIME", "STATE"].map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    lines
        .iter()
        .map(|[image, size, layers, time, state]| {
            let [a, b, c, d] = widths;
            format!("{image:<a$}  {size:>b$}  {layers:>c$}  {time:>d$}  {state}\n")
        })
        .collect()
}

fn cells(row: &Row) -> [String; 5] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let facts = row.facts.as_ref();
    [
        row.reference.clone(),
        or_dash(facts.map(|facts| megabytes(facts.size))),
        or_dash(facts.map(|facts| facts.layers.to_string())),
        or_dash(row.took.map(|took| format!("{:.1} s", took.as_secs_f64()))),
        row.state.to_owned(),
    ]
}

/// Millions of bytes, as docker counts them.
fn megabytes(bytes: u64) -> String {
    let tenths = (bytes + 50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Row, megabytes, table};
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
        let facts = Facts { id: "x".to_owned(), size: 1_200_000, layers: 2 };
        let row = |reference: &str, facts, took, state| Row { reference: reference.to_owned(), facts, took, state };
        let rows =
            [row("a", Some(facts), Some(Duration::from_millis(1250)), "built"), row("long", None, None, "skipped")];
        let want = "\
IMAGE    SIZE  LAYERS   TIME  STATE
a      1.2 MB       2  1.2 s  built
long        -       -      -  skipped
";
        assert_eq!(table(&rows), want);
    }
}
