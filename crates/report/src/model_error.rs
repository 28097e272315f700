//! A verdict on modelled devices read for the devices themselves: the known errors of their models
//! are part of its error bar.
//!
//! The error of a stack is the largest factor by which its device's model misses a published figure
//! of a class of requests that the judged step makes, and at least the factor to which models are
//! checked. Stacks on one model share it; those on two models may err in opposite directions, so
//! the factors are multiplied. Both bounds of the difference between the leader and its rival are widened by
//! the factor. A winner's rival is the next stack. Where the next is within the tie, nothing is claimed of it, and
//! the rival is the next on another filesystem, if there is one.

use crate::factor::{benefit, factor, is_speed, list};
use crate::number::{exact_percent, percent, unit_of};
use crate::view::RunView;
use seekwell_model::model_error::{CHECKED_TO, ModelError, ModelErrors, RequestClass};
use seekwell_model::record::{DeviceTotals, Status, StepRecord};
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_model::verdict::{Basis, Ratio, Verdict, VerdictKind};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Requests of a class count from this share of a step's requests on.
const COUNTS_FROM: f64 = 0.01;

/// The verdict as it is for the devices themselves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnDevice {
    /// True if the leader's advantage is larger than the known error; `None` if it has none, or an
    /// error is not known.
    pub(crate) holds: Option<bool>,
    /// Bounds of the leader's advantage over the next stack with the error, as factors; `None`
    /// unless there is a winner with a rival.
    pub(crate) advantage: Option<[f64; 2]>,
    /// The same in words.
    pub(crate) sentences: Vec<String>,
}

/// Errors of the models by their name in the lab.
type Errors = BTreeMap<String, ModelErrors>;

/// The classes of requests that a stack makes of a model in the judged step.
type Used = BTreeMap<String, BTreeSet<RequestClass>>;

/// `None` for runs on real devices and of earlier versions.
pub(crate) fn on_device(view: &RunView) -> Option<OnDevice> {
    let verdict = &view.verdict;
    // The figures are times: a model that is too fast counts the same bytes.
    if !is_speed(verdict) && unit_of(&verdict.metric).is_some() {
        return None;
    }
    let kept = view.environment.get("model_errors")?;
    let errors: Errors = serde_json::from_value(kept.clone()).ok()?;
    let leader = match verdict.kind {
        VerdictKind::Unresolved => verdict.baseline.as_ref().or(verdict.stacks.first())?,
        _ => verdict.stacks.first()?,
    };
    let is_open = verdict.kind == VerdictKind::Unresolved;
    let rival = rival(view, leader).filter(|_| !is_open);
    let compared: Vec<&str> = match (rival, verdict.stacks.as_slice()) {
        _ if is_open => vec![leader],
        (Some(rival), _) => vec![leader, &rival.stack],
        (None, [_, _, ..]) => verdict.stacks.iter().map(String::as_str).collect(),
        (None, _) => return None,
    };
    let mut used = Used::new();
    compared.iter().for_each(|label| add_used(view, label, &errors, &mut used));
    if used.is_empty() {
        return None;
    }
    let found: Vec<Found> =
        used.iter().map(|(model, used)| Found::of(model, used, &errors)).collect();
    let whole: f64 = found.iter().map(|one| one.factor).product();
    let said = said(&found);
    let mut on_device = OnDevice { holds: None, advantage: None, sentences: vec![] };
    match rival {
        Some(rival) => on_device.judge_winner(verdict, leader, rival, whole, &said)?,
        None if is_open => {
            on_device.sentences.push(format!("Real devices may differ: {said}."));
        }
        None => on_device.sentences.push(format!(
            "On the model {} are within the lab's tie of {}; real devices may differ: {said}.",
            list(&verdict.stacks),
            exact_percent(verdict.tie)
        )),
    }
    if found.iter().any(|one| !one.missing().is_empty()) {
        on_device.holds = on_device.holds.filter(|holds| !holds);
    }
    on_device.sentences.extend(unknown(&found));
    Some(on_device)
}

/// The stack that a winner is compared with, or one that is best within the tie; `None` if the best are on several
/// filesystems.
fn rival<'a>(view: &'a RunView, leader: &str) -> Option<&'a Ratio> {
    let verdict = &view.verdict;
    let kind = |label: &str| view.stack(label).map(|stack| stack.filesystem.kind.as_str());
    let own = kind(leader);
    let are_one = verdict.stacks.iter().all(|label| kind(label) == own);
    let mut rivals = verdict.ratios.iter().filter(|row| is_rival(verdict, row));
    let is_tie = verdict.kind == VerdictKind::Tie;
    let other = rivals.clone().find(|row| kind(&row.stack) != own).filter(|_| is_tie && are_one);
    other.or_else(|| rivals.next().filter(|_| verdict.stacks.len() == 1))
}

/// A stack that could be picked instead, measured against the leader and not named best with it.
fn is_rival(verdict: &Verdict, row: &Ratio) -> bool {
    !verdict.stacks.contains(&row.stack)
        && verdict.may_pick(&row.stack)
        && row.ratio.is_some()
        && row.basis == Basis::Paired
}

impl OnDevice {
    /// Compares the advantage of the winner with the error; `None` without an advantage.
    fn judge_winner(
        &mut self,
        verdict: &Verdict,
        leader: &str,
        rival: &Ratio,
        error: f64,
        said: &str,
    ) -> Option<()> {
        let gain = |ratio: f64| benefit(verdict.better, ratio);
        let centre = rival.ratio.map(gain)?;
        let ends = [rival.low.map_or(centre, gain), rival.high.map_or(centre, gain)];
        let (low, high) = (ends[0].min(ends[1]) / error, ends[0].max(ends[1]) * error);
        let holds = low > 1.0;
        self.holds = Some(holds);
        self.advantage = Some([low, high]);
        let range = range(verdict, low, high);
        let next = &rival.stack;
        self.sentences.push(if holds {
            format!("On real devices {leader} is still {range} {next}: {said}.")
        } else {
            format!(
                "This is certain for the model only: {said}. On real devices {leader} may be {range} {next}."
            )
        });
        Some(())
    }
}

/// `1.2 to 3.4 times as fast as`, `6 to 27 % faster than`, `from 6 % slower to 27 % faster than`.
fn range(verdict: &Verdict, low: f64, high: f64) -> String {
    let (fast, faster, slow, slower) = match is_speed(verdict) {
        true => ("fast", "faster", "slow", "slower"),
        false => ("good", "better", "bad", "worse"),
    };
    let share = |factor: f64| format!("{:.0} %", (factor - 1.0) * 100.0);
    if low < 1.0 {
        let worst = match 1.0 / low {
            worse if worse >= 2.0 => format!("{} times as {slow}", factor(worse)),
            worse => format!("{} {slower}", share(worse)),
        };
        return match high {
            better if better >= 2.0 => {
                format!("from {worst} to {} times as {fast} as", factor(better))
            }
            better => format!("from {worst} to {} {faster} than", share(better)),
        };
    }
    if high >= 2.0 {
        return format!("{} to {} times as {fast} as", factor(low), factor(high));
    }
    format!("{:.0} to {} {faster} than", (low - 1.0) * 100.0, share(high))
}

/// Error of a model on what a step asks of it.
struct Found<'a> {
    model: &'a str,
    /// At least [`CHECKED_TO`].
    factor: f64,
    /// The figure that is missed by more than that, and its class.
    missed: Option<(RequestClass, &'a ModelError)>,
    used: &'a BTreeSet<RequestClass>,
    known: &'a ModelErrors,
}

impl<'a> Found<'a> {
    fn of(model: &'a str, used: &'a BTreeSet<RequestClass>, errors: &'a Errors) -> Self {
        static NONE: ModelErrors = ModelErrors::new();
        let known = errors.get(model).unwrap_or(&NONE);
        let missed = used
            .iter()
            .filter_map(|class| Some((*class, known.get(class)?)))
            .filter(|(_, error)| error.factor.is_finite() && error.factor > CHECKED_TO)
            .max_by(|one, other| one.1.factor.total_cmp(&other.1.factor));
        let factor = missed.map_or(CHECKED_TO, |(_, error)| error.factor);
        Self { model, factor, missed, used, known }
    }

    /// The figure that the model misses.
    fn misses(&self) -> Option<String> {
        let (class, error) = self.missed?;
        let (model, by) = (self.model, distance(error.factor));
        let (class, figure) = (class.words(), &error.figure);
        Some(format!("the model of {model} misses {class} by {by} ({figure})"))
    }

    /// The classes that no published figure checks.
    fn missing(&self) -> Vec<String> {
        let missing = self.used.iter().filter(|class| !self.known.contains_key(class));
        missing.map(|class| class.words().to_owned()).collect()
    }
}

/// Clauses about the models: those that miss a figure, those without figures, those that agree.
fn said(found: &[Found<'_>]) -> String {
    let mut clauses: Vec<String> = found.iter().filter_map(Found::misses).collect();
    let (unchecked, agreeing): (Vec<&Found<'_>>, Vec<_>) = found
        .iter()
        .filter(|one| one.missed.is_none())
        .partition(|one| one.missing().len() == one.used.len());
    let assumed = percent(CHECKED_TO - 1.0);
    if !unchecked.is_empty() {
        let what = missing_of(&unchecked);
        clauses.push(format!("{what} are unchecked, and an error of {assumed} is assumed"));
    }
    let models: Vec<String> = agreeing.iter().map(|one| one.model.to_owned()).collect();
    match models.as_slice() {
        [] => {}
        [model] => {
            clauses.push(format!("the model of {model} agrees with published figures to {assumed}"))
        }
        models => clauses.push(format!(
            "the models of {} agree with published figures to {assumed}",
            list(models)
        )),
    }
    clauses.join("; ")
}

/// Names the classes without a figure of models that have others.
fn unknown(found: &[Found<'_>]) -> Option<String> {
    let partly: Vec<&Found<'_>> =
        found.iter().filter(|one| (1..one.used.len()).contains(&one.missing().len())).collect();
    let what = missing_of(&partly);
    (!partly.is_empty()).then(|| format!("Not checked against published figures: {what}."))
}

/// `small reads and flushes of A and B`: models with the same unchecked classes stand together.
fn missing_of(found: &[&Found<'_>]) -> String {
    let mut models: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for one in found {
        models.entry(one.missing()).or_default().push(one.model.to_owned());
    }
    let parts =
        models.iter().map(|(classes, models)| format!("{} of {}", list(classes), list(models)));
    parts.collect::<Vec<_>>().join(", ")
}

fn distance(error: f64) -> String {
    if error < 2.0 { percent(error - 1.0) } else { format!("a factor of {}", factor(error)) }
}

/// Adds what a stack asks of its modelled devices in the judged step.
fn add_used(view: &RunView, label: &str, errors: &Errors, used: &mut Used) {
    let Some(stack) = view.stack(label) else { return };
    let metric = &view.verdict.metric;
    let (step, name) = metric.split_once('.').unwrap_or((metric, ""));
    let fast = stack.layers.fast();
    let mut asked = Asked { caches: vec![Requests::default(); fast.len()], ..Asked::default() };
    for (_, record) in view.of_stack(label).filter(|(_, record)| record.status == Status::Ok) {
        let steps = record.steps.iter().filter(|one| one.name == step);
        steps.for_each(|step| asked.add(step, stack.layers.is_empty()));
    }
    let caches = fast.into_iter().zip(asked.caches);
    let journal = stack.journal.external.iter().map(|backing| (backing, asked.journal));
    let data = (&stack.device.backing, asked.data);
    for (backing, requests) in std::iter::once(data).chain(caches).chain(journal) {
        let Backing::Model { model, .. } = backing else { continue };
        let classes = requests.classes(name.contains("_p9"));
        if errors.contains_key(model) && !classes.is_empty() {
            used.entry(model.clone()).or_default().extend(classes);
        }
    }
}

/// Requests to the devices of a stack.
#[derive(Default)]
struct Asked {
    /// To the data device, or to all that layers join.
    data: Requests,
    /// To the second device of each cache.
    caches: Vec<Requests>,
    journal: Requests,
}

impl Asked {
    /// Below layers the requests are those of the devices: an array's own are neither flushes nor of
    /// parity, and of another size.
    fn add(&mut self, step: &StepRecord, is_plain: bool) {
        if is_plain {
            step.device.iter().for_each(|totals| self.data.add(totals));
        }
        // The second devices of caches are the last members.
        let joined = step.members.len().saturating_sub(self.caches.len());
        let (joined, second) = step.members.split_at(joined);
        joined.iter().for_each(|totals| self.data.add(totals));
        self.caches.iter_mut().zip(second).for_each(|(cache, totals)| cache.add(totals));
        step.journal.iter().for_each(|totals| self.journal.add(totals));
    }
}

/// Requests of all trials of a stack in one step.
#[derive(Clone, Copy, Default)]
struct Requests {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    flushes: u64,
}

impl Requests {
    fn add(&mut self, totals: &DeviceTotals) {
        let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        sum(&mut self.reads, totals.reads);
        sum(&mut self.read_bytes, totals.read_bytes);
        sum(&mut self.writes, totals.writes);
        sum(&mut self.written_bytes, totals.written_bytes);
        sum(&mut self.flushes, totals.flushes.unwrap_or(0));
    }

    /// Classes of the requests by their mean size; `tails` if the slowest of them are judged.
    fn classes(self, tails: bool) -> BTreeSet<RequestClass> {
        let all = self.reads as f64 + self.writes as f64 + self.flushes as f64;
        let counts = |number: u64| number > 0 && number as f64 >= COUNTS_FROM * all;
        let mut classes = BTreeSet::new();
        if counts(self.reads) {
            classes.insert(RequestClass::reads(Bytes(self.read_bytes / self.reads)));
            classes.extend(tails.then_some(RequestClass::SlowestReads));
        }
        if counts(self.writes) {
            classes.insert(RequestClass::writes(Bytes(self.written_bytes / self.writes)));
        }
        classes.extend(counts(self.flushes).then_some(RequestClass::Flushes));
        classes
    }
}
