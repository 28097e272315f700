//! Work of the modelled devices in each step, which no guest can see: the time of a disk's arm, the
//! erases of flash.
//!
//! The agent names each step when it begins, and the controller then notes the work of every disk. A
//! step is charged with all work until the agent's next message: also with the background writes and
//! erases after it, and with the remount before a cold step that follows.

use std::collections::BTreeMap;

use seekwell_device::evidence::{Evidence, FlashEvidence, RotatingEvidence};
use seekwell_model::lab::ALONE;
use seekwell_model::record::StepRecord;

use crate::controller::OutputPart;

#[cfg(test)]
mod tests;

/// A line of the agent: its end in the output, and the step that it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Bytes of output up to and with this line.
    pub(crate) ends_at: usize,
    /// The step; `None` when it is the record.
    pub(crate) step: Option<String>,
}

/// Adds to each step the work of the disks from its start to the next line. Three kinds of steps get
/// nothing: those without a line of their own; those that shared the devices, which have no
/// `device_written_bytes` either; and the same step alone before a shared one, since the background
/// workload starts before the shared step's line.
pub(crate) fn add(steps: &mut [StepRecord], words: &[Word], heard: &[OutputPart]) {
    let mut rest = words;
    for step in steps {
        let begins = |word: &Word| word.step.as_deref() == Some(&step.name);
        let Some(position) = rest.iter().position(begins) else { continue };
        let [word, next, ..] = &rest[position..] else { continue };
        rest = &rest[position + 1..];
        let shared_next =
            step.name.strip_suffix(ALONE).is_some_and(|name| next.step.as_deref() == Some(name));
        if shared_next || !step.metrics.contains_key("device_written_bytes") {
            continue;
        }
        if let (Some(before), Some(after)) = (by(heard, word.ends_at), by(heard, next.ends_at)) {
            step.metrics.extend(between(&before.evidence, &after.evidence));
            let elapsed_ns = after.at_ns.saturating_sub(before.at_ns);
            let years = years_to_rating(&before.evidence, &after.evidence, elapsed_ns);
            let wear = [("erases_per_mb", erases_per_mb(&step.metrics)), ("time_to_rating", years)];
            step.metrics.extend(wear.into_iter().filter_map(named));
        }
    }
}

/// Returns the part of the output with which this many bytes had arrived.
pub(crate) fn by(heard: &[OutputPart], bytes: usize) -> Option<&OutputPart> {
    let mut come = 0;
    let mut enough = heard.iter().skip_while(|part| {
        come += part.bytes;
        come < bytes
    });
    enough.next()
}

/// Metrics of all disks together.
fn between(before: &[Evidence], after: &[Evidence]) -> BTreeMap<String, f64> {
    let pairs = || before.iter().zip(after);
    let rotating = |count: fn(&RotatingEvidence) -> u64| {
        sum(pairs(), |disk| disk.rotating.as_ref().map(count)).map(|ns| ns / 1e9)
    };
    let flash =
        |count: fn(&FlashEvidence) -> u64| sum(pairs(), |disk| disk.flash.as_ref().map(count));
    let programmed = flash(|flash| flash.pages_programmed * flash.page_bytes);
    let written = sum(pairs(), |disk| disk.flash.as_ref().map(|_| disk.sectors_written * 512));
    let found = [
        ("arm_time", rotating(|disk| disk.seek_ns)),
        ("rotation_time", rotating(|disk| disk.rotation_ns)),
        ("transfer_time", rotating(|disk| disk.transfer_ns)),
        ("erases", flash(|flash| flash.erases)),
        ("programmed_bytes", programmed),
        ("programmed_per_byte", programmed.zip(written).and_then(|(of, over)| quotient(of, over))),
    ];
    found.into_iter().filter_map(named).collect()
}

fn named((name, value): (&str, Option<f64>)) -> Option<(String, f64)> {
    Some((name.to_owned(), value?))
}

/// Erases per 10^6 bytes that the step's load wrote; `None` for a step that writes none.
fn erases_per_mb(metrics: &BTreeMap<String, f64>) -> Option<f64> {
    let loaded =
        quotient(*metrics.get("device_written_bytes")?, *metrics.get("written_per_byte")?)?;
    quotient(*metrics.get("erases")?, loaded / 1e6)
}

/// Years until the first disk reaches its rating at the rate of these nanoseconds.
fn years_to_rating(before: &[Evidence], after: &[Evidence], elapsed_ns: u64) -> Option<f64> {
    let pairs = before.iter().zip(after);
    let flash = pairs.filter_map(|(before, after)| before.flash.as_ref().zip(after.flash.as_ref()));
    flash.filter_map(|(before, after)| after.years_to_rating(before, elapsed_ns)).reduce(f64::min)
}

/// Growth of a count, summed over the disks that have it; `None` when none has.
fn sum<'a>(
    pairs: impl Iterator<Item = (&'a Evidence, &'a Evidence)>,
    count: impl Fn(&Evidence) -> Option<u64>,
) -> Option<f64> {
    let grown =
        pairs.filter_map(|(before, after)| Some(count(after)?.saturating_sub(count(before)?)));
    grown.fold(None, |sum, grown| Some(sum.unwrap_or(0.0) + grown as f64))
}

fn quotient(of: f64, over: f64) -> Option<f64> {
    (over > 0.0).then(|| of / over)
}
