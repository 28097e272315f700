//! A replication: the claims of published studies with the measurements made here.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Our trials show it.
    Confirmed,
    /// Our trials do not show it.
    NotConfirmed,
    /// It cannot be tested here; never scored.
    CannotBeTested,
    /// It can be tested, and no trial has done so yet; not scored.
    NotMeasured,
}

impl ClaimVerdict {
    /// Returns the words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::CannotBeTested => "cannot be tested",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Comparison of a claim with our trials. An interval that includes the bound of a condition decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Our trials show what the study says.
    Agrees,
    /// They show something else, and an experiment shows why.
    Finding,
    /// They show something else, and no experiment shows why: counted as our error.
    OurError,
    /// Their intervals include a bound.
    CannotTell,
}

impl Agreement {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Agrees, Self::Finding, Self::OurError, Self::CannotTell];

    /// Returns the words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Finding => "differs, cause shown",
            Self::OurError => "differs, our error",
            Self::CannotTell => "cannot tell",
        }
    }

    /// Returns true if our trials show something else than the study says.
    #[must_use]
    pub fn differs(self) -> bool {
        matches!(self, Self::Finding | Self::OurError)
    }
}

/// Use of a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueUse {
    /// A model may be fitted to it.
    Fit,
    /// Must be predicted; no fit reads it.
    Predict,
    /// Describes the experiment.
    Context,
}

impl ValueUse {
    /// Returns the word in the file of claims.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Predict => "predict",
            Self::Context => "context",
        }
    }
}

/// A quantity over the rounds of a lab: typical value and its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// Lower end.
    pub low: f64,
    /// Typical value: the geometric mean, of what is not positive throughout the mean.
    pub centre: f64,
    /// Upper end.
    pub high: f64,
    /// Rounds that it rests on.
    pub rounds: u32,
}

/// A further quantity shown with a value or a claim; never scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Also {
    /// Description.
    pub says: String,
    /// Measurement; `None` when it was not measured.
    pub found: Option<Quantity>,
    /// The published number, if it replaces one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// A published value with ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueOutcome {
    /// Its name in the file of claims.
    pub id: String,
    /// Unit of the published number; ours is in the same.
    pub unit: String,
    /// Line of the study's text.
    pub line: u32,
    /// Use of the value.
    pub usage: ValueUse,
    /// The published number.
    pub published: f64,
    /// Ours; `None` when no trial measured it.
    pub measured: Option<Quantity>,
    /// Ours over the published one.
    pub ratio: Option<f64>,
    /// Smallest and largest of our values with every undetermined parameter at both ends of its
    /// sourced range; `None` when the ends were not run.
    pub range: Option<[f64; 2]>,
    /// The likely reason of a difference; shown only where there is one.
    pub reason: Option<String>,
    /// A remark needed to read it.
    pub note: Option<String>,
    /// Further quantities.
    pub also: Vec<Also>,
    /// Date from which the value counts as fitted: a run had missed it, and something that decides it was
    /// changed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_since: Option<String>,
}

impl ValueOutcome {
    /// Returns true if ours is within 10 % of the published number; `None` when it was not measured.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        self.ratio.map(agrees)
    }
}

/// Returns true if a number over a published one is within 10 % of 1.
#[must_use]
pub fn agrees(ratio: f64) -> bool {
    (1.0 / 1.1..=1.1).contains(&ratio)
}

/// One condition of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The quantity, as in the study's file.
    pub what: String,
    /// The condition.
    pub wanted: String,
    /// Measurement; `None` when it was not measured.
    pub found: Option<Quantity>,
    /// True if the condition is met by the rule that was frozen with the claims; `None` when it was not
    /// measured.
    pub holds: Option<bool>,
    /// True if the whole interval meets the condition, false if the whole interval breaks it; `None` when it
    /// includes a bound or was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agrees: Option<bool>,
    /// Bound that the whole interval breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<f64>,
}

/// Trials of a run file that show something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShownBy {
    /// Name of the run file.
    pub file: String,
    /// Labels of the stacks.
    pub stacks: Vec<String>,
    /// Numbers of the trials.
    pub trials: Vec<u32>,
}

/// A claim and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// Its name.
    pub id: String,
    /// Line of the study's text.
    pub line: u32,
    /// The statement.
    pub says: String,
    /// Form of the decision: `order`, `ratio`, `equal`, `range`, `cross`, `sign` or `cannot`.
    pub form: String,
    /// The result by the rule that was frozen with the claims.
    pub verdict: ClaimVerdict,
    /// Comparison of the claim with our trials; `None` when it was not measured or cannot be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// Experiment that shows why they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Tested>,
    /// Its conditions.
    pub tests: Vec<Tested>,
    /// The trials that show it.
    pub shown_by: Vec<ShownBy>,
    /// Reason why it cannot be tested or was not measured.
    pub because: Option<String>,
    /// Reason why they differ: shown by the experiment, or likely.
    pub reason: Option<String>,
    /// Further quantities.
    pub also: Vec<Also>,
    /// Results at the bounds of the ranges that no published value determines; `None` when they were not
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ends: Option<AtEnds>,
    /// Reason for which the result is no evidence, so that the score leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_counted: Option<NotCounted>,
}

/// Reason for which a result is left out of the score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCounted {
    /// Its kind.
    pub kind: NotCountedKind,
    /// In words.
    pub reason: String,
}

/// Kinds of results that are no evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCountedKind {
    /// Models were fitted to every number that it compares.
    FittedValues,
    /// Named in the study's file, for example a repeat of another claim.
    Stated,
}

/// Results of a claim with the numbers of the models at a bound of their range, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtEnds {
    /// Bounds at which the result is unchanged.
    pub same: u32,
    /// Bounds at which its own labs ran again and decide it.
    pub of: u32,
}

/// A lab of a study and what was run of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabRun {
    /// Name of the lab.
    pub lab: String,
    /// Set that it belongs to, `quick` or `whole`.
    pub set: String,
    /// Name of its run file.
    pub file: String,
    /// Trials that count.
    pub trials: u32,
    /// Trials that failed or are marked, and do not count.
    pub left_out: u32,
    /// Kernel that ran it.
    pub kernel: String,
    /// Modelled devices that would measure something else today, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_models: Vec<String>,
    /// Modelled devices with today's values, in a run that does not say how their models behaved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_models: Vec<String>,
}

impl LabRun {
    /// Known changes of the models since the run, as the end of a sentence about it; `None` when they are
    /// today's.
    #[must_use]
    pub fn models_since(&self) -> Option<String> {
        if !self.changed_models.is_empty() {
            return Some(format!("made with earlier models ({})", self.changed_models.join("; ")));
        }
        let unknown = self.unknown_models.join(", ");
        (!unknown.is_empty()).then(|| {
            format!(
                "with today's values of {unknown}, but without a record of how the models behaved"
            )
        })
    }
}

/// A study as its author reads it in a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyPage {
    /// Question and experiment of the study, in one sentence.
    pub asked: String,
    /// Findings, a sentence each, with our figures.
    pub findings: Vec<String>,
    /// Parts of the picture, from top to bottom.
    pub panels: Vec<Panel<Quantity>>,
    /// Causes that the author suspected, each switched off.
    #[serde(default)]
    pub suspected: Vec<Suspected>,
    /// Differences that count as our error, the largest first, each reason once.
    pub misses: Vec<Miss>,
}

/// A cause that a study suspects, and the effect with it and without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspected {
    /// The cause.
    pub cause: String,
    /// The effect, a ratio.
    pub effect: String,
    /// Its size with the cause; `None` if it was not measured.
    pub with: Option<Quantity>,
    /// Its size with the cause switched off.
    pub without: Option<Quantity>,
}

impl Suspected {
    /// Part of the effect that goes away with the cause, on a scale of factors; `None` if it was not measured, or there
    /// is no effect.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (with, without) = (self.with?, self.without?);
        let has_effect = with.low > 1.0 || with.high < 1.0;
        (has_effect && without.centre > 0.0).then(|| 1.0 - without.centre.ln() / with.centre.ln())
    }
}

/// A part of a picture: bars with one scale, or lines with one pair of axes. `F` is a formula in a study's file and a
/// quantity in its outcome, in the panel's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel<F> {
    /// Quantity.
    pub title: String,
    /// Unit of all numbers; empty for a ratio.
    #[serde(default)]
    pub unit: String,
    /// Bars; empty where there are lines.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<Bar<F>>,
    /// Names of the points of the lines, from left to right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<String>,
    /// Lines.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line<F>>,
}

/// The published number, or the study's words, with ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar<F> {
    /// Name for people.
    pub name: String,
    /// Published value that it shows; `None` for a number that is part of a claim.
    pub value: Option<String>,
    /// The published number.
    pub published: Option<f64>,
    /// Words of the study where it has no number.
    pub says: Option<String>,
    /// Ours; `None` when no trial measured it.
    pub ours: Option<F>,
    /// A model was fitted to the published number, or something was changed after a run had missed it.
    #[serde(default)]
    pub fitted: bool,
}

/// A line over the ticks of its panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<F> {
    /// Name for people.
    pub name: String,
    /// Published points, not ours.
    #[serde(default)]
    pub published: bool,
    /// Formula at every tick, whose name replaces `$`.
    #[serde(skip_serializing)]
    pub of: Option<String>,
    /// Points by tick.
    #[serde(default = "BTreeMap::new")]
    pub at: BTreeMap<String, F>,
}

/// A difference that counts as our error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Miss {
    /// The quantity or statement.
    pub says: String,
    /// The published number; `None` where a claim has only a bound.
    pub published: Option<f64>,
    /// Unit of the numbers, empty for a ratio.
    pub unit: String,
    /// Ours.
    pub found: f64,
    /// The bound that ours breaks, in words; `None` for a published number.
    pub wanted: Option<String>,
    /// Ratio of the measurement to the published number or bound, or its inverse: above 1.
    pub factor: f64,
    /// The likely reason.
    pub reason: Option<String>,
}

/// One study, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyOutcome {
    /// Number of the study.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Its author.
    pub author: String,
    /// The kernel it was made with.
    pub kernel: String,
    /// Replacements for hardware and software that no longer exist.
    pub stands_for: String,
    /// Remarks on how it was done here.
    pub notes: Vec<String>,
    /// Errors found in the frozen claims.
    pub errata: Vec<String>,
    /// Changes that were made after a run had missed, each with its date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Picture, sentences and largest misses.
    #[serde(default)]
    pub page: StudyPage,
    /// Labs that were run.
    pub labs: Vec<LabRun>,
    /// Published values.
    pub values: Vec<ValueOutcome>,
    /// Claims.
    pub claims: Vec<ClaimOutcome>,
    /// Score of the quick runs alone, where whole runs are judged where they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_alone: Option<BTreeMap<ClaimVerdict, u32>>,
    /// The same by agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_agreements: Option<BTreeMap<Agreement, u32>>,
}

impl StudyOutcome {
    /// Counts the claims by verdict: claims that the study makes, each once, as far as they are evidence.
    #[must_use]
    pub fn score(&self) -> BTreeMap<ClaimVerdict, u32> {
        let mut score = BTreeMap::new();
        for claim in self.claims.iter().filter(|claim| claim.not_counted.is_none()) {
            *score.entry(claim.verdict).or_insert(0) += 1;
        }
        score
    }

    /// Counts the claims that were compared with trials: claims that the study makes, each once, as far as they
    /// are evidence.
    #[must_use]
    pub fn agreements(&self) -> BTreeMap<Agreement, u32> {
        let mut agreements = BTreeMap::new();
        let counted = self.claims.iter().filter(|claim| claim.not_counted.is_none());
        for agreement in counted.filter_map(|claim| claim.agreement) {
            *agreements.entry(agreement).or_insert(0) += 1;
        }
        agreements
    }
}

/// Studies, side by side. Names are stable: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Version of this format, see [`crate::FORMAT`].
    pub format: String,
    /// `quick`, `whole`, or what was kept of both.
    pub set: String,
    /// Backend of the trials.
    pub place: String,
    /// Replacements of devices, where they are not the modelled ones.
    pub device: Option<String>,
    /// Date at which the claims were frozen.
    pub frozen: String,
    /// The studies.
    pub studies: Vec<StudyOutcome>,
    /// Extent to which figures check the models of the studies' devices; `None` when there is no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelChecks>,
}

/// Extent to which published figures check models. A figure by which a number of a model was chosen checks
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChecks {
    /// Models.
    pub models: u32,
    /// Models with a figure that checks them.
    pub checked: u32,
    /// Models that meet every figure that checks them, within 10 %.
    pub met: u32,
}

/// Agreement of the published values that had to be predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predicted {
    /// Values, measured or not.
    pub values: u32,
    /// Values that were met within 10 %.
    pub near: u32,
    /// The number of these that count as fitted: something was changed after a run had missed them.
    pub near_fitted: u32,
}

impl Replication {
    /// Counts the published values that had to be predicted.
    #[must_use]
    pub fn predicted(&self) -> Predicted {
        let mut found = Predicted::default();
        let values = self.studies.iter().flat_map(|study| &study.values);
        for value in values.filter(|value| value.usage == ValueUse::Predict) {
            let near = value.agrees() == Some(true);
            found.values += 1;
            found.near += u32::from(near);
            found.near_fitted += u32::from(near && value.fitted_since.is_some());
        }
        found
    }
}

/// Returns a number with three significant digits and a comma between thousands: `524801` is `525,000`.
#[must_use]
pub fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = |value: f64| 2 - value.abs().log10().floor() as i32;
    let unit = |decimals: i32| 10_f64.powi(decimals);
    let rounded = (value * unit(decimals(value))).round() / unit(decimals(value));
    let text = format!("{rounded:.*}", usize::try_from(decimals(rounded)).unwrap_or_default());
    let whole = text.find('.').unwrap_or(text.len());
    let mut out = String::new();
    for (place, digit) in text.char_indices() {
        let behind = whole.saturating_sub(place);
        if place > 0 && behind > 0 && behind % 3 == 0 && out.ends_with(|c: char| c.is_ascii_digit())
        {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
