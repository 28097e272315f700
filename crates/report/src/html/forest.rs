//! The forest: every stack against the pick, in groups, with one tick per trial.

use super::scale::{Place, Scale};
use crate::answer_text::{Axes, Measure, Standing};
use crate::number::{DASH, exact_percent, ratio};
use crate::page::Page;
use crate::stack_table::{StackRow, StackTable, by_standing};
use crate::trial_ratios::TrialRatios;
use crate::view::RunView;
use seekwell_model::answer::Answer;
use std::collections::BTreeMap;

/// Rows up to which all are shown at once.
const ALL: usize = 20;
/// Rows of a group that are shown of a longer forest.
const CLOSE: usize = 8;
const OTHERS: usize = 3;
/// Letters of a name for which a narrow screen has room in one line.
const NARROW: usize = 20;
/// The same for a wide screen.
const WIDE: usize = 44;

/// Class of the rows of a group.
fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Pick => "pick",
        Standing::AsGood | Standing::Close => "close",
        Standing::Out => "out",
        Standing::Undecided | Standing::NotEligible | Standing::Unmeasured => "none",
    }
}

/// Title of a group with this number of rows.
fn title(standing: Standing, number: usize) -> String {
    match standing {
        Standing::Pick => "Pick".to_owned(),
        Standing::AsGood => format!("As good ({number})"),
        Standing::Close => format!("Too close to call ({number})"),
        Standing::Out => format!("Out ({number})"),
        Standing::Undecided => format!("Without a bound ({number})"),
        Standing::NotEligible => format!("Not eligible: may lose data ({number})"),
        Standing::Unmeasured => format!("No value ({number})"),
    }
}

/// Rows of a group that are shown at first where there are many.
fn first(standing: Standing) -> usize {
    match standing {
        Standing::Pick => 1,
        Standing::AsGood | Standing::Close => CLOSE,
        _ => OTHERS,
    }
}

/// All rows of a run, each with the standing of its stack.
pub(super) struct Forest<'a> {
    view: &'a RunView,
    axes: &'a Axes<'a>,
    /// Unit of the medians.
    unit: &'static str,
    trials: TrialRatios<'a>,
    groups: BTreeMap<Standing, Vec<&'a StackRow>>,
    pub(super) scale: Scale,
}

impl<'a> Forest<'a> {
    pub(super) fn of(
        view: &'a RunView,
        axes: &'a Axes<'a>,
        table: &'a StackTable,
        answer: &Answer,
    ) -> Self {
        Self {
            view,
            axes,
            unit: table.scale.symbol(),
            trials: TrialRatios::of(view),
            groups: by_standing(view, answer, &table.rows),
            scale: Scale::of(table.rows.iter().map(|row| &row.ratio), view.verdict.tie),
        }
    }

    /// The picture as a table.
    pub(super) fn draw(&self, page: &mut Page) {
        let verdict = &self.view.verdict;
        let total: usize = self.groups.values().map(Vec::len).sum();
        let folded = total > ALL;
        let longest = self.groups.values().flatten();
        let longest = longest.map(|row| row.ratio.stack.chars().count()).max().unwrap_or(0);
        page.raw("<section id=\"forest\">\n<h2>");
        page.text(&crate::text::capital(&Measure::of(self.view).heading(verdict)));
        page.text(&match verdict.baseline.as_deref() {
            Some(baseline) if !self.is_pick(baseline) => format!(", relative to {baseline}"),
            Some(_) => ", relative to the pick".to_owned(),
            None => String::new(),
        });
        page.raw(" <small>log scale; each tick is a trial</small></h2>\n");
        if folded {
            let open = "<details id=\"all-stacks\" class=\"more\"><summary>Show all ";
            page.element(open, &total.to_string(), " stacks</summary></details>\n");
        }
        page.raw("<div class=\"scroll\"><table class=\"forest");
        page.raw(match longest {
            0..=NARROW => "",
            n if n <= WIDE => " long",
            _ => " longer",
        });
        page.raw("\">\n<thead><tr><th scope=\"col\">");
        page.text(&self.axes.names().join(" "));
        page.raw("</th><th scope=\"col\" class=\"plot\">");
        self.scale.head(page);
        page.element("</th><th scope=\"col\" class=\"number\">", self.unit, "</th>");
        page.raw("<th scope=\"col\" class=\"number wide\">times</th>");
        let interval = format!("{} interval", exact_percent(verdict.confidence));
        page.element("<th scope=\"col\" class=\"number wide\">", &interval, "</th></tr></thead>\n");
        let grid = self.grid();
        for (standing, rows) in &self.groups {
            let first = first(*standing);
            page.raw("<tbody");
            page.attribute("class", class(*standing));
            page.raw("><tr class=\"group\"><th colspan=\"5\" scope=\"rowgroup\">");
            page.text(&title(*standing, rows.len()));
            if folded && rows.len() > first {
                let open = " <small class=\"first\">the first ";
                page.element(open, &first.to_string(), "</small>");
            }
            page.raw("</th></tr>\n");
            for (number, row) in rows.iter().enumerate() {
                self.row(page, *standing, row, &grid, folded && number >= first);
            }
            page.raw("</tbody>\n");
        }
        page.raw("</table></div>\n");
        self.caption(page);
        page.raw("</section>\n");
    }

    fn is_pick(&self, label: &str) -> bool {
        let mut picks = self.groups.get(&Standing::Pick).into_iter().flatten();
        picks.any(|row| row.ratio.stack == label)
    }

    fn caption(&self, page: &mut Page) {
        let verdict = &self.view.verdict;
        let (confidence, tie) = (exact_percent(verdict.confidence), exact_percent(verdict.tie));
        let together = match self.view.plan.ranked() {
            ranked if ranked > 2 => format!(" that hold for all {ranked} together"),
            _ => String::new(),
        };
        let text = format!(
            "Lines are {confidence} intervals{together}. The band is the lab's tie of {tie}, the difference that does not \
             matter to you."
        );
        page.element("<p class=\"cap\">", &text, "</p>\n");
    }

    /// Vertical lines at the ticks, as a path over 1,000 × 1.
    fn grid(&self) -> String {
        let line = |tick: &f64| format!("M{:.0} 0v1", self.scale.x(*tick) * 10.0);
        self.scale.ticks().iter().skip(1).map(line).collect()
    }

    fn row(&self, page: &mut Page, standing: Standing, row: &StackRow, grid: &str, is_more: bool) {
        page.raw(if is_more { "<tr class=\"extra\">" } else { "<tr>" });
        page.raw("<th scope=\"row\">");
        name(page, self.axes, &row.ratio.stack);
        page.raw("</th><td class=\"plot\">");
        self.plot(page, standing, row, grid);
        page.element("</td><td class=\"number\">", &row.median, "</td>");
        let has_ratio = row.ratio.ratio.is_some();
        page.element("<td class=\"number wide\">", &short(row.ratio.ratio), "</td>");
        let interval = match (row.ratio.low, row.ratio.high) {
            _ if self.view.verdict.baseline.as_deref() == Some(row.ratio.stack.as_str()) => {
                String::new()
            }
            (Some(_), Some(_)) if has_ratio => {
                format!("{} to {}", short(row.ratio.low), short(row.ratio.high))
            }
            _ => DASH.to_owned(),
        };
        page.element("<td class=\"number wide faint\">", &interval, "</td></tr>\n");
    }

    /// The band of the tie, the line at 1, the interval, the ratio in the shape of its group, and a tick for
    /// each trial.
    fn plot(&self, page: &mut Page, standing: Standing, row: &StackRow, grid: &str) {
        let scale = &self.scale;
        let (centre, low, high) = (row.ratio.ratio, row.ratio.low, row.ratio.high);
        page.raw("<svg class=\"plot\" role=\"img\"");
        let text = match (centre, standing) {
            (_, Standing::Pick) => format!("{}, the pick", row.ratio.stack),
            (None, _) => format!("{}: no ratio", row.ratio.stack),
            _ => format!(
                "{}: {} times, {} to {}",
                row.ratio.stack,
                ratio(centre),
                ratio(low),
                ratio(high)
            ),
        };
        page.attribute("aria-label", &text);
        page.raw(">");
        let tie = 1.0 + self.view.verdict.tie;
        let (left, right) = (scale.x(1.0 / tie), scale.x(tie));
        let band = [("x", left), ("width", right - left)];
        page.shape("<rect class=\"band\" height=\"100%\"", &band);
        for (open, x) in [
            ("<line class=\"tie\" y2=\"100%\"", left),
            ("<line class=\"tie\" y2=\"100%\"", right),
            ("<line class=\"one\" y2=\"100%\"", scale.x(1.0)),
        ] {
            page.shape(open, &[("x1", x), ("x2", x)]);
        }
        strokes(
            page,
            "<svg viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\"><path class=\"grid\"",
            grid,
        );
        let ticks: String = self
            .trials
            .of_stack(&row.ratio.stack)
            .into_iter()
            .map(|tick| format!("M{:.0} 0v1", scale.x(tick) * 10.0))
            .collect();
        strokes(
            page,
            "<svg y=\"68%\" height=\"24%\" viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\"><path class=\"trial\"",
            &ticks,
        );
        let drawable = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
        if let (Some(low), Some(high), false) = (drawable(low), drawable(high), low == high) {
            self.whisker(page, low, high);
        }
        if let Some(centre) = drawable(centre) {
            mark(page, class(standing), scale.x(centre));
        }
        page.raw("</svg>");
    }

    /// The interval; an end that is cut has an arrow.
    fn whisker(&self, page: &mut Page, low: f64, high: f64) {
        let (from, to) = (self.scale.place(low), self.scale.place(high));
        let ends = [("x1", from.percent()), ("x2", to.percent())];
        page.shape("<line class=\"whisker\" y1=\"45%\" y2=\"45%\"", &ends);
        for (end, arrow) in [(from, "M7 -5L1 0L7 5"), (to, "M-7 -5L-1 0L-7 5")] {
            if let Place::Cut(percent) = end {
                page.raw("<svg class=\"mark\" y=\"45%\"");
                page.percent("x", percent);
                page.raw("><path class=\"arrow\"");
                page.attribute("d", arrow);
                page.raw("/></svg>");
            }
        }
    }
}

/// Lines in a box of 1,000 × 1 that stretches; nothing where there are none.
fn strokes(page: &mut Page, open: &'static str, path: &str) {
    if path.is_empty() {
        return;
    }
    page.raw(open);
    page.attribute("d", path);
    page.raw("/></svg>");
}

/// The mark of a ratio: a dot for the pick, a ring for what is close, a square for what is out.
fn mark(page: &mut Page, class: &'static str, x: f64) {
    page.raw(match class {
        "out" => "<svg class=\"mark\" y=\"45%\"",
        _ => "<circle class=\"mark\" cy=\"45%\" r=\"5\"",
    });
    page.percent(if class == "out" { "x" } else { "cx" }, x);
    page.raw(match class {
        "out" => "><rect x=\"-4.5\" y=\"-4.5\" width=\"9\" height=\"9\"/></svg>",
        _ => "/>",
    });
}

/// A ratio with two decimals, as few as tell it from 1.
fn short(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => DASH.to_owned(),
        Some(value) if value >= 999.5 => ">999".to_owned(),
        Some(value) if value < 0.0005 => "<0.001".to_owned(),
        Some(value) if value >= 99.5 => format!("{value:.0}"),
        Some(value) if value >= 9.995 => format!("{value:.1}"),
        Some(value) if value < 0.1 => format!("{value:.3}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// The values of a stack as words, the first one strong; the label of a stack that has its own.
fn name(page: &mut Page, axes: &Axes<'_>, label: &str) {
    let own = [label];
    let values = axes.values(label).filter(|values| !values.is_empty()).unwrap_or(&own);
    let head = axes.names().iter().position(|name| *name == "filesystem").unwrap_or(0);
    for (number, value) in values.iter().enumerate() {
        let strong = number == head || values.len() == 1;
        if number > 0 {
            page.raw(" ");
        }
        let (open, close) = if strong { ("<b>", "</b>") } else { ("<span>", "</span>") };
        page.element(open, value, close);
    }
}
