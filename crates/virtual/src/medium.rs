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
            step.metrics.extend(between(before, after));
        }
    }
}

/// Returns the work that the disks had done when so many bytes of output had arrived.
fn by(heard: &[OutputPart], bytes: usize) -> Option<&[Evidence]> {
    let mut come = 0;
    let mut enough = heard.iter().skip_while(|part| {
        come += part.bytes;
        come < bytes
    });
    enough.next().map(|part| &part.evidence[..])
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
    let named = |(name, value): (&str, Option<f64>)| Some((name.to_owned(), value?));
    found.into_iter().filter_map(named).collect()
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
