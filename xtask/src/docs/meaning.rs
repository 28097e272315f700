//! `docs/meaning.md`: what judged metrics mean, with the figure of an independent tool next to ours.
//! Made of `docs/meaning.toml` and of the raw pairs that it names.

use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The file of rows.
const ROWS: &str = include_str!("../../../docs/meaning.toml");

/// Error of an interval.
const ERROR: f64 = 0.05;

/// A figure further from the tool's than this has a note.
const NEAR: f64 = 0.1;

/// Whole file of rows.
#[derive(Debug, Deserialize)]
struct Audit {
    row: Vec<Row>,
    unaudited: Vec<Unaudited>,
}

/// A kind of workload, or a step of every trial, without a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unaudited {
    name: String,
    why: String,
}

/// Meaning of the metrics of a kind of workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    kind: String,
    metrics: Vec<String>,
    believed: String,
    measured: String,
    #[serde(default)]
    figures: Vec<Figure>,
    missing: Option<String>,
    #[serde(default)]
    without: Vec<Without>,
}

/// A metric that has no figure, in every lab or in those that the reason names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Without {
    metric: String,
    why: String,
}

/// Pairs with an independent tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    pairs: String,
    /// Metrics that the pairs are of; none where they are of something close to them.
    metrics: Vec<String>,
    tool: String,
    unit: String,
    scale: f64,
    /// Reason of a ratio that is not within ±10 %.
    note: Option<String>,
}

/// Geometric means of both sides and the interval of their ratio.
#[derive(Debug, PartialEq)]
struct Found {
    pairs: usize,
    ours: f64,
    theirs: f64,
    low: f64,
    ratio: f64,
    high: f64,
}

fn audit() -> Audit {
    #[allow(clippy::expect_used, reason = "the file is part of this program and a test reads it")]
    toml::from_str(ROWS).expect("docs/meaning.toml is wrong")
}

fn runs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/runs")
}

/// Reads pairs; `None` without a file or with fewer than two pairs.
fn found(figure: &Figure) -> Option<Found> {
    let text = std::fs::read_to_string(runs().join(format!("{}.csv", figure.pairs))).ok()?;
    of_pairs(&text)
}

fn of_pairs(text: &str) -> Option<Found> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next()?.split(',').collect();
    let at = |name: &str| columns.iter().position(|column| *column == name);
    let (ours, theirs) = (at("ours")?, at("original")?);
    let pair = |line: &str| -> Option<(f64, f64)> {
        let cells: Vec<&str> = line.split(',').collect();
        Some((cells.get(ours)?.parse().ok()?, cells.get(theirs)?.parse().ok()?))
    };
    let pairs: Vec<(f64, f64)> = lines.filter_map(pair).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    let interval = seekwell_stats::interval::geometric_mean_interval(&ratios, ERROR)?;
    let mean = |pick: fn(&(f64, f64)) -> f64| {
        let sum: f64 = pairs.iter().map(|pair| pick(pair).ln()).sum();
        (sum / pairs.len() as f64).exp()
    };
    Some(Found {
        pairs: pairs.len(),
        ours: mean(|pair| pair.0),
        theirs: mean(|pair| pair.1),
        low: interval.low,
        ratio: interval.centre,
        high: interval.high,
    })
}

/// Three significant digits.
fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 6) as usize)
}

const HEAD: &str = "\
# What the figures mean

For each metric that a lab of `labs/` or an answer of `seekwell init` judges: the meaning that a reader
expects, the quantity that is measured, and the same quantity measured by an independent tool on the same
stack. `ratio` is ours relative to the tool's, the geometric mean of pairs with its 95 % interval. The pairs
are in `benches/runs`: `meaning`, `agreement` and `replay/ten/pairs`.
";

/// The whole page.
pub fn markdown() -> String {
    let audit = audit();
    let found: Vec<Found> =
        audit.row.iter().flat_map(|row| &row.figures).filter_map(found).collect();
    let is_near = |found: &&Found| (found.ratio - 1.0).abs() <= NEAR;
    // Writing to a string cannot fail.
    let mut text = HEAD.to_owned();
    let _ = writeln!(
        text,
        "\n**{} of {} figures are within 10 % of the tool's;** the others say why.",
        found.iter().filter(is_near).count(),
        found.len()
    );
    let mut kinds: Vec<&str> = audit.row.iter().map(|row| row.kind.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        let _ = write!(text, "\n<details><summary><code>{kind}</code></summary>\n");
        for row in audit.row.iter().filter(|row| row.kind == kind) {
            text.push_str(&section(row));
        }
        text.push_str("\n</details>\n");
    }
    text.push_str(
        "\n<details><summary>Without a row</summary>\n\n| kind or step | reason |\n| --- | --- |\n",
    );
    for Unaudited { name, why } in &audit.unaudited {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    text.push_str("\n</details>\n");
    text
}

fn section(row: &Row) -> String {
    let metrics: Vec<String> = row.metrics.iter().map(|name| format!("`{name}`")).collect();
    let mut text = format!(
        "\n### {}\n\n- Expected: {}\n- Measured: {}\n",
        metrics.join(", "),
        row.believed,
        row.measured
    );
    if let Some(missing) = &row.missing {
        let _ = writeln!(text, "- **No independent figure.** {missing}");
    }
    if !row.figures.is_empty() {
        table(row, &mut text);
    }
    for (position, Without { metric, why }) in row.without.iter().enumerate() {
        let before = if position == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{before}- `{metric}`: {why}.");
    }
    text
}

fn table(row: &Row, text: &mut String) {
    text.push_str("\n| of | independent tool | ours | the tool's | ratio | interval | pairs |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for figure in &row.figures {
        let Figure { tool, unit, scale, metrics, .. } = figure;
        let of: Vec<String> = metrics.iter().map(|name| format!("`{name}`")).collect();
        let of = of.join(", ");
        match found(figure) {
            Some(found) => {
                let _ = writeln!(
                    text,
                    "| {of} | {tool} | {} {unit} | {} {unit} | {:.3} | {:.3} to {:.3} | {} |",
                    three(found.ours * scale),
                    three(found.theirs * scale),
                    found.ratio,
                    found.low,
                    found.high,
                    found.pairs
                );
            }
            None => {
                let _ = writeln!(text, "| {of} | {tool} | not measured yet | | | | 0 |");
            }
        }
    }
    let notes = row.figures.iter().filter_map(|figure| Some((&figure.tool, figure.note.as_ref()?)));
    for (position, (tool, note)) in notes.enumerate() {
        let _ = writeln!(text, "{}- {tool}: {note}", if position == 0 { "\n" } else { "" });
    }
}
