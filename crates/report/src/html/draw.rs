//! Drawings inside tables: one row of a forest plot, one timeline.

use crate::number::ratio;
use crate::page::Page;
use seekwell_model::record::Sample;
use seekwell_model::verdict::Ratio;

const FOREST_WIDTH: f64 = 320.0;
const FOREST_HEIGHT: f64 = 24.0;
const SPARK_WIDTH: f64 = 240.0;
const SPARK_HEIGHT: f64 = 32.0;
/// Points of a timeline that are drawn; more samples are averaged in pairs and more.
const SPARK_POINTS: usize = 120;

/// The common logarithmic axis of all rows of a forest plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Wide enough for every ratio and interval, and for 1 with the tie width around it.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Ratio>, tie: f64) -> Self {
        let usable = |value: &f64| value.is_finite() && *value > 0.0;
        let values = rows.flat_map(|row| [row.ratio, row.low, row.high]).flatten();
        let values: Vec<f64> = values
            .chain([1.0 / (1.0 + tie.max(0.01)), 1.0 + tie.max(0.01)])
            .filter(usable)
            .collect();
        let low = values.iter().copied().fold(1.0, f64::min);
        let high = values.iter().copied().fold(1.0, f64::max);
        let margin = (high / low).ln() * 0.04;
        Self { low: low.ln() - margin, high: high.ln() + margin }
    }

    fn x(&self, ratio: f64) -> f64 {
        (ratio.ln() - self.low) / (self.high - self.low) * FOREST_WIDTH
    }

    /// Ratios at round numbers: 1, 2 and 5 times powers of ten, and closer ones where the axis is
    /// shorter than a factor of three.
    fn round_ratios(&self) -> Vec<f64> {
        let (low, high) = (self.low.exp(), self.high.exp());
        let inside = |ratio: &f64| (low..=high).contains(ratio);
        if high / low > 3.0 {
            let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
            let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|one| one * 10_f64.powi(power)));
            return all.filter(inside).collect();
        }
        let widest = (high - low) / 3.0;
        let power = 10_f64.powf(widest.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|one| one * power).into_iter().rfind(|step| *step <= widest);
        let step = step.unwrap_or(power);
        let from = ((low - 1.0) / step).ceil() as i64;
        let to = ((high - 1.0) / step).floor() as i64;
        (from..=to).map(|number| 1.0 + number as f64 * step).collect()
    }

    /// The scale of the column, for its head. Labels that would touch are left out.
    pub(super) fn ticks(&self, page: &mut Page) {
        page.raw("<svg class=\"forest\" aria-hidden=\"true\" viewBox=\"0 0 320 24\" preserveAspectRatio=\"none\">");
        let mut free = f64::NEG_INFINITY;
        for ratio in self.round_ratios() {
            let x = self.x(ratio);
            line(page, "<line class=\"axis\"", (x, 16.0), (x, FOREST_HEIGHT));
            let text = label(ratio);
            let half = text.len() as f64 * 3.5;
            if x - half > free.max(0.0) && x + half < FOREST_WIDTH {
                page.raw("<text class=\"tick\" text-anchor=\"middle\"");
                page.coordinate("x", x);
                page.coordinate("y", 12.0);
                page.element(">", &text, "</text>");
                free = x + half + 6.0;
            }
        }
        page.raw("</svg>");
    }

    /// One stack: the tie band, the line at 1, the interval and the ratio.
    pub(super) fn row(&self, page: &mut Page, row: &Ratio, tie: f64) {
        page.raw("<svg class=\"forest\" role=\"img\" viewBox=\"0 0 320 24\" preserveAspectRatio=\"none\"");
        let (centre, low, high) = (ratio(row.ratio), ratio(row.low), ratio(row.high));
        let text = format!("ratio {centre}, interval {low} to {high}");
        page.attribute("aria-label", &text);
        page.raw(">");
        let band = (self.x(1.0 / (1.0 + tie)), self.x(1.0 + tie));
        page.raw("<rect class=\"band\" y=\"0\" height=\"24\"");
        page.coordinate("x", band.0);
        page.coordinate("width", band.1 - band.0);
        page.raw("/>");
        line(page, "<line class=\"axis\"", (self.x(1.0), 0.0), (self.x(1.0), FOREST_HEIGHT));
        let middle = FOREST_HEIGHT / 2.0;
        for tick in self.round_ratios() {
            line(
                page,
                "<line class=\"axis faint-axis\"",
                (self.x(tick), 0.0),
                (self.x(tick), FOREST_HEIGHT),
            );
        }
        let drawable = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
        if let (Some(low), Some(high)) = (drawable(row.low), drawable(row.high)) {
            line(page, "<line class=\"whisker\"", (self.x(low), middle), (self.x(high), middle));
        }
        if let Some(centre) = drawable(row.ratio) {
            page.raw("<circle class=\"centre\" r=\"4\"");
            page.coordinate("cx", self.x(centre));
            page.coordinate("cy", middle);
            page.raw("/>");
        }
        page.raw("</svg>");
    }
}

/// As few decimals as the number has, three at most.
fn label(ratio: f64) -> String {
    let text = format!("{ratio:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn line(page: &mut Page, open: &'static str, from: (f64, f64), to: (f64, f64)) {
    page.raw(open);
    page.coordinate("x1", from.0);
    page.coordinate("y1", from.1);
    page.coordinate("x2", to.0);
    page.coordinate("y2", to.1);
    page.raw("/>");
}

/// Reads and writes of a timeline in MB/s over its time, on one scale.
pub(super) fn timeline(page: &mut Page, samples: &[Sample]) {
    if samples.len() < 2 {
        return;
    }
    let mb = |kib: f64| if kib.is_finite() { kib.max(0.0) * 1024.0 / 1e6 } else { 0.0 };
    let reads: Vec<f64> = samples.iter().map(|sample| mb(sample.read_kib_per_s)).collect();
    let writes: Vec<f64> = samples.iter().map(|sample| mb(sample.written_kib_per_s)).collect();
    let most = reads.iter().chain(&writes).copied().fold(0.0, f64::max);
    page.raw(
        "<svg class=\"spark\" role=\"img\" viewBox=\"0 0 240 32\" preserveAspectRatio=\"none\"",
    );
    page.attribute("aria-label", &format!("device throughput, at most {most:.1} MB/s"));
    page.raw(">");
    line(page, "<line class=\"axis\"", (0.0, SPARK_HEIGHT), (SPARK_WIDTH, SPARK_HEIGHT));
    curve(page, "<polyline class=\"reads\"", &reads, most);
    curve(page, "<polyline class=\"writes\"", &writes, most);
    page.raw("</svg>");
    page.element("<p class=\"faint\">", &format!("at most {most:.1} MB/s"), "</p>");
}

fn curve(page: &mut Page, open: &'static str, values: &[f64], most: f64) {
    let group = values.len().div_ceil(SPARK_POINTS);
    let means: Vec<f64> =
        values.chunks(group).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let step = SPARK_WIDTH / (means.len().max(2) - 1) as f64;
    let height = |value: f64| SPARK_HEIGHT - value / most.max(1e-9) * (SPARK_HEIGHT - 1.0);
    let points: Vec<String> = means
        .iter()
        .enumerate()
        .map(|(index, value)| format!("{:.0},{:.1}", index as f64 * step, height(*value)))
        .collect();
    page.raw(open);
    page.attribute("points", &points.join(" "));
    page.raw("/>");
}

#[cfg(test)]
mod tests;
