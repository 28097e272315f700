//! A run on a modelled device against the same lab on the device itself.

use super::{NotComparable, Side, same_question, shared};
use crate::records::outcomes_of;
use crate::values::judged_values;
use seekwell_model::comparison::{PredictedStack, Prediction};
use seekwell_stats::estimate::median;

/// Reasons for which nothing follows from two runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPrediction {
    /// The runs cannot be compared.
    #[error(transparent)]
    NotComparable(#[from] NotComparable),
    /// The first run is not on modelled devices.
    #[error(
        "{run} ran on the {backend} backend and predicts nothing; name the run on the modelled device first"
    )]
    NotModelled {
        /// Its name.
        run: String,
        /// Its backend.
        backend: String,
    },
    /// No stack has a value in both.
    #[error("no stack has a value of {metric} in both {predicted} and {real}")]
    NoValue {
        /// The judged metric.
        metric: String,
        /// Name of the first run.
        predicted: String,
        /// Name of the second.
        real: String,
    },
}

/// Compares the medians of the judged metric, stack by stack.
///
/// # Errors
/// [`NoPrediction`] when the runs answer different questions or share no stack with a value.
pub fn predicted(predicted: &Side<'_>, real: &Side<'_>) -> Result<Prediction, NoPrediction> {
    if predicted.backend != "virtual" {
        let (run, backend) = (predicted.name.to_owned(), predicted.backend.to_owned());
        return Err(NoPrediction::NotModelled { run, backend });
    }
    same_question(predicted, real)?;
    let shared = shared(&[*predicted], &[*real])?;
    let values = [predicted, real]
        .map(|side| judged_values(side.plan, &outcomes_of(side.plan, side.records)));
    let typical = |row: &Vec<Option<f64>>| {
        let there: Vec<f64> = row.iter().flatten().copied().collect();
        median(&there).filter(|value| *value > 0.0)
    };
    let (mut stacks, mut without_value) = (Vec::new(), Vec::new());
    for indices in shared {
        let label = predicted.plan.stacks[indices[0]].label.clone();
        match (typical(&values[0][indices[0]]), typical(&values[1][indices[1]])) {
            (Some(predicted), Some(real)) => stacks.push(PredictedStack { label, predicted, real }),
            _ => without_value.push(label),
        }
    }
    let judge = &predicted.plan.lab.judge;
    let mut ratios: Vec<f64> = stacks.iter().map(PredictedStack::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let (Some(lowest), Some(median), Some(highest)) =
        (ratios.first().copied(), median(&ratios), ratios.last().copied())
    else {
        return Err(NoPrediction::NoValue {
            metric: judge.metric.clone(),
            predicted: predicted.name.to_owned(),
            real: real.name.to_owned(),
        });
    };
    let (metric, better) = (judge.metric.clone(), judge.better);
    Ok(Prediction { metric, better, lowest, median, highest, stacks, without_value })
}

#[cfg(test)]
mod tests;
