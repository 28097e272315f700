//! Prediction, by the found file, of requests that the probe did not use, and the sorting of waiting reads, which only a
//! comparison with the file tells.

use super::believed::Accuracy;
use super::describe::{built, with_window};
use super::head::{BLOCK, Head};
use super::mixed::{List, deepest, lists};
use super::simulated::Simulated;
use super::tape::{Class, Compared, Draws as _, Judged, MOST_WINDOW, RANDOM_READS, Recorder, Tape};
use super::{
    Direction, Findings, LONGEST_NS, ProbeError, Result, SPARE_NS, Span, Target, Timed, WriteTarget,
};
use seekwell_device::file::DeviceFile;
use seekwell_device::model::Geometry;
use seekwell_device::withheld::MIXED;

/// Reads of each list that is run at depth, and lists that make an answer.
const READS: usize = 330;
const SEEN: usize = 2;

/// Answers, each from lists of its own, so that they show how sure they are.
const ANSWERS: usize = 3;

/// Depths at which they are run, as far as the disk takes them: one that sorts fewer gains no more from depth.
const DEPTHS: [u32; 4] = [4, 8, 16, 32];

/// Reads of each class that is only judged.
const WITHHELD: u64 = 300;

/// Requests of a list that are made before the clock is looked at.
const AT_ONCE: usize = 30;

/// Classes of the mixed trace besides all of it: each direction.
const MIXED_READS: &str = "mixed trace, reads";
const MIXED_WRITES: &str = "mixed trace, writes";

/// Reads of a list and the nanoseconds that all took.
type Run = (Vec<Span>, f64);

/// Fewest and most waiting reads whose sorting gives the device's rates at depth.
pub(super) fn window(head: &mut Head<'_>, findings: &Findings) -> Result<Option<[u32; 2]>> {
    let deepest = findings.geometry.queue_depth.min(MOST_WINDOW);
    let mut depths = DEPTHS.map(|depth| depth.min(deepest)).to_vec();
    depths.dedup();
    if deepest < 2 {
        return Ok(None);
    }
    let mut answers = Vec::with_capacity(ANSWERS);
    let mut all: Vec<(u32, Vec<Run>)> = depths.iter().map(|depth| (*depth, Vec::new())).collect();
    for _ in 0..ANSWERS {
        let mut measured = Vec::new();
        for depth in depths.iter().copied() {
            let class = Class::of(RANDOM_READS, Judged::Each).at(depth);
            let lists = head.repeat(class, SEEN, |head| {
                head.in_time()?;
                let spans: Vec<Span> =
                    (0..READS).map(|_| Span { lba: head.anywhere(), sectors: BLOCK }).collect();
                let device_ns = elapsed_ns(&head.target.read_all(&spans, depth)?);
                Ok((spans, device_ns))
            })?;
            measured.push((depth, lists));
        }
        answers.push(nearest(deepest, |window| off(findings, window, &measured))?);
        for ((_, all), (_, lists)) in all.iter_mut().zip(measured) {
            all.extend(lists);
        }
    }
    let ends = answers.iter().copied().min().zip(answers.iter().copied().max());
    ends.map(|(low, high)| widened(findings, [low, high], deepest, &all)).transpose()
}

/// The windows of the answers, and those next to them that all lists together cannot tell from the best: their distance
/// in standard errors, by the scatter of the lists, is no larger than two beyond that of the best.
fn widened(
    findings: &Findings,
    [mut low, mut high]: [u32; 2],
    deepest: u32,
    measured: &[(u32, Vec<Run>)],
) -> Result<[u32; 2]> {
    let mut best: Option<(f64, Vec<Residual>)> = None;
    for window in low..=high {
        let found = residuals(findings, window, measured)?;
        let sum: f64 = found.iter().map(|residual| residual.mean.powi(2)).sum();
        if best.as_ref().is_none_or(|(least, _)| sum < *least) {
            best = Some((sum, found));
        }
    }
    let Some((_, best)) = best else { return Ok([low, high]) };
    let distance = |found: &[Residual]| -> f64 {
        let pairs = found.iter().zip(&best);
        pairs.map(|(found, best)| (found.mean / best.error.max(LEAST_ERROR)).powi(2)).sum()
    };
    let least = distance(&best);
    // Where even the best is farther away than the scatter explains, the scatter tells too little.
    let scale = (least / (best.len().max(2) - 1) as f64).max(1.0);
    let fits = |window: u32| -> Result<bool> {
        Ok(distance(&residuals(findings, window, measured)?) - least <= BEYOND.powi(2) * scale)
    };
    while low > 1 && fits(low - 1)? {
        low -= 1;
    }
    while high < deepest && fits(high + 1)? {
        high += 1;
    }
    Ok([low, high])
}

/// Standard errors beyond the best at which a window counts as excluded.
const BEYOND: f64 = 2.0;

/// Least standard error of a logarithm of times that counts: a tenth of a per mille.
const LEAST_ERROR: f64 = 1e-4;

/// Distance of a model from lists of one depth: logarithms of the ratio of their times.
struct Residual {
    mean: f64,
    /// Standard error of the mean.
    error: f64,
}

fn residuals(
    findings: &Findings,
    window: u32,
    measured: &[(u32, Vec<Run>)],
) -> Result<Vec<Residual>> {
    let file = with_window(findings, window).ok_or_else(refused)?;
    let of = |(depth, lists): &(u32, Vec<Run>)| -> Result<Residual> {
        let mut model = Simulated::new(seekwell_device::build(&file, 1));
        let mut found = Vec::with_capacity(lists.len());
        for (spans, device_ns) in lists {
            let model_ns = elapsed_ns(&model.read_all(spans, *depth)?);
            found.push((model_ns / device_ns.max(1.0)).ln());
        }
        let count = found.len().max(1) as f64;
        let mean = found.iter().sum::<f64>() / count;
        let squares: f64 = found.iter().map(|one| (one - mean).powi(2)).sum();
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        Ok(Residual { mean, error })
    };
    measured.iter().map(of).collect()
}

fn refused() -> ProbeError {
    ProbeError::file_refused("the sorting of waiting reads")
}

/// Distance of the model with a window from what was measured: sum of squared logarithms of the ratio of the times.
fn off(findings: &Findings, window: u32, measured: &[(u32, Vec<Run>)]) -> Result<f64> {
    let file = with_window(findings, window).ok_or_else(refused)?;
    let mut sum = 0.0;
    for (depth, lists) in measured {
        let mut model = Simulated::new(seekwell_device::build(&file, 1));
        let (mut device_ns, mut model_ns) = (0.0, 0.0);
        for (spans, elapsed) in lists {
            device_ns += elapsed;
            model_ns += elapsed_ns(&model.read_all(spans, *depth)?);
        }
        sum += (model_ns / f64::max(device_ns, 1.0)).ln().powi(2);
    }
    Ok(sum)
}

/// The window with the smallest distance: a coarse search, then all between the neighbours of the best.
pub(super) fn nearest(deepest: u32, mut off: impl FnMut(u32) -> Result<f64>) -> Result<u32> {
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

pub(super) fn elapsed_ns(times: &[Timed]) -> f64 {
    let first = times.iter().map(|time| time.start_ns).min().unwrap_or(0);
    let last = times.iter().map(|time| time.end_ns).max().unwrap_or(0);
    (last - first).max(1) as f64
}

/// The device and the model of its file, side by side.
pub(super) struct Judging<'t> {
    tape: &'t Tape,
    geometry: Geometry,
    pub(super) model: Simulated,
    pub(super) compared: Vec<Compared>,
}

impl<'t> Judging<'t> {
    /// Makes all requests of the tape again on the model of the file, so that it is in the state of the device.
    pub(super) fn new(
        tape: &'t Tape,
        geometry: Geometry,
        file: Option<DeviceFile>,
    ) -> Result<Self> {
        let file = file.ok_or_else(|| ProbeError::file_refused("the accuracy of the file"))?;
        let mut model = Simulated::new(seekwell_device::build(&file, 1));
        let compared = tape.replay(&mut model)?;
        Ok(Self { tape, geometry, model, compared })
    }

    /// Compares both on a mixed trace in a region at last; `on_device` makes it on the device.
    pub(super) fn mixed(
        mut self,
        region: (u64, u64),
        seed: u64,
        writes: bool,
        on_device: impl FnOnce(&[List]) -> Result<Vec<Timed>>,
    ) -> Result<Accuracy> {
        let trace = lists(&self.geometry, region, seed, writes);
        let device = on_device(&trace)?;
        let modelled = mixed_trace(&mut self.model, &trace)?;
        Ok(self.end(&trace, &device, &modelled))
    }

    /// Adds a mixed trace: all of it, and when it has writes each direction.
    fn end(mut self, trace: &[List], device: &[Timed], modelled: &[Timed]) -> Accuracy {
        let ways: Vec<Direction> =
            trace.iter().flat_map(|list| &list.requests).map(|(way, _)| *way).collect();
        let of = |times: &[Timed], direction: Direction| -> Vec<Timed> {
            let these = times.iter().zip(&ways).filter(|(_, way)| **way == direction);
            these.map(|(time, _)| *time).collect()
        };
        let depth = deepest(&self.geometry);
        add(&mut self.compared, MIXED, depth, device, modelled);
        if ways.contains(&Direction::Write) {
            for (name, way) in [(MIXED_READS, Direction::Read), (MIXED_WRITES, Direction::Write)] {
                add(&mut self.compared, name, depth, &of(device, way), &of(modelled, way));
            }
        }
        Accuracy::new(self.tape, self.compared)
    }

    /// Reads that no experiment made, until the time is over. Returns true if that came first.
    fn reads(&mut self, target: &mut dyn Target, seed: u64, until_ns: u64) -> Result<bool> {
        let mut tape = Tape::new(seed);
        let mut recorder = Recorder::new(target, &mut tape);
        let lists = classes(&mut Head::new(&mut recorder, seed), &self.geometry);
        for (name, list) in &lists {
            for part in list.chunks(AT_ONCE) {
                if target.now_ns() >= until_ns {
                    return Ok(true);
                }
                let device = target.read_all(part, 1)?;
                let modelled = self.model.read_all(part, 1)?;
                add(&mut self.compared, name, 1, &device, &modelled);
            }
        }
        Ok(false)
    }
}

/// Compares the file made of `findings` with the device: on the measurements that the tape sealed, on reads that no
/// experiment made, and on a mixed trace of reads. Judging ends in time, although requests are left.
pub fn judge(
    target: &mut dyn Target,
    tape: &Tape,
    findings: &Findings,
    seed: u64,
) -> Result<Accuracy> {
    let geometry = findings.geometry;
    let mut judging = Judging::new(tape, geometry, built(findings))?;
    let until_ns = tape.begun_ns().map_or(u64::MAX, |begun_ns| begun_ns + LONGEST_NS - SPARE_NS);
    let is_late = judging.reads(target, seed, until_ns)?;
    let mut trace = lists(&geometry, (0, geometry.sectors_512), seed, false);
    let (device, made) = read_trace(target, &trace, until_ns)?;
    let is_cut = is_late || made < trace.len();
    trace.truncate(made);
    let (modelled, _) = read_trace(&mut judging.model, &trace, u64::MAX)?;
    Ok(Accuracy { is_cut, ..judging.end(&trace, &device, &modelled) })
}

/// The same with reads and writes in the mixed trace, if the findings know of writes. The contents of the device are lost.
pub fn judge_writes(
    target: &mut dyn WriteTarget,
    tape: &Tape,
    findings: &Findings,
    seed: u64,
) -> Result<Accuracy> {
    if findings.writes.is_none() {
        return judge(target, tape, findings, seed);
    }
    let geometry = findings.geometry;
    let mut judging = Judging::new(tape, geometry, built(findings))?;
    judging.reads(target, seed, u64::MAX)?;
    judging.mixed((0, geometry.sectors_512), seed, true, |trace| mixed_trace(target, trace))
}

/// Adds the times of a class on the device and on its model.
pub(super) fn add(
    compared: &mut Vec<Compared>,
    name: &'static str,
    depth: u32,
    device: &[Timed],
    modelled: &[Timed],
) {
    let took = |times: &[Timed]| times.iter().map(|time| time.took_ns()).collect::<Vec<u64>>();
    let (device_ns, model_ns) = (took(device), took(modelled));
    let elapsed_ns = elapsed_ns(device) as u64;
    match compared.iter_mut().find(|class| class.name == name && class.depth == depth) {
        Some(class) => {
            class.device_ns.extend(device_ns);
            class.model_ns.extend(model_ns);
            class.elapsed_ns += elapsed_ns;
        }
        None => compared.push(Compared { name, depth, device_ns, model_ns, elapsed_ns }),
    }
}

/// Times of a mixed trace of reads, list by list until the time is over, and the lists that were made.
pub(super) fn read_trace(
    target: &mut dyn Target,
    trace: &[List],
    until_ns: u64,
) -> Result<(Vec<Timed>, usize)> {
    let mut times = Vec::new();
    for (made, list) in trace.iter().enumerate() {
        if target.now_ns() >= until_ns {
            return Ok((times, made));
        }
        target.pause(list.pause_ns);
        let spans: Vec<Span> = list.requests.iter().map(|(_, span)| *span).collect();
        times.extend(target.read_all(&spans, list.depth)?);
    }
    Ok((times, trace.len()))
}

/// Times of a mixed trace, list by list.
pub(super) fn mixed_trace(target: &mut dyn WriteTarget, trace: &[List]) -> Result<Vec<Timed>> {
    let mut times = Vec::new();
    for list in trace {
        target.pause(list.pause_ns);
        times.extend(target.mix_all(&list.requests, list.depth)?);
        if list.is_flushed {
            target.flush()?;
        }
    }
    Ok(times)
}

/// Reads that no experiment made: near one another, and in a row.
fn classes(head: &mut Head<'_>, geometry: &Geometry) -> [(&'static str, Vec<Span>); 2] {
    const NEAR: u64 = 1 << 15;
    let base = head.anywhere().min(geometry.sectors_512 - (1 << 18));
    let near = (0..WITHHELD)
        .map(|_| Span { lba: base + head.below(NEAR / 8) * 8, sectors: BLOCK })
        .collect();
    let long = (geometry.max_request_bytes / 512).min(128);
    let row = (0..WITHHELD)
        .map(|nth| Span { lba: base + NEAR + nth * u64::from(long), sectors: long })
        .collect();
    [("reads within 16 MiB", near), ("reads in a row", row)]
}
