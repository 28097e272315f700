//! Results over several steps of a bench: a curve over block size or threads, and a surface over file
//! and record size.

use seekwell_model::bench::{BenchResult, BenchStep, Curve, CurveAxis, CurvePoint, Surface};
use seekwell_model::workloads::{IoParams, StepOutline, WorkloadParams};

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
