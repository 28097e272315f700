//! Runs over time as one page.

use super::{OverTime, PastRun, RUN_COLUMNS, Row};
use crate::compare_text::{cells, scale};
use crate::number::exact_percent;
use crate::page::Page;
use crate::text::{capital, glued};
use seekwell_model::comparison::Change;

/// Rows that are shown at first.
const ROWS: usize = 20;
/// Longest interval that the scale makes room for, as a multiple of the largest change.
const LONGEST: f64 = 1.25;

impl OverTime<'_> {
    /// One page that opens from a file and asks nothing of any network.
    #[must_use]
    pub fn html(&self) -> String {
        let said = self.sentence();
        let PastRun { lab, question, .. } = self.latest();
        let mut page = Page::new(&format!("{lab}: {said}"));
        page.raw("<div id=\"answer\">\n<header>\n<p class=\"facts\"><b>");
        page.element("", &capital(if question.is_empty() { lab } else { question }), "</b> <span>");
        page.element("", &format!("{lab} \u{b7} {} runs", self.runs.len()), "</span></p>\n");
        page.element("<h1>", &glued(&said), "</h1>\n");
        if let Some(more) = self.others() {
            page.element("<p class=\"said\">", &more, "</p>\n");
        }
        page.element("<p class=\"said basis\">", &self.basis(), "</p>\n");
        if let Some(doubt) = self.doubt() {
            page.element("<p class=\"main-doubt\"><b>Main doubt</b> ", &glued(&doubt), "</p>\n");
        }
        page.raw("</header>\n<div class=\"cols\">\n");
        self.trends(&mut page);
        page.raw("</div>\n</div>\n<h2>Runs</h2>\n");
        self.list(&mut page);
        let differences = self.differences();
        if !differences.is_empty() {
            page.raw("<h2>Not the same as in the first run</h2>\n");
            page.list(&differences);
        }
        page.finish()
    }

    /// The runs, one row each.
    fn list(&self, page: &mut Page) {
        page.raw("<div class=\"scroll\"><table class=\"list\"><thead><tr>");
        RUN_COLUMNS.iter().for_each(|(title, is_number)| page.column(title, *is_number));
        page.raw("</tr></thead><tbody>\n");
        for (number, run) in (1..).zip(self.runs) {
            page.raw("<tr>");
            for ((at, text), (_, is_number)) in
                run.cells(number).iter().enumerate().zip(RUN_COLUMNS)
            {
                match at {
                    0 => page.element("<th scope=\"row\" class=\"number\">", text, "</th>"),
                    _ => page.cell(text, is_number),
                }
            }
            page.raw("</tr>\n");
        }
        page.raw("</tbody></table></div>\n");
    }

    /// Every stack with a small line over the runs.
    fn trends(&self, page: &mut Page) {
        let (rows, scale) = (self.rows(), scale(self.last));
        page.raw("<section id=\"forest\">\n<h2>");
        page.text(&capital(&self.latest().heading));
        page.raw(", relative to the first run <small>log scale; up is worse</small></h2>\n");
        let is_folded = rows.len() > ROWS;
        if is_folded {
            page.raw("<details id=\"all-stacks\" class=\"more\"><summary>");
            page.element("Show all ", &rows.len().to_string(), " stacks</summary></details>\n");
        }
        page.raw("<div class=\"scroll\"><table class=\"forest trends long\">\n<thead><tr><th scope=\"col\">stack</th>");
        page.raw("<th scope=\"col\" class=\"plot\"><svg class=\"plot\" aria-hidden=\"true\">");
        let every = self.runs.len().div_ceil(10);
        for number in (1..=self.runs.len()).step_by(every) {
            page.raw("<text class=\"tick\" y=\"13\" text-anchor=\"middle\"");
            page.percent("x", across(number - 1, self.runs.len()));
            page.element(">", &format!("run {number}"), "</text>");
        }
        page.raw("</svg></th>");
        for title in ["first", "last"] {
            let title = format!("{title} {}", scale.symbol());
            page.element("<th scope=\"col\" class=\"number wide\">", title.trim_end(), "</th>");
        }
        page.raw("<th scope=\"col\" class=\"number\">times</th><th scope=\"col\" class=\"number wide\">interval</th>");
        page.raw("</tr></thead>\n<tbody>\n");
        let reach = reach(&rows, self.last.tie);
        for (number, row) in rows.iter().enumerate() {
            page.raw("<tr");
            page.attribute("class", &class(row, is_folded && number >= ROWS));
            page.raw(">");
            let all = cells(row.last, scale);
            page.element("<th scope=\"row\"><b>", &all[0], "</b></th><td class=\"plot\">");
            self.plot(page, row, reach);
            page.raw("</td>");
            page.element("<td class=\"number wide\">", &all[1], "</td>");
            page.element("<td class=\"number wide\">", &all[2], "</td>");
            page.element("<td class=\"number\">", &all[3], "</td>");
            page.element("<td class=\"number wide faint\">", &all[4], "</td></tr>\n");
        }
        page.raw("</tbody></table></div>\n");
        let tie = exact_percent(self.last.tie);
        page.element(
            "<p class=\"cap\">",
            &format!(
                "Lines up and down are intervals against the first run. The band is the lab's tie of {tie}, the difference \
                 that does not matter to you."
            ),
            "</p>\n</section>\n",
        );
    }

    /// The band of the tie, the first run's value, and a mark with its interval for each run.
    fn plot(&self, page: &mut Page, row: &Row<'_>, reach: f64) {
        let number = row.ratios.len();
        let up = |ratio: f64| 50.0 - 44.0 * (ratio.ln() / reach).clamp(-1.0, 1.0);
        page.raw("<svg class=\"plot\" role=\"img\"");
        let text = cells(row.last, scale(self.last));
        page.attribute(
            "aria-label",
            &format!("{}: the last run is {} times the first", text[0], text[3]),
        );
        page.raw(">");
        let tie = 1.0 + self.last.tie;
        let band = [("y", up(tie)), ("height", up(1.0 / tie) - up(tie))];
        page.shape("<rect class=\"band\" width=\"100%\"", &band);
        page.raw("<line class=\"one\" x2=\"100%\" y1=\"50%\" y2=\"50%\"/>");
        let points = row.ratios.iter().enumerate();
        let points: Vec<(f64, [f64; 3])> =
            points.filter_map(|(at, ratio)| Some((across(at, number), (*ratio)?))).collect();
        let corner = |(x, [centre, ..]): &(f64, [f64; 3])| {
            format!("{:.0} {:.0}", x * 10.0, up(*centre) * 10.0)
        };
        let path: Vec<String> = points.iter().map(corner).collect();
        page.raw(
            "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\"><path class=\"trend\"",
        );
        page.attribute("d", &format!("M{}", path.join("L")));
        page.raw("/></svg>");
        for (x, [centre, low, high]) in &points {
            if low < high {
                let ends = [("x1", *x), ("x2", *x), ("y1", up(*high)), ("y2", up(*low))];
                page.shape("<line class=\"whisker\"", &ends);
            }
            page.shape("<circle class=\"mark\" r=\"4\"", &[("cx", *x), ("cy", up(*centre))]);
        }
        page.raw("</svg>");
    }
}

/// Place of a run, in percent of the width.
fn across(at: usize, runs: usize) -> f64 {
    (at as f64 + 0.5) / runs as f64 * 100.0
}

/// Classes of a row.
fn class(row: &Row<'_>, is_extra: bool) -> String {
    let change = match row.last.change {
        Change::Worse => "worse",
        Change::Better => "better",
        Change::Same | Change::NotResolved | Change::TooFew => "same",
    };
    if is_extra { format!("{change} extra") } else { change.to_owned() }
}

/// Logarithm at the ends of the scale: every change, and intervals up to twice as long.
fn reach(rows: &[Row<'_>], tie: f64) -> f64 {
    let changes = super::reach(rows, tie);
    let ends = rows.iter().flat_map(|row| row.ratios.iter().flatten());
    let ends = ends.flat_map(|[_, low, high]| [low.ln().abs(), high.ln().abs()]);
    ends.fold(changes, f64::max).min(changes * LONGEST)
}
