//! The atlas: runs of modelled devices as one line of JSON each, and the answers that are looked up in them.
//!
//! An [`Entry`] is the run of one load on one device, a [`Cell`] one of its stacks. Sentences are those of the
//! run's report, so that a look-up prints what the run would.

mod questions;
mod site;

use crate::answer_text::{AnswerText, FACTOR, answer, joined};
use crate::factor::{benefit, factor};
use crate::model_error::on_device;
use crate::number::{Scale, percent, unit_of};
use crate::safety::class_words;
use crate::text::paragraph;
use crate::view::RunView;
use crate::why_text::WhyText;
use seekwell_model::lab::{Better, Lab};
use seekwell_model::record::{DeviceTotals, Record, Status, StepRecord};
use seekwell_model::verdict::DurabilityClass;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub use questions::questions_markdown;
pub use site::{SitePage, site};

#[cfg(test)]
mod tests;

/// A run of one load on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the load, which is that of its lab.
    pub load: String,
    /// Model of the device.
    pub device: String,
    /// Digest of everything that decides what its trials do: kernel, models, lab with its seed, CPU charge.
    pub key: String,
    /// Lab kernel: version, set and id.
    pub kernel: String,
    /// CPU time that was charged.
    pub cpu: String,
    /// Seed of the lab.
    pub seed: u64,
    /// `STEP.METRIC` that was judged.
    pub metric: String,
    /// Direction in which the metric is better.
    pub better: Better,
    /// Rounds behind the answer.
    pub rounds: u32,
    /// Label of the stack to take; `None` if no stack has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// The most that the pick can be worse than the best stack; `None` if the trials set no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The answer in sentences: the pick and its most cost, what is close, what is out, what the trials are.
    pub answer: Vec<String>,
    /// Results by axis, the one that matters most first.
    pub axes: Vec<String>,
    /// Error of the device's model; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<String>,
    /// Another doubt that could change the pick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The cause of the difference, where it was found by experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Time that the trials took on the machine that ran them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_s: Option<u64>,
    /// One per stack, best first.
    pub cells: Vec<Cell>,
}

/// A stack of an [`Entry`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Label of the stack.
    pub stack: String,
    /// Name of its filesystem with options.
    pub filesystem: String,
    /// Name of its scheduler.
    pub scheduler: String,
    /// Data that survive a power cut, by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<DurabilityClass>,
    /// Median of the judged metric; `None` where no trial ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Ratio to the best stack with its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<[Option<f64>; 3]>,
    /// Median of the bytes written to the device per byte of the workload in the judged step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_byte: Option<f64>,
    /// Medians of the other steps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, f64>,
    /// Trials that ended well, were marked, and failed.
    pub trials: [u32; 3],
    /// Digest of the requests of its trials, see [`cell_fingerprint`].
    pub fingerprint: String,
}

/// Digest of the requests that a cell's trials sent, in the order of the plan: every counter of every device in
/// every step but the time.
///
/// The fingerprint of a trial covers the disk with the program too, which is another one in every build, and that
/// shifts times by a few 256 ns: [`is_same_value`] compares them.
#[must_use]
pub fn cell_fingerprint<'a>(records: impl IntoIterator<Item = &'a Record>) -> String {
    let counted = |totals: &DeviceTotals| DeviceTotals { busy_ms: 0, ..*totals };
    let requests = |step: &StepRecord| {
        let all = step.device.iter().chain(&step.journal).chain(&step.members).map(counted);
        format!("{} {:?}", step.name, all.collect::<Vec<_>>())
    };
    let steps = records.into_iter().flat_map(|record| &record.steps);
    digest(&steps.map(requests).collect::<Vec<_>>().join("\n"))
}

/// True if two medians are equal but for the start of a step.
#[must_use]
pub fn is_same_value(one: Option<f64>, other: Option<f64>) -> bool {
    are_within(1e-4, one, other)
}

/// True if two medians are as close as those of two builds of one program: nearly all of `benches/runs/atlas/builds.csv`.
#[must_use]
pub fn is_near_value(one: Option<f64>, other: Option<f64>) -> bool {
    are_within(5e-3, one, other)
}

fn are_within(share: f64, one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= share * one.abs(),
        (one, other) => one == other,
    }
}

/// Sixteen hexadecimal digits.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The comparison key of a run by the facts of its environment and its lab.
#[must_use]
pub fn comparison_key(fact: impl Fn(&str) -> Option<serde_json::Value>, lab: &Lab) -> String {
    let facts = ["kernel", "model_fingerprints", "cpu", "guest_revision"].map(fact);
    let facts = facts.map(Option::unwrap_or_default);
    digest(&serde_json::json!([facts, lab]).to_string())
}

impl Entry {
    /// The cells that have another value in a newer run of the same load and device, a line each.
    #[must_use]
    pub fn moved_to(&self, newer: &Self) -> Vec<String> {
        let line = |cell: &Cell| {
            let now = newer.cells.iter().find(|one| one.stack == cell.stack);
            let Some(now) = now else { return Some(format!("{}: gone", cell.stack)) };
            let change = cell.median.zip(now.median).map(|(old, now)| (now / old - 1.0) * 100.0);
            let said = match change {
                Some(change) => format!("{change:+.3} %"),
                None => "measured in one of the two alone".to_owned(),
            };
            (!is_same_value(cell.median, now.median)).then(|| format!("{}: {said}", cell.stack))
        };
        let is_new = |cell: &&Cell| !self.cells.iter().any(|one| one.stack == cell.stack);
        let new = newer.cells.iter().filter(is_new).map(|cell| format!("{}: new", cell.stack));
        self.cells.iter().filter_map(line).chain(new).collect()
    }

    /// The entry of a finished run whose lab has one device and one workload.
    #[must_use]
    pub fn of(view: &RunView) -> Self {
        let text = AnswerText::of(view);
        let word = |name: &str| {
            view.environment.get(name).and_then(|value| value.as_str()).unwrap_or("").to_owned()
        };
        let verdict = &view.verdict;
        let answer = answer(view);
        let error = on_device(view).map(|found| found.sentences.join(" "));
        let doubt = text.doubt.as_ref().filter(|doubt| {
            error.as_ref().is_none_or(|error| !error.ends_with(doubt.text.as_str()))
        });
        let others = text.close.iter().chain(&text.out).map(|spans| joined(spans));
        let said = [joined(&text.pick)].into_iter().chain(text.cause).chain(others);
        let said = said.chain([text.basis]).chain(text.weaker).filter(|text| !text.is_empty());
        Self {
            load: view.plan.lab.name.clone(),
            device: view
                .plan
                .stacks
                .first()
                .map_or_else(String::new, |one| one.device.name.clone()),
            key: comparison_key(|name| view.environment.get(name).cloned(), &view.plan.lab),
            kernel: word("kernel"),
            cpu: word("cpu"),
            seed: view.plan.lab.seed,
            metric: verdict.metric.clone(),
            better: verdict.better,
            rounds: verdict.rounds,
            pick: answer.pick.clone(),
            loss: answer.loss,
            answer: said.collect(),
            axes: text.axes.iter().map(|line| format!("{}: {}", line.axis, line.text)).collect(),
            model_error: error,
            doubt: doubt.map(|doubt| doubt.text.clone()),
            why: WhyText::of(view).map(|why| why.sentence),
            host_s: view.host_ns.map(|ns| ns.div_ceil(1_000_000_000)),
            cells: cells(view),
        }
    }

    /// Name of one of its cells, or of all of them without a stack.
    #[must_use]
    pub fn name(&self, cell: Option<&Cell>) -> String {
        let stack = cell.map_or_else(String::new, |cell| format!("/{}", cell.stack));
        format!("{}/{}{stack}", self.load, self.device)
    }

    /// The cell of the pick.
    #[must_use]
    pub fn picked(&self) -> Option<&Cell> {
        self.cells.iter().find(|cell| Some(&cell.stack) == self.pick.as_ref())
    }

    /// Factor by which a value is worse than another.
    fn worse(&self, value: f64, than: f64) -> f64 {
        benefit(self.better, value / than)
    }

    /// Cost of what is worse by a factor: `47 % fewer` of a rate, `13 % longer` of a time, `2.1 times as slow`.
    fn extent(&self, worse: f64) -> String {
        match (worse, self.better) {
            (worse, _) if worse >= FACTOR => format!("{} times{AS_SLOW}", factor(worse)),
            (worse, Better::Higher) => format!("{} fewer", percent(1.0 - 1.0 / worse)),
            (worse, Better::Lower) => format!("{} longer", percent(worse - 1.0)),
        }
    }

    /// Standing of a cell against the leader of its run by the interval of their ratio: a cost, a gain, or neither.
    fn against_leader(&self, cell: &Cell) -> Option<Against> {
        let [centre, low, high] = cell.ratio?;
        let centre = self.worse(centre?, 1.0);
        let (one, other) =
            (low.map(|end| self.worse(end, 1.0)), high.map(|end| self.worse(end, 1.0)));
        // An end without a bound is no number.
        let (low, high) = match self.better {
            Better::Lower => (one.unwrap_or(0.0), other.unwrap_or(f64::INFINITY)),
            Better::Higher => (other.unwrap_or(0.0), one.unwrap_or(f64::INFINITY)),
        };
        Some(match () {
            () if low > 1.0 - SAME && high < 1.0 + SAME => Against::Equal,
            () if high < 1.0 => Against::Better(1.0 / centre),
            () if low > 1.0 => Against::Worse(centre),
            () => Against::Open,
        })
    }

    /// A value of the judged metric with its unit.
    fn value(&self, value: f64) -> String {
        Scale::fit(unit_of(&self.metric), [value]).with_unit(value)
    }
}

/// Unit of a factor.
const AS_SLOW: &str = " as slow";

/// Largest difference between equal cells.
const SAME: f64 = 5e-4;

/// A cell against the leader of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Against {
    Equal,
    /// Worse by a factor.
    Worse(f64),
    /// Better by a factor: a stack that is not eligible.
    Better(f64),
    /// The interval holds both.
    Open,
}

/// A gain of a stack that may not be picked.
fn not_eligible(gain: f64) -> String {
    match gain {
        gain if gain < FACTOR => format!("{} faster, not eligible", percent(gain - 1.0)),
        gain => format!("{} times as fast, not eligible", factor(gain)),
    }
}

fn cells(view: &RunView) -> Vec<Cell> {
    let verdict = &view.verdict;
    let step = verdict.metric.split('.').next().unwrap_or_default();
    let written = format!("{step}.written_per_byte");
    let by_stack = view.by_stack();
    let cell = |row: &seekwell_model::verdict::Ratio| {
        let stack = view.stack(&row.stack)?;
        let trials = by_stack.of(&row.stack);
        let count = |is: fn(&Status) -> bool| {
            trials.iter().filter(|(_, record)| is(&record.status)).count() as u32
        };
        let others = view.other_steps().into_iter().map(|column| column.metric);
        let median = |metric: &str| by_stack.median(&row.stack, metric);
        Some(Cell {
            stack: row.stack.clone(),
            filesystem: stack.filesystem.name.clone(),
            scheduler: stack.scheduler.name.clone(),
            survives: verdict.evidence.durability_of(&row.stack).map(|found| found.class),
            median: median(&verdict.metric),
            ratio: row
                .ratio
                .map(|ratio| [Some(rounded(ratio)), row.low.map(rounded), row.high.map(rounded)]),
            written_per_byte: median(&written).map(rounded),
            others: others
                .filter_map(|name| Some((name.clone(), rounded(median(&name)?))))
                .collect(),
            trials: [
                count(|status| *status == Status::Ok),
                count(|status| *status == Status::Marked),
                count(|status| matches!(status, Status::Failed { .. })),
            ],
            fingerprint: cell_fingerprint(trials.iter().map(|(_, record)| *record)),
        })
    };
    by_stack.rows().iter().filter_map(cell).collect()
}

/// Rounds to six digits, which keeps the table small.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Entries as text: a line of JSON each.
///
/// # Errors
/// When a number is not finite.
pub fn atlas_lines(entries: &[Entry]) -> serde_json::Result<String> {
    let lines: Result<Vec<String>, _> = entries.iter().map(serde_json::to_string).collect();
    Ok(lines?.into_iter().map(|line| line + "\n").collect())
}

/// The entries of such a text.
///
/// # Errors
/// When a line is not an entry.
pub fn atlas_entries(text: &str) -> serde_json::Result<Vec<Entry>> {
    text.lines().map(serde_json::from_str).collect()
}

/// An entry that answers a question, with what the person said.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Title of the device's model.
    pub title: &'a str,
    /// Models that the trials' device is made of.
    pub model: &'a str,
    /// Part of the device that the trials used, in words.
    pub room: &'a str,
    /// Limit of the array to what the filesystem keeps after a power cut.
    pub loses: Option<&'a str>,
    /// Name of the filesystem that is in use now.
    pub now: Option<&'a str>,
    /// Sentence that says what the load is.
    pub load: &'a str,
    /// Sentence that says how near the load is to the person's recording, if one was given.
    pub recording: Option<&'a str>,
    /// Reason why this device was chosen, if the person named a disk.
    pub like: Option<&'a str>,
    /// Commands that test it on the person's own disk.
    pub own: &'a str,
}

impl Asked<'_> {
    /// The answer for a terminal of this width.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let entry = self.entry;
        let mut out = format!("{} on {}\n", entry.load, self.title);
        let size = format!("Modelled as {}, {}. {}.", self.model, self.room, entry.cpu);
        let like = self.like.map(|reason| format!("{reason}: nearest in the atlas."));
        out.push_str(&paragraph(
            "  ",
            &[self.recording, Some(self.load)]
                .map(|said| said.map(str::to_owned))
                .into_iter()
                .chain([like, Some(size)])
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            width,
        ));
        out.push('\n');
        out.push_str(&paragraph("  ", &entry.answer.join(" "), width));
        out.push('\n');
        let mut above = "";
        for (name, text) in self.facts() {
            let shown = if name == above { "" } else { name };
            out.push_str(&paragraph(&format!("{shown:<16} "), &text, width));
            above = name;
        }
        out.push_str(&format!(
            "\ncheck it here\n  seekwell atlas check {}\n",
            entry.name(entry.picked())
        ));
        out.push_str(&format!("on your own disk\n{}", self.own));
        out
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let entry = self.entry;
        let mut facts = Vec::new();
        facts.extend(self.now.map(|now| ("you have", self.against(now))));
        facts.extend(entry.axes.iter().map(|text| ("what matters", text.clone())));
        facts.extend(entry.why.iter().map(|text| ("why", text.clone())));
        let class = entry.picked().and_then(|cell| cell.survives);
        let limit = self.loses.map_or_else(String::new, |limit| format!(" {limit}"));
        facts.extend(
            class.map(|class| ("after power cut", format!("{}{limit}", class_words(class)))),
        );
        facts.extend(entry.model_error.iter().map(|text| ("error bar", text.clone())));
        facts.extend(entry.doubt.iter().map(|text| ("main doubt", text.clone())));
        facts
    }

    /// The cost of staying with a filesystem, under its best scheduler and under its worst.
    fn against(&self, now: &str) -> String {
        let entry = self.entry;
        let is_its = |cell: &&Cell| {
            [&cell.filesystem, &cell.stack].iter().any(|name| name.eq_ignore_ascii_case(now))
        };
        let own = entry.cells.iter().filter(is_its).filter(|cell| cell.median.is_some());
        let own: Vec<&Cell> = own.collect();
        let size = |cell: &&Cell| self.against_pick(cell);
        let [best, worst] = [own.first(), own.last()];
        match (best.zip(best.and_then(size)), worst.zip(worst.and_then(size))) {
            (Some((best, size)), Some((worst, most))) if best != worst => match size == most {
                true => format!("{}: {size}", best.filesystem),
                false => format!("{}: {size}; {}: {most}", best.stack, worst.stack),
            },
            (Some((best, size)), _) => format!("{}: {size}", best.stack),
            _ => format!("{now} is not in the atlas for this load and device"),
        }
    }

    /// Size by which a measured cell differs from the pick.
    fn against_pick(&self, cell: &Cell) -> Option<String> {
        let entry = self.entry;
        let worse = entry.worse(cell.median?, entry.picked()?.median?);
        Some(match entry.against_leader(cell).unwrap_or(Against::Worse(worse)) {
            Against::Open => "too close to call".to_owned(),
            Against::Equal => "as good as the pick".to_owned(),
            Against::Worse(worse) if worse < FACTOR => {
                format!("{} than the pick", entry.extent(worse))
            }
            Against::Worse(worse) => format!("{} as the pick", entry.extent(worse)),
            Against::Better(gain) => not_eligible(gain),
        })
    }
}

/// Largest factor between equal values.
const EQUAL: f64 = 1.005;
