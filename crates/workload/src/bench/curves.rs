//! Results over several steps of a bench: a curve over block size or threads, a surface over file and
//! record size, and the comparison of two curves.

use super::{BenchTarget, bench};
use crate::error::WorkloadError;
use seekwell_model::bench::{
    BenchResult, BenchStep, Curve, CurveAxis, CurveComparison, CurveComparisonRow, CurvePoint,
    Surface,
};
use seekwell_model::workloads::{IoParams, StepOutline, SweepParams, WorkloadParams};
use seekwell_stats::field::Observed;
use seekwell_stats::paired::{ErrorShare, compare_led_by};
use seekwell_stats::{Better, Question, derive_seed};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The curve of a result, where its kind has one.
pub(super) fn of(params: &WorkloadParams, result: &BenchResult) -> Vec<Curve> {
    let (axis, measurements) = match params {
        WorkloadParams::Sweep(sweep) => (CurveAxis::BlockBytes, sweep.measurements()),
        WorkloadParams::Io(io) if !io.curve.is_empty() => (CurveAxis::Threads, io.measurements()),
        _ => return Vec::new(),
    };
    let points: Vec<CurvePoint> = measurements
        .iter()
        .filter_map(|(outline, io)| Some(point(axis, io, find(result, outline)?)))
        .collect();
    let smallest = points.first().filter(|_| axis == CurveAxis::BlockBytes);
    let seek_time_ns = smallest.and_then(|point| point.seek_time_ns);
    vec![Curve { target: result.target.clone(), axis, points, seek_time_ns }]
}

fn find<'r>(result: &'r BenchResult, outline: &StepOutline) -> Option<&'r BenchStep> {
    result.steps.iter().find(|step| step.name == outline.name)
}

fn point(axis: CurveAxis, io: &IoParams, step: &BenchStep) -> CurvePoint {
    CurvePoint {
        at: match axis {
            CurveAxis::BlockBytes => io.size.0,
            CurveAxis::Threads => io.threads.into(),
        },
        iops: step.iops,
        mb_per_s: step.mb_per_s,
        seek_time_ns: step.metrics.get("seek_time").copied(),
    }
}

/// The surfaces of a result, where its kind has them.
pub(super) fn surfaces(params: &WorkloadParams, result: &BenchResult) -> Vec<Surface> {
    let WorkloadParams::Iozone(iozone) = params else { return Vec::new() };
    if !iozone.auto {
        return Vec::new();
    }
    let measurements = iozone.measurements();
    let sorted = |mut sizes: Vec<u64>| {
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let files = sorted(measurements.iter().map(|(_, _, file, _)| file.0).collect());
    let records = sorted(measurements.iter().map(|(_, _, _, record)| record.0).collect());
    let mut surfaces: Vec<Surface> = Vec::new();
    for (outline, pass, file, record) in &measurements {
        let index = surfaces.iter().position(|surface| surface.pass == pass.name);
        let index = index.unwrap_or_else(|| {
            surfaces.push(Surface {
                pass: pass.name.to_owned(),
                files: files.clone(),
                records: records.clone(),
                mb_per_s: vec![vec![None; records.len()]; files.len()],
            });
            surfaces.len() - 1
        });
        let row = files.iter().position(|size| *size == file.0);
        let column = records.iter().position(|size| *size == record.0);
        if let (Some(row), Some(column)) = (row, column) {
            surfaces[index].mb_per_s[row][column] =
                find(result, outline).and_then(|step| step.mb_per_s);
        }
    }
    surfaces
}

/// Settings of the comparison of two targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparing {
    /// Rounds: in each both targets are measured at every block size, in turn.
    pub rounds: usize,
    /// Confidence of the intervals of all block sizes together.
    pub confidence: f64,
    /// Largest relative difference of two targets that still count as alike.
    pub tie_width: f64,
}

/// Sweeps over two targets in turn, compares them at every block size, and says whether they are
/// alike.
///
/// # Errors
/// As [`bench`]; and when nothing was measured.
pub fn compare(
    sweep: &SweepParams,
    targets: [BenchTarget<'_>; 2],
    how: Comparing,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<BenchResult, WorkloadError> {
    let params = WorkloadParams::Sweep(sweep.clone());
    let mut found: [Vec<BenchResult>; 2] = [Vec::new(), Vec::new()];
    for round in 0..how.rounds {
        // Who comes first takes turns, so that a drift falls on both.
        for index in [round % 2, 1 - round % 2] {
            // Both get the same offsets in a round.
            let seed = derive_seed(seed, &format!("round {round}"));
            found[index].push(bench(&params, targets[index], seed, stop.clone())?);
        }
    }
    let [first, second] = &found;
    let mut result = BenchResult {
        workload: "sweep".to_owned(),
        target: format!("{} and {}", targets[0].path.display(), targets[1].path.display()),
        comparison: Some(against(sweep, [first, second], how)?),
        ..BenchResult::default()
    };
    for rounds in [first, second] {
        result.curves.extend(mean_curve(rounds));
    }
    for warning in first.iter().chain(second).flat_map(|result| &result.warnings) {
        if !result.warnings.contains(warning) {
            result.warnings.push(warning.clone());
        }
    }
    Ok(result)
}

/// The curve of several rounds: the geometric mean of each point. Unlike arithmetic means it keeps
/// what holds in every round: operations per second times access time is the number of operations
/// in flight, and the ratio of two curves is the mean of their ratios.
fn mean_curve(rounds: &[BenchResult]) -> Option<Curve> {
    let curves: Vec<&Curve> = rounds.iter().filter_map(|result| result.curves.first()).collect();
    let mut mean = (*curves.first()?).clone();
    let of = |index: usize, pick: fn(&CurvePoint) -> Option<f64>| {
        let values: Option<Vec<f64>> =
            curves.iter().map(|curve| curve.points.get(index).and_then(pick)).collect();
        geometric_mean(&values?)
    };
    for (index, point) in mean.points.iter_mut().enumerate() {
        point.iops = of(index, |point| Some(point.iops)).unwrap_or(0.0);
        point.mb_per_s = of(index, |point| point.mb_per_s);
        point.seek_time_ns = of(index, |point| point.seek_time_ns);
    }
    mean.seek_time_ns = mean.points.first().and_then(|point| point.seek_time_ns);
    Some(mean)
}

/// `None` of no values, or when one is not above 0.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    Some((logarithms / values.len() as f64).exp())
}

fn against(
    sweep: &SweepParams,
    found: [&Vec<BenchResult>; 2],
    how: Comparing,
) -> Result<CurveComparison, WorkloadError> {
    let question = Question::new(Better::Higher, how.tie_width, how.confidence);
    // Every block size may mislead: they share the error.
    let share =
        ErrorShare { error: (1.0 - how.confidence) / sweep.sizes.len().max(1) as f64, stacks: 2 };
    let mut rows = Vec::new();
    for (index, size) in sweep.sizes.iter().enumerate() {
        let speeds = |rounds: &Vec<BenchResult>| -> Vec<Observed> {
            let speed = |result: &BenchResult| {
                let step = result.steps.get(index)?;
                Some(step.iops).filter(|iops| *iops > 0.0)
            };
            rounds.iter().map(|result| Observed::run(speed(result))).collect()
        };
        let values = [speeds(found[0]), speeds(found[1])];
        let compared = compare_led_by(&values, &question, share, 0);
        let compared = compared.map_err(|error| WorkloadError::Unfit {
            step: format!("{}-{size}", sweep.each.step),
            problem: format!("cannot be compared: {error}"),
            remedy: "give it more time".to_owned(),
        })?;
        let joint = compared.rows.get(1).and_then(|row| row.joint);
        rows.push(CurveComparisonRow {
            block_bytes: size.0,
            ratio: joint.map(|interval| interval.centre),
            low: joint.map(|interval| interval.low),
            high: joint.map(|interval| interval.high),
        });
    }
    Ok(CurveComparison {
        targets: found
            .map(|rounds| rounds.first().map_or_else(String::new, |result| result.target.clone())),
        rounds: how.rounds,
        confidence: how.confidence,
        tie_width: how.tie_width,
        crossings: crossings(&rows),
        alike: alike(&rows, how.tie_width),
        rows,
    })
}

/// Returns true if every interval is inside the tie width, false if one is outside, otherwise `None`.
fn alike(rows: &[CurveComparisonRow], tie_width: f64) -> Option<bool> {
    let (least, most) = (1.0 / (1.0 + tie_width), 1.0 + tie_width);
    let within = |row: &CurveComparisonRow| {
        row.low.is_some_and(|low| low >= least) && row.high.is_some_and(|high| high <= most)
    };
    let outside = |row: &CurveComparisonRow| {
        row.low.is_some_and(|low| low > most) || row.high.is_some_and(|high| high < least)
    };
    match (rows.iter().all(within), rows.iter().any(outside)) {
        (_, true) => Some(false),
        (true, false) if !rows.is_empty() => Some(true),
        _ => None,
    }
}

/// Block sizes at which the ratio of two curves passes 1, where it is on either side of it with
/// its whole interval.
fn crossings(rows: &[CurveComparisonRow]) -> Vec<f64> {
    // A crossing is between two sizes at which one is certainly ahead of the other.
    let certain = rows.iter().filter_map(|row| {
        let (ratio, low, high) = (row.ratio?, row.low?, row.high?);
        (low > 1.0 || high < 1.0).then_some((row.block_bytes as f64, ratio))
    });
    let certain: Vec<(f64, f64)> = certain.collect();
    let mut found = Vec::new();
    for pair in certain.windows(2) {
        let [(size, ratio), (next_size, next_ratio)] = pair else { continue };
        if (ratio.ln() > 0.0) != (next_ratio.ln() > 0.0) {
            let part = ratio.ln() / (ratio.ln() - next_ratio.ln());
            found.push((size.ln() + part * (next_size.ln() - size.ln())).exp());
        }
    }
    found
}

#[cfg(test)]
mod tests;
