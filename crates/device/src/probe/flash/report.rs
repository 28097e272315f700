//! The findings of flash for people.

use super::super::Interval;
use super::super::accuracy::Accuracy;
use super::super::report::{between_us, of_classes};
use super::{Card, FlashFindings, FlashKind, Solid};

/// Findings and accuracy as text, a line each.
#[must_use]
pub fn flash_summary(findings: &FlashFindings, accuracy: &Accuracy) -> String {
    let lines = match &findings.kind {
        FlashKind::Card(card) => of_card(card),
        FlashKind::Solid(solid) => of_solid(solid),
    };
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<22}{value}\n")).collect();
    of_classes(&mut text, accuracy);
    text
}

type Line = (&'static str, String);

fn between(found: Interval, unit: f64, name: &str) -> String {
    let Interval { value, low, high } = found;
    let digits = if value / unit < 10.0 { 2 } else { 0 };
    let [value, low, high] = [value, low, high].map(|number| format!("{:.digits$}", number / unit));
    if low == high {
        format!("{value} {name}")
    } else {
        format!("{value} {name} ({low} to {high})")
    }
}

fn counts([low, high]: [u32; 2]) -> String {
    match (low, high) {
        (low, u32::MAX) => format!("at least {low}"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    }
}

fn of_card(card: &Card) -> Vec<Line> {
    let linear = match card.linear_from_unit {
        Some(0) => "every unit takes only rising order".to_owned(),
        Some(first) => format!("from unit {first} on only rising order"),
        None => "every unit takes any order".to_owned(),
    };
    let copy = card.copy_page_ns.map_or("not told apart".to_owned(), between_us);
    vec![
        ("page", between(card.page_bytes, 1024.0, "KiB")),
        ("erase unit", between(card.unit_bytes, 1024.0, "KiB")),
        ("open units", counts(card.open_units)),
        ("pages at once", counts(card.planes)),
        ("order in a unit", linear),
        ("read of a page", between_us(card.read_page_ns)),
        ("program of a page", between_us(card.program_page_ns)),
        ("copy of a page", copy),
        ("erase", between_us(card.erase_ns)),
        ("change of unit", between_us(card.unit_change_ns)),
        ("command of a read", between_us(card.read_command_ns)),
        ("command of a write", between_us(card.write_command_ns)),
    ]
}

fn of_solid(solid: &Solid) -> Vec<Line> {
    let untold = || "not told apart".to_owned();
    let kib =
        |found: Option<Interval>| found.map_or_else(untold, |found| between(found, 2.0, "KiB"));
    let mut lines = vec![
        ("write", between_us(solid.write_ns)),
        ("read of the buffer", between_us(solid.buffered_ns)),
        ("read of the cells", between_us(solid.read_ns)),
        ("flush of nothing", between_us(solid.flush_ns)),
        ("flush of one write", between_us(solid.synced_ns)),
        ("page", kib(solid.page_sectors)),
        ("stripe of a die", kib(solid.stripe_sectors)),
        ("dies", solid.dies.map_or_else(untold, counts)),
    ];
    if let Some(found) = solid.buffer_bytes {
        lines.push(("buffer", between(found, 1024.0, "KiB")));
    }
    match &solid.faster {
        None => lines.push(("faster cells", "none seen".to_owned())),
        Some(faster) => {
            lines.push(("faster cells", between(faster.bytes, 1048576.0, "MiB")));
            lines.push(("writes in a row before", between(faster.before_mb_per_s, 1.0, "MB/s")));
            lines.push(("writes in a row after", between(faster.after_mb_per_s, 1.0, "MB/s")));
        }
    }
    let unseen = || "not probed: more would have to be written".to_owned();
    match &solid.cliff {
        None => lines.push(("write cliff", unseen())),
        Some(cliff) => {
            let at = cliff.after_bytes;
            let never = || "the rate does not fall".to_owned();
            let at = at.map_or_else(never, |at| format!("after {}", between(at, 1048576.0, "MiB")));
            lines.push(("write cliff", at));
            let steady = between(cliff.steady_per_second, 1.0, "/s");
            let doubt = if cliff.is_steady { "" } else { ", not steady yet" };
            lines.push((
                "steady random writes",
                format!("{steady} at depth {}{doubt}", cliff.depth),
            ));
        }
    }
    match &solid.erases {
        None => {
            lines.push(("erase block", if solid.cliff.is_some() { untold() } else { unseen() }))
        }
        Some(erases) => {
            let all = between(erases.superblock_bytes, 1048576.0, "MiB on all dies");
            lines.push(("erase block", all));
            lines.push(("erase", between_us(erases.erase_ns)));
        }
    }
    lines.push(("written", format!("{:.1} GB", solid.written_bytes as f64 / 1e9)));
    lines
}
