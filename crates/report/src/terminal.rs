//! The report on a terminal.

use crate::evidence_text::{sections, weaker_leader};
use crate::number::{Scale, ratio, unit_of};
use crate::permanent::{Permanent, permanent};
use crate::sentence::{kind_word, verdict_sentence};
use crate::text::{Ink, Palette, Table, facts, harmless, paragraph};
use crate::uncontrolled::uncontrolled;
use crate::view::{Counts, RunView, count};
use seekwell_model::lab::Better;
use seekwell_model::verdict::{Basis, Ratio, VerdictKind};
use seekwell_model::warning::Warning;

/// Columns of the table that are never left out: stack, median, ratio, interval, trials.
const FIXED_COLUMNS: usize = 5;
/// Texts shown of warnings that have code and remedy in common.
const TEXTS_OF_A_GROUP: usize = 5;

/// The report for a terminal of `width` columns (at least 60 are used). Without `colour` it is
/// pure text. Command lines are never broken, so that they can be copied.
#[must_use]
pub fn terminal(view: &RunView, width: usize, colour: bool) -> String {
    let width = width.max(60);
    let palette = Palette { colour };
    let mut out = head(view, width, palette);
    out.push('\n');
    out.push_str(&table(view, width, palette));
    out.push('\n');
    out.push_str(&verdict(view, width, palette));
    out.push_str(&evidence(view, width, palette));
    out.push_str(&warnings(&view.warnings, width, palette));
    out.push_str(&not_controlled(view, width, palette));
    out.push_str(&make_permanent(&permanent(view), width, palette));
    out
}

fn head(view: &RunView, width: usize, palette: Palette) -> String {
    let lab = &view.plan.lab;
    let mut out = paragraph("", &harmless(&format!("{}: {}", lab.name, lab.question)), width);
    if palette.colour {
        out = out.lines().map(|line| palette.paint(Ink::Heading, line) + "\n").collect();
    }
    let said: Vec<String> = view.facts().iter().map(|fact| harmless(fact)).collect();
    out.push_str(&facts(&said, width));
    out
}

fn table(view: &RunView, width: usize, palette: Palette) -> String {
    let verdict = &view.verdict;
    let rows = view.rows();
    let scale = Scale::fit(unit_of(&verdict.metric), rows.iter().filter_map(|row| row.median));
    let others: Vec<(String, Scale)> = view
        .other_steps()
        .into_iter()
        .filter_map(|column| {
            let values: Vec<f64> =
                rows.iter().filter_map(|row| view.median(&row.stack, &column.metric)).collect();
            let scale = Scale::fit(unit_of(&column.metric), values.iter().copied());
            (!values.is_empty()).then_some((column.metric, scale))
        })
        .collect();
    let mut table = Table::default();
    table.column("stack", "", false);
    table.column("median", scale.symbol(), true);
    table.column("ratio", "", true);
    table.column("interval", "", true);
    table.column("trials", "", true);
    let classes = verdict.evidence.durability_differs();
    if classes {
        table.column("power cut", "", false);
    }
    for (metric, scale) in &others {
        let step = metric.split('.').next().unwrap_or(metric);
        table.column(step, scale.symbol(), true);
    }
    for row in &rows {
        let mut cells = vec![
            row.stack.clone(),
            scale.number(row.median),
            ratio(row.ratio),
            interval(row, verdict.baseline.as_deref()),
            trials(view.counts(&row.stack)),
        ];
        if classes {
            cells.push(durability(view, &row.stack));
        }
        cells.extend(
            others.iter().map(|(metric, scale)| scale.number(view.median(&row.stack, metric))),
        );
        let best = verdict.kind != VerdictKind::Unresolved && verdict.stacks.contains(&row.stack);
        table.row(best.then_some(Ink::Good), cells);
    }
    let (text, left_out) = table.render(width, FIXED_COLUMNS + usize::from(classes), palette);
    let table_has_more = left_out < others.len();
    let title = title(view, table_has_more);
    let mut out = paragraph("", &harmless(&title), width);
    out.push_str(&text);
    if left_out > 0 {
        let more = format!(
            "{} did not fit: widen the terminal, or see --csv, --html",
            count(left_out, "more column")
        );
        out.push_str(&palette.paint(Ink::Faint, paragraph("", &more, width).trim_end()));
        out.push('\n');
    }
    out
}

/// What the table shows; `more` when it has other steps too.
fn title(view: &RunView, more: bool) -> String {
    let verdict = &view.verdict;
    let direction = match verdict.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    let mut title = format!(
        "{} ({direction}); median over all trials; ratio to the leader, averaged round by round",
        verdict.metric
    );
    if verdict.ratios.iter().any(|row| row.basis == Basis::Screen) {
        title.push_str("; ~ is an estimate from the screen");
    }
    if more {
        title.push_str("; behind it medians of other steps");
    }
    title
}

/// `1.087–1.190`; the leader has none to itself.
fn interval(row: &Ratio, baseline: Option<&str>) -> String {
    if baseline == Some(row.stack.as_str()) {
        return "leader".to_owned();
    }
    match (row.low, row.high) {
        (Some(low), Some(high)) => {
            let mark = if row.basis == Basis::Screen { "~" } else { "" };
            format!("{mark}{}–{}", ratio(Some(low)), ratio(Some(high)))
        }
        _ => crate::number::DASH.to_owned(),
    }
}

/// The word of the durability class.
pub(crate) fn durability(view: &RunView, label: &str) -> String {
    let found = view.verdict.evidence.durability_of(label);
    found.map_or(crate::number::DASH, |stack| stack.class.word()).to_owned()
}

/// `8`, `6 + 2 marked`, `0 + 8 failed`.
pub(crate) fn trials(counts: Counts) -> String {
    let mut text = counts.ok.to_string();
    for (number, word) in [(counts.marked, "marked"), (counts.failed, "failed")] {
        if number > 0 {
            text.push_str(&format!(" + {number} {word}"));
        }
    }
    text
}

fn verdict(view: &RunView, width: usize, palette: Palette) -> String {
    let ink = match view.verdict.kind {
        VerdictKind::Winner | VerdictKind::Tie => Ink::Good,
        VerdictKind::Unresolved => Ink::Doubt,
    };
    let mut out = palette.paint(ink, kind_word(view));
    out.push('\n');
    out.push_str(&paragraph("  ", &harmless(&verdict_sentence(view)), width));
    if view.verdict.kind == VerdictKind::Winner && !view.verdict.reason.is_empty() {
        let because = format!("It is {}.", view.verdict.reason);
        out.push_str(&paragraph("  ", &harmless(&because), width));
    }
    if let Some(mind) = weaker_leader(view) {
        out.push_str(&paragraph("  ", &harmless(&mind), width));
    }
    out
}

fn evidence(view: &RunView, width: usize, palette: Palette) -> String {
    let mut out = String::new();
    for section in sections(view) {
        out.push_str(&format!("\n{}\n", palette.paint(Ink::Heading, section.title)));
        for sentence in &section.sentences {
            out.push_str(&paragraph("  - ", &harmless(sentence), width));
        }
    }
    out
}

/// Warnings that share code and remedy, in the order in which they first come.
pub(crate) fn grouped(warnings: &[Warning]) -> Vec<(&Warning, Vec<&str>)> {
    let mut groups: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for warning in warnings {
        let same = |(first, _): &&mut (&Warning, Vec<&str>)| {
            first.code == warning.code && first.remedy == warning.remedy
        };
        match groups.iter_mut().find(same) {
            Some((_, texts)) => texts.push(&warning.text),
            None => groups.push((warning, vec![&warning.text])),
        }
    }
    groups
}

/// Also for plans and benchmarks.
pub(crate) fn warnings(warnings: &[Warning], width: usize, palette: Palette) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", palette.paint(Ink::Doubt, "Warnings"));
    for (warning, texts) in grouped(warnings) {
        for (number, text) in texts.iter().take(TEXTS_OF_A_GROUP).enumerate() {
            let code = if number == 0 { format!("{}: ", warning.code) } else { String::new() };
            out.push_str(&paragraph("  ! ", &harmless(&format!("{code}{text}")), width));
        }
        if texts.len() > TEXTS_OF_A_GROUP {
            let more = format!("and {} more like these", texts.len() - TEXTS_OF_A_GROUP);
            out.push_str(&paragraph("    ", &more, width));
        }
        out.push_str(&paragraph("    -> ", &harmless(&warning.remedy), width));
    }
    out
}

fn not_controlled(view: &RunView, width: usize, palette: Palette) -> String {
    let said = uncontrolled(view);
    if said.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", palette.paint(Ink::Heading, "What was not controlled"));
    for sentence in said {
        out.push_str(&paragraph("  - ", &harmless(&sentence), width));
    }
    out
}

fn make_permanent(all: &[Permanent], width: usize, palette: Palette) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", palette.paint(Ink::Heading, "How to make it permanent"));
    out.push_str(&paragraph("  ", "Nothing of this was done; it is for you to run.", width));
    for one in all {
        out.push_str(&format!("\n  {}\n", palette.paint(Ink::Good, &harmless(&one.stack))));
        for (purpose, lines) in &one.steps {
            out.push_str(&format!("    {}\n", palette.paint(Ink::Faint, purpose)));
            for line in lines {
                out.push_str(&format!("      {}\n", harmless(line)));
            }
        }
        let own = |text: &&String| !in_all(all, text);
        out.push_str(&remarks(
            "    ",
            one.notes.iter().filter(own),
            one.back.iter().filter(own),
            width,
        ));
    }
    let shared = |text: &&String| in_all(all, text);
    let (notes, back) = (all[0].notes.iter(), all[0].back.iter());
    out.push('\n');
    out.push_str(&remarks("  ", notes.filter(shared), back.filter(shared), width));
    out
}

/// Whether a remark stands with every stack: then it is said once.
fn in_all(all: &[Permanent], text: &String) -> bool {
    all.iter().all(|one| one.notes.contains(text) || one.back.contains(text))
}

fn remarks<'a>(
    indent: &str,
    notes: impl Iterator<Item = &'a String>,
    back: impl Iterator<Item = &'a String>,
    width: usize,
) -> String {
    let mut out = String::new();
    for note in notes {
        out.push_str(&paragraph(&format!("{indent}note: "), &harmless(note), width));
    }
    for line in back {
        out.push_str(&paragraph(&format!("{indent}to go back: "), &harmless(line), width));
    }
    out
}

#[cfg(test)]
mod tests;
