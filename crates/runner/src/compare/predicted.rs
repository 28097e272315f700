//! A run on a modelled device against the same lab on the device itself.

use super::{NotComparable, Side, same_question, shared};
use crate::records::outcomes_of;
use crate::values::judged_values;
use seekwell_model::comparison::{PredictedStack, Prediction};
use seekwell_stats::estimate::median;

/// Compares the medians of the judged metric, stack by stack.
///
/// # Errors
/// [`NotComparable`] when the runs answer different questions or share no stack with a value.
pub fn predicted(predicted: &Side<'_>, real: &Side<'_>) -> Result<Prediction, NotComparable> {
    if predicted.backend != "virtual" {
        return Err(NotComparable(format!(
            "{} ran on the {} backend and predicts nothing; \
             name the run on the modelled device first",
            predicted.name, predicted.backend
        )));
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
        return Err(NotComparable(format!(
            "no stack has a value of {} in both {} and {}",
            judge.metric, predicted.name, real.name
        )));
    };
    let (metric, better) = (judge.metric.clone(), judge.better);
    Ok(Prediction { metric, better, lowest, median, highest, stacks, without_value })
}

#[cfg(test)]
mod tests;
