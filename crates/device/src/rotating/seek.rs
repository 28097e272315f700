//! Seek time: the time that the arm takes to cross cylinders.

use serde::Deserialize;

use crate::clock::ns;
use crate::error::{DeviceError, refuse, within};

#[cfg(test)]
mod tests;

/// A seek curve, given in one of three ways; times in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekParameters {
    /// To the next cylinder. With `average_us` and `full_us`: what a data sheet says.
    pub track_us: Option<f64>,
    /// Mean over two cylinders drawn independently and evenly.
    pub average_us: Option<f64>,
    /// From the first cylinder to the last.
    pub full_us: Option<f64>,
    /// Constant part of a + b·√x + c·x, x being the part of all cylinders that is crossed.
    pub a_us: Option<f64>,
    /// Part that grows with the root of the distance.
    pub b_us: Option<f64>,
    /// Part that grows with the distance.
    pub c_us: Option<f64>,
    /// Measured pairs of cylinders crossed and time, distances increasing.
    pub table: Option<Vec<[f64; 2]>>,
}

/// The curve in the form the model calculates with.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// a + b·√x + c·x in nanoseconds, with the number of cylinders that makes x = 1.
    Formula {
        /// a.
        a_ns: f64,
        /// b.
        b_ns: f64,
        /// c.
        c_ns: f64,
        /// Cylinders that make x = 1.
        cylinders: u32,
    },
    /// Straight lines between points of (cylinders, nanoseconds).
    Table(Vec<(u32, u64)>),
}

impl SeekParameters {
    pub(crate) fn curve(&self, cylinders: u32) -> Result<SeekCurve, DeviceError> {
        const KEY: &str = "rotating.seek";
        let data_sheet = (self.track_us, self.average_us, self.full_us);
        let formula = (self.a_us, self.b_us, self.c_us);
        let curve = match (data_sheet, formula, &self.table) {
            ((Some(track), Some(average), Some(full)), (None, None, None), None) => {
                through(track, average, full, cylinders)?
            }
            ((None, None, None), (Some(a), Some(b), Some(c)), None) => (a, b, c),
            ((None, None, None), (None, None, None), Some(table)) => return from_table(table),
            _ => {
                let reason = "give either track_us, average_us and full_us, or a_us, b_us and c_us, or table";
                return Err(refuse(KEY, "{…}", reason));
            }
        };
        let (a, b, c) = curve;
        within("rotating.seek (a)", a, 0.0, 1e6)?;
        within("rotating.seek (b)", b, 0.0, 1e6)?;
        within("rotating.seek (c)", c, 0.0, 1e6)?;
        Ok(SeekCurve::Formula {
            a_ns: a * 1e3,
            b_ns: b * 1e3,
            c_ns: c * 1e3,
            cylinders: cylinders.max(2),
        })
    }
}

/// The a, b, c whose curve has these three values.
///
/// For two independent even cylinders the distance x has density 2(1-x), so E[√x] = 8/15 and E[x] = 1/3.
fn through(
    track: f64,
    average: f64,
    full: f64,
    cylinders: u32,
) -> Result<(f64, f64, f64), DeviceError> {
    if !(0.0 < track && track < average && average < full) {
        let reason = "must have 0 < track_us < average_us < full_us";
        return Err(refuse("rotating.seek", format!("{track}, {average}, {full}"), reason));
    }
    let x = 1.0 / f64::from(cylinders.max(2));
    let (mean_root, mean) = (8.0 / 15.0, 1.0 / 3.0);
    // Differences to the full stroke remove a.
    let (root_1, line_1, fall_1) = (1.0 - x.sqrt(), 1.0 - x, full - track);
    let (root_2, line_2, fall_2) = (1.0 - mean_root, 1.0 - mean, full - average);
    let determinant = root_1 * line_2 - root_2 * line_1;
    let b = (fall_1 * line_2 - fall_2 * line_1) / determinant;
    let c = (root_1 * fall_2 - root_2 * fall_1) / determinant;
    let a = full - b - c;
    if a < 0.0 || b < 0.0 || c < 0.0 {
        let value = format!("{track}, {average}, {full}");
        let reason = format!(
            "no curve a + b·√x + c·x that never falls goes through these (a {a:.0}, b {b:.0}, c {c:.0}); \
             average seeks are 0.47 to 0.55 of the full stroke"
        );
        return Err(refuse("rotating.seek", value, reason));
    }
    Ok((a, b, c))
}

fn from_table(table: &[[f64; 2]]) -> Result<SeekCurve, DeviceError> {
    const KEY: &str = "rotating.seek.table";
    if table.is_empty() {
        return Err(refuse(KEY, "[]", "needs at least one pair of cylinders and microseconds"));
    }
    for &[cylinders, us] in table {
        within(KEY, cylinders, 1.0, f64::from(u32::MAX))?;
        within(KEY, us, 0.0, 1e6)?;
    }
    let points: Vec<(u32, u64)> =
        table.iter().map(|&[cylinders, us]| (cylinders.round() as u32, ns(us))).collect();
    match points.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
        Some(pair) => Err(refuse(KEY, pair[1].0, "distances must increase from pair to pair")),
        None => Ok(SeekCurve::Table(points)),
    }
}

impl SeekCurve {
    /// An arm that reaches any cylinder at once.
    pub(crate) const NONE: Self = Self::Formula { a_ns: 0.0, b_ns: 0.0, c_ns: 0.0, cylinders: 2 };

    /// The curve with all beyond its first cylinder `scale` times as long.
    pub(crate) fn stretched(&self, scale: f64) -> Self {
        let first_ns = self.ns(1);
        match self {
            Self::Formula { a_ns, b_ns, c_ns, cylinders } => Self::Formula {
                a_ns: first_ns as f64 + (a_ns - first_ns as f64) * scale,
                b_ns: b_ns * scale,
                c_ns: c_ns * scale,
                cylinders: *cylinders,
            },
            Self::Table(points) => {
                let stretch = |ns: u64| {
                    let beyond = (ns as f64 - first_ns as f64) * scale;
                    (first_ns as f64 + beyond).max(0.0).round() as u64
                };
                Self::Table(points.iter().map(|&(c, ns)| (c, stretch(ns))).collect())
            }
        }
    }

    /// Nanoseconds to cross `distance` cylinders and settle for reading; 0 for none.
    #[must_use]
    pub fn ns(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        match self {
            Self::Formula { a_ns, b_ns, c_ns, cylinders } => {
                // Only operations that IEEE 754 rounds correctly, so every machine gets the same integer.
                let x = f64::from(distance) / f64::from(*cylinders);
                (a_ns + b_ns * x.sqrt() + c_ns * x).round() as u64
            }
            Self::Table(points) => interpolate(points, distance),
        }
    }
}

/// Straight lines between the points, level outside them.
fn interpolate(points: &[(u32, u64)], distance: u32) -> u64 {
    let after = points.partition_point(|point| point.0 < distance);
    match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
        (Some(low), Some(high)) => {
            let run = i128::from(high.0 - low.0);
            let rise = i128::from(high.1) - i128::from(low.1);
            let ns = i128::from(low.1) + rise * i128::from(distance - low.0) / run;
            u64::try_from(ns).unwrap_or(0)
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0,
    }
}
