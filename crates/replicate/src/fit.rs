//! Fitting a parameter of a modelled device to a published value.
//!
//! The value is measured as the study did, by running its lab under the published memory; no figure
//! is copied into a device. A fit gets [`FitValues`], which contain nothing that must be
//! predicted.

use crate::claims::{FitValueError, FitValues};
use crate::study::Fit;

#[cfg(test)]
mod tests;

/// Most runs of a lab for one parameter.
const MOST_RUNS: usize = 16;

/// Errors of a fit without a result.
#[derive(Debug, thiserror::Error)]
pub enum FitError<E: std::error::Error + 'static> {
    /// It asks for a value that it may not read.
    #[error("the fit of {parameter} cannot be made")]
    Value {
        /// Key of the parameter.
        parameter: String,
        /// The cause.
        source: FitValueError,
    },
    /// A run failed.
    #[error("the fit of {parameter} at {at} could not be run")]
    Run {
        /// Key of the parameter.
        parameter: String,
        /// Value that was tried.
        at: f64,
        /// The cause.
        source: E,
    },
    /// The lab measured nothing.
    #[error("the fit of {parameter}: at {at} its lab measured no {value}")]
    NotMeasured {
        /// Key of the parameter.
        parameter: String,
        /// Value that was tried.
        at: f64,
        /// The published value.
        value: String,
    },
}

/// Result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The parameter's value.
    pub parameter: f64,
    /// The lab's measurement with this parameter.
    pub measured: f64,
    /// The published value.
    pub published: f64,
    /// Every run: parameter and what was measured.
    pub tried: Vec<(f64, f64)>,
    /// The published value is within the values of both ends of the range. If not, the nearer end
    /// is taken, and the model is wrong elsewhere.
    pub inside: bool,
}

/// Finds the parameter with which `measure` gives the published value, by bisection between the
/// ends of its range. What is measured must grow or fall with the parameter throughout.
///
/// # Errors
/// [`FitError`] when a value is withheld, or a run fails.
pub fn fit<E: std::error::Error + 'static>(
    fit: &Fit,
    values: &FitValues,
    measure: &mut dyn FnMut(f64) -> Result<Option<f64>, E>,
) -> Result<Fitted, FitError<E>> {
    let parameter = || fit.parameter.clone();
    let published = values
        .get(&fit.value)
        .map_err(|source| FitError::Value { parameter: parameter(), source })?;
    let mut tried = Vec::new();
    let mut at = |value: f64| -> Result<f64, FitError<E>> {
        let found = measure(value)
            .map_err(|source| FitError::Run { parameter: parameter(), at: value, source })?
            .ok_or_else(|| FitError::NotMeasured {
                parameter: parameter(),
                at: value,
                value: fit.value.clone(),
            })?;
        tried.push((value, found));
        Ok(found)
    };
    let [mut low, mut high] = fit.range;
    let (at_low, at_high) = (at(low)?, at(high)?);
    let rises = at_high > at_low;
    let inside = (at_low.min(at_high)..=at_low.max(at_high)).contains(&published);
    if inside {
        for _ in 2..MOST_RUNS {
            if high - low <= fit.step {
                break;
            }
            let middle = f64::midpoint(low, high);
            let middle = (middle / fit.step).round() * fit.step;
            if middle <= low || middle >= high {
                break;
            }
            match (at(middle)? < published) == rises {
                true => low = middle,
                false => high = middle,
            }
        }
    }
    let distance = |(_, found): &(f64, f64)| (found / published).ln().abs();
    let best = tried
        .iter()
        .copied()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or((low, at_low));
    Ok(Fitted { parameter: best.0, measured: best.1, published, tried, inside })
}
