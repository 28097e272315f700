//! The report on a terminal.

use crate::evidence_text::{sections, weaker_leader};
use crate::permanent::{Permanent, permanent};
use crate::sentence::{kind_word, verdict_sentences};
use crate::stack_table::{CUTS, StackTable, direction};
use crate::text::{Ink, Palette, Table, facts, harmless, paragraph};
use crate::uncontrolled::uncontrolled;
use crate::view::{RunView, count};
use seekwell_model::verdict::VerdictKind;
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
    let stacks = StackTable::of(view);
    let mut table = Table::default();
    table.column("stack", "", false);
    table.column("median", stacks.scale.symbol(), true);
    table.column("ratio", "", true);
    table.column("interval", "", true);
    table.column("trials", "", true);
    if stacks.power_cut {
        table.column("power cut", "", false);
    }
    if stacks.cuts {
        table.column(CUTS, "", true);
    }
    if stacks.price {
        table.column("price", "", true);
    }
    for (column, scale) in &stacks.others {
        table.column(column.title(), scale.symbol(), true);
    }
    for row in &stacks.rows {
        let mut cells = vec![
            row.ratio.stack.clone(),
            row.median.clone(),
            row.ratio_text.clone(),
            row.interval.clone(),
            row.trials.clone(),
        ];
        cells.extend(stacks.power_cut.then(|| row.power_cut.clone()));
        cells.extend(stacks.cuts.then(|| row.cuts.clone()));
        cells.extend(stacks.price.then(|| row.price.clone()));
        cells.extend(row.others.iter().cloned());
        table.row(row.best.then_some(Ink::Good), cells);
    }
    let extra = [stacks.power_cut, stacks.cuts, stacks.price];
    let fixed = FIXED_COLUMNS + extra.into_iter().filter(|shown| *shown).count();
    let (text, left_out) = table.render(width, fixed, palette);
    let title = title(view, &stacks, left_out < stacks.others.len());
    let mut out = paragraph("", &harmless(&title), width);
    out.push_str(&text);
    if left_out > 0 {
        let more = format!(
            "{} omitted: widen the terminal, or use --csv or --html",
            count(left_out, "more column")
        );
        out.push_str(&palette.paint(Ink::Faint, paragraph("", &more, width).trim_end()));
        out.push('\n');
    }
    out
}

/// Title of the table; `more` if it shows other steps too.
fn title(view: &RunView, stacks: &StackTable, more: bool) -> String {
    let verdict = &view.verdict;
    let mut title = format!(
        "{} ({}); median over all trials; ratio to the leader, averaged round by round",
        verdict.metric,
        direction(verdict.better)
    );
    if stacks.estimates {
        title.push_str("; ~ is an estimate from the screen");
    }
    if more {
        title.push_str("; on the right, medians of other steps");
    }
    title
}

fn verdict(view: &RunView, width: usize, palette: Palette) -> String {
    let ink = match view.verdict.kind {
        VerdictKind::Winner | VerdictKind::Tie => Ink::Good,
        VerdictKind::Unresolved => Ink::Doubt,
    };
    let mut out = palette.paint(ink, kind_word(view));
    out.push('\n');
    for sentence in verdict_sentences(view) {
        out.push_str(&paragraph("  ", &harmless(&sentence), width));
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
    warnings_below("Warnings", warnings, width, palette)
}

/// Warnings below a title; nothing without a warning.
pub(crate) fn warnings_below(
    title: &str,
    warnings: &[Warning],
    width: usize,
    palette: Palette,
) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", palette.paint(Ink::Doubt, title));
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
    out.push_str(&paragraph("  ", "Seekwell did none of this; it is for you to run.", width));
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

/// Returns true if every stack has the remark, which is then printed once.
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
