//! Numbers for people: few digits, one unit per column.

use seekwell_model::metrics::{self, Unit};

/// Unit of a `STEP.METRIC`; a metric that a command's pattern named has none.
pub(crate) fn unit_of(metric: &str) -> Option<Unit> {
    let name = metric.rsplit('.').next().unwrap_or(metric);
    metrics::metric(name).map(|definition| definition.unit)
}

/// Format of the values of one column: one unit and one number of decimals for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    divisor: f64,
    decimals: usize,
    symbol: &'static str,
}

const SECONDS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
const YEARS: [(f64, &str); 2] = [(1.0, "years"), (1.0 / 365.25, "days")];
const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];

impl Scale {
    /// Fits the values: the unit from the largest one, the decimals so that the smallest one that
    /// is not 0 keeps three digits.
    pub(crate) fn fit(unit: Option<Unit>, values: impl IntoIterator<Item = f64>) -> Self {
        let sizes: Vec<f64> = values
            .into_iter()
            .map(f64::abs)
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let smallest = sizes.iter().copied().fold(largest, f64::min);
        let pick = |steps: &[(f64, &'static str)], factor: f64| {
            let fitting = steps.iter().find(|(size, _)| largest * factor >= *size);
            let (size, symbol) = fitting.copied().unwrap_or(steps[steps.len() - 1]);
            (size / factor, symbol)
        };
        let (divisor, symbol) = match unit {
            Some(Unit::Seconds) if largest > 0.0 => pick(&SECONDS, 1.0),
            Some(Unit::Nanoseconds) if largest > 0.0 => pick(&SECONDS, 1e-9),
            Some(Unit::Years) if largest > 0.0 => pick(&YEARS, 1.0),
            Some(Unit::Bytes) if largest > 0.0 => pick(&BYTES, 1.0),
            Some(unit) => (1.0, unit.symbol()),
            None => (1.0, ""),
        };
        Self { divisor, decimals: decimals(smallest / divisor), symbol }
    }

    /// The unit printed after the numbers; may be empty.
    pub(crate) fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// The value as it is printed.
    pub(crate) fn rounded(&self, value: f64) -> f64 {
        let shown = 10.0_f64.powi(i32::try_from(self.decimals).unwrap_or(0));
        (value / self.divisor * shown).round() / shown * self.divisor
    }

    /// The number without its unit; a dash for "not known".
    pub(crate) fn number(&self, value: Option<f64>) -> String {
        match value {
            Some(value) if value.is_finite() => {
                format!("{:.*}", self.decimals, value / self.divisor)
            }
            Some(_) | None => DASH.to_owned(),
        }
    }

    /// The number with its unit.
    pub(crate) fn with_unit(&self, value: f64) -> String {
        let number = self.number(Some(value));
        if self.symbol.is_empty() { number } else { format!("{number} {}", self.symbol) }
    }
}

/// Placeholder for a missing value.
pub(crate) const DASH: &str = "-";

/// Decimals that leave three digits of a number.
fn decimals(smallest: f64) -> usize {
    if smallest <= 0.0 || !smallest.is_finite() {
        return 0;
    }
    // At least 1e-300, so the logarithm is small; 12 decimals are enough for any unit.
    let magnitude = smallest.log10().floor() as i32;
    usize::try_from((2 - magnitude).clamp(0, 12)).unwrap_or(0)
}

/// One value alone, with its unit.
pub(crate) fn quantity(unit: Option<Unit>, value: f64) -> String {
    Scale::fit(unit, [value]).with_unit(value)
}

/// A number with three digits.
pub(crate) fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A ratio with three decimals; one of more than three digits says no more than that.
pub(crate) fn ratio(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => DASH.to_owned(),
        Some(value) if value >= 9999.5 => ">9999".to_owned(),
        Some(value) => format!("{value:.3}"),
    }
}

/// A fraction in percent with as many digits as it deserves: `12 %`, `2.3 %`.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let whole = percent.abs() >= 9.95 || (percent - percent.round()).abs() < 1e-9;
    if whole { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A fraction from the lab or the command line in percent, not rounded: `12.5 %`, `99.9 %`. A rounded
/// confidence or limit would not be the one that was applied.
pub(crate) fn exact_percent(fraction: f64) -> String {
    // Twelve digits are all that a fraction typed as decimals keeps.
    let percent = format!("{:.10}", fraction * 100.0);
    format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
