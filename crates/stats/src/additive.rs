//! The additive model "stack + round" for logarithms with holes.

/// Least-squares effect of each stack in the fit "stack + round", summing to zero over the
/// stacks that have values; `None` for a stack without values. With nothing missing these are
/// the stacks' means of values centred in each round.
///
/// `logs[stack][round]`; solved by alternating projection, which converges for every pattern
/// that links all stacks through shared rounds.
#[must_use]
pub fn stack_effects(logs: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    const MOST_PASSES: usize = 1000;
    let rounds = logs.iter().map(Vec::len).max().unwrap_or(0);
    let mut stack: Vec<f64> = vec![0.0; logs.len()];
    let mut round: Vec<f64> = vec![0.0; rounds];
    for _ in 0..MOST_PASSES {
        for (r, effect) in round.iter_mut().enumerate() {
            *effect = mean_of(
                logs.iter()
                    .zip(&stack)
                    .filter_map(|(row, s)| row.get(r).copied().flatten().map(|value| value - s)),
            );
        }
        let mut moved: f64 = 0.0;
        for (row, effect) in logs.iter().zip(&mut stack) {
            let next =
                mean_of(row.iter().zip(&round).filter_map(|(value, r)| value.map(|v| v - r)));
            moved = moved.max((next - *effect).abs());
            *effect = next;
        }
        if moved < 1e-13 {
            break;
        }
    }
    let has_value: Vec<bool> = logs.iter().map(|row| row.iter().any(Option::is_some)).collect();
    let present = || stack.iter().zip(&has_value).filter(|(_, has)| **has);
    let centre = mean_of(present().map(|(effect, _)| *effect));
    stack.iter().zip(&has_value).map(|(effect, has)| has.then(|| effect - centre)).collect()
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut count) = (0.0, 0.0);
    for value in values {
        total += value;
        count += 1.0;
    }
    if count > 0.0 { total / count } else { 0.0 }
}

#[cfg(test)]
mod tests;
