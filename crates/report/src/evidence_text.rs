//! The evidence of a verdict as sentences: axes, durability, the course of a race, checks of the
//! measurement.

use crate::answer_text::{Effect, Measure, Sides, answer};
use crate::devices;
use crate::factor::{list, list_with};
use crate::model_error::on_device;
use crate::noise::noise;
use crate::number::percent;
use crate::replay_check;
use crate::safety::{self, class_words, worst};
use crate::text::capital;
use crate::view::{RunView, count};
use crate::why_text::WhyText;
use seekwell_model::power_cut::CutCounts;
use seekwell_model::verdict::{
    CheckFound, DurabilityClass, Evidence, NodeFound, NodeStanding, RaceCourse, StackDurability,
};
use std::collections::{BTreeMap, BTreeSet};

/// Stacks that left in the screen and are named one by one.
const NAMED: usize = 8;

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
        // The cause is said where the verdict is.
        ("Why", WhyText::of(view).map_or_else(Vec::new, |text| text.notes)),
        ("Storage", storage(evidence)),
        ("Wear", safety::wear(view).into_iter().collect()),
        ("Another device or another filesystem", devices::sentences(view)),
        ("On a real device", on_device(view).map_or_else(Vec::new, |found| found.sentences)),
        ("On each node", nodes(view)),
        (safety::TITLE, safety::sentences(view)),
        ("After a power cut", durability(view)),
        ("How the race went", evidence.race.as_ref().map_or_else(Vec::new, course)),
        ("The replay on its own stack", replay_check::parts(view)),
        ("The laboratory", laboratory(evidence)),
        ("Noise and cost", noise(view)),
    ];
    all.into_iter()
        .filter(|(_, sentences)| !sentences.is_empty())
        .map(|(title, sentences)| Section { title, sentences })
        .collect()
}

/// The share of the storage, where it is so small that no device could help.
fn storage(evidence: &Evidence) -> Vec<String> {
    let share = evidence.storage.as_ref().filter(|share| !share.seen);
    let said = share.map(|share| {
        format!(
            "Your workload hardly uses the storage: the device is busy for {} of the judged step at most, so no device could make it 5 % faster",
            percent(share.busy)
        )
    });
    said.into_iter().collect()
}

/// The verdict within each node of a cluster; nothing for a run on one machine.
fn nodes(view: &RunView) -> Vec<String> {
    let verdict = &view.verdict;
    let measure = Measure::of(view);
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
        let effect = Effect::one(verdict.better, ratio, one.low, one.high);
        let sides = Sides { worse: leader, is_plural: false, better: rival, both: true };
        said.push(format!(
            "On {} {rival} is better: {}",
            rounds(one),
            measure.clause(&sides, effect)
        ));
    }
    let open: Vec<String> = standing(NodeStanding::Open).map(rounds).collect();
    if !open.is_empty() {
        let open = few(open.iter().map(String::as_str));
        said.push(format!("Not decided on {open}: too few rounds, or too much noise"));
    }
    said
}

/// The durability classes, where they differ or power was cut, and the settings of each database.
fn durability(view: &RunView) -> Vec<String> {
    let evidence = &view.verdict.evidence;
    let mut said = cuts(evidence);
    if evidence.durability_differs() {
        said.extend(classes(evidence));
    }
    said.extend(settings(view));
    said
}

/// The settings in force of each database, as it reports them: one line, or one for each of several.
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
    let whole = || counts.iter().filter(|(_, counts)| counts.lossy() == 0);
    let mut said: Vec<String> = lossy
        .map(|(stack, counts)| {
            let (lost, cuts) = (counts.lost_synced, counts.cuts);
            let worst = worst(counts);
            format!("{stack} may lose synced data: {lost} of {cuts} power cuts lost some{worst}")
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
    said.extend(counts.iter().filter_map(|(stack, counts)| transactions(stack, counts)));
    for (stack, counts) in counts.iter().filter(|(_, counts)| counts.damaged > 0) {
        said.push(format!(
            "{stack} needs its checker after a power cut: it found damage after {} of {}",
            counts.damaged, counts.cuts
        ));
    }
    said
}

/// The committed transactions that the worst cut took, and damage of the database.
fn transactions(stack: &str, counts: &CutCounts) -> Option<String> {
    let losses = counts.losses?;
    let took = match losses.lost_transactions_max? {
        0 => "none of".to_owned(),
        lost => format!("at worst {lost} of"),
    };
    let damaged = match losses.database_damaged {
        0 => String::new(),
        damaged => format!("; after {damaged} the database was damaged"),
    };
    let cuts = counts.cuts;
    Some(format!("{cuts} power cuts took {took} the committed transactions of {stack}{damaged}"))
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
    said
}

fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<String> = names.map(str::to_owned).collect();
    if all.len() <= NAMED {
        return list(&all);
    }
    format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED)
}

/// The caution for a pick whose durability class is weaker than that of another stack.
pub(crate) fn weaker_leader(view: &RunView) -> Option<String> {
    let verdict = &view.verdict;
    let answer = answer(view);
    let pick = answer.pick.as_ref()?;
    let leading = verdict.evidence.durability_of(pick)?;
    let best = verdict.evidence.durability.iter().map(|stack| stack.class).min()?;
    if leading.class <= best {
        return None;
    }
    let of_best = |label: &str| {
        verdict.evidence.durability_of(label).is_some_and(|stack| stack.class == best)
    };
    let next = verdict.ratios.iter().find(|row| of_best(&row.stack) && row.ratio.is_some());
    let next = next.map_or_else(String::new, |row| {
        format!(" The best stack that is {} is {}.", best.word(), row.stack)
    });
    Some(format!(
        "After a power cut {pick} is {}: {}.{next}",
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
            "{} left in the screen: {}. Ratios with ~ are estimates from so few trials",
            count(screened.len(), "stack"),
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
    let found =
        |wanted: bool| evidence.checks.iter().filter(move |check| check.found == Some(wanted));
    let told = |check: &CheckFound| format!("{}: {}", capital(&check.name), check.text);
    let mut said: Vec<String> = found(true).map(told).collect();
    let clear: Vec<String> = found(false).map(|check| check.name.clone()).collect();
    if !clear.is_empty() {
        let effects = if clear.len() == 1 { "effect" } else { "effects" };
        said.push(format!("No {} {effects} detected", list_with(&clear, "or")));
    }
    said
}

#[cfg(test)]
mod tests;
