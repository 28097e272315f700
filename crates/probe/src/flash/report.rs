//! The findings of flash for people.

use super::super::Interval;
use super::super::believed::Accuracy;
pub(super) use super::super::found;
use super::super::report::{between_us, written};
use super::wear::{Cliff, Erases, Faster};
use super::{Card, FlashFindings, FlashKind, Rate, Solid};

/// Findings and accuracy as text, a line each.
#[must_use]
pub fn flash_summary(findings: &FlashFindings, accuracy: &Accuracy) -> String {
    let lines = match &findings.kind {
        FlashKind::Card(card) => of_card(card),
        FlashKind::Solid(solid) => of_solid(solid),
    };
    written(&lines, accuracy)
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
    let mut lines = of_pages(card.page_bytes, card.read_page_ns, card.read_command_ns);
    lines.extend(of_units(card.unit_bytes, card.unit_change_ns));
    lines.extend(of_programs(card.planes, card.program_page_ns, card.write_command_ns));
    lines.extend(of_closing(card.erase_ns, card.open_units, card.copy_page_ns));
    lines.extend(of_order(card.linear_from_unit));
    lines
}

pub(super) fn of_pages(bytes: Interval, read_ns: Interval, command_ns: Interval) -> Vec<Line> {
    vec![
        ("page", between(bytes, 1024.0, "KiB")),
        ("read of a page", between_us(read_ns)),
        ("command of a read", between_us(command_ns)),
    ]
}

pub(super) fn of_units(bytes: Interval, change_ns: Interval) -> Vec<Line> {
    vec![("erase unit", between(bytes, 1024.0, "KiB")), ("change of unit", between_us(change_ns))]
}

pub(super) fn of_programs(planes: [u32; 2], page_ns: Interval, command_ns: Interval) -> Vec<Line> {
    vec![
        ("pages at once", counts(planes)),
        ("program of a page", between_us(page_ns)),
        ("command of a write", between_us(command_ns)),
    ]
}

pub(super) fn of_closing(
    erase_ns: Interval,
    open_units: [u32; 2],
    copy_ns: Option<Interval>,
) -> Vec<Line> {
    vec![
        ("erase", between_us(erase_ns)),
        ("open units", counts(open_units)),
        ("copy of a page", copy_ns.map_or_else(untold, between_us)),
    ]
}

pub(super) fn of_order(linear_from_unit: Option<u32>) -> Vec<Line> {
    let order = match linear_from_unit {
        Some(0) => "every unit takes only rising order".to_owned(),
        Some(first) => format!("from unit {first} on only rising order"),
        None => "every unit takes any order".to_owned(),
    };
    vec![("order in a unit", order)]
}

fn untold() -> String {
    "not told apart".to_owned()
}

fn of_solid(solid: &Solid) -> Vec<Line> {
    let singles = [solid.write_ns, solid.buffered_ns, solid.flush_ns, solid.synced_ns];
    let mut lines = of_commands(singles, solid.deep_writes);
    let stripe = [solid.page_sectors, solid.stripe_sectors];
    lines.extend(of_dies(solid.read_ns, solid.deep_reads, stripe, solid.dies));
    lines.extend(of_buffer(solid.buffer_bytes));
    lines.extend(of_faster(solid.faster.as_ref()));
    lines.extend(of_cliff(solid.cliff.as_ref()));
    lines.extend(of_erases(solid.erases.as_ref(), solid.cliff.is_some()));
    lines.push(("written", format!("{:.1} GB", solid.written_bytes as f64 / 1e9)));
    lines
}

/// Single requests: a write, a read of the buffer, a flush of nothing and one of a write; writes at depth.
pub(super) fn of_commands(
    [write, buffered, flush, synced]: [Interval; 4],
    deep_writes: Rate,
) -> Vec<Line> {
    vec![
        ("write", between_us(write)),
        ("read of the buffer", between_us(buffered)),
        ("flush of nothing", between_us(flush)),
        ("flush of one write", between_us(synced)),
        ("writes at depth", at_depth(deep_writes)),
    ]
}

fn at_depth(rate: Rate) -> String {
    format!("{} at depth {}", between(rate.per_second, 1.0, "/s"), rate.depth)
}

/// Reads of the cells, and what they tell of page, stripe and dies.
pub(super) fn of_dies(
    read: Interval,
    deep_reads: Rate,
    [page, stripe]: [Option<Interval>; 2],
    dies: Option<[u32; 2]>,
) -> Vec<Line> {
    let kib =
        |found: Option<Interval>| found.map_or_else(untold, |found| between(found, 2.0, "KiB"));
    vec![
        ("read of the cells", between_us(read)),
        ("reads at depth", at_depth(deep_reads)),
        ("page", kib(page)),
        ("stripe of a die", kib(stripe)),
        ("dies", dies.map_or_else(untold, counts)),
    ]
}

pub(super) fn of_buffer(bytes: Option<Interval>) -> Vec<Line> {
    bytes.map(|found| ("buffer", between(found, 1024.0, "KiB"))).into_iter().collect()
}

pub(super) fn of_faster(faster: Option<&Faster>) -> Vec<Line> {
    let Some(faster) = faster else { return vec![("faster cells", "none seen".to_owned())] };
    vec![
        ("faster cells", between(faster.bytes, 1048576.0, "MiB")),
        ("row of writes before", between(faster.before_mb_per_s, 1.0, "MB/s")),
        ("row of writes after", between(faster.after_mb_per_s, 1.0, "MB/s")),
    ]
}

fn unseen() -> String {
    "not probed: more would have to be written".to_owned()
}

pub(super) fn of_cliff(cliff: Option<&Cliff>) -> Vec<Line> {
    let Some(cliff) = cliff else { return vec![("write cliff", unseen())] };
    let never = || "the rate does not fall".to_owned();
    let at = cliff
        .after_bytes
        .map_or_else(never, |at| format!("after {}", between(at, 1048576.0, "MiB")));
    let steady = between(cliff.steady_per_second, 1.0, "/s");
    let doubt = if cliff.is_steady { "" } else { ", not steady yet" };
    vec![
        ("write cliff", at),
        ("steady random writes", format!("{steady} at depth {}{doubt}", cliff.depth)),
    ]
}

/// The erase block; whether the cliff was probed tells why there may be none.
pub(super) fn of_erases(erases: Option<&Erases>, is_probed: bool) -> Vec<Line> {
    let Some(erases) = erases else {
        return vec![("erase block", if is_probed { untold() } else { unseen() })];
    };
    vec![
        ("erase block", between(erases.superblock_bytes, 1048576.0, "MiB on all dies")),
        ("erase", between_us(erases.erase_ns)),
    ]
}
