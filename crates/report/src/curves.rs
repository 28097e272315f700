//! Curves and surfaces of a bench: as a drawing in characters, and as tables.

mod characters;
mod tables;

use seekwell_model::bench::{Curve, CurveAxis};
use seekwell_model::units::Bytes;

pub(crate) use characters::chart;
pub(crate) use tables::{curve_table, surface_table};

/// Both axes of a chart, logarithmic, around all points of a curve.
#[derive(Clone, Copy, Debug)]
struct Axes {
    low_x: f64,
    high_x: f64,
    low_y: f64,
    high_y: f64,
}

impl Axes {
    /// `None` when there is no point to draw.
    fn around(curve: &Curve) -> Option<Self> {
        let xs = points(curve).map(|(x, _)| x);
        let ys = points(curve).map(|(_, y)| y);
        let span = |values: &mut dyn Iterator<Item = f64>| {
            let ends = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            (ends.0.is_finite() && ends.0 > 0.0).then_some(ends)
        };
        let (low_x, high_x) = span(&mut { xs })?;
        let (low_y, high_y) = span(&mut { ys })?;
        // Whole decades below and above, but at least one.
        let low_y = 10_f64.powf(low_y.log10().floor());
        let high_y = 10_f64.powf(high_y.log10().ceil()).max(low_y * 10.0);
        Some(Self { low_x, high_x, low_y, high_y })
    }

    /// Place of a block size or a number of threads, 0 to 1.
    fn x(&self, value: f64) -> f64 {
        let width = (self.high_x / self.low_x).ln();
        if width > 0.0 { (value / self.low_x).ln() / width } else { 0.5 }
    }

    /// Place of a speed, 0 at the bottom to 1.
    fn y(&self, value: f64) -> f64 {
        (value / self.low_y).ln() / (self.high_y / self.low_y).ln()
    }

    /// Powers of ten of the speed.
    fn decades(&self) -> Vec<f64> {
        let (first, last) = (self.low_y.log10().round() as i32, self.high_y.log10().round() as i32);
        (first..=last).map(|power| 10_f64.powi(power)).collect()
    }
}

/// The quantity drawn of a curve: speed over block size in MB/s, over threads in operations per second.
fn points(curve: &Curve) -> impl Iterator<Item = (f64, f64)> + '_ {
    curve.points.iter().filter_map(|point| {
        let speed = match curve.axis {
            CurveAxis::BlockBytes => point.mb_per_s?,
            CurveAxis::Threads => point.iops,
        };
        (speed > 0.0 && speed.is_finite() && point.at > 0).then_some((point.at as f64, speed))
    })
}

/// A block size or a number of threads.
fn at(axis: CurveAxis, value: u64) -> String {
    match axis {
        CurveAxis::BlockBytes => Bytes(value).to_string(),
        CurveAxis::Threads => value.to_string(),
    }
}

/// Titles of the axes.
fn titles(axis: CurveAxis) -> (&'static str, &'static str) {
    match axis {
        CurveAxis::BlockBytes => ("block size", "MB/s"),
        CurveAxis::Threads => ("threads", "operations/s"),
    }
}

/// A speed as the label of a decade.
fn decade(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests;
