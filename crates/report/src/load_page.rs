//! A page about a recorded load: sentences, pictures and its text.

mod drawing;

use crate::number::quantity;
use crate::page::Page;
use drawing::{label, line, open, polyline};
use seekwell_model::metrics::Unit;
use seekwell_model::units::Bytes;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
const COLOUR: &str = "#1f6fb8";

/// A recorded load.
#[derive(Clone, Debug, Default)]
pub struct LoadPage {
    /// Name of the trace.
    pub title: String,
    /// Sentences about it.
    pub sentences: Vec<String>,
    /// Its numbers as text.
    pub text: String,
    /// Drawings.
    pub pictures: Vec<LoadPicture>,
}

/// A drawing of a load.
#[derive(Clone, Debug)]
pub enum LoadPicture {
    /// Rates over time.
    Time {
        /// Title.
        title: String,
        /// Length of a step.
        step_ns: u64,
        /// Name of each line and its value of each step.
        lines: Vec<(String, Vec<f64>)>,
        /// Unit of the values.
        unit: Unit,
    },
    /// Accesses by time and place: the darker, the more.
    Places {
        /// Title.
        title: String,
        /// Length of a step of time.
        step_ns: u64,
        /// Length of a step of places, bytes.
        step_bytes: u64,
        /// Accesses, by step of time and then by step of places.
        accesses: Vec<Vec<u64>>,
    },
    /// Accesses by size and duration, both by powers of two: the darker, the more.
    Heat {
        /// Title.
        title: String,
        /// Power of two of the sizes in the first column, bytes.
        size: u32,
        /// Power of two of the durations in the first row, nanoseconds.
        duration: u32,
        /// Accesses, by size and then by duration.
        accesses: Vec<Vec<u64>>,
    },
    /// Shares of accesses that miss, by the size of a cache in bytes.
    Misses {
        /// Title.
        title: String,
        /// Size and share, from the smallest cache on.
        points: Vec<(u64, f64)>,
    },
}

/// The load as one page that asks nothing of any network.
#[must_use]
pub fn load_html(load: &LoadPage) -> String {
    let mut page = Page::new(&load.title);
    page.element("<h1>", &load.title, "</h1>\n");
    for sentence in &load.sentences {
        page.element("<p>", sentence, "</p>\n");
    }
    for picture in &load.pictures {
        match picture {
            LoadPicture::Time { title, step_ns, lines, unit } => {
                page.element("<h2>", title, "</h2>\n");
                over_time(&mut page, *step_ns, lines, *unit);
            }
            LoadPicture::Places { title, step_ns, step_bytes, accesses } => {
                page.element("<h2>", title, "</h2>\n");
                places(&mut page, *step_ns, *step_bytes, accesses);
            }
            LoadPicture::Heat { title, size, duration, accesses } => {
                page.element("<h2>", title, "</h2>\n");
                heat(&mut page, *size, *duration, accesses);
            }
            LoadPicture::Misses { title, points } => {
                page.element("<h2>", title, "</h2>\n");
                misses(&mut page, points);
            }
        }
    }
    page.element("<h2>", "Numbers", "</h2>\n");
    page.element("<pre>", &load.text, "</pre>\n");
    page.finish()
}

/// Place of a share of the drawing's width and height; 0 is left and below.
fn x(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

fn nanoseconds(ns: f64) -> String {
    quantity(Some(Unit::Nanoseconds), ns)
}

fn over_time(page: &mut Page, step_ns: u64, lines: &[(String, Vec<f64>)], unit: Unit) {
    let steps = lines.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let high =
        lines.iter().flat_map(|(_, values)| values).fold(0.0_f64, |high, one| high.max(*one));
    open(page, WIDTH, HEIGHT, "load over time");
    frame(page, &nanoseconds(step_ns as f64 * steps as f64), "0");
    label(page, (LEFT - 6.0, y(1.0) + 4.0), "end", &quantity(Some(unit), high));
    label(page, (LEFT - 6.0, y(0.0) + 4.0), "end", "0");
    let scale = |value: f64| if high > 0.0 { value / high } else { 0.0 };
    for (nth, (name, values)) in lines.iter().enumerate() {
        let place = |(at, value): (usize, &f64)| {
            (x((at as f64 + 0.5) / steps.max(1) as f64), y(scale(*value)))
        };
        polyline(page, nth, &values.iter().enumerate().map(place).collect::<Vec<_>>());
        let from = LEFT + 160.0 * nth as f64;
        polyline(page, nth, &[(from, 10.0), (from + 30.0, 10.0)]);
        label(page, (from + 36.0, 14.0), "start", name);
    }
    page.raw("</svg>\n");
}

fn places(page: &mut Page, step_ns: u64, step_bytes: u64, accesses: &[Vec<u64>]) {
    let (columns, rows) = extent(accesses);
    open(page, WIDTH, HEIGHT, "accesses over time and place");
    frame(page, &nanoseconds(step_ns as f64 * columns), "0");
    let end = step_bytes.saturating_mul(rows as u64);
    label(page, (LEFT - 6.0, y(1.0) + 4.0), "end", &Bytes(end).to_string());
    label(page, (LEFT - 6.0, y(0.0) + 4.0), "end", "0");
    cells(page, accesses);
    page.raw("</svg>\n");
}

fn heat(page: &mut Page, size: u32, duration: u32, accesses: &[Vec<u64>]) {
    let (columns, rows) = extent(accesses);
    let power = |from: u32, steps: f64| 2.0_f64.powf(f64::from(from) + steps);
    open(page, WIDTH, HEIGHT, "accesses by size and duration");
    let bytes = |value: f64| Bytes(value as u64).to_string();
    frame(page, &bytes(power(size, columns)), &bytes(power(size, 0.0)));
    label(page, (LEFT - 6.0, y(1.0) + 4.0), "end", &nanoseconds(power(duration, rows)));
    label(page, (LEFT - 6.0, y(0.0) + 4.0), "end", &nanoseconds(power(duration, 0.0)));
    cells(page, accesses);
    page.raw("</svg>\n");
}

/// Columns and rows.
fn extent(accesses: &[Vec<u64>]) -> (f64, f64) {
    let rows = accesses.iter().map(Vec::len).max().unwrap_or(0);
    (accesses.len().max(1) as f64, rows.max(1) as f64)
}

/// A rectangle for each step of both axes with an access: the darker, the more.
fn cells(page: &mut Page, accesses: &[Vec<u64>]) {
    let (columns, rows) = extent(accesses);
    let high = accesses.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    for (column, counts) in accesses.iter().enumerate() {
        for (row, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // A single access has to be seen.
            let share = if high > 1.0 { (*count as f64).ln() / high.ln() } else { 1.0 };
            page.raw("<rect");
            for (name, value) in [
                ("x", x(column as f64 / columns)),
                ("y", y((row as f64 + 1.0) / rows)),
                ("width", (x(1.0) - x(0.0)) / columns),
                ("height", ((y(0.0) - y(1.0)) / rows).max(1.0)),
            ] {
                page.coordinate(name, value);
            }
            page.attribute("fill", COLOUR);
            page.attribute("fill-opacity", &format!("{:.2}", 0.25 + 0.75 * share));
            page.raw("/>");
        }
    }
}

fn misses(page: &mut Page, points: &[(u64, f64)]) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let width = (last.0 as f64 / first.0 as f64).ln();
    let place =
        |size: u64| if width > 0.0 { (size as f64 / first.0 as f64).ln() / width } else { 0.5 };
    open(page, WIDTH, HEIGHT, "share of misses over the size of a cache");
    frame(page, &Bytes(last.0).to_string(), &Bytes(first.0).to_string());
    label(page, (LEFT - 6.0, y(1.0) + 4.0), "end", "100 %");
    label(page, (LEFT - 6.0, y(0.0) + 4.0), "end", "0 %");
    let corners: Vec<_> = points.iter().map(|(size, share)| (x(place(*size)), y(*share))).collect();
    polyline(page, 0, &corners);
    page.raw("</svg>\n");
}

/// The axes, with the names of both ends of the lower one.
fn frame(page: &mut Page, end: &str, start: &str) {
    line(page, (x(0.0), y(1.0)), (x(0.0), y(0.0)));
    line(page, (x(0.0), y(0.0)), (x(1.0), y(0.0)));
    label(page, (x(0.0), HEIGHT - BOTTOM + 18.0), "start", start);
    label(page, (x(1.0), HEIGHT - BOTTOM + 18.0), "end", end);
}

#[cfg(test)]
mod tests;
