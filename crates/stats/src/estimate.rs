//! Plain estimates: mean, spread, median, serial correlation.

/// Arithmetic mean, `None` for no values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| {
        let first = values[0];
        // Summing differences keeps a constant sample exactly constant.
        first + values.iter().map(|v| v - first).sum::<f64>() / values.len() as f64
    })
}

/// Sample variance (divisor n - 1), `None` for fewer than 2 values. Exactly 0 for equal values.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    (values.len() >= 2).then(|| {
        let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
        squares / (values.len() - 1) as f64
    })
}

/// Sample standard deviation (divisor n - 1), `None` for fewer than 2 values.
#[must_use]
pub fn std_dev(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Median; the mean of the middle two for an even count. `None` for no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if below.len() == values.len() - middle {
        let lower = values[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return Some(lower + 0.5 * (upper - lower));
    }
    Some(upper)
}

/// Linear-interpolated quantile (type 7 of Hyndman and Fan 1996), `q` in 0..=1.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let position = q * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

/// Sample skewness (third moment over the 3/2 power of the second, both with divisor n). `None`
/// when all values are equal or there are none.
#[must_use]
pub fn skewness(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let n = values.len() as f64;
    let second = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / n;
    let third = values.iter().map(|v| (v - centre).powi(3)).sum::<f64>() / n;
    (second > 0.0).then(|| third / second.powf(1.5))
}

#[cfg(test)]
mod tests;
