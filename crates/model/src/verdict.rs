//! The verdict: what a run decides, and what it rests on.

use crate::answer::Answer;
pub use crate::answer::Beside;
pub use crate::durability::DurabilityClass;
use crate::lab::Better;
use crate::power_cut::CutCounts;
use serde::{Deserialize, Serialize};

/// The three kinds of verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// One stack is better than every other by more than chance.
    Winner,
    /// Several stacks are within the tie width of each other.
    Tie,
    /// The evidence does not decide.
    Unresolved,
}

/// Decision of a verdict, finer than its [`VerdictKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// One stack is better than all others by more than the tie width; a [`VerdictKind::Winner`].
    Winner,
    /// One stack, and no other is better by more than the tie width; a [`VerdictKind::Tie`].
    BestChoice,
    /// Several stacks, all pairs within the tie width, and no other is better by more; a
    /// [`VerdictKind::Tie`].
    EquivalentSet,
    /// Nothing is certified; a [`VerdictKind::Unresolved`].
    Inconclusive,
}

/// The ratio of one stack to the baseline on the judged metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Label of the stack.
    pub stack: String,
    /// Stack over baseline; `None` when there is no complete pair.
    pub ratio: Option<f64>,
    /// Lower end of the interval; `None` when there are too few pairs for one.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Median of the judged metric itself, in its unit.
    pub median: Option<f64>,
    /// Complete pairs behind the ratio.
    pub pairs: u32,
    /// Method of the interval.
    #[serde(default)]
    pub basis: Basis,
    /// Hodges–Lehmann estimate of the ratio, little moved by single odd rounds.
    #[serde(default)]
    pub hodges_lehmann: Option<f64>,
    /// Chance that a trial of this stack is better than one of the baseline (Vargha and Delaney's
    /// A12 over the shared rounds).
    #[serde(default)]
    pub a12: Option<f64>,
    /// True if successive rounds are correlated beyond chance; the interval allows for it.
    #[serde(default)]
    pub autocorrelated: bool,
}

/// Method of the interval of a ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Complete pairs inside rounds, the error divided among all stacks: it decides.
    #[default]
    Paired,
    /// Few trials with strength borrowed from other stacks, in the screen of a race: it certifies
    /// nothing.
    Screen,
}

/// Version of the method by which verdicts are made. It rises with every change that may change a
/// verdict; 0 stands for verdicts made before versions were kept, and 1 also for those of method 2.
pub const METHOD: u32 = 4;

/// Answer of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Kind of the verdict.
    pub kind: VerdictKind,
    /// The winner, the tie set, or the candidates that are left.
    pub stacks: Vec<String>,
    /// Stack that the ratios are relative to: the leader.
    pub baseline: Option<String>,
    /// One per stack, best first.
    pub ratios: Vec<Ratio>,
    /// Reason of the verdict, and for an unresolved one what it would take to decide.
    pub reason: String,
    /// `STEP.METRIC` that was judged.
    pub metric: String,
    /// Direction in which the metric is better.
    pub better: Better,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Tie width.
    pub tie: f64,
    /// Complete rounds behind it; of a race those of the final.
    pub rounds: u32,
    /// The decision; `None` in verdicts made before there was one.
    #[serde(default)]
    pub decision: Option<Decision>,
    /// The decision in one sentence; empty in verdicts made before there was one.
    #[serde(default)]
    pub sentence: String,
    /// Version of the method that judged; 0 before versions were kept.
    #[serde(default)]
    pub method: u32,
    /// Supporting evidence from the trials.
    #[serde(default)]
    pub evidence: Evidence,
    /// The stack to take and what that can cost at most; `None` in verdicts made before method 4.
    #[serde(default)]
    pub answer: Option<Answer>,
}

impl Verdict {
    /// True if the stack may be picked: it is the pick, or the answer says how far it is from it.
    ///
    /// Verdicts without an answer, of methods before 4, judged every stack.
    pub fn may_pick(&self, stack: &str) -> bool {
        let Some(answer) = &self.answer else { return true };
        let mut judged = answer.pick.iter().chain(&answer.close).chain(&answer.out);
        judged.any(|label| label == stack)
    }
}

/// Supporting evidence of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Course of the race; `None` if every stack ran in every round.
    pub race: Option<RaceCourse>,
    /// Rounds that an unresolved verdict still needs.
    pub needed: Option<Needed>,
    /// Retired: the stack that was run twice.
    pub control: Option<ControlFound>,
    /// Effect of each axis, the strongest first.
    pub axes: Vec<AxisFound>,
    /// Measurable interactions: pairs of axes whose joint effect differs from the product of their
    /// single effects, the strongest first.
    pub interactions: Vec<InteractionFound>,
    /// Correlation of successive rounds; `None` if nothing was compared.
    pub dependence: Option<DependenceFound>,
    /// Stacks that cannot be the best any more, or that failed too often to be chosen.
    pub out: Vec<OutStack>,
    /// Share of the time in which the workload waits for the storage.
    pub storage: Option<StorageShare>,
    /// Checks of the measurement itself, such as drift and order effects.
    pub checks: Vec<CheckFound>,
    /// Data that survive a power cut, by stack in the order of the plan.
    pub durability: Vec<StackDurability>,
    /// The verdict on each node of a cluster, in the order of their names; empty for a run on one machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFound>,
}

/// The comparison within one node of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFound {
    /// Name of the node.
    pub node: String,
    /// Complete rounds on it.
    pub rounds: u32,
    /// The stack with the best value there; `None` if nothing was compared.
    pub leader: Option<String>,
    /// Agreement with the verdict of all nodes.
    pub standing: NodeStanding,
    /// The verdict's leader against its best rival there: ratio of the rival's value to the leader's, with its
    /// interval.
    pub rival: Option<String>,
    /// See [`Self::rival`].
    pub ratio: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Agreement of one node with the verdict of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStanding {
    /// The winner is shown to be the best there too.
    Holds,
    /// Another stack is shown to be better there.
    Differs,
    /// The rounds on it are too few, or too noisy, to tell.
    Open,
}

/// The course of a race.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RaceCourse {
    /// Rounds of the pilot; they come first.
    pub pilot_rounds: u32,
    /// Rounds of the screen; they come next.
    pub screen_rounds: u32,
    /// Rounds of the final; they come last.
    pub final_rounds: u32,
    /// Stacks that reached the final.
    pub finalists: Vec<String>,
    /// Rounds of the final at which it was to be looked at.
    pub looks: Vec<u32>,
    /// Rounds of the final at its last look; 0 before the first.
    pub looked_at: u32,
    /// The stack to take if one must be taken now, certified or not.
    pub best_guess: Option<String>,
    /// Stacks that left the race, in the order of leaving.
    pub dropped: Vec<DroppedStack>,
    /// Upper estimate of the chance that a stack better than the best by more than the tie width
    /// was dropped in the screen.
    pub screening_risk: f64,
}

/// A stack that left a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppedStack {
    /// Its label.
    pub stack: String,
    /// `screen` or `final`.
    pub part: String,
    /// Trials with a value when it left.
    pub trials: u32,
    /// Ratio to the best of that moment.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Reason for leaving.
    pub reason: String,
}

/// Rounds and time that a conclusive verdict still needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// Complete rounds in all.
    pub rounds: u64,
    /// Further time, at the cost of a round so far.
    pub more_ns: u64,
    /// Probability that they decide; `None` in verdicts made before it was estimated.
    #[serde(default)]
    pub probability: Option<f64>,
}

/// One stack under two names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlFound {
    /// Label of the stack.
    pub stack: String,
    /// Ratio of the copy to the stack; `None` with too few pairs.
    pub ratio: Option<f64>,
    /// Lower end of the interval at 99 %.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Complete pairs.
    pub pairs: u32,
    /// True if the interval excludes equality: then the verdict is withdrawn.
    pub separated: bool,
}

/// Effect of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisFound {
    /// `device`, `journal`, `filesystem`, `scheduler` or `memory`.
    pub axis: String,
    /// The value with the highest metric, averaged over the other axes.
    pub highest: String,
    /// The value with the lowest.
    pub lowest: String,
    /// Ratio of the two, at least 1.
    pub ratio: f64,
    /// Lower end of its interval, which allows for having picked the extremes.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// True if the interval excludes equality.
    pub measurable: bool,
    /// No two values of the axis, averaged over the other axes, differ by more than this factor.
    pub at_most: Option<f64>,
    /// Share of the variance between stacks, 0 to 1, without that of noise.
    pub share: f64,
    /// True if one half of the rounds found the effect, and trials of the other half that change this
    /// factor alone moved the metric in the same direction.
    pub confirmed: bool,
    /// Other differences between the trials with the two values, the largest first. The experiment did
    /// not set them, so they are consistent with the effect but do not prove its cause.
    pub beside: Vec<Beside>,
}

/// Two axes that act together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InteractionFound {
    /// The two axes.
    pub axes: [String; 2],
    /// One value of each.
    pub values: [String; 2],
    /// Metric of the combination against what the two effects alone predict.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Serial correlation of the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DependenceFound {
    /// Estimated correlation of successive rounds, all stacks together; `None` with too few rounds.
    pub correlation: Option<f64>,
    /// Largest correlation that an interval was widened for.
    pub assumed: f64,
    /// True if there were enough rounds to estimate it; otherwise the worst case was assumed.
    pub told: bool,
    /// Probability that a stack has spells of slow or fast rounds; `None` in verdicts made before this
    /// was kept.
    #[serde(default)]
    pub spells: Option<f64>,
}

/// A stack that is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutStack {
    /// Its label.
    pub stack: String,
    /// The reason in words.
    pub reason: String,
}

/// Share of the judged step in which the device was busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageShare {
    /// Median share of the step with requests in flight, of the stack with the largest.
    pub busy: f64,
    /// False if even an infinitely fast device would make the workload less than 5 % faster.
    pub seen: bool,
}

/// A trouble that was looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckFound {
    /// Stable name: `drift`, `order`, `carry-over`, `dependence`, `other-writer`.
    pub name: String,
    /// True if it was found beyond reasonable doubt; `None` if there are too few data to tell.
    pub found: Option<bool>,
    /// Finding in words.
    pub text: String,
    /// Factor on the metric over the range seen.
    pub change: Option<f64>,
    /// Chance of so much without the trouble.
    pub p: Option<f64>,
}

/// The durability of one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDurability {
    /// Its label.
    pub stack: String,
    /// The class.
    pub class: DurabilityClass,
    /// Reasons, one entry each; what a power cut would take.
    pub reasons: Vec<String>,
    /// Power cuts of all its trials; `None` if its power was not cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<CutCounts>,
    /// The class by rules alone, before the cuts; `None` if its power was not cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<DurabilityClass>,
}

impl StackDurability {
    /// The power cuts of a stack that took synced data against its rules; `None` for any other.
    #[must_use]
    pub fn surprise(&self) -> Option<CutCounts> {
        let promised = self.known.is_some_and(|known| known <= DurabilityClass::Unordered);
        self.cuts.filter(|counts| promised && counts.lossy() > 0)
    }
}

impl Evidence {
    /// Durability class of a stack.
    #[must_use]
    pub fn durability_of(&self, stack: &str) -> Option<&StackDurability> {
        self.durability.iter().find(|one| one.stack == stack)
    }

    /// Returns true if the power of any stack was cut.
    #[must_use]
    pub fn has_cuts(&self) -> bool {
        self.durability.iter().any(|one| one.cuts.is_some())
    }

    /// Returns true if the stacks are of several classes.
    #[must_use]
    pub fn durability_differs(&self) -> bool {
        self.durability.windows(2).any(|pair| pair[0].class != pair[1].class)
    }
}
