//! The product of the axes, minus what the lab excludes and what cannot be run.

mod doubts;
mod journals;
mod layers;
mod reasons;
mod wording;

use crate::build::device_matches;
use crate::diagnostic::Diagnostic;
use crate::lab_file::LabFile;
use crate::source::{Problem, Span};
use reasons::{Reason, Rules};
use seekwell_model::lab::{Effort, Lab, Match, Method, SchedulerAxis};
use seekwell_model::plan::{BackendFacts, Candidate, LeftOut};
use seekwell_model::stack::{Backing, Device, Scheduler, Stack};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::MODELLED_METRICS;
use std::collections::{HashMap, HashSet};

/// Most pairs of stack and workload that the axes of a lab may make, impossible ones included.
pub const MAX_CANDIDATES: u64 = 100_000;

/// Most trials that a lab may ask for.
pub const MAX_TRIALS: u64 = 1_000_000;

/// The stacks and candidates of a lab on a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// Stacks that can run, with unique labels, in the order of the axes.
    pub stacks: Vec<Stack>,
    /// Pairs of stack and workload that can run, in the order of the axes. Indices into `stacks`
    /// and into the lab's workloads.
    pub candidates: Vec<Candidate>,
    /// The combinations that were left out, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// Doubts that are known before anything ran.
    pub warnings: Vec<Warning>,
}

/// Makes the stacks of a lab, and the pairs of stack and workload that can run on a backend with
/// these facts.
///
/// # Errors
///
/// When a stack named by `[[stack]]` cannot run, when a filesystem or a workload is left with no
/// stack, or when the axes make more than [`MAX_CANDIDATES`] pairs or [`MAX_TRIALS`] trials.
pub fn expand(file: &LabFile, facts: &BackendFacts) -> Result<Expansion, Diagnostic> {
    expansion(file, facts).map_err(|problem| file.source.diagnostic(problem))
}

fn expansion(file: &LabFile, facts: &BackendFacts) -> Result<Expansion, Problem> {
    let lab = &file.lab;
    let schedulers = schedulers(lab, facts)?;
    let axes = Axes::new(lab, &schedulers);
    check_size(file, &axes)?;
    check_metric(file)?;
    let rules = Rules::new(&axes, facts);
    let mut product = Product::new(&axes, &rules);
    if !lab.stacks_only {
        product.add_all(&axes.whole());
    }
    for (index, named) in lab.stacks.iter().enumerate() {
        let span = file.positions.stacks.get(index).copied().flatten();
        product.add_named(index, &axes.select(named), span)?;
    }
    product.check_nothing_lost(file)?;
    let mut warnings = product.not_available();
    warnings.extend(doubts::doubts(&axes, &product.stacks, &product.candidates, facts));
    warnings.extend(product.unused_values());
    let left_out = product.left_out();
    Ok(Expansion { stacks: product.stacks, candidates: product.candidates, left_out, warnings })
}

/// A metric that only models count cannot be compared between devices of the host.
fn check_metric(file: &LabFile) -> Result<(), Problem> {
    let lab = &file.lab;
    let name = lab.judge.metric.split_once('.').map_or("", |(_, name)| name);
    let modelled = |device: &Device| matches!(device.backing, Backing::Model { .. });
    if !MODELLED_METRICS.contains(&name) || lab.devices.iter().any(modelled) {
        return Ok(());
    }
    let message = format!("only a modelled device counts \"{name}\", and none is left in the lab");
    let remedy =
        "judge by another metric, or write model = \"NAME\" in a [[device]] (seekwell device list)";
    Err(Problem::new(file.positions.metric, message, remedy))
}

/// The schedulers of the lab on this backend.
fn schedulers(lab: &Lab, facts: &BackendFacts) -> Result<Vec<Scheduler>, Problem> {
    match &lab.schedulers {
        SchedulerAxis::These(these) => Ok(these.clone()),
        SchedulerAxis::All if facts.schedulers.is_empty() => {
            let message =
                "the lab names no schedulers, and the backend does not say which it offers";
            let remedy = "write [scheduler] and below it choose = [\"none\", \"mq-deadline\"]";
            Err(Problem::new(None, message, remedy))
        }
        SchedulerAxis::All => {
            Ok(facts.schedulers.iter().map(|kind| Scheduler::plain(kind)).collect())
        }
    }
}

/// Refuses what would take hours to plan and years to run, before any of it is made.
fn check_size(file: &LabFile, axes: &Axes<'_>) -> Result<(), Problem> {
    let whole = if file.lab.stacks_only { 0 } else { count(&axes.whole()) };
    let named = file.lab.stacks.iter().map(|named| count(&axes.select(named)));
    let candidates = named.fold(whole, u64::saturating_add);
    if candidates > MAX_CANDIDATES {
        let message = format!(
            "the axes make {candidates} pairs of stack and workload ({}); the limit is {MAX_CANDIDATES}",
            axes.sizes()
        );
        let remedy = "write shorter axes, or stacks_only = true and the [[stack]]s that matter";
        return Err(Problem::new(None, message, remedy));
    }
    let rounds = match file.lab.judge.effort {
        Effort::Rounds(rounds) if file.lab.judge.method == Method::Rounds => u64::from(rounds),
        // A race has its many rounds among few stacks.
        Effort::Rounds(_) | Effort::Budget(_) => crate::tables::MIN_ROUNDS,
    };
    if candidates.saturating_mul(rounds) > MAX_TRIALS {
        let message = format!(
            "{candidates} pairs of stack and workload in {rounds} rounds are {} trials; the limit is {MAX_TRIALS}",
            candidates.saturating_mul(rounds)
        );
        return Err(Problem::new(
            file.positions.effort,
            message,
            "write shorter axes or fewer rounds",
        ));
    }
    Ok(())
}

/// Index on each axis: device, layer, journal, filesystem, scheduler, memory, workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Combination {
    device: usize,
    layer: usize,
    journal: usize,
    filesystem: usize,
    scheduler: usize,
    memory: usize,
    workload: usize,
}

/// Indices on each axis, in the order of [`Combination`].
type Selection = [Vec<usize>; 7];

/// The axes with the schedulers of the backend.
struct Axes<'a> {
    lab: &'a Lab,
    schedulers: &'a [Scheduler],
    /// Names of the values of each axis, in the order of [`Combination`].
    names: [Vec<&'a str>; 7],
}

impl<'a> Axes<'a> {
    fn new(lab: &'a Lab, schedulers: &'a [Scheduler]) -> Self {
        let names = [
            lab.devices.iter().map(|one| one.name.as_str()).collect(),
            lab.layers.iter().map(|one| one.name.as_str()).collect(),
            lab.journals.iter().map(|one| one.name.as_str()).collect(),
            lab.filesystems.iter().map(|one| one.name.as_str()).collect(),
            schedulers.iter().map(|one| one.name.as_str()).collect(),
            lab.memories.iter().map(|one| one.name.as_str()).collect(),
            lab.workloads.iter().map(|one| one.name.as_str()).collect(),
        ];
        Self { lab, schedulers, names }
    }

    fn whole(&self) -> Selection {
        self.lengths().map(|length| (0..length).collect())
    }

    fn lengths(&self) -> [usize; 7] {
        self.names.each_ref().map(Vec::len)
    }

    /// For the message about too many: `10 devices × 3 journals …`.
    fn sizes(&self) -> String {
        let words = [
            "devices", "layers", "journals", "filesystems", "schedulers", "memory limits",
            "workloads",
        ];
        let parts = self.lengths().into_iter().zip(words).filter(|(length, _)| *length > 1);
        parts.map(|(length, word)| format!("{length} {word}")).collect::<Vec<_>>().join(" × ")
    }

    /// The values that a match names.
    fn select(&self, wanted: &Match) -> Selection {
        let wanted = [
            &wanted.device, &wanted.layer, &wanted.journal, &wanted.filesystem, &wanted.scheduler,
            &wanted.memory, &wanted.workload,
        ];
        std::array::from_fn(|axis| {
            let names = &self.names[axis];
            let is = |index: usize, name: &str| match axis {
                0 => device_matches(&self.lab.devices[index], name),
                _ => names[index] == name,
            };
            let hit = |index: &usize| wanted[axis].as_ref().is_none_or(|name| is(*index, name));
            (0..names.len()).filter(hit).collect()
        })
    }

    /// Names on the axes that have more than one value.
    fn label(&self, at: &Combination) -> String {
        // Workloads are no part of a stack.
        let axes = self.names.iter().zip(indices(at)).take(6);
        let several = axes.filter(|(names, _)| names.len() > 1);
        let label = several.map(|(names, index)| names[index]).collect::<Vec<_>>().join("/");
        if label.is_empty() { "default".to_owned() } else { label }
    }
}

fn count(selection: &Selection) -> u64 {
    selection.iter().fold(1, |product, axis| product.saturating_mul(axis.len() as u64))
}

/// All combinations of a selection, the last axis fastest.
fn combinations(selection: &Selection) -> impl Iterator<Item = Combination> + '_ {
    (0..count(selection)).map(move |number| {
        let (mut rest, mut at) = (number as usize, [0; 7]);
        for (index, axis) in at.iter_mut().zip(selection).rev() {
            *index = axis[rest % axis.len()];
            rest /= axis.len();
        }
        let [device, layer, journal, filesystem, scheduler, memory, workload] = at;
        Combination { device, layer, journal, filesystem, scheduler, memory, workload }
    })
}

/// Stacks and candidates as they are collected.
struct Product<'a> {
    axes: &'a Axes<'a>,
    rules: &'a Rules<'a>,
    exclusions: Vec<[Vec<bool>; 7]>,
    stacks: Vec<Stack>,
    candidates: Vec<Candidate>,
    /// Stack by combination, the workload set to 0 and the journal to the first that is the same.
    known: HashMap<Combination, u32>,
    taken: HashSet<(u32, usize)>,
    named: HashSet<(u32, usize)>,
    /// Number of pairs with this filesystem and workload that a reason left out.
    lost: HashMap<(Reason, usize, usize), u64>,
    /// Number of pairs that a reason left out.
    totals: HashMap<Reason, u64>,
    /// Reasons in the order in which they first applied.
    order: Vec<Reason>,
    used: [Vec<bool>; 7],
}

impl<'a> Product<'a> {
    fn new(axes: &'a Axes<'a>, rules: &'a Rules<'a>) -> Self {
        let lengths = axes.lengths();
        let members = |rule: &Match| {
            let selection = axes.select(rule);
            let mut member = lengths.map(|length| vec![false; length]);
            for (axis, indices) in member.iter_mut().zip(selection) {
                indices.into_iter().for_each(|index| axis[index] = true);
            }
            member
        };
        Self {
            axes,
            rules,
            exclusions: axes.lab.exclusions.iter().map(members).collect(),
            stacks: Vec::new(),
            candidates: Vec::new(),
            known: HashMap::new(),
            taken: HashSet::new(),
            named: HashSet::new(),
            lost: HashMap::new(),
            totals: HashMap::new(),
            order: Vec::new(),
            used: lengths.map(|length| vec![false; length]),
        }
    }

    fn add_all(&mut self, selection: &Selection) {
        for at in combinations(selection) {
            let reason = self.excluded(&at).or_else(|| self.rules.impossible(&at));
            match reason {
                Some(reason) => self.lose(reason, &at),
                None => {
                    if self.add(&at).is_none() {
                        self.lose(Reason::SameStack(at.journal, at.filesystem), &at);
                    }
                }
            }
        }
    }

    /// Adds the stacks that a `[[stack]]` names; at least one of them must be possible.
    fn add_named(
        &mut self,
        index: usize,
        selection: &Selection,
        span: Option<Span>,
    ) -> Result<(), Problem> {
        let mut first_reason = None;
        let mut possible = false;
        let mut lacking = true;
        for at in combinations(selection) {
            if let Some(reason) = self.rules.impossible(&at) {
                first_reason = first_reason.or(Some(reason));
                lacking &= reason.is_lack();
                self.lose(reason, &at);
                continue;
            }
            possible = true;
            self.add(&at);
            let stack = self.stack(&at);
            if !self.named.insert((stack, at.workload)) {
                self.lose(Reason::NamedTwice(index), &at);
            }
        }
        // Of a stack that this machine lacks something for, the warning tells.
        if possible || (first_reason.is_some() && lacking) {
            return Ok(());
        }
        let (why, remedy) = match first_reason {
            Some(reason) => {
                let text = self.rules.text(reason);
                (format!("{}: {}", text.what, text.why), self.rules.mend(reason))
            }
            None => {
                let offered: Vec<&str> =
                    self.axes.schedulers.iter().map(|one| one.name.as_str()).collect();
                let why = "the kernel does not offer its scheduler".to_owned();
                (why, format!("name one that it offers: {}", offered.join(", ")))
            }
        };
        Err(Problem::new(span, format!("this stack cannot be run: {why}"), remedy))
    }

    fn excluded(&self, at: &Combination) -> Option<Reason> {
        let indices = indices(at);
        let hit = |rule: &[Vec<bool>; 7]| rule.iter().zip(indices).all(|(axis, index)| axis[index]);
        self.exclusions.iter().position(hit).map(Reason::Excluded)
    }

    fn lose(&mut self, reason: Reason, at: &Combination) {
        *self.lost.entry((reason, at.filesystem, at.workload)).or_insert(0) += 1;
        if !self.totals.contains_key(&reason) {
            self.order.push(reason);
        }
        *self.totals.entry(reason).or_insert(0) += 1;
    }

    /// The stack of a combination, made when it is new.
    fn stack(&mut self, at: &Combination) -> u32 {
        let key = Combination { workload: 0, journal: self.rules.same_journal(at), ..*at };
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let (axes, rules) = (self.axes, self.rules);
        let stacks = &mut self.stacks;
        *self.known.entry(key).or_insert_with(|| {
            stacks.push(Stack {
                label: axes.label(at),
                device: axes.lab.devices[at.device].clone(),
                layers: axes.lab.layers[at.layer].clone(),
                journal: rules.journal(at),
                filesystem: axes.lab.filesystems[at.filesystem].clone(),
                scheduler: axes.schedulers[at.scheduler].clone(),
                memory: axes.lab.memories[at.memory].clone(),
            });
            next
        })
    }

    /// Adds a pair; `None` when it is there already.
    fn add(&mut self, at: &Combination) -> Option<()> {
        let stack = self.stack(at);
        for (axis, index) in self.used.iter_mut().zip(indices(at)) {
            axis[index] = true;
        }
        let workload = u32::try_from(at.workload).unwrap_or(u32::MAX);
        self.taken.insert((stack, at.workload)).then(|| {
            self.candidates.push(Candidate { stack, workload });
        })
    }

    /// Every filesystem and every workload must be left with a stack, unless only named stacks
    /// were asked for or the machine lacks the filesystem. With fewer than two stacks left nothing
    /// can be compared, and nothing runs.
    fn check_nothing_lost(&self, file: &LabFile) -> Result<(), Problem> {
        let lack = self.order.iter().copied().find(|reason| reason.is_lack());
        let enough = lack.is_none() || self.stacks.len() >= 2;
        let lab = self.axes.lab;
        if lab.stacks_only {
            return if enough { Ok(()) } else { Err(self.too_few(file, lack)) };
        }
        let [_, _, _, filesystems, _, _, workloads] = &self.used;
        let only_lacks = |index: usize| {
            let mut reasons = self.lost.keys().filter(|(_, filesystem, _)| *filesystem == index);
            enough && reasons.all(|(reason, ..)| reason.is_lack())
        };
        let mut unused = (0..filesystems.len()).filter(|index| !filesystems[*index]);
        if let Some(index) = unused.find(|index| !only_lacks(*index)) {
            let span = file.positions.filesystems.get(index).copied().flatten();
            let what = format!("filesystem \"{}\"", lab.filesystems[index].name);
            return Err(
                self.nothing_left(file, &what, span, |(_, filesystem, _)| *filesystem == index)
            );
        }
        let judged = lab.workloads.iter().zip(workloads);
        let is_judged = judged
            .filter(|(_, used)| **used)
            .any(|(workload, _)| workload.reports_or_times(&lab.judge.metric));
        let lacks_program =
            |index: &usize| enough && is_judged && self.rules.programs[*index].is_some();
        let mut unused = (0..workloads.len()).filter(|index| !workloads[*index]);
        if let Some(index) = unused.find(|index| !lacks_program(index)) {
            let span = file.positions.workloads.get(index).copied().flatten();
            let what = format!("workload \"{}\"", lab.workloads[index].name);
            return Err(self.nothing_left(file, &what, span, |(_, _, workload)| *workload == index));
        }
        if enough { Ok(()) } else { Err(self.too_few(file, lack)) }
    }

    /// The problem of a lab of which this machine can run one stack or none.
    fn too_few(&self, file: &LabFile, lack: Option<Reason>) -> Problem {
        let left = if self.stacks.is_empty() { "no stack is" } else { "only one stack is" };
        let Some(reason) = lack else {
            return Problem::new(None, format!("{left} left"), "add a value to an axis");
        };
        let text = self.rules.text(reason);
        let message = format!("{left} left on this machine: {}: {}", text.what, text.why);
        Problem::new(self.rules.place(reason, &file.positions), message, self.rules.mend(reason))
    }

    /// Warns about everything that this machine lacks, each thing once.
    fn not_available(&self) -> Vec<Warning> {
        let warning = |reason: &Reason| {
            let text = self.rules.text(*reason);
            let what = format!("{} is left out: {}", text.what, text.why);
            Warning::new(WarningCode::NotAvailable, what).with_remedy(text.remedy)
        };
        self.order.iter().filter(|reason| reason.is_lack()).map(warning).collect()
    }

    fn nothing_left(
        &self,
        file: &LabFile,
        what: &str,
        span: Option<Span>,
        concerns: impl Fn(&(Reason, usize, usize)) -> bool,
    ) -> Problem {
        let mut counts: HashMap<Reason, u64> = HashMap::new();
        for (key, count) in self.lost.iter().filter(|(key, _)| concerns(key)) {
            *counts.entry(key.0).or_insert(0) += count;
        }
        // The first of the most frequent ones, so that the message does not depend on hashing.
        let main = self.order.iter().rev().max_by_key(|reason| counts.get(reason).copied());
        let Some(reason) = main.copied() else {
            let message = format!("no stack is left for {what}");
            return Problem::new(span, message, "take it out of the lab");
        };
        let text = self.rules.text(reason);
        let why = match text.what.strip_prefix(what) {
            Some("") => text.why,
            Some(rest) => format!("{}, {}", rest.trim_start(), text.why),
            None => format!("{}: {}", text.what, text.why),
        };
        let span = span.or_else(|| self.rules.place(reason, &file.positions));
        let message = format!("no stack is left for {what}: {why}");
        Problem::new(span, message, self.rules.mend(reason))
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let of = |reason: &Reason| {
            let text = self.rules.text(*reason);
            let mut why = text.why;
            if !text.remedy.is_empty() {
                why = format!("{why}; {}", text.remedy);
            }
            let count = self.totals.get(reason).copied().unwrap_or_default();
            LeftOut { what: text.what, reason: why, count }
        };
        self.order.iter().map(of).collect()
    }

    /// Values that nothing uses: not wrong, but probably not meant. What an `[[exclude]]` names, and
    /// schedulers that the kernel does not offer, are reported where they are left out.
    fn unused_values(&self) -> Vec<Warning> {
        let words =
            ["device", "layer", "journal", "filesystem", "scheduler", "memory limit", "workload"];
        let mut warnings = Vec::new();
        for (axis, word) in words.into_iter().enumerate() {
            let is_meant = |at: &usize| match axis {
                1 => self.rules.layers[*at].is_none(),
                3 => self.rules.filesystems[*at].is_none(),
                4 => false,
                _ => true,
            };
            warnings.extend(self.unused(axis).filter(is_meant).map(|at| {
                let text = format!("no stack uses {word} \"{}\"", self.axes.names[axis][at]);
                Warning::new(WarningCode::UnusedValue, text)
            }));
        }
        warnings
    }

    /// Unused values of an axis, by its place in [`Combination`].
    fn unused(&self, axis: usize) -> impl Iterator<Item = usize> + '_ {
        let used = &self.used[axis];
        (0..used.len()).filter(move |index| !used[*index] && !self.excludes_whole(axis, *index))
    }

    /// Returns true if one `[[exclude]]` takes out this value for all values of the other axes.
    fn excludes_whole(&self, axis: usize, index: usize) -> bool {
        let whole = |rule: &[Vec<bool>; 7]| {
            let mut others = rule.iter().enumerate().filter(|(other, _)| *other != axis);
            rule[axis][index] && others.all(|(_, members)| members.iter().all(|one| *one))
        };
        self.exclusions.iter().any(whole)
    }
}

fn indices(at: &Combination) -> [usize; 7] {
    [at.device, at.layer, at.journal, at.filesystem, at.scheduler, at.memory, at.workload]
}

#[cfg(test)]
mod tests;
