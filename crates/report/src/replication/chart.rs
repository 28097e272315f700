//! A drawing of every value over its published one.

use crate::page::Page;
use seekwell_model::replication::{StudyOutcome, ValueOutcome};

/// Width of a drawing, and height of one of its rows.
const WIDTH: f64 = 720.0;
const ROW: f64 = 18.0;
/// x of the end of the names and of the start of the ratios in words.
const LEFT: f64 = 280.0;
const RIGHT: f64 = 660.0;
/// Ratios from 1/4 to 4 have their own position; others are drawn at the edge.
const EDGE: f64 = 2.0;

/// Every measured value of a study over its published one as an SVG file; `None` when nothing was measured.
#[must_use]
pub fn replication_chart(study: &StudyOutcome) -> Option<String> {
    let mut page = Page::fragment();
    draw(&mut page, study).then(|| page.into_text())
}

/// The drawing: a line per value on a logarithmic axis, its interval, and the range of what no value
/// determines; what differs by more than 10 % in red. Says whether there is anything to draw.
pub(super) fn draw(page: &mut Page, study: &StudyOutcome) -> bool {
    let shown: Vec<(&ValueOutcome, f64)> = study
        .values
        .iter()
        .filter_map(|value| Some((value, value.ratio.filter(|ratio| *ratio > 0.0)?)))
        .collect();
    if shown.is_empty() {
        return false;
    }
    let height = ROW * (shown.len() as f64 + 1.0);
    page.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"sans-serif\"");
    page.attribute("viewBox", &format!("0 0 {WIDTH:.0} {height:.0}"));
    page.coordinate("width", WIDTH);
    page.coordinate("height", height);
    page.attribute("aria-label", "measured over published, one line per value");
    page.raw("><rect fill=\"#ffffff\" x=\"0\" y=\"0\"");
    page.coordinate("width", WIDTH);
    page.coordinate("height", height);
    page.raw("/>");
    for mark in [0.25, 0.5, 1.0, 2.0, 4.0] {
        line(page, "#bbbbbb", [at(mark), 0.0, at(mark), height - ROW]);
        label(page, at(mark) - 8.0, height - 4.0, &format!("{mark}×"));
    }
    for (index, (value, ratio)) in shown.iter().enumerate() {
        row(page, ROW * (index as f64 + 0.5), value, *ratio);
    }
    page.raw("</svg>\n");
    true
}

/// Place of a ratio from left to right.
fn at(ratio: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * (ratio.log2().clamp(-EDGE, EDGE) + EDGE) / (2.0 * EDGE)
}

fn row(page: &mut Page, y: f64, value: &ValueOutcome, ratio: f64) {
    let colour = if value.agrees() == Some(false) { "#b00020" } else { "#222222" };
    label(page, 0.0, y + 4.0, &value.id);
    let over = |bound: f64| bound / value.published;
    if let Some([low, high]) = value.range.filter(|[low, _]| *low > 0.0) {
        line(page, "#8888cc", [at(over(low)), y + 4.0, at(over(high)), y + 4.0]);
    }
    if let Some(found) = value.measured.filter(|found| found.low > 0.0) {
        line(page, colour, [at(over(found.low)), y, at(over(found.high)), y]);
    }
    page.raw("<circle r=\"4\"");
    page.attribute("fill", colour);
    page.coordinate("cx", at(ratio));
    page.coordinate("cy", y);
    page.raw("/>");
    label(page, RIGHT + 16.0, y + 4.0, &format!("{ratio:.2}"));
}

fn line(page: &mut Page, colour: &str, [x1, y1, x2, y2]: [f64; 4]) {
    page.raw("<line");
    page.attribute("stroke", colour);
    page.coordinate("x1", x1);
    page.coordinate("y1", y1);
    page.coordinate("x2", x2);
    page.coordinate("y2", y2);
    page.raw("/>");
}

fn label(page: &mut Page, x: f64, y: f64, text: &str) {
    page.raw("<text font-size=\"11\" fill=\"#222222\"");
    page.coordinate("x", x);
    page.coordinate("y", y);
    page.raw(">");
    page.text(text);
    page.raw("</text>");
}
