//! The picture of a study: published numbers and ours in one drawing.

use crate::page::Page;
use seekwell_model::replication::{Bar, Line, Panel, Quantity, StudyOutcome, three_digits};

type Measured = Panel<Quantity>;

const WIDTH: f64 = 720.0;
/// x of the ends of the bars' names, of the start of the bars, of the end of the longest, and of the ends of the numbers.
const NAMES: f64 = 218.0;
const LEFT: f64 = 226.0;
const RIGHT: f64 = 570.0;
const PUBLISHED_NUMBERS: f64 = 645.0;
const OUR_NUMBERS: f64 = 715.0;
/// Heights of a title, of the two bars of a name, and of one bar.
const TITLE: f64 = 26.0;
const ROW: f64 = 25.0;
const BAR: f64 = 8.0;
/// Height of the lines of a panel with their ticks, and x of their ends.
const PLOT: f64 = 200.0;
const TICKS: f64 = 18.0;
const PLOT_LEFT: f64 = 44.0;
const PLOT_RIGHT: f64 = 480.0;
/// Distance of the names of lines.
const NAME: f64 = 14.0;

const PUBLISHED: &str = "#9a9a9a";
const OURS: &str = "#1f5fa8";
const INK: &str = "#222222";
/// Colours of our lines.
const LINES: [&str; 4] = [OURS, "#c05a00", "#2e7d32", "#7b3fa0"];

/// Draws the picture of a study as an SVG file; `None` when nothing of it was measured.
#[must_use]
pub fn replication_chart(study: &StudyOutcome) -> Option<String> {
    let panels = &study.page.panels;
    let is_measured = |panel: &Measured| {
        panel.bars.iter().any(|bar| bar.ours.is_some())
            || panel.lines.iter().any(|line| !line.published && !line.at.is_empty())
    };
    if !panels.iter().any(is_measured) {
        return None;
    }
    let mut page = Page::fragment();
    let total = TITLE + panels.iter().map(height).sum::<f64>();
    page.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"sans-serif\"");
    page.attribute("viewBox", &format!("0 0 {WIDTH:.0} {total:.0}"));
    page.attribute("aria-label", &format!("{}: published and measured", study.title));
    page.raw(">");
    rectangle(&mut page, "#ffffff", "none", [0.0, 0.0, WIDTH, total]);
    legend(&mut page);
    let mut top = TITLE;
    for panel in panels {
        text(&mut page, "bold", "start", [0.0, top + 17.0], &title(panel));
        if !panel.bars.is_empty() {
            text(&mut page, "normal", "end", [PUBLISHED_NUMBERS, top + 17.0], "published");
            text(&mut page, "normal", "end", [OUR_NUMBERS, top + 17.0], "ours");
        }
        bars(&mut page, &panel.bars, top + TITLE);
        lines(&mut page, panel, top + TITLE + ROW * panel.bars.len() as f64);
        top += height(panel);
    }
    page.raw("</svg>\n");
    Some(page.into_text())
}

/// The quantity of a panel with its unit.
pub(super) fn title(panel: &Measured) -> String {
    match panel.unit.as_str() {
        "" => panel.title.clone(),
        unit => format!("{} ({unit})", panel.title),
    }
}

fn height(panel: &Measured) -> f64 {
    let plot = if panel.lines.is_empty() { 0.0 } else { PLOT + TICKS };
    TITLE + ROW * panel.bars.len() as f64 + plot
}

fn legend(page: &mut Page) {
    let parts = [
        (PUBLISHED, PUBLISHED, "published"),
        (OURS, OURS, "ours, predicted"),
        ("#ffffff", OURS, "ours, fitted or changed after a miss"),
    ];
    let mut x = LEFT;
    for (fill, stroke, words) in parts {
        rectangle(page, fill, stroke, [x, 8.0, 16.0, BAR]);
        text(page, "normal", "start", [x + 21.0, 16.0], words);
        x += 40.0 + 6.0 * words.len() as f64;
    }
}

fn bars(page: &mut Page, bars: &[Bar<Quantity>], top: f64) {
    let high = |bar: &Bar<Quantity>| bar.ours.map_or(0.0, |found| found.high);
    let most = bars
        .iter()
        .map(|bar| high(bar).max(bar.published.unwrap_or_default()))
        .fold(f64::MIN_POSITIVE, f64::max);
    let width = |value: f64| (RIGHT - LEFT) * (value / most).clamp(0.0, 1.0);
    for (index, bar) in bars.iter().enumerate() {
        let y = top + ROW * index as f64 + 4.0;
        text(page, "normal", "end", [NAMES, y + 12.0], &bar.name);
        match (bar.published, &bar.says) {
            (Some(published), _) => {
                rectangle(page, PUBLISHED, PUBLISHED, [LEFT, y, width(published), BAR]);
                let number = three_digits(published);
                text(page, "normal", "end", [PUBLISHED_NUMBERS, y + 12.0], &number);
            }
            (None, Some(words)) => {
                text(page, "normal", "start", [LEFT, y + 6.0], &format!("study: {words}"));
            }
            (None, None) => {}
        }
        let y = y + BAR;
        let Some(found) = bar.ours else {
            text(page, "normal", "end", [OUR_NUMBERS, y + 4.0], "not measured");
            continue;
        };
        let fill = if bar.fitted { "#ffffff" } else { OURS };
        rectangle(page, fill, OURS, [LEFT, y, width(found.centre), BAR]);
        let middle = y + BAR / 2.0;
        stroke(page, INK, [LEFT + width(found.low), middle, LEFT + width(found.high), middle]);
        let number = three_digits(found.centre);
        text(page, "normal", "end", [OUR_NUMBERS, y + 4.0], &number);
    }
}

/// Lines on logarithmic axes, with their names on the right.
fn lines(page: &mut Page, panel: &Measured, top: f64) {
    let values = || panel.lines.iter().flat_map(|line| line.at.values()).map(|at| at.centre);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    if panel.ticks.len() < 2 || low <= 0.0 || low >= high {
        return;
    }
    let bottom = top + PLOT;
    let x = |tick: usize| {
        PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * tick as f64 / (panel.ticks.len() - 1) as f64
    };
    let y = |value: f64| bottom - PLOT * (value / low).ln() / (high / low).ln();
    for decade in -6..9 {
        for step in [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)) {
            if (low..=high).contains(&step) {
                stroke(page, "#dddddd", [PLOT_LEFT, y(step), PLOT_RIGHT, y(step)]);
                text(page, "normal", "end", [PLOT_LEFT - 6.0, y(step) + 4.0], &step.to_string());
            }
        }
    }
    for (tick, name) in panel.ticks.iter().enumerate().step_by(2) {
        text(page, "normal", "middle", [x(tick), bottom + 14.0], name);
    }
    let points = |line: &Line<Quantity>| {
        let ticks = panel.ticks.iter().enumerate();
        let known =
            |(index, tick): (usize, &String)| Some([x(index), y(line.at.get(tick)?.centre)]);
        ticks.filter_map(known).collect::<Vec<_>>()
    };
    let mut names: Vec<(f64, &str, &Line<Quantity>)> = Vec::new();
    let mut colours = LINES.iter().cycle();
    for line in &panel.lines {
        let points = points(line);
        let Some([_, end]) = points.last().copied() else { continue };
        let colour = if line.published { INK } else { colours.next().copied().unwrap_or(OURS) };
        if !line.published {
            for pair in points.windows(2) {
                stroke(page, colour, [pair[0][0], pair[0][1], pair[1][0], pair[1][1]]);
            }
        }
        points.iter().for_each(|at| circle(page, colour, line.published, *at));
        names.push((end, colour, line));
    }
    names.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut free = top;
    for (end, colour, line) in names {
        let y = end.max(free);
        free = y + NAME;
        circle(page, colour, line.published, [PLOT_RIGHT + 20.0, y]);
        text(page, "normal", "start", [PLOT_RIGHT + 28.0, y + 4.0], &line.name);
    }
}

fn rectangle(page: &mut Page, fill: &str, edge: &str, [x, y, width, height]: [f64; 4]) {
    let numbers = [("x", x), ("y", y), ("width", width), ("height", height)];
    shape(page, "<rect", &[("fill", fill), ("stroke", edge)], &numbers);
}

/// A published point is hollow, a measured one filled.
fn circle(page: &mut Page, colour: &str, hollow: bool, [x, y]: [f64; 2]) {
    let (radius, fill) = if hollow { ("5", "none") } else { ("2.5", colour) };
    let words = [("r", radius), ("fill", fill), ("stroke", colour)];
    shape(page, "<circle", &words, &[("cx", x), ("cy", y)]);
}

fn stroke(page: &mut Page, colour: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let numbers = [("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)];
    shape(page, "<line", &[("stroke", colour)], &numbers);
}

fn shape(
    page: &mut Page,
    open: &'static str,
    words: &[(&'static str, &str)],
    numbers: &[(&'static str, f64)],
) {
    page.raw(open);
    words.iter().for_each(|(name, word)| page.attribute(name, word));
    numbers.iter().for_each(|(name, number)| page.coordinate(name, *number));
    page.raw("/>");
}

fn text(page: &mut Page, weight: &str, anchor: &str, [x, y]: [f64; 2], words: &str) {
    page.raw("<text font-size=\"11\" fill=\"#222222\"");
    page.attribute("font-weight", weight);
    page.attribute("text-anchor", anchor);
    page.coordinate("x", x);
    page.coordinate("y", y);
    page.element(">", words, "</text>\n");
}
