//! Correlation of successive rounds, and its effect on an interval.
//!
//! A stack whose slow trials come in a row has fewer independent rounds than rounds. All stacks
//! together give one correlation of neighbouring rounds (first-order autoregressive), corrected for
//! the rounds' own mean; intervals allow for it plus half of its standard error. Spells of many slow
//! rounds and the dependence of single stacks are not estimated: `docs/statistics.md` says what that
//! costs.

/// Largest correlation that is allowed for.
const MOST: f64 = 0.9;

/// Part of the standard error that is added to the estimate.
const CAUTION: f64 = 0.5;

/// Serial correlation of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dependence {
    /// Estimated correlation of successive rounds; `None` if no stack has three rounds in a row.
    pub correlation: Option<f64>,
    /// Correlation that intervals allow for.
    pub assumed: f64,
}

/// Estimates the correlation from `residuals[stack][round]`, of which stack and round are taken out.
#[must_use]
pub fn estimate(residuals: &[Vec<Option<f64>>]) -> Dependence {
    let all: Vec<usize> = (0..residuals.iter().map(Vec::len).max().unwrap_or(0)).collect();
    estimate_series(residuals, &[all])
}

/// The same for rounds that are several series, such as those of each node, given by their rounds:
/// rounds of one series may resemble each other, however many of others ran between them.
#[must_use]
pub fn estimate_series(residuals: &[Vec<Option<f64>>], series: &[Vec<usize>]) -> Dependence {
    let (mut products, mut squares, mut pairs, mut values, mut means) = (0.0, 0.0, 0, 0, 0);
    for row in residuals {
        for rounds in series {
            let at = |round: &usize| row.get(*round).copied().flatten();
            let known: Vec<f64> = rounds.iter().filter_map(at).collect();
            if known.len() < 3 {
                continue;
            }
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            squares += known.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            products += known.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>();
            (pairs, values, means) = (pairs + known.len() - 1, values + known.len(), means + 1);
        }
    }
    if pairs == 0 || squares <= 0.0 {
        return Dependence::default();
    }
    // Taking the mean out lowers the correlation of neighbours by about (1 + 3 rho) / n.
    let (count, rounds) = (pairs as f64, values as f64 / f64::from(means));
    let plain = (products / count) / (squares / values as f64);
    let correlation = (plain + (1.0 + 3.0 * plain.max(0.0)) / rounds).clamp(-MOST, MOST);
    // Of the stacks of a round one is known from the others.
    let stacks = residuals.len().max(2) as f64;
    let independent = count * (stacks - 1.0) / stacks;
    let assumed = (correlation + CAUTION / independent.sqrt()).clamp(0.0, MOST);
    Dependence { correlation: Some(correlation), assumed }
}

impl Dependence {
    /// Variance of a mean of so many values, relative to what their own variance says of independent
    /// ones. Exact for few values, whose own variance is too small by the same correlation.
    #[must_use]
    pub fn inflation(&self, count: usize) -> f64 {
        let (n, rho) = (count as f64, self.assumed);
        if rho <= 0.0 || count < 2 {
            return 1.0;
        }
        let away = 1.0 - rho;
        let lags = rho / away - rho * (1.0 - rho.powi(count as i32)) / (n * away * away);
        let total = 1.0 + 2.0 * lags;
        total * (n - 1.0) / (n - total).max(0.5)
    }

    /// Factor on the degrees of freedom of a variance of such values.
    #[must_use]
    pub fn freedom(&self) -> f64 {
        let square = self.assumed * self.assumed;
        (1.0 - square) / (1.0 + square)
    }
}

#[cfg(test)]
mod tests;
