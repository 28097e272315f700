//! The logarithmic axis that all rows of the forest share.

use crate::page::Page;
use seekwell_model::verdict::Ratio;

/// Ends of intervals may exceed the ratios by this factor; longer ones are cut, with an arrow.
const LONGEST: f64 = 2.0;

/// Ratios from left to right, as percent of the width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

/// A place on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Percent of the width.
    At(f64),
    /// Beyond the left or the right end.
    Cut(f64),
}

impl Place {
    pub(super) fn percent(self) -> f64 {
        match self {
            Self::At(percent) | Self::Cut(percent) => percent,
        }
    }
}

fn usable(value: &f64) -> bool {
    value.is_finite() && *value > 0.0
}

impl Scale {
    /// Wide enough for every ratio, for its interval where that is not far longer, and for 1 with the tie.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Ratio> + Clone, tie: f64) -> Self {
        let tie = 1.0 + tie.max(0.01);
        let centres = rows.clone().filter_map(|row| row.ratio).filter(usable);
        let centres: Vec<f64> = centres.chain([1.0 / tie, tie]).collect();
        let low = centres.iter().copied().fold(1.0, f64::min);
        let high = centres.iter().copied().fold(1.0, f64::max);
        let ends: Vec<f64> =
            rows.flat_map(|row| [row.low, row.high]).flatten().filter(usable).collect();
        let least = ends.iter().copied().fold(low, f64::min).max(low / LONGEST);
        let most = ends.iter().copied().fold(high, f64::max).min(high * LONGEST);
        let margin = (most / least).ln() * 0.03;
        Self { low: least.ln() - margin, high: most.ln() + margin }
    }

    /// The place of a ratio.
    pub(super) fn place(&self, ratio: f64) -> Place {
        let percent = (ratio.ln() - self.low) / (self.high - self.low) * 100.0;
        if (0.0..=100.0).contains(&percent) {
            Place::At(percent)
        } else {
            Place::Cut(percent.clamp(0.0, 100.0))
        }
    }

    pub(super) fn x(&self, ratio: f64) -> f64 {
        self.place(ratio).percent()
    }

    /// Ratios that people read: 1, 1.2, 1.5, 2, 3, 5 times powers of ten on a long axis, steps of 1, 2 or 5 on a
    /// short one. Labels that would touch on a narrow screen are left out; 1 is always there.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let (low, high) = (self.low.exp(), self.high.exp());
        let span = high / low;
        let all: Vec<f64> = if span > 1.6 {
            let steps: &[f64] = match span {
                _ if span > 1000.0 => &[1.0],
                _ if span > 30.0 => &[1.0, 3.0],
                _ if span > 6.0 => &[1.0, 2.0, 5.0],
                _ => &[1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0],
            };
            let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
            powers.flat_map(|power| steps.iter().map(move |one| one * 10_f64.powi(power))).collect()
        } else {
            let widest = (high - low) / 3.0;
            let power = 10_f64.powf(widest.log10().floor());
            let fits = |step: &f64| *step <= widest;
            let step = [1.0, 2.0, 5.0].map(|one| one * power).into_iter().rfind(fits);
            let step = step.unwrap_or(power);
            let from = ((low - 1.0) / step).ceil() as i64;
            let to = ((high - 1.0) / step).floor() as i64;
            (from..=to).map(|number| 1.0 + number as f64 * step).collect()
        };
        let mut kept = vec![1.0];
        for tick in all.into_iter().filter(|tick| (low..=high).contains(tick)) {
            let far = |other: &f64| (self.x(*other) - self.x(tick)).abs() > 13.0;
            if (4.0..=97.0).contains(&self.x(tick)) && kept.iter().all(far) {
                kept.push(tick);
            }
        }
        kept
    }

    /// The head of the column: the labels of the ticks.
    pub(super) fn head(&self, page: &mut Page) {
        page.raw("<svg class=\"plot\" aria-hidden=\"true\">");
        for tick in self.ticks() {
            page.raw("<text class=\"tick\" y=\"13\" text-anchor=\"middle\"");
            page.percent("x", self.x(tick));
            page.element(">", &label(tick), "</text>");
        }
        page.raw("</svg>");
    }
}

/// As few decimals as the number has, three at most.
fn label(ratio: f64) -> String {
    let text = format!("{ratio:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
