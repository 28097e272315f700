//! The report on a terminal: the answer on one screen, everything else on request.

pub(crate) mod forest;
pub(crate) mod medians;
mod time;

use crate::answer_text::{AnswerText, Axes, answer, is_by_workload, joined};
use crate::evidence_text::{Section, sections, weaker_leader};
use crate::next_step::{next_step, shell_word};
use crate::permanent::{Permanent, permanent};
use crate::sentence::{earlier, grouped_values, recording};
use crate::stack_table::{StackTable, direction};
use crate::text::{Ink, Palette, bullets, facts, harmless, paragraph, width as columns};
use crate::uncontrolled::uncontrolled;
use crate::view::{RunView, StepColumn, count};
use crate::why_text::WhyText;
use forest::Forest;
use seekwell_model::warning::{Warning, WarningCode};
use std::path::Path;

/// Columns of the table that are never left out: stack, median, ratio, interval, trials.
const FIXED_COLUMNS: usize = 5;
/// Texts shown of warnings that have code and remedy in common.
const TEXTS_OF_A_GROUP: usize = 5;
/// Lines of the first screen.
const LINES: usize = 40;
/// Fewest and most stacks on the first screen.
const STACKS: (usize, usize) = (5, 12);
/// Most bars of time, and those left when the screen is full.
const BARS: (usize, usize) = (4, 2);
/// Blank lines around the picture and the last command, and the lines of that command.
const FRAME: usize = 4;
/// Reasons that are shown where nothing was compared.
pub(crate) const REASONS: usize = 3;

/// Terminal on which a report is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen<'a> {
    /// Columns; at least 60 are used.
    pub width: usize,
    /// Lines of the terminal; `None` for a file or a pipe, where nothing scrolls.
    pub height: Option<usize>,
    /// True to use colours; without it the report is pure text.
    pub colour: bool,
    /// True for everything, false for the answer alone.
    pub all: bool,
    /// The run file, for commands.
    pub path: &'a Path,
}

/// The report for a terminal: the first screen, and everything else if it is asked for. Command lines are never
/// broken, so that they can be copied. The answer is repeated at the end of a text that scrolls.
#[must_use]
pub fn terminal(view: &RunView, screen: &Screen<'_>) -> String {
    let width = screen.width.max(60);
    let palette = Palette { colour: screen.colour };
    if view.is_recording() {
        return format!(
            "{}{}\n{}\n{}",
            head(view, width, palette),
            machine(view, width),
            table(view, width, palette),
            paragraph("", &recording(), width)
        );
    }
    let text = AnswerText::of(view);
    let mut out = first(view, &text, screen, width, palette);
    if screen.all {
        out.push('\n');
        out.push_str(&machine(view, width));
        out.push('\n');
        out.push_str(&table(view, width, palette));
        out.push_str(&evidence(view, width, palette));
        out.push_str(&warnings(&view.warnings, width, palette));
        let title = (Ink::Heading, "What was not controlled");
        out.push_str(&bullets(title, "  - ", &uncontrolled(view), width, palette));
        out.push_str(&make_permanent(&permanent(view), width, palette));
    }
    if screen.height.is_some_and(|height| out.lines().count() >= height) {
        out.push('\n');
        out.push_str(&said(&joined(&text.pick), "", ink(view, &text), width, palette));
    }
    out
}

/// The first screen.
fn first(
    view: &RunView,
    text: &AnswerText,
    screen: &Screen<'_>,
    width: usize,
    palette: Palette,
) -> String {
    let mut before = head(view, width, palette);
    before.push('\n');
    before.push_str(&verdict(view, text, width, palette));
    let forest = Forest::of(view);
    let next = next(view, screen, width, palette);
    let lines = |text: &str| text.lines().count();
    let fixed = lines(&before) + lines(&next) + forest.other_lines(width) + FRAME;
    let mut after = matters(view, text, screen.path, width, palette, BARS.0);
    if !screen.all && fixed + lines(&after) + STACKS.0.min(forest.stacks()) > LINES {
        after = matters(view, text, screen.path, width, palette, BARS.1);
    }
    let others = fixed + lines(&after);
    after.push_str(&next);
    let stacks = match screen.all {
        true => forest.stacks(),
        false => LINES.saturating_sub(others).clamp(STACKS.0, STACKS.1).min(forest.stacks()),
    };
    let picture = match is_by_workload(view) {
        true => medians::table(view, width, stacks, palette),
        false => forest.text(width, stacks, palette),
    };
    let hidden = forest.stacks() - stacks;
    let more =
        if screen.all { String::new() } else { everything(view, screen.path, hidden, width) };
    let gap = if picture.is_empty() { "" } else { "\n" };
    format!("{before}{gap}{picture}{after}{more}")
}

fn head(view: &RunView, width: usize, palette: Palette) -> String {
    let lab = &view.plan.lab;
    let out = paragraph("", &format!("{}: {}", lab.name, lab.question), width);
    if palette.colour {
        return out.lines().map(|line| palette.paint(Ink::Heading, line) + "\n").collect();
    }
    out
}

fn machine(view: &RunView, width: usize) -> String {
    let said: Vec<String> = view.facts().iter().map(|fact| harmless(fact)).collect();
    facts(&said, width)
}

/// Good news, or a pick that is a guess.
fn ink(view: &RunView, text: &AnswerText) -> Ink {
    if text.cause.is_none() && answer(view).pick.is_some() { Ink::Good } else { Ink::Doubt }
}

/// A paragraph whose start, the text itself, has a colour.
fn said(text: &str, more: &str, ink: Ink, width: usize, palette: Palette) -> String {
    let whole = paragraph("  ", format!("{text} {more}").trim(), width);
    if !palette.colour {
        return whole;
    }
    let mut left = columns(&harmless(text));
    let painted = whole.lines().map(|line| {
        let (blanks, words) = line.split_at(line.len() - line.trim_start().len());
        let of_text = words.chars().count().min(left);
        left = left.saturating_sub(of_text + 1);
        let cut = words.char_indices().nth(of_text).map_or(words.len(), |(at, _)| at);
        format!("{blanks}{}{}\n", palette.paint(ink, &words[..cut]), &words[cut..])
    });
    painted.collect()
}

/// The answer in sentences.
fn verdict(view: &RunView, text: &AnswerText, width: usize, palette: Palette) -> String {
    let mut out = String::new();
    let is_of_file = |warning: &&Warning| {
        let codes = [WarningCode::FileChanged, WarningCode::VerdictDiffers];
        codes.iter().any(|code| code.definition().code == warning.code)
    };
    let marked = |warning: &Warning| {
        paragraph("  ! ", &format!("{}: {}", warning.code, warning.text), width)
    };
    view.warnings.iter().filter(is_of_file).for_each(|warning| out.push_str(&marked(warning)));
    let cause = text.cause.as_deref().unwrap_or_default();
    out.push_str(&said(&joined(&text.pick), cause, ink(view, text), width, palette));
    let others = Some(text.others()).filter(|text| !text.is_empty());
    let more =
        [others, text.weaker.clone(), weaker_leader(view), grouped_values(view), earlier(view)];
    for more in more.into_iter().flatten() {
        out.push_str(&paragraph("  ", &more, width));
    }
    if let Some(doubt) = &text.doubt {
        let doubt = format!("Main doubt: {} {}", doubt.text, doubt.remedy);
        out.push('\n');
        out.push_str(&said("", &doubt, Ink::Doubt, width, palette));
    }
    if answer(view).pick.is_none() {
        let reasons = view.warnings.iter().filter(|warning| !is_of_file(warning));
        reasons.take(REASONS).for_each(|warning| out.push_str(&marked(warning)));
    }
    out
}

/// The lines of the axes and the bars of the time, as many as `bars`.
fn matters(
    view: &RunView,
    text: &AnswerText,
    path: &Path,
    width: usize,
    palette: Palette,
    bars: usize,
) -> String {
    let mut out = String::new();
    let mut block = |title: &str, lines: Vec<String>, is_prose: bool| {
        for (number, line) in lines.iter().enumerate() {
            let first = if number == 0 { format!("{title:<17}") } else { " ".repeat(17) };
            let text =
                if is_prose { paragraph(&first, line, width) } else { format!("{first}{line}\n") };
            out.push_str(&text.replacen(title, &palette.paint(Ink::Heading, title), 1));
        }
    };
    let axes = text.axes.iter().map(|line| format!("{}: {}", line.axis, line.text)).collect();
    block("what matters", axes, true);
    if let Some(spent) = &answer(view).time {
        block(
            "where time goes",
            time::bars(spent, Axes::of(&view.plan).names(), width.saturating_sub(17), bars),
            false,
        );
    }
    if let Some(why) = WhyText::of(view) {
        block("why", vec![why.sentence.clone()], true);
        for line in why.lines(width.saturating_sub(17)) {
            out.push_str(&format!("{}{}\n", " ".repeat(17), harmless(&line)));
        }
        if let Some(mechanism) = &why.mechanism {
            out.push_str(&paragraph(&" ".repeat(17), mechanism, width));
        }
    } else if let Some(untested) = WhyText::untested(view, path) {
        // Not broken, so that the command can be copied.
        out.push_str(&format!("{}\n", harmless(&untested)));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// The command that brings more certainty.
fn next(view: &RunView, screen: &Screen<'_>, width: usize, palette: Palette) -> String {
    let Some(next) = next_step(view, screen.path) else { return String::new() };
    let command = palette.paint(Ink::Heading, &next.command);
    format!("\n{}  {command}\n", paragraph("", &next.why, width))
}

/// The number of things that the first screen leaves out, and the command that shows them.
fn everything(view: &RunView, path: &Path, hidden: usize, width: usize) -> String {
    let things = [
        (hidden, "more stack"),
        (view.warnings.len(), "warning"),
        (uncontrolled(view).len(), "factor"),
    ];
    let parts: Vec<String> = things
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| match what {
            "factor" => format!("{} not controlled", count(number, what)),
            _ => count(number, what),
        })
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    let command = format!("seekwell report {} --all", shell_word(&path.display().to_string()));
    let (text, command) = (format!("Everything else{parts}:"), harmless(&command));
    if columns(&text) + 1 + columns(&command) <= width {
        return format!("\n{text} {command}\n");
    }
    format!("\n{}  {command}\n", paragraph("", &text, width))
}

fn table(view: &RunView, width: usize, palette: Palette) -> String {
    let stacks = StackTable::of(view);
    let table = stacks.table(StepColumn::title, false);
    let (text, left_out) = table.render(width, FIXED_COLUMNS + stacks.extra.len(), palette);
    let title = title(view, &stacks, left_out < stacks.others.len());
    let mut out = paragraph("", &title, width);
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

fn evidence(view: &RunView, width: usize, palette: Palette) -> String {
    let text = |section: Section| {
        bullets((Ink::Heading, section.title), "  - ", &section.sentences, width, palette)
    };
    sections(view).into_iter().map(text).collect()
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

/// The warnings of a run, a plan or a benchmark.
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
            out.push_str(&paragraph("  ! ", &format!("{code}{text}"), width));
        }
        if texts.len() > TEXTS_OF_A_GROUP {
            let more = format!("and {} more like these", texts.len() - TEXTS_OF_A_GROUP);
            out.push_str(&paragraph("    ", &more, width));
        }
        out.push_str(&paragraph("    -> ", &warning.remedy, width));
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
        out.push_str(&paragraph(&format!("{indent}note: "), note, width));
    }
    for line in back {
        out.push_str(&paragraph(&format!("{indent}to go back: "), line, width));
    }
    out
}

#[cfg(test)]
mod tests;
