//! The findings of a volume as a device file.

use std::fmt::Write as _;

use super::super::believed::Accuracy;
use super::super::describe::{figure, head, limits, presented};
use super::super::draft::Draft;
use super::super::{Interval, Label};
use super::{READS, Volume, WRITES};

/// A link that is no limit, in 10^6 bytes a second.
const ENDLESS_MB_PER_S: f64 = 1e5;

/// The text of a device file.
///
/// The measured rates of `accuracy` become published figures, so that `device show` compares them with the model.
#[must_use]
pub fn volume_file(label: Label, volume: &Volume, accuracy: Option<&Accuracy>) -> String {
    const REMARK: &str = "# Credits that last longer than a few seconds were not looked for: a volume that bursts is slower when they are used up.\n";
    let source = label.source;
    let how = if volume.writes.is_some() { "read and wrote" } else { "only read" };
    let mut text = head(label, "fixed", how, REMARK, accuracy);
    presented(&mut text, &volume.geometry);
    limits(&mut text, &volume.geometry);
    let mut draft = Draft::new("fixed", source);
    latencies(&mut draft, volume);
    draft.begin("fixed.limit");
    limit(&mut draft, volume);
    let _ = writeln!(text, "[fixed]\n{}", draft.values);
    published(&mut text, accuracy, source);
    text.push_str(&accuracy.map(Accuracy::tables).unwrap_or_default());
    text + &draft.tail("")
}

fn latencies(draft: &mut Draft<'_>, volume: &Volume) {
    let us = |draft: &mut Draft<'_>, key: &str, found: Interval| {
        draft.time(key, found, "by single requests, without the link");
        draft.range(key, found.low / 1e3, found.high / 1e3);
    };
    us(draft, "read_latency_us", volume.reads.latency_ns());
    match &volume.writes {
        Some(writes) => {
            us(draft, "write_latency_us", writes.paced.latency_ns());
            us(draft, "flush_latency_us", writes.flush_ns);
        }
        None => {
            let read_us = volume.reads.latency_ns().value / 1e3;
            draft.put("write_latency_us", format!("{read_us:.3}"), "assumed: as reads");
            draft.range("write_latency_us", read_us / 2.0, read_us * 10.0);
            draft.put("flush_latency_us", 0, "assumed: the service keeps what it acknowledges");
            draft.range("flush_latency_us", 0.0, read_us * 10.0);
        }
    }
    let rate = volume.reads.link_mb_per_s().unwrap_or(ENDLESS_MB_PER_S).clamp(0.001, 1e6);
    draft.found("mb_per_s", format!("{rate:.1}"), "by single reads of two lengths");
    let parallel = volume.geometry.queue_depth.clamp(1, 65536);
    draft.put("parallel", parallel, "assumed: no limit but those of [fixed.limit] and mb_per_s");
}

fn limit(draft: &mut Draft<'_>, volume: &Volume) {
    let reads = &volume.reads;
    let writes = volume.writes.map(|writes| writes.paced);
    // One bucket serves both directions; where these differ, the range has both.
    let joined = |one: Interval, other: Option<Interval>| {
        let other = other.unwrap_or(one);
        [one.low.min(other.low), one.high.max(other.high)]
    };
    let [low, high] = joined(reads.per_second, writes.map(|paced| paced.per_second));
    let depth = volume.depth;
    let how = format!("{low:.0} to {high:.0} requests a second of 4 KiB at depth {depth}");
    draft.found("per_second", format!("{:.1}", reads.per_second.value), &how);
    draft.range("per_second", low, high);
    let unit_kib = (reads.longest / 2).clamp(1, 65536);
    let how =
        format!("assumed: requests of up to {unit_kib} KiB count once; longer ones were not made");
    draft.put("unit_kib", unit_kib, &how);
    let Some(found) = reads.limit_mb_per_s() else { return };
    let [low, high] = joined(found, writes.and_then(|paced| paced.limit_mb_per_s()));
    let how = format!("{low:.1} to {high:.1} MB/s in requests of {unit_kib} KiB");
    draft.found("mb_per_s", format!("{:.2}", found.value), &how);
    draft.range("mb_per_s", low, high);
}

/// Measured rates as published figures.
fn published(text: &mut String, accuracy: Option<&Accuracy>, source: &str) {
    for class in accuracy.iter().flat_map(|accuracy| &accuracy.classes) {
        let name = match class.name {
            name if name == READS.row.name => "random-reads",
            name if name == WRITES.row.name => "random-writes",
            _ => continue,
        };
        let (depth, source) =
            (format!("depth = {}\n", class.depth), format!("{source}: withheld requests"));
        figure(text, name, &depth, class.per_second, &source);
    }
}
