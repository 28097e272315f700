//! The parts of the page, in their order.

use super::first::Link;
use super::frontier;
use super::inside::Inside;
use super::trials::PageTrials;
use crate::evidence_text::{self, weaker_leader};
use crate::number::{DASH, quantity, unit_of};
use crate::page::Page;
use crate::safety;
use crate::sentence::{kind_word, verdict_sentences};
use crate::stack_table::{StackRow, StackTable, direction, trials_text};
use crate::terminal::grouped;
use crate::view::RunView;
use seekwell_model::metrics::Unit;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};

/// Elements that the page's program fills.
pub(super) const PLACES: [&str; 4] = [
    "<section id=\"evidence\"></section>\n",
    "<section id=\"closer\"></section>\n",
    "<section id=\"sweeps\"></section>\n",
    "<section id=\"state\"></section>\n",
];
/// Letters of a label above which it may take several lines.
const LONG: usize = 44;

/// Links to the sections below the first screen.
pub(super) fn links(view: &RunView, program: bool) -> Vec<Link> {
    let counted = |title: &str, number: usize| format!("{title} ({number})");
    let warnings = grouped(&view.warnings).len();
    let uncontrolled = crate::uncontrolled::uncontrolled(view).len();
    let all = [
        (true, "table", "All numbers".to_owned()),
        (program, "evidence", "Every trial".to_owned()),
        (program, "closer", "Compare two stacks".to_owned()),
        (!program && !view.records.is_empty(), "trials", "Every trial".to_owned()),
        (true, "decision", "The decision".to_owned()),
        (warnings > 0, "warnings", counted("Warnings", warnings)),
        (uncontrolled > 0, "uncontrolled", counted("Not controlled", uncontrolled)),
        (!crate::permanent::permanent(view).is_empty(), "permanent", "How to set it up".to_owned()),
        (!view.plan.left_out.is_empty(), "left-out", counted("Left out", view.plan.left_out.len())),
        (true, "inside", "The raw data".to_owned()),
    ];
    all.into_iter().filter(|(is_there, ..)| *is_there).map(|(_, id, text)| (id, text)).collect()
}

/// The decision as the run's method words it, with what it rests on.
pub(super) fn decision(page: &mut Page, view: &RunView) {
    page.raw("<section id=\"decision\">\n<h2>The decision</h2>\n");
    page.element("<p><strong>", kind_word(view), "</strong></p>\n");
    for (number, sentence) in verdict_sentences(view).iter().enumerate() {
        let open = if number == 0 { "<p>" } else { "<p class=\"faint\">" };
        page.element(open, sentence, "</p>\n");
    }
    if let Some(mind) = weaker_leader(view) {
        page.element("<p>", &mind, "</p>\n");
    }
    page.raw("</section>\n");
}

/// The supporting evidence of the verdict.
pub(super) fn evidence(page: &mut Page, view: &RunView) {
    for section in evidence_text::sections(view) {
        page.element("<section>\n<h2>", section.title, "</h2>\n");
        if section.title == safety::TITLE {
            // The picture has all that its sentences say.
            frontier::draw(page, view);
            page.raw("</section>\n");
            continue;
        }
        page.list(&section.sentences);
        page.raw("</section>\n");
    }
}

/// The table behind the verdict: the judged metric, and the medians of the other steps.
pub(super) fn stacks(page: &mut Page, view: &RunView, stacks: &StackTable) {
    let verdict = &view.verdict;
    page.element("<section id=\"table\">\n<h2>All numbers: ", &verdict.metric, "</h2>\n");
    let explained = format!(
        "{}; ratio to {}; on the right, medians of the other steps",
        direction(verdict.better),
        verdict.baseline.as_deref().unwrap_or("the leader")
    );
    page.element("<p class=\"faint\">", &explained, "</p>\n");
    page.raw("<a class=\"skip\" href=\"#after-stacks\">Skip the table of stacks</a>\n");
    page.raw("<div id=\"stacks-toolbar\"></div>\n<div class=\"scroll\"><table id=\"stacks\">\n");
    page.raw("<thead><tr><th scope=\"col\" data-sort=\"stack\">stack</th>");
    metric_head(page, &verdict.metric, &format!("median {}", stacks.scale.symbol()));
    page.raw("<th scope=\"col\" class=\"number\" data-sort=\"verdict\">ratio</th>");
    page.raw("<th scope=\"col\" class=\"number\" data-sort=\"width\">interval</th>");
    page.column("trials", true);
    stacks.extra.iter().for_each(|extra| page.column(extra.title, extra.is_number));
    for (column, scale) in &stacks.others {
        let metric = &column.metric;
        metric_head(page, metric, &format!("{metric} {}", scale.symbol()));
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for row in &stacks.rows {
        stack_row(page, view, stacks, row);
    }
    page.raw("</tbody>\n</table></div>\n<span id=\"after-stacks\" tabindex=\"-1\"></span>\n");
    page.raw("</section>\n");
}

fn metric_head(page: &mut Page, metric: &str, title: &str) {
    page.raw("<th scope=\"col\" class=\"number\"");
    page.attribute("data-metric", metric);
    // A path breaks behind its dot, never inside a word.
    let (step, rest) = title.trim_end().split_at(title.find('.').map_or(0, |at| at + 1));
    page.element("><span>", step, "</span>");
    page.element("<span>", rest, "</span></th>");
}

/// A value of a metric in its column.
fn metric_cell(page: &mut Page, metric: &str, text: &str) {
    page.raw("<td class=\"number\"");
    page.attribute("data-metric", metric);
    page.element(">", text, "</td>");
}

fn stack_row(page: &mut Page, view: &RunView, stacks: &StackTable, row: &StackRow) {
    let stack = &row.ratio.stack;
    page.raw(if row.best { "<tr class=\"best\"" } else { "<tr" });
    if let Some(index) = view.plan.stacks.iter().position(|one| one.label == *stack) {
        page.attribute("data-stack", &index.to_string());
    }
    page.raw("><th scope=\"row\"");
    page.attribute("class", if stack.chars().count() > LONG { "label long" } else { "label" });
    page.element(">", stack, "</th>");
    metric_cell(page, &view.verdict.metric, &row.median);
    page.element("<td class=\"number\" data-ratio=\"\">", &row.ratio_text, "</td>");
    page.cell(&row.interval, true);
    page.cell(&row.trials, true);
    for (extra, text) in stacks.extra.iter().zip(&row.extra) {
        page.cell(text, extra.is_number);
    }
    for ((column, _), median) in stacks.others.iter().zip(&row.others) {
        metric_cell(page, &column.metric, median);
    }
    page.raw("</tr>\n");
}

pub(super) fn warnings(page: &mut Page, view: &RunView) {
    if view.warnings.is_empty() {
        return;
    }
    page.raw("<section id=\"warnings\">\n<h2>Warnings</h2>\n<ul>\n");
    for (warning, texts) in grouped(&view.warnings) {
        page.element("<li><strong>", &warning.code, "</strong>");
        for text in texts {
            page.element("<p>", text, "</p>");
        }
        page.element("<p class=\"remedy\">", &warning.remedy, "</p></li>\n");
    }
    page.raw("</ul>\n</section>\n");
}

/// A section with a list; nothing without an item.
fn listed(page: &mut Page, open: &'static str, texts: &[String]) {
    if !texts.is_empty() {
        page.raw(open);
        page.list(texts);
        page.raw("</section>\n");
    }
}

pub(super) fn uncontrolled(page: &mut Page, view: &RunView) {
    let open = "<section id=\"uncontrolled\">\n<h2>What was not controlled</h2>\n";
    listed(page, open, &crate::uncontrolled::uncontrolled(view));
}

pub(super) fn permanent(page: &mut Page, view: &RunView) {
    let all = crate::permanent::permanent(view);
    if all.is_empty() {
        return;
    }
    page.raw("<section id=\"permanent\">\n<h2>How to make it permanent</h2>\n");
    page.raw("<p class=\"faint\">Seekwell did none of this; it is for you to run.</p>\n");
    for one in &all {
        page.element("<h3>", &one.stack, "</h3>\n");
        for (purpose, lines) in &one.steps {
            page.element("<p class=\"faint\">", purpose, "</p>\n<pre>");
            for line in lines {
                page.text(line);
                page.raw("\n");
            }
            page.raw("</pre>\n");
        }
        for note in &one.notes {
            page.element("<p>", note, "</p>\n");
        }
        for back in &one.back {
            page.element("<p>To go back: ", back, "</p>\n");
        }
    }
    page.raw("</section>\n");
}

/// Every trial with its timeline, folded by stack.
pub(super) fn trials(page: &mut Page, view: &RunView, trials: &PageTrials) {
    page.raw(
        "<section id=\"trials\">\n<h2>Trials</h2>\n<p class=\"faint\">Throughput of the device: ",
    );
    page.raw(
        "<span class=\"key-reads\">reads</span> and <span class=\"key-writes\">writes</span>; ",
    );
    page.raw("Each drawing has its own scale; the largest value is printed below it.</p>\n");
    let by_stack = view.by_stack();
    for row in by_stack.rows() {
        page.element("<details>\n<summary>", &row.stack, " (");
        page.element("", &trials_text(by_stack.counts(&row.stack)), ")</summary>\n");
        page.raw("<div class=\"scroll\"><table>\n<thead><tr>");
        page.column("round", true);
        page.column("workload", false);
        page.column("status", false);
        page.column(&view.verdict.metric, true);
        page.column("throughput", false);
        page.column("remarks", false);
        page.raw("</tr></thead>\n<tbody>\n");
        for (trial, record) in by_stack.of(&row.stack) {
            trial_row(page, view, trials, trial, record);
        }
        page.raw("</tbody>\n</table></div>\n</details>\n");
    }
    page.raw("</section>\n");
}

fn trial_row(
    page: &mut Page,
    view: &RunView,
    trials: &PageTrials,
    trial: &PlannedTrial,
    record: &Record,
) {
    page.raw(match record.status {
        Status::Ok => "<tr>",
        Status::Marked => "<tr class=\"marked\">",
        Status::Failed { .. } => "<tr class=\"failed\">",
    });
    page.cell(&(trial.round + 1).to_string(), true);
    page.cell(view.workload_of(trial).unwrap_or_default(), false);
    page.cell(record.status.word(), false);
    let value = record.metric(&view.verdict.metric);
    let unit = unit_of(&view.verdict.metric);
    page.cell(&value.map_or(DASH.to_owned(), |value| quantity(unit, value)), true);
    page.raw("<td>");
    trials.draw(page, trial.index);
    page.raw("</td><td>");
    if let Status::Failed { stage, reason } = &record.status {
        page.element("<p>", &format!("failed in {stage}: {reason}"), "</p>");
    }
    for warning in record.warnings.iter().chain(record.steps.iter().flat_map(|step| &step.warnings))
    {
        page.element("<p>", &format!("{}: {}", warning.code, warning.text), "</p>");
    }
    page.raw("</td></tr>\n");
}

pub(super) fn left_out(page: &mut Page, view: &RunView) {
    let open = "<section id=\"left-out\">\n<h2>Left out of the plan</h2>\n";
    listed(page, open, &view.left_out());
}

/// The raw data: its extent, the command that extracts it, and how to get the interactive page.
pub(super) fn inside(page: &mut Page, name: &str, inside: Inside, program: bool) {
    page.raw("<section id=\"inside\">\n<h2>The raw data</h2>\n");
    match inside {
        Inside::Whole(bytes) => {
            let size = quantity(Some(Unit::Bytes), bytes as f64);
            let text = format!("The run file {name} ({size}) is inside this page, byte by byte.");
            page.element("<p>", &text, "</p>\n");
            page.raw("<pre>seekwell file extract REPORT.html</pre>\n");
        }
        Inside::WithoutTimelines(_) => page.raw(
            "<p>This page was written with --lean: timelines and block events are left out, and \
             the run file cannot be taken from it.</p>\n",
        ),
        Inside::Nothing => page.raw("<p>The run file is not inside this page.</p>\n"),
    }
    if !program {
        page.raw(
            "<p class=\"faint\">This is the plain page. For zoomable charts, filters and two \
             stacks side by side, run <code>make web</code> (needs Node.js) before <code>cargo \
             build</code>.</p>\n",
        );
    }
    page.raw("</section>\n");
}
