//! Published numbers with ours, and the result of every claim: text and Markdown.

mod chart;
mod introduction;

use crate::markdown::escape;
use crate::text::harmless;
use seekwell_model::replication::{
    Agreement, Also, ClaimOutcome, ClaimVerdict, Quantity, Replication, ShownBy, StudyOutcome,
    Tested, ValueOutcome, agrees,
};
use std::collections::{BTreeMap, BTreeSet};

pub use chart::replication_chart;

#[cfg(test)]
mod tests;

const DASH: &str = "—";

/// Text for a difference without a known reason.
const NO_REASON: &str = "no likely reason is known";

/// The comparison for a terminal.
#[must_use]
pub fn replication_text(found: &Replication, width: usize, colour: bool) -> String {
    let mut out = String::new();
    for line in first_lines(found) {
        wrapped(&mut out, "", &line, width);
    }
    out.push('\n');
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
            if let Some(since) = &value.fitted_since {
                wrapped(&mut out, "    ", &fitted_since(since), width);
            }
            if let Some(reason) = &value.reason {
                wrapped(&mut out, "    likely reason: ", reason, width);
            }
            for also in &value.also {
                wrapped(&mut out, "    ", &beside(also), width);
            }
        }
        for claim in &study.claims {
            let line = format!("  {}: {}", result(claim), claim.id);
            let red = claim.agreement.is_some_and(Agreement::differs);
            out.push_str(&marked(&harmless(&line), red, colour));
            wrapped(&mut out, "    ", &claim.says, width);
            for test in &claim.tests {
                wrapped(&mut out, "      ", &tested(test), width);
            }
            for why in why(claim) {
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
        for line in study.changes.iter().chain(&study.errata) {
            wrapped(&mut out, "  ", line, width);
        }
        out.push('\n');
    }
    out
}

/// The first lines of the comparison: predicted values, models, claims.
fn first_lines(found: &Replication) -> Vec<String> {
    let predicted = found.predicted();
    let mut first =
        format!("{} of {} predicted values are within 10 %", predicted.near, predicted.values);
    if predicted.near_fitted > 0 {
        let (count, missed) = match predicted.near_fitted {
            1 => ("counts", "it"),
            _ => ("count", "them"),
        };
        first.push_str(&format!(
            " ({} of these {count} as fitted: something was changed after a run had missed {missed})",
            predicted.near_fitted
        ));
    }
    let mut lines = vec![format!("{first}.")];
    if let Some(models) = found.models {
        let checked = match (models.checked, models.met) {
            (0, _) => "no published figure checks any".to_owned(),
            (checked, met) => {
                format!(
                    "published figures check {checked}, and {met} of {checked} meet{} them all",
                    if met == 1 { "s" } else { "" }
                )
            }
        };
        lines.push(format!("Of {} models of devices, {checked} (within 10 %).", models.models));
    }
    let agreements = found.studies.iter().map(StudyOutcome::agreements);
    let mut sum = BTreeMap::new();
    for (agreement, count) in agreements.flatten() {
        *sum.entry(agreement).or_insert(0) += count;
    }
    lines.push(format!("Claims: {}.", counted(&sum)));
    lines
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

fn fitted_since(date: &str) -> String {
    format!("counts as fitted since {date}: something was changed after a run had missed it")
}

/// The result of a claim in words.
fn result(claim: &ClaimOutcome) -> &'static str {
    claim.agreement.map_or(claim.verdict.words(), Agreement::words)
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
    let mut out = "# Published studies, replicated\n".to_owned();
    for line in first_lines(found) {
        out.push_str(&format!("\n**{}**\n", escape(&line)));
    }
    scoreboard(found, &mut out);
    quick_scoreboard(found, &mut out);
    if let Some(sentence) = earlier(found) {
        out.push_str(&format!(
            "\n**{sentence}** Each lab below says which, and what has changed.\n"
        ));
    }
    if let Some(introduction) = around.introduction {
        out.push_str(&format!("\n{}\n", introduction::filled(introduction.trim(), found)));
    }
    for study in &found.studies {
        study_markdown(study, around, &mut out);
    }
    out
}

/// Names of the columns of agreements.
const AGREEMENTS: &str = "agrees | differs, cause shown | differs, our error | cannot tell | not measured | cannot be tested";

/// The cells of a study below [`AGREEMENTS`].
fn cells(
    agreements: &BTreeMap<Agreement, u32>,
    score: &BTreeMap<ClaimVerdict, u32>,
    unmeasured: u32,
) -> String {
    let agreement = |one| agreements.get(&one).copied().unwrap_or(0);
    let cannot = score.get(&ClaimVerdict::CannotBeTested).copied().unwrap_or(0);
    let mut cells = Agreement::ALL.map(agreement).to_vec();
    cells.extend([unmeasured, cannot]);
    cells.iter().map(u32::to_string).collect::<Vec<_>>().join(" | ")
}

/// Claims that were neither compared nor are beyond test.
fn unmeasured(agreements: &BTreeMap<Agreement, u32>, score: &BTreeMap<ClaimVerdict, u32>) -> u32 {
    let claims: u32 = score.values().sum();
    let cannot = score.get(&ClaimVerdict::CannotBeTested).copied().unwrap_or(0);
    claims - cannot - agreements.values().sum::<u32>()
}

/// The score of every study, and what it counts.
fn scoreboard(found: &Replication, out: &mut String) {
    out.push_str(&format!("\n| study | {AGREEMENTS} | not counted |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"));
    for study in &found.studies {
        let (agreements, score) = (study.agreements(), study.score());
        out.push_str(&format!(
            "| [{} {}](#study-{}) | {} | {} |\n",
            escape(&study.key),
            escape(&study.title),
            escape(&study.key),
            cells(&agreements, &score, unmeasured(&agreements, &score)),
            not_counted(study)
        ));
    }
    out.push_str(&format!(
        "\nA claim *agrees* when the whole 95 % interval of each of its quantities is on the side that the study says, and *differs* when a whole interval is on the other side or within the lab's tie width; an interval that includes a bound *cannot tell*. *Cause shown*: an experiment made here shows why. All other differences count as *our error*, of model or lab. Only claims that a study makes count, each fact once; what holds by construction, agrees by a tie or compares fitted values alone does not. Claims were frozen on {}, before any model of their hardware ran a lab; four results instead of two since 2026-11-28. Ratios are ours over the published number, intervals are over the rounds of a lab, each with its own seed. Set: {}; backend: {}{}.\n",
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
    out.push_str(&format!("\nThe quick runs alone, which anyone can repeat in minutes, give another score:\n\n| study | {AGREEMENTS} |\n| --- | --- | --- | --- | --- | --- | --- |\n"));
    for study in &found.studies {
        let score = study.quick_alone.clone().unwrap_or_default();
        let agreements = study.quick_agreements.clone().unwrap_or_default();
        out.push_str(&format!(
            "| {} | {} |\n",
            escape(&study.key),
            cells(&agreements, &score, unmeasured(&agreements, &score)),
        ));
    }
}

/// The number of runs that were made with earlier models of their devices; `None` without one.
fn earlier(found: &Replication) -> Option<String> {
    let labs = || found.studies.iter().flat_map(|study| &study.labs);
    let earlier = labs().filter(|lab| !lab.changed_models.is_empty()).count();
    let of = labs().count();
    (earlier > 0)
        .then(|| format!("{earlier} of {of} runs were made with earlier models of their devices."))
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
    details("Changes after a miss, and errata", out, |out| {
        for line in study.changes.iter().chain(&study.errata) {
            out.push_str(&format!("\n- {}", escape(line)));
        }
        if !study.changes.is_empty() || !study.errata.is_empty() {
            out.push('\n');
        }
    });
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
    for note in &study.notes {
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
        if let Some(since) = &value.fitted_since {
            remark.push_str(&format!("<br>{}", escape(&fitted_since(since))));
        }
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
        let red = claim.agreement.is_some_and(Agreement::differs);
        let word = result(claim);
        let word = if red { format!("**{word}**") } else { word.to_owned() };
        let mut became: Vec<String> =
            claim.tests.iter().map(|test| escape(&tested(test))).collect();
        became.extend(why(claim).iter().map(|why| escape(why)));
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
    let (agreements, score) = (study.agreements(), study.score());
    let mut text = counted(&agreements);
    let cannot = score.get(&ClaimVerdict::CannotBeTested).copied().unwrap_or(0);
    for (count, words) in [
        (unmeasured(&agreements, &score), ClaimVerdict::NotMeasured.words()),
        (cannot, ClaimVerdict::CannotBeTested.words()),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {words}"));
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
    let holds = match (test.found, test.agrees) {
        (None, _) => "open",
        (_, Some(true)) => "met",
        (_, Some(false)) => "not met",
        (_, None) => "cannot tell",
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

/// The reason why a claim differs, cannot be told or was not tested, and the experiment that shows it.
fn why(claim: &ClaimOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    match (claim.agreement, &claim.because, &claim.reason) {
        (Some(Agreement::Finding), _, Some(cause)) => lines.push(format!("cause: {cause}")),
        (Some(Agreement::OurError | Agreement::CannotTell), _, Some(reason)) => {
            lines.push(format!("likely reason: {reason}"));
        }
        (Some(Agreement::OurError), _, None) => lines.push(NO_REASON.to_owned()),
        (_, Some(because), _) => lines.push(because.clone()),
        _ => {}
    }
    lines.extend(claim.experiment.as_ref().map(|test| format!("experiment: {}", tested(test))));
    lines
}
