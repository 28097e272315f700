//! Prediction, by the found file, of reads that the probe did not use, and the sorting of waiting reads, which only a
//! comparison with the file tells.

use std::fmt::Write as _;

use super::describe::{built, with_window};
use super::head::{BLOCK, Head};
use super::simulated::Simulated;
use super::writes::{Class, simulated, withheld};
use super::{Findings, ProbeError, Span, Target, Timed, WriteTarget};
use crate::accuracy::demerit;
use crate::model::Geometry;
use crate::withheld::BELIEVED;

/// Reads of each list that is run at depth.
const READS: usize = 1_000;

/// Lists, each with an answer of its own, so that the answers show how sure they are.
const LISTS: usize = 3;

/// Depths at which they are run: a disk that sorts fewer gains no more from depth.
const DEPTHS: [u32; 5] = [2, 4, 8, 16, 32];

/// Most waiting reads among which a disk may sort.
const MOST_WINDOW: u32 = 32;

/// Reads of each withheld class.
const WITHHELD: u64 = 300;

/// Class of reads anywhere on the device.
pub(super) const RANDOM_READS: &str = "random reads";

/// Prediction of withheld probes.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// By class of request.
    pub classes: Vec<ClassAccuracy>,
}

/// Prediction of one class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassAccuracy {
    /// Name for people.
    pub name: &'static str,
    /// Requests at a time.
    pub depth: u32,
    /// Requests.
    pub count: u64,
    /// Mean response of the device in nanoseconds.
    pub device_ns: f64,
    /// Mean response of the file's model in nanoseconds.
    pub model_ns: f64,
    /// Requests a second of the device.
    pub per_second: f64,
    /// Root mean square distance of the two distributions as a part of the device's mean.
    pub demerit: f64,
}

impl Accuracy {
    /// Tables for a device file, which `device show` and reports read.
    pub(super) fn tables(&self) -> String {
        let mut text = String::new();
        for class in &self.classes {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "[[withheld]]\nclass = \"{}\"\ndepth = {}\ncount = {}\ndevice_ms = {:.4}\nmodel_ms = {:.4}\ndemerit = {:.4}\n",
                class.name,
                class.depth,
                class.count,
                class.device_ns / 1e6,
                class.model_ns / 1e6,
                class.demerit
            );
        }
        text
    }
}

impl ClassAccuracy {
    /// True when the file predicts the class well enough to use it.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.demerit <= BELIEVED
    }
}

/// Fewest and most waiting reads whose sorting gives the device's rates at depth.
pub(super) fn window(
    head: &mut Head<'_>,
    findings: &Findings,
) -> Result<Option<[u32; 2]>, ProbeError> {
    let deepest = findings.geometry.queue_depth.min(MOST_WINDOW);
    if deepest < 2 {
        return Ok(None);
    }
    let mut answers = Vec::with_capacity(LISTS);
    for _ in 0..LISTS {
        let mut measured = Vec::new();
        for depth in DEPTHS.into_iter().filter(|depth| *depth <= deepest) {
            let spans: Vec<Span> =
                (0..READS).map(|_| Span { lba: head.anywhere(), sectors: BLOCK }).collect();
            let device_ns = elapsed_ns(&head.target.read_all(&spans, depth)?);
            measured.push((depth, spans, device_ns));
        }
        answers.push(nearest(deepest, |window| off(findings, window, &measured))?);
    }
    let ends = answers.iter().copied().min().zip(answers.iter().copied().max());
    Ok(ends.map(|(low, high)| [low, high]))
}

/// Distance of the model with a window from what was measured: sum of squared logarithms of the ratio of the times.
fn off(
    findings: &Findings,
    window: u32,
    measured: &[(u32, Vec<Span>, f64)],
) -> Result<f64, ProbeError> {
    let reason = "the file made of the findings is refused; send the findings to the authors";
    let file = with_window(findings, window)
        .ok_or(ProbeError::Unclear { quantity: "the sorting of waiting reads", reason })?;
    let mut sum = 0.0;
    for (depth, spans, device_ns) in measured {
        let times = Simulated::new(crate::build(&file, 1)).read_all(spans, *depth)?;
        sum += (elapsed_ns(&times) / device_ns).ln().powi(2);
    }
    Ok(sum)
}

/// The window with the smallest distance: a coarse search, then all between the neighbours of the best.
pub(super) fn nearest(
    deepest: u32,
    mut off: impl FnMut(u32) -> Result<f64, ProbeError>,
) -> Result<u32, ProbeError> {
    let coarse: Vec<u32> =
        [1, 2, 4, 6, 9, 13, 18, 25].into_iter().filter(|w| *w < deepest).chain([deepest]).collect();
    let mut best = (f64::INFINITY, 0);
    for (index, window) in coarse.iter().enumerate() {
        let found = off(*window)?;
        if found < best.0 {
            best = (found, index);
        }
    }
    let (least, index) = best;
    let low = index.checked_sub(1).and_then(|before| coarse.get(before)).map_or(1, |w| w + 1);
    let high = coarse.get(index + 1).map_or(deepest, |w| w - 1);
    let mut best = (least, coarse.get(index).copied().unwrap_or(deepest));
    for window in (low..=high).filter(|window| !coarse.contains(window)) {
        let found = off(window)?;
        if found < best.0 {
            best = (found, window);
        }
    }
    Ok(best.1)
}

fn elapsed_ns(times: &[Timed]) -> f64 {
    let first = times.iter().map(|time| time.start_ns).min().unwrap_or(0);
    let last = times.iter().map(|time| time.end_ns).max().unwrap_or(0);
    (last - first).max(1) as f64
}

/// Runs the withheld classes on the device and on the model of the found file.
pub(super) fn judge(
    target: &mut dyn Target,
    findings: &Findings,
    seed: u64,
) -> Result<Accuracy, ProbeError> {
    let reason = "the file made of the findings is refused; send the findings to the authors";
    let unclear = ProbeError::Unclear { quantity: "the accuracy of the file", reason };
    let file = built(findings).ok_or(unclear)?;
    let lists = classes(&mut Head::new(target, seed), &findings.geometry);
    let mut model = Simulated::new(crate::build(&file, 1));
    let mut classes = Vec::with_capacity(lists.len());
    for (name, depth, list) in lists {
        let device = target.read_all(&list, depth)?;
        let modelled = model.read_all(&list, depth)?;
        classes.extend(class(name, depth, &device, &modelled));
    }
    Ok(Accuracy { classes })
}

/// The comparison of one class; `None` when nothing was measured.
pub(super) fn class(
    name: &'static str,
    depth: u32,
    device: &[Timed],
    modelled: &[Timed],
) -> Option<ClassAccuracy> {
    let took = |times: &[Timed]| times.iter().map(|time| time.took_ns()).collect::<Vec<u64>>();
    let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len().max(1) as f64;
    let (device_ns, model_ns) = (took(device), took(modelled));
    let found = demerit(&device_ns, &model_ns)?;
    Some(ClassAccuracy {
        name,
        depth,
        count: device.len() as u64,
        device_ns: mean(&device_ns),
        model_ns: mean(&model_ns),
        per_second: device.len() as f64 / elapsed_ns(device) * 1e9,
        demerit: found.relative(),
    })
}

/// Runs the withheld writes on the device and on the model of the found file; nothing when no writes were probed.
pub(super) fn of_writes(
    target: &mut dyn WriteTarget,
    findings: &Findings,
    seed: u64,
) -> Result<Vec<ClassAccuracy>, ProbeError> {
    let Some(writes) = &findings.writes else { return Ok(Vec::new()) };
    let device = withheld(target, writes, seed)?;
    let modelled = withheld(&mut simulated(findings, writes, 1)?, writes, seed)?;
    let pairs = device.iter().zip(&modelled);
    let compare = |((name, depth, device), (_, _, modelled)): (&Class, &Class)| {
        class(name, *depth, device, modelled)
    };
    Ok(pairs.filter_map(compare).collect())
}

/// Reads that no experiment made: random, near one another, in a row, and sorted.
fn classes(head: &mut Head<'_>, geometry: &Geometry) -> Vec<(&'static str, u32, Vec<Span>)> {
    const NEAR: u64 = 1 << 15;
    let random = |head: &mut Head<'_>| {
        (0..WITHHELD).map(|_| Span { lba: head.anywhere(), sectors: BLOCK }).collect::<Vec<_>>()
    };
    let base = head.anywhere().min(geometry.sectors_512 - (1 << 18));
    let near = (0..WITHHELD)
        .map(|_| Span { lba: base + head.below(NEAR / 8) * 8, sectors: BLOCK })
        .collect();
    let long = (geometry.max_request_bytes / 512).min(128);
    let row = (0..WITHHELD)
        .map(|nth| Span { lba: base + NEAR + nth * u64::from(long), sectors: long })
        .collect();
    let mut classes = vec![
        (RANDOM_READS, 1, random(head)),
        ("reads within 16 MiB", 1, near),
        ("reads in a row", 1, row),
    ];
    if geometry.queue_depth > 1 {
        classes.push((RANDOM_READS, geometry.queue_depth.min(MOST_WINDOW), random(head)));
    }
    classes
}
