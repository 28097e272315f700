//! Published numbers with ours, and the result of every claim: text, Markdown and one page.

mod chart;
mod page;

use crate::markdown::escape;
use crate::text::harmless;
use seekwell_model::replication::{
    Also, ClaimOutcome, ClaimVerdict, Quantity, Replication, ShownBy, StudyOutcome, Tested,
    ValueOutcome, agrees,
};
use std::collections::{BTreeMap, BTreeSet};

pub use chart::replication_chart;
pub use page::replication_html;

#[cfg(test)]
mod tests;

const DASH: &str = "—";

/// Text for a difference without a known reason.
const NO_REASON: &str = "no likely reason is known";

/// The comparison for a terminal.
#[must_use]
pub fn replication_text(found: &Replication, width: usize, colour: bool) -> String {
    let mut out = String::new();
    for study in &found.studies {
        out.push_str(&harmless(&format!("{} {} ({})", study.key, study.title, study.author)));
        out.push('\n');
        out.push_str(&format!("  {}; {} set, backend: {}\n", score(study), found.set, found.place));
        for lab in &study.labs {
            if let Some(since) = lab.models_since() {
                wrapped(&mut out, &format!("  lab {}: ", harmless(&lab.lab)), &since, width);
            }
        }
        for value in &study.values {
            let line = format!(
                "  {:<36} published {:>12}  measured {:>12}  ratio {:>6}  {}",
                value.id,
                with_unit(value.published, &value.unit),
                measured(value),
                value.ratio.map_or(DASH.to_owned(), |ratio| format!("{ratio:.2}")),
                agreement(value),
            );
            out.push_str(&marked(&harmless(&line), value.agrees() == Some(false), colour));
            if let Some(reason) = &value.reason {
                wrapped(&mut out, "    likely reason: ", reason, width);
            }
            for also in &value.also {
                wrapped(&mut out, "    ", &beside(also), width);
            }
        }
        for claim in &study.claims {
            let line = format!("  {}: {}", claim.verdict.words(), claim.id);
            let red = claim.verdict == ClaimVerdict::NotConfirmed;
            out.push_str(&marked(&harmless(&line), red, colour));
            wrapped(&mut out, "    ", &claim.says, width);
            for test in &claim.tests {
                wrapped(&mut out, "      ", &tested(test), width);
            }
            let why = why(claim);
            if !why.is_empty() {
                wrapped(&mut out, "      ", &why, width);
            }
            if let Some(left_out) = &claim.not_counted {
                wrapped(&mut out, "      not counted: ", &left_out.reason, width);
            }
            if let Some(ends) = claim.at_ends {
                wrapped(&mut out, "      ", &ends.words(), width);
            }
            for also in &claim.also {
                wrapped(&mut out, "      ", &beside(also), width);
            }
            for trials in summed(&claim.shown_by) {
                wrapped(&mut out, "      shown by ", &trials, width);
            }
        }
        out.push('\n');
    }
    out
}

fn marked(line: &str, red: bool, colour: bool) -> String {
    if red && colour { format!("\u{1b}[31m{line}\u{1b}[0m\n") } else { format!("{line}\n") }
}

/// Appends a text after a lead, broken between words.
fn wrapped(out: &mut String, begin: &str, text: &str, width: usize) {
    let room = width.max(40) - begin.len();
    let mut line = String::new();
    let mut lead = begin.to_owned();
    for word in harmless(text).split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            out.push_str(&format!("{lead}{line}\n"));
            lead = " ".repeat(begin.len());
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&format!("{lead}{line}\n"));
}

/// Introduction and charts of the Markdown comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    /// Markdown between the scores and the studies.
    pub introduction: Option<&'a str>,
    /// The page's file name without its extension, from which the charts' names are made; `None`: no charts.
    pub charts: Option<&'a str>,
}

impl Around<'_> {
    /// Returns the name of a study's chart; `None` without charts.
    fn chart(&self, study: &str) -> Option<String> {
        self.charts.map(|stem| chart_name(stem, study))
    }
}

/// Returns the file name of a study's chart, next to a page with this file name without its extension.
#[must_use]
pub fn chart_name(stem: &str, study: &str) -> String {
    format!("{stem}-{study}.svg")
}

/// The comparison as Markdown.
#[must_use]
pub fn replication_markdown(found: &Replication, around: Around<'_>) -> String {
    let mut out = "# Published studies, replicated\n\n".to_owned();
    scoreboard(found, &mut out);
    quick_scoreboard(found, &mut out);
    if let Some(sentence) = earlier(found) {
        out.push_str(&format!("\n**{sentence}** Each lab below says which.\n"));
    }
    if let Some(introduction) = around.introduction {
        out.push_str(&format!("\n{}\n", introduction.trim()));
    }
    for study in &found.studies {
        study_markdown(study, around, &mut out);
    }
    out
}

/// The score of every study, and what it counts.
fn scoreboard(found: &Replication, out: &mut String) {
    out.push_str("| study | confirmed | not confirmed | not measured | cannot be tested | not counted |\n| --- | --- | --- | --- | --- | --- |\n");
    for study in &found.studies {
        let score = study.score();
        let count = |verdict| score.get(&verdict).copied().unwrap_or(0);
        out.push_str(&format!(
            "| [{} {}](#study-{}) | {} | {} | {} | {} | {} |\n",
            escape(&study.key),
            escape(&study.title),
            escape(&study.key),
            count(ClaimVerdict::Confirmed),
            count(ClaimVerdict::NotConfirmed),
            count(ClaimVerdict::NotMeasured),
            count(ClaimVerdict::CannotBeTested),
            not_counted(study)
        ));
    }
    out.push_str(&format!(
        "\nThe score counts the claims that a study makes, each once, if they compare a predicted value and, where confirmed, win by more than the lab's tie width. Claims were frozen on {}, before any model of their hardware ran a lab. Ratios are ours over the published number, intervals are 95 % over the rounds of a lab, each with its own seed. Set: {}; backend: {}{}.\n",
        escape(&found.frozen),
        escape(&found.set),
        escape(&found.place),
        found.device.as_ref().map(|device| format!(", device: {}", escape(device))).unwrap_or_default(),
    ));
}

/// The score of the quick runs alone, where the page mixes both sets.
fn quick_scoreboard(found: &Replication, out: &mut String) {
    if found.studies.iter().all(|study| study.quick_alone.is_none()) {
        return;
    }
    out.push_str("\nThe quick runs alone, which anyone can repeat in minutes, give another score:\n\n| study | confirmed | not confirmed | not measured | cannot be tested |\n| --- | --- | --- | --- | --- |\n");
    for study in &found.studies {
        let score = study.quick_alone.clone().unwrap_or_default();
        let count = |verdict| score.get(&verdict).copied().unwrap_or(0);
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            escape(&study.key),
            count(ClaimVerdict::Confirmed),
            count(ClaimVerdict::NotConfirmed),
            count(ClaimVerdict::NotMeasured),
            count(ClaimVerdict::CannotBeTested)
        ));
    }
}

/// The number of runs that were made with earlier models of their devices; `None` without one.
fn earlier(found: &Replication) -> Option<String> {
    let labs = || found.studies.iter().flat_map(|study| &study.labs);
    let earlier = labs().filter(|lab| !lab.changed_models.is_empty()).count();
    let of = labs().count();
    (earlier > 0).then(|| format!("{earlier} of {of} runs were made with earlier models of their devices: run again, they would measure something else."))
}

fn study_markdown(study: &StudyOutcome, around: Around<'_>, out: &mut String) {
    out.push_str(&format!("\n## Study {}\n\n*{}*. ", escape(&study.key), escape(&study.title)));
    out.push_str(&format!(
        "By {}, on {}; {}.\n\n**{}.**\n",
        escape(&study.author),
        escape(&study.kernel),
        escape(&study.stands_for),
        score(study)
    ));
    let chart = around.chart(&study.key).filter(|_| chart::replication_chart(study).is_some());
    if let Some(chart) = chart {
        out.push_str(&format!(
            "\n![Every measured value of study {} over its published one]({chart})\n",
            escape(&study.key),
        ));
    }
    details("How it was replicated", out, |out| notes_markdown(study, out));
    details("Values", out, |out| values_markdown(study, out));
    details("Claims", out, |out| claims_markdown(study, out));
}

/// A part of the page that is closed until the reader opens it.
fn details(title: &str, out: &mut String, write: impl FnOnce(&mut String)) {
    let mut inside = String::new();
    write(&mut inside);
    if !inside.is_empty() {
        out.push_str(&format!("\n<details><summary>{title}</summary>\n{inside}\n</details>\n"));
    }
}

fn notes_markdown(study: &StudyOutcome, out: &mut String) {
    for note in study.notes.iter().chain(&study.errata) {
        out.push_str(&format!("\n- {}", escape(note)));
    }
    for lab in &study.labs {
        out.push_str(&format!(
            "\n- lab {} ({} set): {} trials, {} left out, kernel {} ({}){}",
            escape(&lab.lab),
            escape(&lab.set),
            lab.trials,
            lab.left_out,
            escape(&lab.kernel),
            escape(&lab.file),
            lab.models_since().map(|since| format!(", {}", escape(&since))).unwrap_or_default()
        ));
    }
    if !study.notes.is_empty() || !study.labs.is_empty() {
        out.push('\n');
    }
}

fn values_markdown(study: &StudyOutcome, out: &mut String) {
    if !study.values.is_empty() {
        out.push_str("\n| value | use | published | measured | ratio | | agreement |\n| --- | --- | --- | --- | --- | --- | --- |\n");
    }
    for value in &study.values {
        let reason = value.reason.as_deref().or(value.note.as_deref());
        let mut remark = reason.map(|text| format!(": {}", escape(text))).unwrap_or_default();
        for also in &value.also {
            remark.push_str(&format!("<br>{}", escape(&beside(also))));
        }
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {}{remark} |\n",
            escape(&value.id),
            value.usage.word(),
            escape(&with_unit(value.published, &value.unit)),
            escape(&interval(value)),
            value.ratio.map_or(DASH.to_owned(), |ratio| format!("{ratio:.2}")),
            bar(value.ratio),
            agreement(value),
        ));
    }
}

fn claims_markdown(study: &StudyOutcome, out: &mut String) {
    if study.claims.is_empty() {
        return;
    }
    out.push_str(
        "\n| claim | line | statement | result | shown by |\n| --- | --- | --- | --- | --- |\n",
    );
    for claim in &study.claims {
        let red = claim.verdict == ClaimVerdict::NotConfirmed;
        let word = claim.verdict.words();
        let word = if red { format!("**{word}**") } else { word.to_owned() };
        let mut became: Vec<String> =
            claim.tests.iter().map(|test| escape(&tested(test))).collect();
        let why = why(claim);
        if !why.is_empty() {
            became.push(escape(&why));
        }
        let left_out = claim.not_counted.as_ref();
        became
            .extend(left_out.map(|left_out| format!("not counted: {}", escape(&left_out.reason))));
        became.extend(claim.at_ends.map(|ends| escape(&ends.words())));
        became.extend(claim.also.iter().map(|also| escape(&beside(also))));
        let shown: Vec<String> = summed(&claim.shown_by).iter().map(|text| escape(text)).collect();
        out.push_str(&format!(
            "| {} | {} | {} | {word}<br>{} | {} |\n",
            escape(&claim.id),
            claim.line,
            escape(&claim.says),
            became.join("<br>"),
            shown.join("<br>")
        ));
    }
}

/// Entries of trials that a cell of a table holds.
const ENTRIES_SHOWN: usize = 4;

/// The trials that show a claim; of many stacks their number in each file alone, since the
/// data of the page names them all.
fn summed(shown_by: &[ShownBy]) -> Vec<String> {
    if shown_by.len() <= ENTRIES_SHOWN {
        return shown_by.iter().map(ShownBy::to_string).collect();
    }
    let mut files: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<u32>)> = BTreeMap::new();
    for shown in shown_by {
        let (stacks, trials) = files.entry(&shown.file).or_default();
        stacks.extend(shown.stacks.iter().map(String::as_str));
        trials.extend(&shown.trials);
    }
    let line = |(file, (stacks, trials)): (&&str, &(BTreeSet<&str>, BTreeSet<u32>))| {
        format!("{file}: {} trials, stacks: {}", trials.len(), stacks.len())
    };
    files.iter().map(line).collect()
}

/// A ratio as a bar of blocks around 1, from a quarter to four times.
fn bar(ratio: Option<f64>) -> String {
    const HALF: f64 = 8.0;
    let Some(ratio) = ratio.filter(|ratio| *ratio > 0.0) else { return String::new() };
    let at = (ratio.log2() / 2.0 * HALF).round().clamp(-HALF, HALF) as i32;
    let place = |position: i32| {
        if position == at {
            '●'
        } else if position == 0 {
            '|'
        } else {
            '·'
        }
    };
    let line: String = (-(HALF as i32)..=HALF as i32).map(place).collect();
    format!("`{line}`").replace('|', "¦")
}

/// The score in words.
pub(crate) fn score(study: &StudyOutcome) -> String {
    let score = study.score();
    let count = |verdict| score.get(&verdict).copied().unwrap_or(0);
    let decided = count(ClaimVerdict::Confirmed) + count(ClaimVerdict::NotConfirmed);
    let mut text = format!("{} of {decided} claims confirmed", count(ClaimVerdict::Confirmed));
    for verdict in [ClaimVerdict::NotMeasured, ClaimVerdict::CannotBeTested] {
        if count(verdict) > 0 {
            text.push_str(&format!(", {} {}", count(verdict), verdict.words()));
        }
    }
    let left_out = not_counted(study);
    if !left_out.is_empty() {
        text.push_str(&format!("; not counted: {left_out}"));
    }
    text
}

/// The results that the score leaves out, by kind.
fn not_counted(study: &StudyOutcome) -> String {
    let kinds = study.not_counted();
    let words: Vec<String> =
        kinds.iter().map(|(kind, count)| format!("{count} {}", kind.words())).collect();
    words.join(", ")
}

/// Four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    match usize::try_from(digits) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => format!("{value:.0}"),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(value))
}

fn measured(value: &ValueOutcome) -> String {
    value.measured.map_or(DASH.to_owned(), |found| with_unit(found.centre, &value.unit))
}

/// Ours with its interval, and the range of undetermined parameters.
fn interval(value: &ValueOutcome) -> String {
    let Some(found) = value.measured else { return DASH.to_owned() };
    let mut text = format!("{} ({})", with_unit(found.centre, &value.unit), ends(found));
    if let Some([low, high]) = value.range {
        text.push_str(&format!(
            "; with undetermined parameters {} to {}",
            number(low),
            number(high)
        ));
    }
    text
}

fn ends(found: Quantity) -> String {
    format!("{} to {}", number(found.low), number(found.high))
}

fn agreement(value: &ValueOutcome) -> &'static str {
    match value.agrees() {
        None => "not measured",
        Some(true) => "within 10 %",
        Some(false) => "differs",
    }
}

/// A condition, and what was found.
fn tested(test: &Tested) -> String {
    let found = test.found.map_or("not measured".to_owned(), |found| {
        format!("{} ({})", number(found.centre), ends(found))
    });
    let holds = match test.holds {
        Some(true) => "met",
        Some(false) => "not met",
        None => "open",
    };
    format!("{}: {found}, wanted {}: {holds}", test.what, test.wanted)
}

/// A further quantity of a value or claim.
fn beside(also: &Also) -> String {
    let found = also.found.map_or("not measured".to_owned(), |found| {
        format!("{} ({})", number(found.centre), ends(found))
    });
    let beside = also.found.zip(also.published).map(|(found, published)| {
        let ratio = found.centre / published;
        let word = if agrees(ratio) { "within 10 % of" } else { "not within 10 % of" };
        format!(", {word} the published {} ({ratio:.2})", number(published))
    });
    format!("not scored: {}: {found}{}", also.says, beside.unwrap_or_default())
}

/// The reason why a claim is not confirmed or was not tested.
fn why(claim: &ClaimOutcome) -> String {
    match (claim.verdict, &claim.because, &claim.reason) {
        (ClaimVerdict::NotConfirmed, _, Some(reason)) => format!("likely reason: {reason}"),
        (ClaimVerdict::NotConfirmed, _, None) => NO_REASON.to_owned(),
        (_, Some(because), _) => because.clone(),
        _ => String::new(),
    }
}
