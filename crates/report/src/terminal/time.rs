//! Bars of the time that the judged step spends computing, waiting and writing out.

use crate::answer_text::{busy_share, time_heading};
use crate::number::Scale;
use crate::text::{harmless, pad, width as columns};
use seekwell_model::answer::{TimeRow, TimeSpent};
use seekwell_model::metrics::Unit;

/// Longest bar.
const LONGEST: usize = 48;
/// The bars below each other, the key and the share in which the device is busy; empty without a row.
/// With more rows than `most`, the best ones and the worst are shown.
pub(super) fn bars(time: &TimeSpent, axes: &[&str], width: usize, most: usize) -> Vec<String> {
    let shown: Vec<&TimeRow> = match time.rows.as_slice() {
        rows if rows.len() <= most => rows.iter().collect(),
        rows => rows.iter().take(most.saturating_sub(1)).chain(rows.last()).collect(),
    };
    let Some(longest) = shown.iter().map(|row| row.elapsed_ns).max().filter(|ns| *ns > 0) else {
        return vec![];
    };
    let seconds = |row: &TimeRow| row.elapsed_ns as f64 / 1e9;
    let scale = Scale::fit(Some(Unit::Seconds), shown.iter().map(|row| seconds(row)));
    let label = shown.iter().map(|row| columns(&row.value)).max().unwrap_or(0).min(width * 2 / 5);
    let number = scale.with_unit(longest as f64 / 1e9).len();
    let room = width.saturating_sub(label + number + 2).clamp(8, LONGEST);
    let is_split = shown.iter().all(|row| row.computing_ns.is_some() && row.waiting_ns.is_some());
    let mut lines: Vec<String> = shown
        .iter()
        .map(|row| {
            let value = pad(&cut(&harmless(&row.value), label), label, false);
            format!("{value} {} {}", bar(row, longest, room), scale.with_unit(seconds(row)))
        })
        .collect();
    let left_out = time.rows.len() - shown.len();
    let mut key = if is_split {
        "\u{2588} computing  \u{2593} waiting  \u{2591} writing out".to_owned()
    } else {
        "\u{2593} computing and waiting  \u{2591} writing out".to_owned()
    };
    if left_out > 0 {
        key.push_str(&format!("; {left_out} more in between"));
    }
    let busy = busy_share(&time.rows).map(|share| format!("; device busy {share}"));
    let over = Some(time_heading(&time.axis, axes)).filter(|over| !over.is_empty());
    for more in busy.into_iter().chain(over.map(|over| format!("; {over}"))) {
        if columns(&key) + columns(&more) <= width {
            key.push_str(&more);
        }
    }
    lines.push(key);
    lines
}

/// The text in this number of columns; an ellipsis marks the cut.
fn cut(text: &str, to: usize) -> String {
    if columns(text) <= to {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if columns(&out) >= to {
            out.pop();
            break;
        }
    }
    out + "\u{2026}"
}

/// One bar: parts that add up to its length.
fn bar(row: &TimeRow, longest: u64, room: usize) -> String {
    let column = |ns: u64| (ns as f64 / longest as f64 * room as f64).round() as usize;
    let computing = row.computing_ns.filter(|_| row.waiting_ns.is_some()).unwrap_or(0);
    let before = row.elapsed_ns.saturating_sub(row.writing_out_ns);
    let (first, second) = (column(computing.min(before)), column(before));
    let third = column(row.elapsed_ns).max(1);
    let mut bar = "\u{2588}".repeat(first);
    bar.push_str(&"\u{2593}".repeat(second.saturating_sub(first)));
    bar.push_str(&"\u{2591}".repeat(third.saturating_sub(second.max(first))));
    bar
}
