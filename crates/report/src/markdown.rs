//! A run as Markdown (CommonMark with tables): the answer for a change request, a wiki, a mail.

use crate::answer_text::{AnswerText, answer, busy, is_by_workload};
use crate::evidence_text::sections;
use crate::next_step::repeat_command;
use crate::permanent::permanent;
use crate::sentence::verdict_sentences;
use crate::stack_table::{StackTable, direction};
use crate::terminal::forest::Forest;
use crate::terminal::{grouped, medians};
use crate::text::{Palette, Table, harmless};
use crate::traffic_text;
use crate::uncontrolled::uncontrolled;
use crate::view::RunView;
use crate::why_text::WhyText;
use std::path::Path;

/// Columns and stacks of the picture.
const PICTURE: (usize, usize) = (80, 12);
/// The run file in commands.
const RUN: &str = "FILE";

/// The answer with its picture, what matters, the machine, and the command that repeats it; with `all` also
/// the table of stacks, the evidence, warnings, and how to make the pick permanent. No text of the run becomes
/// markup.
#[must_use]
pub fn markdown(view: &RunView, all: bool) -> String {
    let lab = &view.plan.lab;
    let mut out = format!("### {}: {}\n\n", escape(&lab.name), escape(&lab.question));
    for (number, sentence) in verdict_sentences(view).iter().enumerate() {
        let strong = if number == 0 { "**" } else { "" };
        out.push_str(&format!("{strong}{}{strong}\n\n", escape(sentence)));
    }
    picture(view, &mut out);
    for line in AnswerText::of(view).axes {
        out.push_str(&format!("- **{}**: {}\n", escape(&line.axis), escape(&line.text)));
    }
    if let Some(why) = WhyText::of(view) {
        out.push_str(&format!("- **why**: {}\n\n", escape(&why.sentence)));
        fenced(&why.lines(PICTURE.0), &mut out);
        if let (Some(mechanism), Some(of)) = (&why.mechanism, &view.why) {
            out.push_str(&format!("{}\n\n", escape(mechanism)));
            fenced(&traffic_text::picture(of, PICTURE.0), &mut out);
        }
        why.what_if.iter().for_each(|of| table(of, &mut out));
    } else if let Some(untested) = WhyText::untested(view, Path::new(RUN)) {
        out.push_str(&format!("- **why**: {}\n", escape(&untested)));
    }
    let spent = answer(view).time.as_ref().and_then(|time| busy(&time.rows));
    if let Some(busy) = spent {
        out.push_str(&format!("- {}\n", escape(&busy)));
    }
    out.push_str(&format!("\n{}\n\nTo repeat it:\n\n", escape(&view.facts().join(" · "))));
    fenced(&[repeat_command(view)], &mut out);
    if all {
        everything(view, &mut out);
    }
    out
}

/// The picture of the terminal; medians by workload where nothing was compared.
fn picture(view: &RunView, out: &mut String) {
    let (width, stacks) = PICTURE;
    let palette = Palette { colour: false };
    let text = if is_by_workload(view) {
        medians::table(view, width, stacks, palette)
    } else {
        let forest = Forest::of(view);
        forest.text(width, stacks.min(forest.stacks()), palette)
    };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if !lines.is_empty() && !view.is_recording() {
        fenced(&lines, out);
    }
}

/// The parts that a change request has no room for.
fn everything(view: &RunView, out: &mut String) {
    stacks(view, out);
    for section in sections(view) {
        list(section.title, &section.sentences, out);
    }
    warnings(view, out);
    list("What was not controlled", &uncontrolled(view), out);
    permanents(view, out);
    list("Left out of the plan", &view.left_out(), out);
}

fn stacks(view: &RunView, out: &mut String) {
    let verdict = &view.verdict;
    let stacks = StackTable::of(view);
    let direction = direction(verdict.better);
    out.push_str(&format!("## {} ({direction})\n\n", escape(&verdict.metric)));
    if stacks.estimates {
        out.push_str("~ is an estimate from the screen.\n\n");
    }
    table(&stacks.table(|column| &column.metric, true), out);
    out.push('\n');
}

fn warnings(view: &RunView, out: &mut String) {
    if view.warnings.is_empty() {
        return;
    }
    out.push_str("## Warnings\n\n");
    for (warning, texts) in grouped(&view.warnings) {
        for text in texts {
            out.push_str(&format!("- **{}** {}\n", escape(&warning.code), escape(text)));
        }
        out.push_str(&format!("  - {}\n", escape(&warning.remedy)));
    }
    out.push('\n');
}

fn list(title: &str, said: &[String], out: &mut String) {
    if said.is_empty() {
        return;
    }
    out.push_str(&format!("## {title}\n\n"));
    for text in said {
        out.push_str(&format!("- {}\n", escape(text)));
    }
    out.push('\n');
}

fn permanents(view: &RunView, out: &mut String) {
    let all = permanent(view);
    if all.is_empty() {
        return;
    }
    out.push_str(
        "## How to make it permanent\n\nSeekwell did none of this; it is for you to run.\n\n",
    );
    for one in &all {
        out.push_str(&format!("### {}\n\n", escape(&one.stack)));
        for (purpose, lines) in &one.steps {
            out.push_str(&format!("{}\n\n", escape(purpose)));
            fenced(lines, out);
        }
        for note in &one.notes {
            out.push_str(&format!("{}\n\n", escape(note)));
        }
        for back in &one.back {
            out.push_str(&format!("To go back: {}\n\n", escape(back)));
        }
    }
}

/// Lines as they are, inside a fence that none of them can end.
fn fenced(lines: &[String], out: &mut String) {
    let text: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    let longest = text.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    out.push_str(&format!("{fence}\n{}\n{fence}\n\n", text.join("\n")));
}

/// A table as Markdown.
pub(crate) fn table(of: &Table, out: &mut String) {
    let rows = of.cells();
    for (number, cells) in rows.iter().enumerate() {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
        if number == 0 {
            let rule: Vec<&str> =
                of.are_numbers().map(|is| if is { "---:" } else { "---" }).collect();
            out.push_str(&format!("| {} |\n", rule.join(" | ")));
        }
    }
}

/// Escapes a text so that Markdown shows it unchanged: characters of markup, the start of a list or
/// heading at the start of a line, and bare addresses that would become links. An empty text becomes a
/// dash.
pub(crate) fn escape(text: &str) -> String {
    let text = harmless(text);
    let mut out = String::new();
    let mut rest = text.trim().chars().peekable();
    while let Some(c) = rest.next() {
        let active = match c {
            '.' | ')' => number_or_www(&out, rest.peek()),
            ':' => rest.peek() == Some(&'/'),
            _ => "\\`*_[]<>&|#~!$@{}".contains(c),
        };
        if active || (out.is_empty() && c.is_ascii_punctuation()) {
            out.push('\\');
        }
        out.push(c);
    }
    if out.is_empty() { "\u{2014}".to_owned() } else { out }
}

/// Returns true if a dot between these makes the number of a list or the start of an address.
fn number_or_www(before: &str, after: Option<&char>) -> bool {
    let number = before.chars().all(|c| c.is_ascii_digit());
    (number && after.is_none_or(|c| c.is_whitespace()))
        || before.to_ascii_lowercase().ends_with("www")
}

#[cfg(test)]
mod tests;
