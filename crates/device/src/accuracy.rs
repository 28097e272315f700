//! Accuracy of a model against a measured device.

#[cfg(test)]
mod tests;

/// Distance of two sets of equally many times, and the mean of the real ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demerit {
    /// Root mean square of the horizontal distance between the two cumulative distributions, in the unit of the times.
    pub rms: f64,
    /// Mean of the real times, in the same unit.
    pub mean: f64,
}

impl Demerit {
    /// The demerit as a part of the mean, 0.05 for 5 %.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.rms / self.mean
    }
}

/// The demerit of modelled times against real ones of the same requests.
///
/// Ruemmler and Wilkes: An introduction to disk drive modeling, IEEE Computer 27(3), 1994: both sets are sorted, so
/// it judges the distribution and not the single request. `None` when there are none, not equally many, or the
/// real ones are all 0.
#[must_use]
pub fn demerit(real: &[u64], modelled: &[u64]) -> Option<Demerit> {
    if real.is_empty() || real.len() != modelled.len() {
        return None;
    }
    let (mut real, mut modelled) = (real.to_vec(), modelled.to_vec());
    real.sort_unstable();
    modelled.sort_unstable();
    let count = real.len() as f64;
    let squares: f64 =
        real.iter().zip(&modelled).map(|(r, m)| (*r as f64 - *m as f64).powi(2)).sum();
    let mean = real.iter().map(|time| *time as f64).sum::<f64>() / count;
    (mean > 0.0).then(|| Demerit { rms: (squares / count).sqrt(), mean })
}
