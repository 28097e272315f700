//! Published numbers with ours: text, Markdown, pictures and tables.

mod picture;
mod tables;

use crate::markdown::escape;
use crate::number::percent;
use crate::text::{capital, harmless, paragraph};
use picture::title;
use seekwell_model::replication::{
    Agreement, Bar, ClaimOutcome, ClaimVerdict, Miss, Quantity, Replication, StudyOutcome,
    Suspected, three_digits,
};
use std::collections::BTreeMap;

pub use picture::replication_chart;
pub use tables::{ReplicationTable, replication_tables};

#[cfg(test)]
mod tests;

const DASH: &str = "—";

/// Text for a difference without a known reason.
const NO_REASON: &str = "no likely reason is known";

/// Misses that the text and the page show of each study.
const MISSES: usize = 2;

/// The comparison for a terminal.
#[must_use]
pub fn replication_text(found: &Replication, width: usize, colour: bool) -> String {
    // The longest lead leaves room for words.
    let width = width.max(43);
    let lines = first_lines(found);
    let mut out: String = lines.iter().map(|line| paragraph("", line, width)).collect();
    for study in &found.studies {
        let (key, heading) = (&study.key, format!("{} ({})", study.title, study.author));
        out.push_str(&format!("\n{} {}\n", harmless(key), harmless(&heading)));
        out.push_str(&paragraph("  ", &score(study), width));
        for panel in study.page.panels.iter().filter(|panel| !panel.bars.is_empty()) {
            out.push_str(&format!("  {}\n", harmless(&title(panel))));
            panel.bars.iter().for_each(|bar| out.push_str(&bar_text(bar)));
        }
        for claim in &study.claims {
            claim_text(claim, width, colour, &mut out);
        }
        for finding in &study.page.findings {
            out.push_str(&paragraph("  - ", finding, width));
        }
        for suspected in &study.page.suspected {
            out.push_str(&paragraph("  - ", &suspected_words(suspected), width));
        }
        for miss in study.page.misses.iter().take(MISSES) {
            out.push_str(&paragraph("  miss: ", &miss_words(miss), width));
        }
    }
    out
}

fn bar_text(bar: &Bar<Quantity>) -> String {
    let number = |value: Option<f64>| value.map_or(DASH.to_owned(), three_digits);
    let (published, ours) = (number(bar.published), number(bar.ours.map(|found| found.centre)));
    let fitted = if bar.fitted { "  fitted" } else { "" };
    let words = bar.says.as_ref().map(|words| format!("      study: {}\n", harmless(words)));
    format!(
        "    {:<32} published {published:>8}  ours {ours:>8}{fitted}\n{}",
        harmless(&bar.name),
        words.unwrap_or_default()
    )
}

/// Result and statement of a claim of the study.
fn claim_text(claim: &ClaimOutcome, width: usize, colour: bool, out: &mut String) {
    if claim.not_counted.is_some() {
        return;
    }
    let lines = paragraph(&format!("  {:<20} ", result(claim)), &claim.says, width);
    let red = colour && claim.agreement.is_some_and(Agreement::differs);
    let lines = if red { format!("\u{1b}[31m{lines}\u{1b}[0m") } else { lines };
    out.push_str(&lines);
}

/// The first lines of the comparison: predicted values, models, claims.
fn first_lines(found: &Replication) -> Vec<String> {
    let (predicted, mut lines) = (found.predicted(), Vec::new());
    if predicted.values > 0 {
        let fitted = match predicted.near_fitted {
            0 => String::new(),
            fitted => format!(" ({fitted} fitted: something was changed after a run had missed)"),
        };
        let (near, of) = (predicted.near, predicted.values);
        lines.push(format!("{near} of {of} predicted values are within 10 %{fitted}."));
    }
    if let Some(models) = found.models {
        lines.push(format!(
            "Published figures check {} of {} models of devices; {} of those checked meet them all (within 10 %).",
            models.checked, models.models, models.met
        ));
    }
    let agreements = found.studies.iter().map(StudyOutcome::agreements);
    lines.push(format!("Claims: {}.", counted(&sum(agreements))));
    let labs = || found.studies.iter().flat_map(|study| &study.labs);
    let earlier = labs().filter(|lab| !lab.changed_models.is_empty()).count();
    if earlier > 0 {
        lines.push(format!("{earlier} of {} runs were made with earlier models.", labs().count()));
    }
    lines
}

fn sum(agreements: impl Iterator<Item = BTreeMap<Agreement, u32>>) -> BTreeMap<Agreement, u32> {
    let mut sum = BTreeMap::new();
    for (agreement, count) in agreements.flatten() {
        *sum.entry(agreement).or_insert(0) += count;
    }
    sum
}

/// Claims that were compared, by agreement.
fn counted(agreements: &BTreeMap<Agreement, u32>) -> String {
    let of: u32 = agreements.values().sum();
    let count = |agreement| agreements.get(&agreement).copied().unwrap_or(0);
    format!(
        "{} of {of} agree, {} differ with the cause shown, {} differ by our error, {} cannot be told",
        count(Agreement::Agrees),
        count(Agreement::Finding),
        count(Agreement::OurError),
        count(Agreement::CannotTell),
    )
}

/// The result of a claim in words.
fn result(claim: &ClaimOutcome) -> &'static str {
    claim.agreement.map_or(claim.verdict.words(), Agreement::words)
}

/// Returns the name of a file next to a page, whose file name without its extension this is: a study's picture or a
/// table.
#[must_use]
pub fn replication_file(stem: &str, part: &str, extension: &str) -> String {
    format!("{stem}-{part}.{extension}")
}

/// The comparison as Markdown, with links to the files next to it.
#[must_use]
pub fn replication_markdown(found: &Replication, stem: &str) -> String {
    let mut out = "# Published studies, replicated\n".to_owned();
    for line in first_lines(found) {
        out.push_str(&format!("\n**{}**\n", escape(&line)));
    }
    scoreboard(found, &mut out);
    how_to_read(found, stem, &mut out);
    for study in &found.studies {
        study_markdown(study, stem, &mut out);
    }
    out
}

/// The score of every study.
fn scoreboard(found: &Replication, out: &mut String) {
    out.push_str("\n| study | agrees | differs, cause shown | differs, our error | cannot tell | not measured | cannot be tested |\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for study in &found.studies {
        let agreements = study.agreements();
        let agreement = |one| agreements.get(&one).copied().unwrap_or(0);
        let cells = Agreement::ALL.map(agreement).into_iter().chain(not_compared(study));
        let cells: Vec<String> = cells.map(|number| number.to_string()).collect();
        out.push_str(&format!("| {} | {} |\n", escape(&study.key), cells.join(" | ")));
    }
}

/// Claims that were not measured, and those that are beyond test.
fn not_compared(study: &StudyOutcome) -> [u32; 2] {
    let score = study.score();
    let claims: u32 = score.values().sum();
    let cannot = score.get(&ClaimVerdict::CannotBeTested).copied().unwrap_or(0);
    [claims - cannot - study.agreements().values().sum::<u32>(), cannot]
}

fn how_to_read(found: &Replication, stem: &str, out: &mut String) {
    out.push_str(&format!(
        "\nA claim *agrees* or *differs* when its whole 95 % interval is on one side of the study's bound by more than the lab's tie; otherwise it *cannot tell*. *Cause shown*: by an experiment. Each fact counts once. Claims were frozen on {}, before any model ran. Set: {}; backend: {}{}.",
        escape(&found.frozen),
        escape(&found.set),
        escape(&found.place),
        found.device.as_ref().map(|device| format!(", device: {}", escape(device))).unwrap_or_default(),
    ));
    let quick = found.studies.iter().filter_map(|study| study.quick_agreements.clone());
    let quick = sum(quick);
    if !quick.is_empty() {
        let agrees = quick.get(&Agreement::Agrees).copied().unwrap_or(0);
        out.push_str(&format!(
            " Quick runs alone: {agrees} of {} agree.",
            quick.values().sum::<u32>()
        ));
    }
    let link = |table: &ReplicationTable| {
        format!("[{}]({})", table.name, replication_file(stem, table.name, "csv"))
    };
    let links: Vec<String> = replication_tables(found).iter().map(link).collect();
    out.push_str(&format!(
        "\n\nTables: {}. Again: `seekwell device replicate STUDY --quick`.\n",
        links.join(", ")
    ));
}

fn study_markdown(study: &StudyOutcome, stem: &str, out: &mut String) {
    let (key, page) = (escape(&study.key), &study.page);
    out.push_str(&format!("\n## {key} {}\n\n", escape(&study.title)));
    out.push_str(&format!(
        "{}, {}. {}\n",
        escape(&study.author),
        escape(&study.kernel),
        page.asked
    ));
    if replication_chart(study).is_some() {
        let chart = replication_file(stem, &study.key, "svg");
        out.push_str(&format!("\n![Study {key}: published and ours]({chart})\n\n"));
    }
    for finding in &page.findings {
        out.push_str(&format!("- {finding}\n"));
    }
    for suspected in &page.suspected {
        out.push_str(&format!("- {}\n", escape(&suspected_words(suspected))));
    }
    if !page.misses.is_empty() {
        out.push_str("\nLargest misses, likely reasons:\n\n");
    }
    for (index, miss) in page.misses.iter().take(MISSES).enumerate() {
        out.push_str(&format!("{}. {}\n", index + 1, escape(&miss_words(miss))));
    }
}

/// Part of an effect that must go away with its cause, and that may at most if it is not the cause.
const CAUSES: [f64; 2] = [0.9, 0.1];

/// The experiment about a suspected cause: the effect with it and without.
fn suspected_words(of: &Suspected) -> String {
    let number = |quantity: Option<Quantity>| {
        quantity.map_or(DASH.to_owned(), |one| three_digits(one.centre))
    };
    let (with, without) = (number(of.with), number(of.without));
    let verdict = match of.share() {
        None if of.with.is_some() && of.without.is_some() => "there is no effect".to_owned(),
        None => "not measured".to_owned(),
        Some(share) if share >= CAUSES[0] => "the effect goes away".to_owned(),
        Some(share) if share <= CAUSES[1] => "the effect stays".to_owned(),
        Some(share) => format!("{} of the effect goes away", percent(share)),
    };
    format!(
        "Suspected: {}. {} {with} times with it, {without} without: {verdict}.",
        of.cause, of.effect
    )
}

/// A miss in words: both numbers and the reason.
fn miss_words(miss: &Miss) -> String {
    let number = |value: f64| match miss.unit.as_str() {
        "" => three_digits(value),
        "1/s" => format!("{}/s", three_digits(value)),
        unit => format!("{} {unit}", three_digits(value)),
    };
    let wanted = match (miss.published, &miss.wanted) {
        (Some(published), _) => format!("published {}", number(published)),
        (None, wanted) => format!("wanted {}", wanted.as_deref().unwrap_or(DASH)),
    };
    let reason = capital(miss.reason.as_deref().unwrap_or(NO_REASON));
    format!("{}: {wanted}, ours {}. {reason}.", miss.says, number(miss.found))
}

/// The score in words.
pub(crate) fn score(study: &StudyOutcome) -> String {
    let mut text = counted(&study.agreements());
    let verdicts = [ClaimVerdict::NotMeasured, ClaimVerdict::CannotBeTested];
    for (count, verdict) in not_compared(study).into_iter().zip(verdicts) {
        if count > 0 {
            text.push_str(&format!(", {count} {}", verdict.words()));
        }
    }
    let left_out = study.claims.iter().filter(|claim| claim.not_counted.is_some()).count();
    if left_out > 0 {
        text.push_str(&format!(", {left_out} not counted"));
    }
    text
}
