//! The evidence of a verdict as sentences: which axis mattered, what a power cut would leave,
//! how a race went, and whether the laboratory may be trusted.

use crate::devices;
use crate::factor::{factor, list};
use crate::noise::noise;
use crate::number::percent;
use crate::sentence::capital;
use crate::view::{RunView, count};
use seekwell_model::lab::Better;
use seekwell_model::power_cut::CutCounts;
use seekwell_model::verdict::{
    AxisFound, Beside, CheckFound, ControlFound, DurabilityClass, Evidence, InteractionFound,
    NodeFound, NodeStanding, RaceCourse, StackDurability, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};

/// Stacks that left in the screen and are named one by one.
const NAMED: usize = 8;
/// A bound above this factor says nothing.
const MOST: f64 = 10.0;
/// Largest number of interactions in the text.
const INTERACTIONS: usize = 3;

/// A heading and its sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) sentences: Vec<String>,
}

/// The sections that have something to say.
pub(crate) fn sections(view: &RunView) -> Vec<Section> {
    let evidence = &view.verdict.evidence;
    let all = [
        ("Another device or another filesystem", devices::sentences(view)),
        ("What made the difference", difference(view)),
        ("On each node", nodes(&view.verdict)),
        ("After a power cut", durability(view)),
        ("How the race went", evidence.race.as_ref().map_or_else(Vec::new, course)),
        ("The laboratory", laboratory(evidence)),
        ("Noise and cost", noise(view)),
    ];
    all.into_iter()
        .filter(|(_, sentences)| !sentences.is_empty())
        .map(|(title, sentences)| Section { title, sentences })
        .collect()
}

fn difference(view: &RunView) -> Vec<String> {
    let evidence = &view.verdict.evidence;
    let mut said = Vec::new();
    if let Some(share) = evidence.storage.as_ref().filter(|share| !share.seen) {
        said.push(format!(
            "Your workload does not see the storage: the device was busy for {} of the judged step at most, so no device could make it 5 % faster",
            percent(share.busy)
        ));
    }
    let method = view.verdict.method;
    said.extend(evidence.axes.iter().map(|found| axis(found, view.verdict.better, method)));
    said.extend(evidence.interactions.iter().take(INTERACTIONS).map(interaction));
    said
}

/// First method whose effects are certainly confirmed by rounds that had no part in finding them.
const CONFIRMS: u32 = 3;

/// From this ratio on a factor says more than per cent.
const FACTOR: f64 = 1.5;

/// `31 % more than A (28 to 35 %)`, `52 times that of A (40 to 68)`.
fn compared(ratio: f64, low: Option<f64>, high: Option<f64>, with: &str) -> String {
    let ends = low.zip(high);
    if ratio >= FACTOR {
        let range = ends.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", factor(low), factor(high))
        });
        return format!("{} times that of {with}{range}", factor(ratio));
    }
    let change = |ratio: f64| percent(ratio - 1.0);
    let range = ends
        .map_or_else(String::new, |(low, high)| format!(" ({} to {})", change(low), change(high)));
    format!("{} more than that of {with}{range}", change(ratio))
}

fn axis(axis: &AxisFound, better: Better, method: u32) -> String {
    if !axis.measurable {
        let most = axis.at_most.filter(|most| *most < MOST).map_or_else(String::new, |most| {
            let bound = if most >= 2.0 {
                format!("a factor of {}", factor(most))
            } else {
                percent(most - 1.0)
            };
            format!(
                "; averaged over the other axes, no two of its values differ by more than {bound}"
            )
        });
        return format!("{}: nothing measurable{most}", axis.axis);
    }
    let sure = if axis.confirmed && method < CONFIRMS {
        "called confirmed by an earlier version, perhaps from the trials that found it"
    } else if axis.confirmed {
        "found in one half of the rounds, confirmed in the other by stacks that differ in nothing else"
    } else {
        "not confirmed by rounds of its own"
    };
    let word = match better {
        Better::Lower => "worse",
        Better::Higher => "better",
    };
    let mut text = format!(
        "{}: {} is {word}: its value is {}; {sure}",
        axis.axis,
        axis.highest,
        compared(axis.ratio, axis.low, axis.high, &axis.lowest)
    );
    if !axis.beside.is_empty() {
        let beside: Vec<String> = axis.beside.iter().map(one_beside).collect();
        text.push_str(&format!(
            "; consistent with {} ({} against {})",
            list(&beside),
            axis.highest,
            axis.lowest
        ));
    }
    text
}

fn one_beside(beside: &Beside) -> String {
    format!("{} against {} {}", short(beside.at_highest), short(beside.at_lowest), beside.what)
}

/// A number with three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn interaction(found: &InteractionFound) -> String {
    let way = if found.ratio >= 1.0 { "higher" } else { "lower" };
    let distance = |ratio: f64| (ratio - 1.0).abs();
    let (low, high) = (found.low.map(distance), found.high.map(distance));
    let range = match (low, high) {
        (Some(a), Some(b)) => format!(" ({} to {})", percent(a.min(b)), percent(a.max(b))),
        _ => String::new(),
    };
    format!(
        "{} with {}: {}{range} {way} than the effects of {} and {} alone predict",
        found.values[0],
        found.values[1],
        percent(distance(found.ratio)),
        found.axes[0],
        found.axes[1]
    )
}

/// The class in words.
pub(crate) fn class_words(class: DurabilityClass) -> &'static str {
    match class {
        DurabilityClass::EveryWrite => "every write survives",
        DurabilityClass::Synced => "synced data survives",
        DurabilityClass::Unordered => "synced data survives; other writes may be lost or reordered",
        DurabilityClass::Unsafe => "even synced data may be lost",
        DurabilityClass::Volatile => "nothing is left",
    }
}

/// The verdict within each node of a cluster; nothing for a run on one machine.
fn nodes(verdict: &Verdict) -> Vec<String> {
    let all = &verdict.evidence.nodes;
    let Some(leader) = &verdict.baseline else { return vec![] };
    let standing = |wanted| all.iter().filter(move |one| one.standing == wanted);
    let rounds =
        |one: &NodeFound| format!("{} ({})", one.node, count(one.rounds as usize, "round"));
    let mut said = Vec::new();
    let holds: Vec<String> = standing(NodeStanding::Holds).map(rounds).collect();
    if !holds.is_empty() {
        said.push(format!("{leader} is the best on {}", few(holds.iter().map(String::as_str))));
    }
    for one in standing(NodeStanding::Differs) {
        let (Some(rival), Some(ratio)) = (&one.rival, one.ratio) else { continue };
        let ends = one.low.zip(one.high);
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({low:.3} to {high:.3})"));
        said.push(format!(
            "On {} {rival} is better: its value is {ratio:.3} times that of {leader}{ends}",
            rounds(one)
        ));
    }
    let open: Vec<String> = standing(NodeStanding::Open).map(rounds).collect();
    if !open.is_empty() {
        let open = few(open.iter().map(String::as_str));
        said.push(format!("Too few rounds, or too much noise, to tell on {open}"));
    }
    said
}

/// Only where the classes differ or power was cut: then the table has a mark, and here is what it means.
/// What a database says that its commits are worth always.
fn durability(view: &RunView) -> Vec<String> {
    let evidence = &view.verdict.evidence;
    let mut said = cuts(evidence);
    if evidence.durability_differs() {
        said.extend(classes(evidence));
    }
    said.extend(settings(view));
    said
}

/// The settings in force of each database, as it said them itself: one line, or one for each of several.
fn settings(view: &RunView) -> Vec<String> {
    let mut found: BTreeMap<&str, BTreeMap<String, BTreeSet<&str>>> = BTreeMap::new();
    for (trial, record) in &view.records {
        let label = view.stack_of(trial).map_or("", |stack| stack.label.as_str());
        for step in record.steps.iter().filter(|step| !step.settings.is_empty()) {
            let pairs = step.settings.iter().map(|(name, value)| format!("{name}={value}"));
            let text = pairs.collect::<Vec<_>>().join(", ");
            found.entry(&step.name).or_default().entry(text).or_default().insert(label);
        }
    }
    let lines = found.iter().flat_map(|(step, values)| {
        values.iter().map(move |(text, stacks)| match values.len() {
            1 => format!("{step} ran with {text}"),
            _ => format!("{step} ran with {text}: {}", few(stacks.iter().copied())),
        })
    });
    lines.collect()
}

/// The stacks that may lose synced data, or the whole filesystem, by the power cuts of the run.
fn cuts(evidence: &Evidence) -> Vec<String> {
    let counts: Vec<(&str, CutCounts)> = evidence
        .durability
        .iter()
        .filter_map(|stack| Some((stack.stack.as_str(), stack.cuts?)))
        .collect();
    let lossy = counts.iter().filter(|(_, counts)| counts.lost_synced > 0);
    let broken = counts.iter().filter(|(_, counts)| counts.unmountable > 0);
    let whole = || counts.iter().filter(|(_, counts)| counts.losses() == 0);
    let mut said: Vec<String> = lossy
        .map(|(stack, counts)| {
            let (lost, cuts) = (counts.lost_synced, counts.cuts);
            format!("{stack} may lose synced data: {lost} of {cuts} power cuts lost some")
        })
        .collect();
    said.extend(broken.map(|(stack, counts)| {
        let (broken, cuts) = (counts.unmountable, counts.cuts);
        format!(
            "{stack} may be unusable after a power cut: {broken} of {cuts} left a filesystem that cannot \
             be mounted, read or unmounted"
        )
    }));
    let cuts: u64 = whole().map(|(_, counts)| counts.cuts).sum();
    if cuts > 0 {
        let stacks = few(whole().map(|(stack, _)| *stack));
        said.push(format!("No synced data was lost in {cuts} power cuts: {stacks}"));
    }
    for (stack, counts) in counts.iter().filter(|(_, counts)| counts.damaged > 0) {
        said.push(format!(
            "{stack} needs its checker after a power cut: it found damage after {} of {}",
            counts.damaged, counts.cuts
        ));
    }
    said
}

fn classes(evidence: &Evidence) -> Vec<String> {
    let mut classes: Vec<DurabilityClass> =
        evidence.durability.iter().map(|stack| stack.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut said = Vec::new();
    for class in classes {
        let of_class: Vec<&StackDurability> =
            evidence.durability.iter().filter(|stack| stack.class == class).collect();
        let mut reasons: Vec<String> =
            of_class.iter().flat_map(|stack| stack.reasons.clone()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let why =
            if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        said.push(format!(
            "{}: {}{why}: {}",
            class.word(),
            class_words(class),
            few(of_class.iter().map(|stack| stack.stack.as_str()))
        ));
    }
    said.push(
        "Stacks of different classes make different promises: compare within one class".to_owned(),
    );
    said
}

fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<String> = names.map(str::to_owned).collect();
    if all.len() <= NAMED {
        return list(&all);
    }
    format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED)
}

/// The caution for a leader whose durability class is weaker than that of a stack it beats.
pub(crate) fn weaker_leader(view: &RunView) -> Option<String> {
    let verdict = &view.verdict;
    let leader = verdict.stacks.first()?;
    let leading = verdict.evidence.durability_of(leader)?;
    let best = verdict.evidence.durability.iter().map(|stack| stack.class).min()?;
    if leading.class <= best {
        return None;
    }
    let of_best = |label: &str| {
        verdict.evidence.durability_of(label).is_some_and(|stack| stack.class == best)
    };
    let next = verdict.ratios.iter().find(|row| of_best(&row.stack) && row.ratio.is_some());
    let next = next.map_or_else(String::new, |row| {
        format!("; the first that is {}: {}", best.word(), row.stack)
    });
    Some(format!(
        "Mind that {leader} is {} after a power cut: {}{next}.",
        leading.class.word(),
        class_words(leading.class)
    ))
}

fn course(race: &RaceCourse) -> Vec<String> {
    let rounds = |number: u32| count(number as usize, "round");
    // A race of few stacks begins with its final.
    let parts = [("pilot", race.pilot_rounds), ("screen", race.screen_rounds)];
    let parts = parts.iter().filter(|(_, held)| *held > 0);
    let mut parts: Vec<String> =
        parts.map(|(part, held)| format!("{part} of {}", rounds(*held))).collect();
    parts.push(format!(
        "final of {} among {}, judged after {}",
        rounds(race.final_rounds),
        count(race.finalists.len(), "stack"),
        if race.looked_at == 0 { "no rounds yet".to_owned() } else { rounds(race.looked_at) },
    ));
    let mut said = vec![capital(&parts.join(", "))];
    let left = |part: &'static str| race.dropped.iter().filter(move |dropped| dropped.part == part);
    let screened: Vec<&str> = left("screen").map(|dropped| dropped.stack.as_str()).collect();
    if !screened.is_empty() {
        said.push(format!(
            "{} left in the screen: {}. Their ratios are estimates, not certified results",
            screened.len(),
            few(screened.iter().copied())
        ));
    }
    let mut reasons: Vec<&str> = left("final").map(|dropped| dropped.reason.as_str()).collect();
    reasons.dedup();
    for reason in reasons {
        let of_reason = left("final").filter(|dropped| dropped.reason == reason);
        let names = few(of_reason.map(|dropped| dropped.stack.as_str()));
        said.push(format!("{names} left the final: {reason}"));
    }
    said
}

fn laboratory(evidence: &Evidence) -> Vec<String> {
    let mut said: Vec<String> = evidence.control.iter().map(control).collect();
    let found =
        |wanted: bool| evidence.checks.iter().filter(move |check| check.found == Some(wanted));
    said.extend(
        found(true).map(|check: &CheckFound| format!("detected: {}: {}", check.name, check.text)),
    );
    let clear: Vec<String> = found(false).map(|check| check.name.clone()).collect();
    if !clear.is_empty() {
        said.push(format!("Not detected: {}", list(&clear)));
    }
    said
}

fn control(control: &ControlFound) -> String {
    let Some(ratio) = control.ratio else {
        return format!("Control: {} and its copy have too few rounds to compare", control.stack);
    };
    let ends = match (control.low, control.high) {
        (Some(low), Some(high)) => format!(" ({low:.3} to {high:.3})"),
        _ => String::new(),
    };
    let judged =
        if control.separated { "they differ, but should be equal" } else { "equal, as expected" };
    format!(
        "Control: the copy of {} has {ratio:.3}{ends} of its metric in {}: {judged}",
        control.stack,
        count(control.pairs as usize, "round")
    )
}

#[cfg(test)]
mod tests;
