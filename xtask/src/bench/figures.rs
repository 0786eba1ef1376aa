//! Samples, their median and 95th percentile, and how a run is shown.

use std::fmt::Write as _;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) median: f64,
    pub(super) p95: Option<f64>,
    pub(super) unit: &'static str,
    pub(super) samples: usize,
    /// What was promised, as the table says it, and whether it was kept.
    pub(super) bar: Option<(String, bool)>,
}

impl Figure {
    /// Of many samples.
    pub(super) fn of(what: impl Into<String>, unit: &'static str, samples: &[f64]) -> Self {
        let (median, p95) = (quantile(samples, 0.5), Some(quantile(samples, 0.95)));
        Self { what: what.into(), median, p95, unit, samples: samples.len(), bar: None }
    }

    /// Of a single reading.
    pub(super) fn one(what: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { what: what.into(), median: value, p95: None, unit, samples: 1, bar: None }
    }

    pub(super) fn at_most(mut self, most: f64) -> Self {
        self.bar = Some((format!("at most {}", number(most)), self.median <= most));
        self
    }

    pub(super) fn at_least(mut self, least: f64) -> Self {
        self.bar = Some((format!("at least {}", number(least)), self.median >= least));
        self
    }
}

/// The sample below which this part of all samples lies.
pub(super) fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// Three significant digits are what a noisy machine can give.
fn number(value: f64) -> String {
    match value.abs() {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// For people.
pub(super) fn table(figures: &[Figure]) -> String {
    let mut text = format!("{:<66} {:>9} {:>9}  {:<5} {:>7}  {}\n", "WHAT", "MEDIAN", "P95", "UNIT", "SAMPLES", "BAR");
    for figure in figures {
        let p95 = figure.p95.map_or_else(String::new, number);
        let bar = figure
            .bar
            .as_ref()
            .map_or_else(String::new, |(bar, kept)| format!("{bar}: {}", if *kept { "kept" } else { "MISSED" }));
        let Figure { what, median, unit, samples, .. } = figure;
        let line = format!("{what:<66} {:>9} {p95:>9}  {unit:<5} {samples:>7}  {bar}", number(*median));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// For programs.
pub(super) fn json(figures: &[Figure]) -> String {
    let mut text = String::from("{\"version\":1,\"figures\":[");
    for (at, figure) in figures.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let Figure { what, median, unit, samples, .. } = figure;
        let what = what.replace('"', "'");
        let _written =
            write!(text, "{comma}{{\"what\":\"{what}\",\"median\":{median},\"unit\":\"{unit}\",\"samples\":{samples}");
        if let Some(p95) = figure.p95 {
            let _written = write!(text, ",\"p95\":{p95}");
        }
        if let Some((bar, kept)) = &figure.bar {
            let _written = write!(text, ",\"bar\":\"{bar}\",\"kept\":{kept}");
        }
        text.push('}');
    }
    text.push_str("]}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        assert_eq!((quantile(&samples, 0.5), quantile(&samples, 0.95)), (51.0, 96.0));
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn bars_are_judged() {
        let figure = Figure::of("a \"b\"", "ms", &[1.0, 2.0, 3.0]).at_most(2.0);
        assert!(table(std::slice::from_ref(&figure)).contains("at most 2.00: kept"));
        assert!(json(&[figure]).contains("\"what\":\"a 'b'\",\"median\":2,\"unit\":\"ms\",\"samples\":3,\"p95\":3,"));
        assert!(table(&[Figure::one("x", "", 1.0).at_least(2.0)]).contains("MISSED"));
    }
}
