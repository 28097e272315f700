//! Sizes of effects in words: `takes 1.7 times as long`, `6.3 times as many reads per second`.

use crate::factor::{benefit, factor};
use crate::number::{percent, unit_of};
use crate::view::RunView;
use seekwell_model::lab::Better;
use seekwell_model::metrics::Unit;
use seekwell_model::verdict::Verdict;

/// Smallest ratio that is written as a factor; lower ones are per cent.
pub(crate) const FACTOR: f64 = 1.5;
/// Smallest difference that is written.
pub(super) const NOTHING: f64 = 5e-4;

/// The judged metric as people speak of it.
pub(crate) enum Measure {
    /// Time of the step itself: it takes longer.
    Time,
    /// Another time, by name: it is longer.
    NamedTime(String),
    /// A rate, by what it counts.
    Rate(String),
    /// Any other metric that is known.
    Amount { noun: String, higher: bool },
    /// A metric that a command of the lab named.
    Value { higher: bool },
}

/// A difference as factors by which the subject is worse: above 1, or below where it is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effect {
    /// The smallest of a group, or the only one.
    pub(crate) from: f64,
    /// The largest.
    pub(crate) to: f64,
    /// Interval of a single effect.
    pub(crate) ends: Option<(f64, f64)>,
}

/// The two sides of a comparison.
pub(crate) struct Sides<'a> {
    /// The worse side: `btrfs`, or `it` and `they` where it was named before.
    pub(crate) worse: &'a str,
    pub(crate) is_plural: bool,
    /// The better side.
    pub(crate) better: &'a str,
    /// True if the sentence has not named the other side, so that `as long` needs `as ext4`.
    pub(crate) both: bool,
}

impl Effect {
    /// One ratio of the metric with its interval.
    pub(crate) fn one(better: Better, ratio: f64, low: Option<f64>, high: Option<f64>) -> Self {
        let worse = benefit(better, ratio);
        let ends = low.zip(high).map(|(low, high)| {
            let (one, other) = (benefit(better, low), benefit(better, high));
            (one.min(other), one.max(other))
        });
        Self { from: worse, to: worse, ends }
    }

    /// The range of several ratios; `None` without one.
    pub(crate) fn range(better: Better, ratios: impl Iterator<Item = f64>) -> Option<Self> {
        let all: Vec<Self> = ratios.map(|ratio| Self::one(better, ratio, None, None)).collect();
        Self::spanning(&all)
    }

    /// The range of several effects; `None` without one.
    pub(crate) fn spanning(all: &[Self]) -> Option<Self> {
        let from = all.iter().map(|one| one.from).reduce(f64::min)?;
        let to = all.iter().map(|one| one.to).reduce(f64::max)?;
        Some(Self { from, to, ends: None })
    }

    /// The same difference seen from the other side.
    pub(crate) fn turned(self) -> Self {
        let ends = self.ends.map(|(low, high)| (1.0 / high, 1.0 / low));
        Self { from: 1.0 / self.to, to: 1.0 / self.from, ends }
    }

    /// Returns true if the interval holds a factor; false without an interval.
    pub(super) fn holds(self, factor: f64) -> bool {
        self.ends.is_some_and(|(low, high)| (low..=high).contains(&factor))
    }

    /// The largest difference that the interval holds, in either direction; `None` without an interval.
    pub(super) fn most(self) -> Option<f64> {
        self.ends.map(|(low, high)| high.max(1.0 / low) - 1.0)
    }

    /// Returns true if no one could notice the difference.
    pub(super) fn is_nothing(self) -> bool {
        let is_none = |factor: f64| (factor - 1.0).abs() < NOTHING;
        let is_sure = self.ends.is_none_or(|(low, high)| is_none(low) && is_none(high));
        is_none(self.from) && is_none(self.to) && is_sure
    }

    /// The same of trials that leave no doubt of it: without an interval they do.
    pub(super) fn is_surely_nothing(self) -> bool {
        self.ends.is_some() && self.is_nothing()
    }

    /// `1.7 times`, `1.7 to 3.1 times`, `up to 3.1 times`, and ` (1.4 to 2.0)`.
    fn times(self) -> (String, String) {
        let (from, to) = (factor(self.from), factor(self.to));
        let centre = match from.as_str() {
            same if same == to => from,
            // The smallest of a group is worse by less than a factor shows.
            "1.0" => format!("up to {to}"),
            from => format!("{from} to {to}"),
        };
        let ends = self.ends.map(|(low, high)| (factor(low), factor(high)));
        // An interval that rounds to the number itself says nothing.
        let ends = ends.filter(|(low, high)| *low != centre || *high != centre);
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({low} to {high})"));
        (format!("{centre} times"), ends)
    }

    /// `14 %`, `9 to 14 %`, and ` (8 to 19 %)`; `change` makes a change of a factor.
    fn change(self, change: impl Fn(f64) -> f64) -> (String, String) {
        let (from, to) = (change(self.from), change(self.to));
        let largest = self.ends.map_or(from.abs().max(to.abs()), |(low, high)| {
            change(low).abs().max(change(high).abs())
        });
        // Equally many decimals, as many as the smallest deserves when all are small.
        let decimals = usize::from(largest < 0.0995);
        let number = |fraction: f64| {
            let text = format!("{:.decimals$}", fraction * 100.0);
            if text.trim_start_matches('-').chars().all(|c| "0.".contains(c)) {
                "0".to_owned()
            } else {
                text
            }
        };
        let (one, other) = (number(from), number(to));
        let centre = match one.as_str() {
            same if same == other => one,
            "0" => format!("up to {other}"),
            one => format!("{one} to {other}"),
        };
        let ends = self.ends.map(|(low, high)| (number(change(low)), number(change(high))));
        let ends = ends.filter(|(low, high)| *low != centre || *high != centre);
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({low} to {high} %)"));
        (format!("{centre} %"), ends)
    }
}

impl Measure {
    pub(crate) fn of(view: &RunView) -> Self {
        let verdict = &view.verdict;
        let path = &verdict.metric;
        let (step, name) = path.split_once('.').unwrap_or(("", path));
        let higher = verdict.better == Better::Higher;
        let words = name.replace('_', " ");
        match (unit_of(path), verdict.better) {
            (Some(Unit::Seconds), Better::Lower) if is_whole(name) => Self::Time,
            (Some(Unit::Seconds | Unit::Nanoseconds), Better::Lower) => Self::NamedTime(words),
            (Some(Unit::PerSecond), Better::Higher) => Self::Rate(counted(view, step, name)),
            (Some(Unit::MegabytesPerSecond), Better::Higher) => {
                Self::Rate("MB per second".to_owned())
            }
            (Some(_), _) => Self::Amount { noun: words, higher },
            (None, _) => Self::Value { higher },
        }
    }

    /// `slower`, or `worse` where the metric is no speed.
    pub(crate) fn slower(&self) -> &'static str {
        if self.is_speed() { "slower" } else { "worse" }
    }

    /// `faster`, or `better` where the metric is no speed.
    pub(crate) fn faster(&self) -> &'static str {
        if self.is_speed() { "faster" } else { "better" }
    }

    /// Returns true for a speed or a time: stacks are faster then, and better otherwise.
    fn is_speed(&self) -> bool {
        matches!(self, Self::Time | Self::NamedTime(_) | Self::Rate(_))
    }

    /// The metric of a step, for the head of a picture: `time of unpack until durable`.
    pub(crate) fn heading(&self, verdict: &Verdict) -> String {
        let path = &verdict.metric;
        let (step, name) = path.split_once('.').unwrap_or(("", path));
        match self {
            Self::Time if name == "elapsed_durable" => {
                format!("time of {step} until durable")
            }
            Self::Time if name == "elapsed" => format!("time of {step}"),
            Self::Rate(noun) | Self::NamedTime(noun) | Self::Amount { noun, .. } => {
                format!("{noun} of {step}")
            }
            Self::Time | Self::Value { .. } => path.clone(),
        }
    }

    /// Clause with the size by which one side is worse: `it takes 1.7 times as long (1.4 to 2.0)`.
    pub(crate) fn clause(&self, sides: &Sides<'_>, effect: Effect) -> String {
        if (effect.from - 1.0).abs() < NOTHING && (effect.to - 1.0).abs() < NOTHING {
            let does = if sides.is_plural { "do" } else { "does" };
            let from = if sides.both { format!(" from {}", sides.better) } else { String::new() };
            let most = effect.most().filter(|most| *most >= NOTHING && most.is_finite());
            let more =
                most.map_or_else(String::new, |most| format!(" by more than {}", percent(most)));
            return format!("{} {does} not differ{from}{more}", sides.worse);
        }
        if effect.to >= FACTOR { self.times(sides, effect) } else { self.per_cent(sides, effect) }
    }

    fn times(&self, sides: &Sides<'_>, effect: Effect) -> String {
        let (times, ends) = effect.times();
        let Sides { worse, better, both, is_plural } = sides;
        let with = |side: &str, word: &str| {
            if *both { format!(" {word} {side}") } else { String::new() }
        };
        match self {
            Self::Time => {
                let takes = if *is_plural { "take" } else { "takes" };
                format!("{worse} {takes} {times} as long{}{ends}", with(better, "as"))
            }
            Self::NamedTime(noun) => {
                let of = with(better, "as that of");
                format!("{} is {times} as long{of}{ends}", owned(noun, worse))
            }
            Self::Rate(noun) => {
                format!("{better} does {times} as many {noun}{}{ends}", with(worse, "as"))
            }
            Self::Amount { higher, .. } | Self::Value { higher } => {
                let noun = if let Self::Amount { noun, .. } = self { noun } else { "value" };
                let (has, than) = if *higher { (better, worse) } else { (worse, better) };
                let have = if *is_plural && !higher { "have" } else { "has" };
                format!("{has} {have} {times} the {noun}{}{ends}", with(than, "of"))
            }
        }
    }

    fn per_cent(&self, sides: &Sides<'_>, effect: Effect) -> String {
        let Sides { worse, better, both, is_plural } = sides;
        let with = |word: &str| if *both { format!(" {word} {better}") } else { String::new() };
        let more = |fraction: f64| fraction - 1.0;
        let fewer = |fraction: f64| 1.0 - 1.0 / fraction;
        match self {
            Self::Time => {
                let (change, ends) = effect.change(more);
                let takes = if *is_plural { "take" } else { "takes" };
                format!("{worse} {takes} {change} longer{}{ends}", with("than"))
            }
            Self::NamedTime(noun) => {
                let (change, ends) = effect.change(more);
                format!("{} is {change} longer{}{ends}", owned(noun, worse), with("than that of"))
            }
            Self::Rate(noun) => {
                let (change, ends) = effect.change(fewer);
                let does = if *is_plural { "do" } else { "does" };
                format!("{worse} {does} {change} fewer {noun}{}{ends}", with("than"))
            }
            Self::Amount { noun, higher } => {
                let (change, ends) =
                    if *higher { effect.change(fewer) } else { effect.change(more) };
                let word = if *higher { "less" } else { "more" };
                let have = if *is_plural { "have" } else { "has" };
                format!("{worse} {have} {change} {word} {noun}{}{ends}", with("than"))
            }
            Self::Value { higher } => {
                let (change, ends) =
                    if *higher { effect.change(fewer) } else { effect.change(more) };
                let word = if *higher { "lower" } else { "higher" };
                let value = owned("value", worse);
                format!("{value} is {change} {word}{}{ends}", with("than that of"))
            }
        }
    }

    /// Size by which something is better: `1.9 times as fast (1.6 to 2.3)`, `14 % faster (9 to 19 %)`.
    /// The effect is the factor by which it is better.
    pub(crate) fn gain(&self, effect: Effect) -> String {
        if effect.to >= FACTOR {
            let (times, ends) = effect.times();
            return format!("{times} as {}{ends}", if self.is_speed() { "fast" } else { "good" });
        }
        let (change, ends) = effect.change(|factor| factor - 1.0);
        format!("{change} {}{ends}", self.faster())
    }
}

/// Times of a whole step, which "takes" them.
fn is_whole(name: &str) -> bool {
    name.starts_with("elapsed") || name.starts_with("poll_") || name.starts_with("chunk_")
}

/// The units of a rate.
fn counted(view: &RunView, step: &str, name: &str) -> String {
    let word = match name {
        "read_iops" => "reads",
        "write_iops" => "writes",
        "iops" if is_read(view, step) => "reads",
        "deliveries_per_s" => "mails",
        "files_per_s" => "files",
        "transactions_per_s" => "transactions",
        "updates_per_s" => "updates",
        _ => "operations",
    };
    format!("{word} per second")
}

fn is_read(view: &RunView, step: &str) -> bool {
    let mut outlines = view.plan.workloads.iter().flat_map(|workload| workload.outlines());
    outlines.any(|one| one.outline.name == step && !one.outline.writes)
}

/// `its latency p99`, `the latency p99 of btrfs`.
fn owned(noun: &str, side: &str) -> String {
    match side {
        "it" => format!("its {noun}"),
        "they" => format!("their {noun}"),
        side => format!("the {noun} of {side}"),
    }
}
