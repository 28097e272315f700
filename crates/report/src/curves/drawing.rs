//! Charts as SVG. Everything about their look is in attributes of their own, so that they are the
//! same in a page and as a file.

use super::{Axes, at, axis_of, decade, points, titles};
use crate::number::quantity;
use crate::page::Page;
use seekwell_model::bench::{Curve, Surface};
use seekwell_model::metrics::Unit;
use seekwell_model::units::Bytes;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
/// Height of one line of the legend.
const LINE: f64 = 18.0;

/// Colours that remain distinguishable with red-green colour blindness.
const COLOURS: [&str; 4] = ["#1f6fb8", "#c8590b", "#5b8c2a", "#8a4fa3"];
/// Dashes, for print without colours.
const DASHES: [&str; 4] = ["none", "6 3", "2 3", "8 3 2 3"];

/// Speed over block size or threads: one line for each curve, with a legend.
pub(crate) fn svg(page: &mut Page, curves: &[Curve]) {
    let Some(axes) = Axes::around(curves) else { return };
    let axis = axis_of(curves);
    let height = HEIGHT + LINE * curves.len() as f64;
    open(page, WIDTH, height, "speed over block size or threads, logarithmic axes");
    let x = |value: f64| LEFT + axes.x(value) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - axes.y(value) * (HEIGHT - TOP - BOTTOM);
    for value in axes.decades() {
        line(page, (LEFT, y(value)), (WIDTH - RIGHT, y(value)));
        label(page, (LEFT - 6.0, y(value) + 4.0), "end", &decade(value));
    }
    let mut ticks: Vec<u64> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.at)).collect();
    ticks.sort_unstable();
    ticks.dedup();
    // Labels must not touch each other.
    let every = ticks.len().div_ceil(10).max(1);
    for tick in ticks.iter().step_by(every) {
        let place = x(*tick as f64);
        line(page, (place, TOP), (place, HEIGHT - BOTTOM));
        label(page, (place, HEIGHT - BOTTOM + 16.0), "middle", &at(axis, *tick));
    }
    let (x_title, y_title) = titles(axis);
    label(page, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0), "middle", x_title);
    label(page, (LEFT - 6.0, TOP - 8.0), "end", y_title);
    for (index, curve) in curves.iter().enumerate() {
        let corners: Vec<(f64, f64)> = points(curve).map(|(at, speed)| (x(at), y(speed))).collect();
        polyline(page, index, &corners);
        let below = HEIGHT + LINE * index as f64;
        polyline(page, index, &[(LEFT, below), (LEFT + 40.0, below)]);
        label(page, (LEFT + 50.0, below + 4.0), "start", &legend(curve));
    }
    page.raw("</svg>\n");
}

fn legend(curve: &Curve) -> String {
    match curve.seek_time_ns {
        Some(ns) => {
            format!("{}, seek time {}", curve.target, quantity(Some(Unit::Nanoseconds), ns))
        }
        None => curve.target.clone(),
    }
}

/// Throughput over file and record size: the darker, the faster, on the logarithmic scale of the
/// heat maps in the page's program.
pub(crate) fn heat_map(page: &mut Page, surface: &Surface) {
    const CELL: (f64, f64) = (58.0, 26.0);
    const HEAD: (f64, f64) = (80.0, 50.0);
    let all = surface.mb_per_s.iter().flatten().flatten().copied();
    let (low, high) = all
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let columns = surface.records.len() as f64;
    let rows = surface.files.len() as f64;
    let size = (HEAD.0 + CELL.0 * columns + 10.0, HEAD.1 + CELL.1 * rows + 10.0);
    open(page, size.0, size.1, "MB/s over file size and record size");
    let title = format!("{}: MB/s, file size down, record size across", surface.pass);
    label(page, (6.0, 16.0), "start", &title);
    for (column, record) in surface.records.iter().enumerate() {
        let middle = HEAD.0 + CELL.0 * (column as f64 + 0.5);
        label(page, (middle, HEAD.1 - 8.0), "middle", &Bytes(*record).to_string());
    }
    for (row, file) in surface.files.iter().enumerate() {
        let top = HEAD.1 + CELL.1 * row as f64;
        label(page, (HEAD.0 - 6.0, top + 17.0), "end", &Bytes(*file).to_string());
        for (column, speed) in surface.mb_per_s[row].iter().enumerate() {
            let Some(speed) = speed.filter(|speed| *speed > 0.0) else { continue };
            let left = HEAD.0 + CELL.0 * column as f64;
            let span = (high / low).ln();
            let share = if span > 0.0 { (speed / low).ln() / span } else { 0.5 };
            page.raw("<rect");
            for (name, value) in
                [("x", left), ("y", top), ("width", CELL.0 - 2.0), ("height", CELL.1 - 2.0)]
            {
                page.coordinate(name, value);
            }
            page.attribute("fill", COLOURS[0]);
            page.attribute("fill-opacity", &format!("{:.2}", 0.08 + 0.6 * share));
            page.raw("/>");
            let text = quantity(None, speed);
            label(page, (left + CELL.0 / 2.0 - 1.0, top + 17.0), "middle", &text);
        }
    }
    page.raw("</svg>\n");
}

pub(crate) fn open(page: &mut Page, width: f64, height: f64, what: &str) {
    page.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\"");
    page.attribute("viewBox", &format!("0 0 {width:.0} {height:.0}"));
    page.coordinate("width", width);
    page.coordinate("height", height);
    page.attribute("aria-label", what);
    page.raw(">");
}

pub(crate) fn line(page: &mut Page, from: (f64, f64), to: (f64, f64)) {
    page.raw("<line stroke=\"#888888\" stroke-opacity=\"0.35\"");
    page.coordinate("x1", from.0);
    page.coordinate("y1", from.1);
    page.coordinate("x2", to.0);
    page.coordinate("y2", to.1);
    page.raw("/>");
}

pub(crate) fn polyline(page: &mut Page, index: usize, corners: &[(f64, f64)]) {
    let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    page.raw("<polyline fill=\"none\" stroke-width=\"2\"");
    page.attribute("stroke", COLOURS[index % COLOURS.len()]);
    page.attribute("stroke-dasharray", DASHES[index % DASHES.len()]);
    page.attribute("points", &corners.join(" "));
    page.raw("/>");
}

pub(crate) fn label(page: &mut Page, at: (f64, f64), anchor: &'static str, text: &str) {
    page.raw("<text fill=\"currentColor\"");
    page.coordinate("x", at.0);
    page.coordinate("y", at.1);
    page.attribute("text-anchor", anchor);
    page.raw(">");
    page.text(text);
    page.raw("</text>");
}
