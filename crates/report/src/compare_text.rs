//! Runs compared.

use crate::markdown::{self, escape};
use crate::number::{DASH, Scale, exact_percent, ratio, unit_of};
use crate::stack_table::direction;
use crate::terminal::warnings_below;
use crate::text::{Ink, Palette, Table, bullets, harmless, paragraph};
use seekwell_model::comparison::{Change, Difference, RunComparison, StackComparison, Threshold};

/// Labels listed of a difference before "and N more".
const STACKS_NAMED: usize = 3;

/// A comparison for a terminal of `width` columns (at least 60 are used).
#[must_use]
pub fn compare_text(found: &RunComparison, width: usize, colour: bool) -> String {
    let width = width.max(60);
    let palette = Palette { colour };
    let mut out = head(found, width, palette);
    out.push_str(&table(found).render(width, 7, palette).0);
    out.push('\n');
    out.push_str(&paragraph("", &conclusion(found), width));
    for (only, name) in [(&found.only_first, &found.first), (&found.only_second, &found.second)] {
        if !only.is_empty() {
            let text = format!("Only in {name}, so not compared: {}.", only.join(", "));
            out.push_str(&paragraph("", &text, width));
        }
    }
    out.push_str(&differences(&found.differences, width, palette));
    for (doubts, name) in
        [(&found.first_doubts, &found.first), (&found.second_doubts, &found.second)]
    {
        let title = harmless(&format!("Doubts about {name}"));
        out.push_str(&warnings_below(&title, doubts, width, palette));
    }
    out
}

fn head(found: &RunComparison, width: usize, palette: Palette) -> String {
    let title = format!(
        "{} -> {}",
        side(&found.first_runs, &found.first),
        side(&found.second_runs, &found.second)
    );
    let mut out = palette.paint(Ink::Heading, paragraph("", &title, width).trim_end());
    out.push('\n');
    out + &paragraph("", &about(found), width)
}

/// Metric, design and confidence of the comparison.
fn about(found: &RunComparison) -> String {
    let ratio_of = match &found.reference {
        Some(reference) => format!("ratio of the ratios to {reference}, second to first"),
        None => "ratio second to first".to_owned(),
    };
    let samples = if found.has_several_runs() {
        "each run counts as one value"
    } else {
        "independent samples, so trials are not paired"
    };
    format!(
        "{} ({}); {ratio_of}; {samples}; {} confidence over all stacks together; tie width {}",
        found.metric,
        direction(found.better),
        exact_percent(found.confidence),
        exact_percent(found.tie)
    )
}

/// A comparison as Markdown, for a change request: the conclusion, the table, what else differed. No text of a
/// run becomes markup.
#[must_use]
pub fn compare_markdown(found: &RunComparison) -> String {
    let [first, second] = [(&found.first_runs, &found.first), (&found.second_runs, &found.second)]
        .map(|(runs, one)| escape(&side(runs, one)));
    let text = conclusion(found);
    let (result, more) = text.split_once(". ").unwrap_or((&text, ""));
    let result = result.trim_end_matches('.');
    let mut out = format!("### {first} to {second}\n\n**{}.**\n\n", escape(result));
    if !more.is_empty() {
        out.push_str(&format!("{}\n\n", escape(more)));
    }
    markdown::table(&table(found), &mut out);
    out.push_str(&format!("\n{}\n", escape(&about(found))));
    let mut said: Vec<String> = found.differences.iter().map(difference).collect();
    for (only, name) in [(&found.only_first, &found.first), (&found.only_second, &found.second)] {
        if !only.is_empty() {
            said.push(format!("only in {name}, so not compared: {}", only.join(", ")));
        }
    }
    let doubts = found.first_doubts.iter().chain(&found.second_doubts);
    said.extend(doubts.map(|doubt| format!("{}: {}", doubt.code, doubt.text)));
    if !said.is_empty() {
        out.push('\n');
    }
    for text in said {
        out.push_str(&format!("- {}\n", escape(&text)));
    }
    out
}

/// The runs of a side.
fn side(runs: &[String], one: &str) -> String {
    if runs.len() > 1 { runs.join(", ") } else { one.to_owned() }
}

/// One row per stack.
fn table(found: &RunComparison) -> Table {
    let scale = scale(found);
    let mut table = Table::default();
    table.column("stack", "", false);
    table.column("first", scale.symbol(), true);
    table.column("second", scale.symbol(), true);
    table.numbers(["ratio", "interval", "trials"]);
    table.column("finding", "", false);
    found.stacks.iter().for_each(|stack| table.row(ink(stack), cells(stack, scale).to_vec()));
    table
}

fn scale(found: &RunComparison) -> Scale {
    let medians = found.stacks.iter().flat_map(|stack| [stack.first_median, stack.second_median]);
    Scale::fit(unit_of(&found.metric), medians.flatten())
}

/// The row of a stack.
fn cells(stack: &StackComparison, scale: Scale) -> [String; 7] {
    let interval = match (stack.low, stack.high) {
        (Some(low), Some(high)) => format!("{}–{}", ratio(Some(low)), ratio(Some(high))),
        _ => DASH.to_owned(),
    };
    [
        stack.stack.clone(),
        scale.number(stack.first_median),
        scale.number(stack.second_median),
        ratio(stack.ratio),
        interval,
        format!("{}+{}", stack.first_trials, stack.second_trials),
        finding(stack),
    ]
}

fn finding(stack: &StackComparison) -> String {
    let change = match stack.change {
        Change::Better => "differs, better",
        Change::Worse => "differs, worse",
        Change::Same => "same",
        Change::NotResolved => "inconclusive",
        Change::TooFew => "too few trials",
    };
    match stack.threshold {
        Some(Threshold::Failed) => format!("{change}, FAILED"),
        Some(Threshold::Held) => format!("{change}, held"),
        Some(Threshold::NotResolved) | None => change.to_owned(),
    }
}

fn ink(stack: &StackComparison) -> Option<Ink> {
    match (stack.threshold, stack.change) {
        (Some(Threshold::Failed), _) | (_, Change::Worse) => Some(Ink::Doubt),
        (_, Change::Better) => Some(Ink::Good),
        _ => None,
    }
}

fn conclusion(found: &RunComparison) -> String {
    let number = |change| found.stacks.iter().filter(|stack| stack.change == change).count();
    let open = number(Change::NotResolved) + number(Change::TooFew);
    let (better, worse) = (number(Change::Better), number(Change::Worse));
    let several = found.has_several_runs();
    let subject = match (several, &found.reference) {
        (true, _) => "The runs before and after differ",
        (false, Some(_)) => "Relative to the reference, these two runs differ",
        (false, None) => "These two runs differ",
    };
    let mut text = format!(
        "{subject} in {} of {} stacks ({better} better, {worse} worse); {} the same, {open} \
         inconclusive.",
        better + worse,
        found.stacks.len(),
        number(Change::Same),
    );
    // In virtual time the machine has no part in the result.
    if better + worse > 0 && found.backend != "virtual" {
        text.push_str(&cause(found));
    }
    if let Some(why) = &found.withheld {
        text.push_str(&format!(
            " No stack is called better or worse, because {}: that alone makes runs differ. Run again \
             on an idle machine, or compare with --reference.",
            harmless(why)
        ));
    }
    if open > 0 {
        text.push_str(" More rounds in both runs, or a wider tie, would decide more.");
    }
    let limit = exact_percent(found.fail_above.unwrap_or(0.0));
    match found.threshold() {
        Some(Threshold::Failed) => {
            text.push_str(&format!(" Threshold failed: a stack is worse by more than {limit}."));
        }
        Some(Threshold::Held) => {
            text.push_str(&format!(" Threshold held: no stack is worse by more than {limit}."));
        }
        Some(Threshold::NotResolved) => text.push_str(&format!(
            " Threshold inconclusive: a stack may be worse by more than {limit}."
        )),
        None => {}
    }
    text
}

/// The possible causes of a difference, by the design of the comparison.
fn cause(found: &RunComparison) -> String {
    match (found.has_several_runs(), &found.reference) {
        (true, _) => {
            " It is larger than the ups and downs from run to run: if the runs were made in turn, \
             the change caused it."
                .to_owned()
        }
        (false, Some(reference)) => format!(
            " What slowed the whole machine slowed {} too and cancels: if the change does not touch \
             it, the change caused the difference.",
            harmless(reference)
        ),
        (false, None) => {
            " One run per side cannot tell a change of the setup from a change of the \
                          machine: to blame the setup, make at least three runs per side, in turn, \
                          or name a stack that the change does not touch with --reference."
                .to_owned()
        }
    }
}

fn differences(all: &[Difference], width: usize, palette: Palette) -> String {
    if all.is_empty() {
        return paragraph(
            "",
            "Kernel, device, firmware and settings in force were the same in both runs, as far as \
             they were read. The time between the runs is a part of every ratio.",
            width,
        );
    }
    let title = (Ink::Doubt, "Not the same in both runs, so a part of every ratio");
    let texts: Vec<String> = all.iter().map(difference).collect();
    bullets(title, "  ! ", &texts, width, palette)
}

fn difference(difference: &Difference) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or("not known".to_owned());
    let (first, second) = (value(&difference.first), value(&difference.second));
    let mut text = format!("{}: {first} -> {second}", difference.what);
    if !difference.stacks.is_empty() {
        let named: Vec<&str> =
            difference.stacks.iter().take(STACKS_NAMED).map(String::as_str).collect();
        text.push_str(&format!(" (on {}", named.join(", ")));
        if difference.stacks.len() > STACKS_NAMED {
            let more = difference.stacks.len() - STACKS_NAMED;
            text.push_str(&format!(" and {more} more"));
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests;
