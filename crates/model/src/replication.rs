//! A replication: what published studies claim beside what was measured here.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What is known of a claim.
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
    /// As people read it.
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

/// What a published value is for.
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
    /// As it is written in the file of claims.
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

/// Another quantity that throws light on a value or a claim; never scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Also {
    /// What it is.
    pub says: String,
    /// What was found; `None` when it was not measured.
    pub found: Option<Quantity>,
    /// What was published, where it stands for a published number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// A published value beside ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueOutcome {
    /// Its name in the file of claims.
    pub id: String,
    /// Unit of the published number; ours is in the same.
    pub unit: String,
    /// Line of the study's text.
    pub line: u32,
    /// What it is for.
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
    /// What must be known to read it.
    pub note: Option<String>,
    /// What throws light on it.
    pub also: Vec<Also>,
}

impl ValueOutcome {
    /// Whether ours lies within 10 % of the published number; `None` when it was not measured.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        self.ratio.map(agrees)
    }
}

/// Whether a number over a published one is within 10 % of 1.
#[must_use]
pub fn agrees(ratio: f64) -> bool {
    (1.0 / 1.1..=1.1).contains(&ratio)
}

/// One condition that a claim was put to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// What was looked at, as the study's file writes it.
    pub what: String,
    /// What was asked of it.
    pub wanted: String,
    /// What was found; `None` when it was not measured.
    pub found: Option<Quantity>,
    /// Whether it holds; `None` when it was not measured.
    pub holds: Option<bool>,
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

impl fmt::Display for ShownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trials: Vec<String> = self.trials.iter().map(u32::to_string).collect();
        write!(f, "{}: {} (trials {})", self.file, self.stacks.join(", "), trials.join(", "))
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// Its name; of a pair of published values, both names.
    pub id: String,
    /// Line of the study's text.
    pub line: u32,
    /// What it says.
    pub says: String,
    /// How it is decided: `order`, `ratio`, `equal`, `range`, `cross`, `sign` or `cannot`.
    pub form: String,
    /// What became of it.
    pub verdict: ClaimVerdict,
    /// The conditions it was put to.
    pub tests: Vec<Tested>,
    /// The trials that show it.
    pub shown_by: Vec<ShownBy>,
    /// Why it cannot be tested or was not measured.
    pub because: Option<String>,
    /// Why it is likely not confirmed.
    pub reason: Option<String>,
    /// What throws light on it.
    pub also: Vec<Also>,
    /// How it ends at the ends of the ranges that no published value determines; `None` when they were
    /// not run.
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
    /// No sentence of the study: a pair of published numbers that differ.
    GeneratedPair,
    /// Models were fitted to every number that it compares.
    FittedValues,
    /// Confirmed by a difference within the lab's own tie width.
    WithinTie,
    /// Named in the study's file, for example a repeat of another claim.
    Stated,
}

impl NotCountedKind {
    /// Returns the words for several of them.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::GeneratedPair => "generated pairs",
            Self::FittedValues => "on fitted values only",
            Self::WithinTie => "within the tie width",
            Self::Stated => "for a stated reason",
        }
    }
}

/// How a claim ends where the numbers of the models stand at an end of their range, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtEnds {
    /// Ends at which it is decided as with the numbers as they are.
    pub same: u32,
    /// Ends at which its own labs ran again and decide it.
    pub of: u32,
}

impl AtEnds {
    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        let Self { same, of } = self;
        format!("the same at {same} of {of} ends of undetermined ranges that decide it")
    }
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
    /// What stands for what is gone today.
    pub stands_for: String,
    /// What must be known of how it was done here.
    pub notes: Vec<String>,
    /// Errors found in the frozen claims.
    pub errata: Vec<String>,
    /// Labs that were run.
    pub labs: Vec<LabRun>,
    /// Published values.
    pub values: Vec<ValueOutcome>,
    /// Claims.
    pub claims: Vec<ClaimOutcome>,
    /// Score of the quick runs alone, where whole runs are judged where they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_alone: Option<BTreeMap<ClaimVerdict, u32>>,
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

    /// Counts the results that the score leaves out.
    #[must_use]
    pub fn not_counted(&self) -> BTreeMap<NotCountedKind, u32> {
        let mut kinds = BTreeMap::new();
        for claim in self.claims.iter().filter_map(|claim| claim.not_counted.as_ref()) {
            *kinds.entry(claim.kind).or_insert(0) += 1;
        }
        kinds
    }
}

/// Studies, side by side. Names are stable: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Version of this format, see [`crate::FORMAT`].
    pub format: String,
    /// `quick`, `whole`, or what was kept of both.
    pub set: String,
    /// Place of the trials.
    pub place: String,
    /// What was replaced by what, where the devices are not the modelled ones.
    pub device: Option<String>,
    /// When the claims were frozen.
    pub frozen: String,
    /// The studies.
    pub studies: Vec<StudyOutcome>,
}
