//! Shapes of a drawing. Everything about their look is in attributes of their own.

use crate::page::Page;

/// Colours that remain distinguishable with red-green colour blindness.
const COLOURS: [&str; 4] = ["#1f6fb8", "#c8590b", "#5b8c2a", "#8a4fa3"];
/// Dashes, for print without colours.
const DASHES: [&str; 4] = ["none", "6 3", "2 3", "8 3 2 3"];

pub(super) fn open(page: &mut Page, width: f64, height: f64, what: &str) {
    page.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\"");
    page.attribute("viewBox", &format!("0 0 {width:.0} {height:.0}"));
    page.coordinate("width", width);
    page.coordinate("height", height);
    page.attribute("aria-label", what);
    page.raw(">");
}

pub(super) fn line(page: &mut Page, from: (f64, f64), to: (f64, f64)) {
    page.raw("<line stroke=\"#888888\" stroke-opacity=\"0.35\"");
    page.coordinate("x1", from.0);
    page.coordinate("y1", from.1);
    page.coordinate("x2", to.0);
    page.coordinate("y2", to.1);
    page.raw("/>");
}

pub(super) fn polyline(page: &mut Page, index: usize, corners: &[(f64, f64)]) {
    let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    page.raw("<polyline fill=\"none\" stroke-width=\"2\"");
    page.attribute("stroke", COLOURS[index % COLOURS.len()]);
    page.attribute("stroke-dasharray", DASHES[index % DASHES.len()]);
    page.attribute("points", &corners.join(" "));
    page.raw("/>");
}

pub(super) fn label(page: &mut Page, at: (f64, f64), anchor: &'static str, text: &str) {
    page.raw("<text fill=\"currentColor\"");
    page.coordinate("x", at.0);
    page.coordinate("y", at.1);
    page.attribute("text-anchor", anchor);
    page.raw(">");
    page.text(text);
    page.raw("</text>");
}
