//! The first screen: what was asked, the pick and what it can cost, the main doubt, the forest, what matters, where
//! the time goes, the next command, and links to all the rest.

use super::forest::Forest;
use super::inside::Inside;
use crate::answer_text::{self, AnswerText, Axes, Role, Span};
use crate::evidence_text::weaker_leader;
use crate::number::{Scale, percent, quantity};
use crate::page::Page;
use crate::sentence::{earlier, grouped_values};
use crate::terminal::{REASONS, medians};
use crate::text::{Table, capital, glued};
use crate::view::RunView;
use crate::why_text::WhyText;
use seekwell_model::answer::{Answer, TimeRow, TimeSpent};
use seekwell_model::metrics::Unit;
use std::path::Path;

/// The answer of a recording of a device, which has no stacks.
pub(super) const RECORDING: &str = "A recording of a device: nothing was compared";

/// A link below the first screen: anchor and text.
pub(super) type Link = (&'static str, String);

/// All that the first screen is made of.
pub(super) struct First<'a> {
    pub(super) view: &'a RunView,
    pub(super) answer: &'a Answer,
    pub(super) text: &'a AnswerText,
    pub(super) axes: &'a Axes<'a>,
    pub(super) forest: &'a Forest<'a>,
    /// Name of the run file.
    pub(super) name: &'a str,
}

impl First<'_> {
    pub(super) fn draw(&self, page: &mut Page, links: &[Link], inside: Inside) {
        page.raw("<div id=\"answer\">\n");
        self.head(page);
        if !self.view.is_recording() {
            self.compared(page);
        }
        below(page, links, inside);
        page.raw("</div>\n");
    }

    /// The comparison of the stacks.
    fn compared(&self, page: &mut Page) {
        let time = self.answer.time.as_ref().filter(|time| !time.rows.is_empty());
        let why = WhyText::of(self.view);
        let aside = time.is_some() || !self.text.axes.is_empty() || why.is_some();
        page.raw(if aside { "<div class=\"cols two\">\n" } else { "<div class=\"cols\">\n" });
        if answer_text::is_by_workload(self.view) {
            medians(page, self.view);
        } else {
            self.forest.draw(page);
        }
        if aside {
            page.raw("<aside>\n");
            self.matters(page);
            self.why(page, why.as_ref());
            time.into_iter().for_each(|time| self.time(page, time));
            page.raw("</aside>\n");
        }
        page.raw("</div>\n");
        self.next(page);
    }

    fn head(&self, page: &mut Page) {
        let Self { view, text, .. } = self;
        page.raw("<header>\n<p class=\"facts\"><b>");
        let question = match view.plan.lab.question.trim() {
            "" => view.plan.lab.name.as_str(),
            question => question,
        };
        page.element("", &capital(question), "</b> <span>");
        page.element("", &view.plan.lab.name, " · ");
        page.element("", &view.facts().join(" · "), "</span></p>\n");
        if view.is_recording() {
            page.element("<h1>", RECORDING, "</h1>\n</header>\n");
            return;
        }
        page.raw("<h1>");
        spans(page, &text.pick);
        page.raw("</h1>\n");
        if let Some(cause) = &text.cause {
            page.element("<p class=\"said\">", cause, "</p>\n");
        }
        page.raw("<p class=\"said\">");
        for part in [&text.close, &text.out].into_iter().flatten() {
            spans(page, part);
            page.raw(" ");
        }
        page.element("<span class=\"basis\">", &text.basis, "</span></p>\n");
        let more = [text.weaker.clone(), weaker_leader(view), grouped_values(view)];
        for more in more.into_iter().flatten() {
            page.element("<p class=\"said\">", &more, "</p>\n");
        }
        if let Some(earlier) = earlier(view) {
            page.element("<p class=\"said basis\">", &earlier, "</p>\n");
        }
        if let Some(doubt) = &text.doubt {
            page.element("<p class=\"main-doubt\"><b>Main doubt</b> ", &doubt.text, " ");
            page.element("<span>", &doubt.remedy, "</span></p>\n");
        }
        if self.answer.pick.is_none() {
            for warning in view.warnings.iter().take(REASONS) {
                page.element("<p class=\"main-doubt\"><b>", &warning.code, "</b> ");
                page.element("", &warning.text, "</p>\n");
            }
        }
        page.raw("</header>\n");
    }

    fn matters(&self, page: &mut Page) {
        if self.text.axes.is_empty() {
            return;
        }
        page.raw("<section id=\"axes\">\n<h2>What matters</h2>\n<dl>\n");
        for line in &self.text.axes {
            page.element("<dt>", &line.axis, "</dt>");
            let open = if line.matters { "<dd><b class=\"matters\">yes:</b> " } else { "<dd>" };
            page.element(open, &line.text, "</dd>\n");
        }
        page.raw("</dl>\n</section>\n");
    }

    /// Stacked bars, one for each value of the axis that matters most.
    fn time(&self, page: &mut Page, time: &TimeSpent) {
        let others = answer_text::time_heading(&time.axis, self.axes.names());
        page.raw("<section id=\"time\">\n<h2>Where the time goes");
        page.element(" <small>", &others, "</small></h2>\n<table class=\"time\">\n");
        unseen_head(page, ["value", "time", "total"]);
        let longest = time.rows.iter().map(|row| row.elapsed_ns).max().unwrap_or(1).max(1) as f64;
        let scale = Scale::fit(Some(Unit::Nanoseconds), [longest]);
        for row in &time.rows {
            page.element("<tr><th scope=\"row\"><b>", &row.value, "</b></th><td class=\"plot\">");
            bar(page, row, longest, scale);
            page.element(
                "</td><td class=\"number\">",
                &scale.with_unit(row.elapsed_ns as f64),
                "</td></tr>\n",
            );
        }
        page.raw("</tbody>\n</table>\n<p class=\"key\">");
        let parts = |of: fn(&TimeRow) -> bool| time.rows.iter().any(of);
        let keys: [(bool, &'static str, &'static str); 4] = [
            (parts(|row| row.computing_ns.is_some()), "cpu", "computing"),
            (parts(|row| row.waiting_ns.is_some_and(|ns| ns > 0)), "wait", "waiting"),
            (parts(|row| row.writing_out_ns > 0), "flush", "writing out"),
            (parts(|row| row.busy.is_some()), "busy", "device busy"),
        ];
        for (_, class, word) in keys.into_iter().filter(|(present, ..)| *present) {
            page.raw("<span><i");
            page.attribute("class", class);
            page.element("></i>", word, "</span>");
        }
        page.raw("</p>\n");
        if let Some(busy) = answer_text::busy(&time.rows) {
            page.element("<p class=\"cap\">", &busy, "</p>\n");
        }
        page.raw("</section>\n");
    }

    fn why(&self, page: &mut Page, found: Option<&WhyText>) {
        let untested = WhyText::untested(self.view, Path::new(self.name));
        match found {
            Some(text) => why(page, text),
            None => untested.into_iter().for_each(|untested| {
                page.element(
                    "<section id=\"why\">\n<h2>Why</h2>\n<p>",
                    &capital(&untested),
                    "</p>\n</section>\n",
                );
            }),
        }
    }

    fn next(&self, page: &mut Page) {
        let view = self.view;
        let Some(next) = crate::next_step::next_step(view, Path::new(self.name)) else { return };
        page.element("<div class=\"next\">\n<p>", &next.why, "</p>\n");
        page.raw("<p><code>");
        for (number, word) in next.command.split(' ').enumerate() {
            page.raw(if number == 0 { "" } else { " " });
            page.element("<span>", word, "</span>");
        }
        page.raw("</code></p>\n</div>\n");
    }
}

/// The cause that was found by experiments: a sentence, and a waterfall from the better stack to the worse.
fn why(page: &mut Page, text: &WhyText) {
    page.element("<section id=\"why\">\n<h2>Why</h2>\n<p>", &text.sentence, "</p>\n");
    waterfall(page, text);
    if let Some(mechanism) = &text.mechanism {
        page.element("<p class=\"cap\">", mechanism, " <a href=\"#race\">Its requests</a></p>\n");
    }
    text.what_if.iter().for_each(|table| table_of(page, table));
    page.raw("</section>\n");
}

/// Titles that only programs read aloud.
fn unseen_head(page: &mut Page, titles: [&str; 3]) {
    page.raw("<thead class=\"unseen\"><tr>");
    titles.iter().for_each(|title| page.column(title, false));
    page.raw("</tr></thead>\n<tbody>\n");
}

fn waterfall(page: &mut Page, text: &WhyText) {
    page.raw("<table class=\"time\">\n");
    unseen_head(page, ["cause", "from and to", "amount"]);
    for (at, row) in text.rows.iter().enumerate() {
        let is_stack = at == 0 || at + 1 == text.rows.len();
        page.element("<tr><th scope=\"row\">", &row.name, "</th><td class=\"plot\">");
        page.raw("<svg class=\"plot\" aria-hidden=\"true\"><rect y=\"1\" height=\"16\"");
        page.attribute("class", if is_stack { "cpu" } else { "wait" });
        let [from, to] = row.bar;
        page.percent("x", from.min(to) * 100.0);
        page.percent("width", (to - from).abs() * 100.0);
        page.element("/></svg></td><td class=\"number\">", &row.amount, "</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n");
}

/// Medians by workload, where nothing was compared.
fn medians(page: &mut Page, view: &RunView) {
    page.raw("<section id=\"medians\">\n");
    if let Some(table) = medians::grid(view, usize::MAX) {
        page.element("<h2>", &medians::heading(view), "</h2>\n");
        table_of(page, &table);
    }
    page.raw("</section>\n");
}

/// A table whose first column names the rows.
pub(super) fn table_of(page: &mut Page, table: &Table) {
    let mut rows = table.cells().into_iter();
    page.raw("<div class=\"scroll\"><table><thead><tr>");
    for (at, title) in rows.next().unwrap_or_default().iter().enumerate() {
        page.column(title, at > 0);
    }
    page.raw("</tr></thead><tbody>\n");
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            match at {
                0 => page.element("<tr><th scope=\"row\" class=\"label\">", cell, "</th>"),
                _ => page.cell(cell, true),
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
}

fn spans(page: &mut Page, spans: &[Span]) {
    for span in spans {
        let text = glued(&span.text);
        match span.role {
            Role::Plain => page.text(&text),
            Role::Pick => page.element("<em>", &text, "</em>"),
            Role::Out => page.element("<strong class=\"out\">", &text, "</strong>"),
        }
    }
}

/// One bar: computing, waiting and writing out after each other, and below them the share in which the device was
/// busy.
fn bar(page: &mut Page, row: &TimeRow, longest: f64, scale: Scale) {
    let parts = [
        ("cpu", "computing", row.computing_ns),
        ("wait", "waiting", row.waiting_ns),
        ("flush", "writing out", Some(row.writing_out_ns)),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter_map(|(_, word, ns)| Some(format!("{} {word}", scale.with_unit((*ns)? as f64))))
        .chain(row.busy.map(|busy| format!("device busy {}", percent(busy))))
        .collect();
    page.raw("<svg class=\"plot\" role=\"img\"");
    page.attribute("aria-label", &format!("{}: {}", row.value, said.join(", ")));
    page.raw(">");
    let mut from = 0.0;
    for (class, _, ns) in parts {
        let Some(ns) = ns.filter(|ns| *ns > 0) else { continue };
        let share = ns as f64 / longest * 100.0;
        page.raw("<rect y=\"1\" height=\"16\"");
        page.attribute("class", class);
        page.percent("x", from);
        page.percent("width", share.min(100.0 - from));
        page.raw("/>");
        if share > 11.0 {
            page.raw("<text y=\"13.5\" text-anchor=\"middle\"");
            page.attribute("class", class);
            page.percent("x", from + share / 2.0);
            page.element(">", &scale.number(Some(ns as f64)), "</text>");
        }
        from = (from + share).min(100.0);
    }
    if let Some(busy) = row.busy.filter(|busy| busy.is_finite()) {
        let width = busy.clamp(0.0, 1.0) * row.elapsed_ns as f64 / longest * 100.0;
        page.shape("<rect class=\"busy\" y=\"19\" height=\"3\"", &[("width", width)]);
    }
    page.raw("</svg>");
}

/// The links to all that follows, and the row to which the program adds its buttons.
fn below(page: &mut Page, links: &[Link], inside: Inside) {
    page.raw("<p class=\"share\"><b>Below</b>");
    for (anchor, text) in links {
        page.raw(" <a");
        page.attribute("href", &format!("#{anchor}"));
        page.element(">", text, "</a>");
    }
    page.raw("</p>\n<p class=\"share\" id=\"share\"><b>Share</b>");
    if let Inside::Whole(bytes) = inside {
        let size = quantity(Some(Unit::Bytes), bytes as f64);
        page.element(" <a href=\"#inside\">", &format!("Run file ({size})"), "</a>");
    }
    page.raw("</p>\n");
}

/// The answer in a few sentences, for those who see a link to the page.
pub(super) fn description(view: &RunView, text: &AnswerText) -> String {
    if view.is_recording() {
        return format!("{RECORDING}. {}.", view.facts().join(", "));
    }
    let parts = [Some(&text.pick), text.close.as_ref(), text.out.as_ref()].into_iter().flatten();
    let mut said: Vec<String> = parts.map(|spans| answer_text::joined(spans)).collect();
    said.push(format!("{} {}.", text.basis, view.facts().join(", ")));
    said.join(" ")
}
