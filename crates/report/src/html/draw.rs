//! The timeline of a trial inside a table.

use crate::page::Page;
use seekwell_model::record::Sample;

const SPARK_WIDTH: f64 = 240.0;
const SPARK_HEIGHT: f64 = 32.0;
/// Points of a timeline that are drawn; more samples are averaged in pairs and more.
const SPARK_POINTS: usize = 120;

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
    page.raw("<line class=\"axis\" x1=\"0.0\" y1=\"32.0\" x2=\"240.0\" y2=\"32.0\"/>");
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
