//! The answer of a run: the pick with its loss bound, what is out, what matters, where the time goes.

use super::decision;
use crate::axes::{Axis, axes};
use crate::durability;
use crate::question::question;
use crate::records::{End, Outcome, Outcomes};
use crate::values;
use seekwell_model::answer::{
    Answer, AxisAnswer, Depends, Doubt, More, Trend, Unmeasured, ValueOut, Weaker,
};
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::verdict::{DurabilityClass, NodeStanding, Ratio, Verdict, VerdictKind};
use seekwell_stats::axis::{AxisFound, Compared};
use seekwell_stats::design::Design;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::paired::{
    Comparison, ErrorShare, Finding, Row, Standing, Unresolved, compare_led_by,
};
use seekwell_stats::question::MIN_ROUNDS;
use std::collections::BTreeMap;

mod replayed;
mod time;

#[cfg(test)]
mod tests;

/// More stacks than this have no axes computed: it would take longer than it is worth.
const MOST_STACKS: usize = 600;

/// Checks that could change the pick: an effect above the tie is the main doubt.
const CARRY_OVER: &str = "carry-over";

/// A compared run.
pub(super) struct Run<'a> {
    pub plan: &'a Plan,
    pub outcomes: &'a Outcomes,
    /// The judged trials of all ranked stacks.
    pub trials: &'a [Vec<Observed>],
    pub comparison: &'a Comparison,
}

/// Adds what the whole verdict says: its end and its checks.
pub(super) fn finish(plan: &Plan, outcomes: &Outcomes, verdict: &mut Verdict) {
    let tie = verdict.tie;
    let is_certified = verdict.kind != VerdictKind::Unresolved;
    let race = verdict.evidence.race.as_ref();
    let screened = race
        .map_or(0, |race| race.dropped.iter().filter(|dropped| dropped.part == "screen").count());
    let carry_over = verdict.evidence.checks.iter().find(|check| check.name == CARRY_OVER);
    let carry_over = carry_over.filter(|check| check.found == Some(true));
    let change = carry_over.and_then(|check| check.change).map_or(0.0, |factor| factor - 1.0);
    let doubt = (change > tie).then(|| Doubt {
        name: CARRY_OVER.to_owned(),
        text: format!(
            "a result shifts by up to {} with the stack that ran before it, more than the lab's tie of {}",
            super::percent((100.0 * change).round() / 100.0),
            super::percent(tie)
        ),
        remedy: "measure more work in a trial".to_owned(),
    });
    let Some(answer) = &mut verdict.answer else { return };
    let hidden = replayed::Hidden::find(plan, outcomes, answer);
    answer.certified = is_certified;
    answer.screened = screened as u32;
    answer.doubt =
        answer.doubt.take().or_else(|| hidden.as_ref().map(replayed::Hidden::doubt)).or(doubt);
    answer.time = time::spent(plan, outcomes, answer);
    replayed::widen(plan, verdict);
    if let Some(hidden) = hidden {
        hidden.widen(verdict);
    }
    let nodes = &verdict.evidence.nodes;
    let differs = nodes.iter().any(|one| one.standing == NodeStanding::Differs);
    if !differs && let Some(answer) = &verdict.answer {
        verdict.sentence = decision::sentence(answer, verdict);
    }
}

impl Run<'_> {
    /// The answer, without what [`finish`] adds. A round takes `round_ns`.
    pub(super) fn answer(&self, round_ns: u64) -> Answer {
        let comparison = self.comparison;
        let rows = self.sorted();
        let is_out = |row: &&Row| self.is_out(row);
        let taking_part =
            |row: &&Row| Some(row.stack) != comparison.baseline && row.standing != Standing::Absent;
        let close = rows.iter().filter(|row| taking_part(row) && !is_out(row));
        let out = rows.iter().filter(|row| taking_part(row) && is_out(row));
        let rounds = comparison.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
        Answer {
            pick: comparison.baseline.map(|stack| self.label(stack)),
            loss: comparison.loss.filter(|_| comparison.baseline.is_some()),
            cause: self.cause(),
            among: comparison.rows.iter().filter(|row| row.standing != Standing::Absent).count()
                as u32,
            rounds: rounds as u32,
            close: close.map(|row| self.label(row.stack)).collect(),
            out: out.map(|row| self.label(row.stack)).collect(),
            unmeasured: self.unmeasured(),
            axes: self.axes(),
            weaker: self.weaker(),
            more: self.more(rounds, round_ns),
            ..Answer::default()
        }
    }

    fn label(&self, stack: usize) -> String {
        self.plan.stacks[stack].label.clone()
    }

    fn is_out(&self, row: &Row) -> bool {
        row.standing == Standing::Failing || row.is_out(question(self.plan).better)
    }

    /// With this factor a smaller value of the metric is better.
    fn sign(&self) -> f64 {
        match self.plan.lab.judge.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        }
    }

    /// Rows, the best first; those without a ratio last.
    fn sorted(&self) -> Vec<&Row> {
        let key = |row: &&Row| row.joint.map(|joint| self.sign() * joint.centre);
        let mut rows: Vec<&Row> = self.comparison.rows.iter().collect();
        rows.sort_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        rows
    }

    /// Reason why no stack can be compared.
    fn no_data(&self) -> String {
        let metric = &self.plan.lab.judge.metric;
        let trials: Vec<&Outcome> = self.outcomes.values().map(|(_, outcome)| outcome).collect();
        let number = |end: End| trials.iter().filter(|trial| trial.end == end).count();
        if trials.iter().any(|trial| trial.end == End::Ok && trial.value.is_some()) {
            return "no stack ran every workload: nothing is compared".to_owned();
        }
        match (trials.len(), number(End::Marked), number(End::Failed)) {
            (0, ..) => format!("no trial reported {metric}"),
            (all, marked, _) if marked == all => {
                format!("all {all} trials are marked as doubtful: none counts")
            }
            (all, _, failed) if failed == all => format!("all {all} trials failed"),
            _ => format!("no trial that ended well reported {metric}"),
        }
    }

    /// Reason why the trials set no bound on the loss.
    fn cause(&self) -> Option<String> {
        if self.comparison.loss.is_some() && self.comparison.baseline.is_some() {
            return None;
        }
        let rival = self.comparison.rival.and_then(|stack| self.missing(stack));
        let by_reason = match &self.comparison.finding {
            Finding::Unresolved { reason, .. } => match reason {
                Unresolved::NoData => Some(self.no_data()),
                Unresolved::OneStack => {
                    Some("only one stack has values, so there is nothing to compare it with".into())
                }
                Unresolved::TooFewRounds { have, need } => {
                    let rounds = match have {
                        0 => "no round".to_owned(),
                        1 => "only 1 round".to_owned(),
                        have => format!("only {have} rounds"),
                    };
                    Some(format!("{rounds} can be compared, and a bound needs {need}"))
                }
                Unresolved::Failures { stack, .. } | Unresolved::Doubtful { stack, .. } => {
                    self.missing(*stack)
                }
                Unresolved::Identical => Some(format!(
                    "all values of {} are the same, so its clock or counter is too coarse",
                    self.plan.lab.judge.metric
                )),
                Unresolved::TooWide => None,
            },
            _ => None,
        };
        rival.or(by_reason).or_else(|| Some("the trials vary too much to set a bound".to_owned()))
    }

    /// Trials of a stack that failed or were marked, in words; `None` if there are none.
    fn missing(&self, stack: usize) -> Option<String> {
        let (run, failed, doubtful) = self.counts(stack);
        let label = self.label(stack);
        if doubtful > 0 {
            let what = format!("{doubtful} of {run} trials of {label} were marked as doubtful");
            return Some(format!("{what}; without them it could be better or worse than the pick"));
        }
        (failed > 0).then(|| {
            let what = format!("{failed} of {run} trials of {label} failed");
            format!("{what}; had they ended, they could change the choice")
        })
    }

    /// Trials of a stack: run, failed, doubtful. One that was given up after others had failed was not run.
    fn counts(&self, stack: usize) -> (usize, usize, usize) {
        let is_its = |trial: &PlannedTrial| {
            self.plan.candidates[trial.candidate as usize].stack as usize == stack
        };
        let mut rounds: BTreeMap<usize, usize> = BTreeMap::new();
        for (trial, _) in self.outcomes.values().filter(|(trial, _)| is_its(trial)) {
            *rounds.entry(trial.round as usize).or_default() += 1;
        }
        // A round counts if every workload of the stack was run in it.
        let whole = rounds.values().copied().max().unwrap_or(0);
        // Rows of a race begin after its screen.
        let all = self.outcomes.values().map(|(trial, _)| trial.round as usize + 1).max();
        let row = &self.trials[stack];
        let before = all.unwrap_or(0).saturating_sub(row.len());
        let ran = rounds.iter().filter(|(_, trials)| **trials == whole);
        let ran = ran.filter_map(|(round, _)| row.get(round.checked_sub(before)?).copied());
        let row: Vec<Observed> = ran.collect();
        let count = |wanted: Observed| row.iter().filter(|trial| **trial == wanted).count();
        let run = row.len() - count(Observed::NotRun);
        (run, count(Observed::Failed), count(Observed::Doubtful))
    }

    /// Stacks with fewer than six trials that count, which are not shown to be worse.
    fn unmeasured(&self) -> Vec<Unmeasured> {
        let few = |row: &&Row| {
            let (run, failed, doubtful) = self.counts(row.stack);
            let fails = row.standing == Standing::Failing;
            run > 0 && failed + doubtful > 0 && run - failed - doubtful < MIN_ROUNDS && !fails
        };
        let found = self.comparison.rows.iter().filter(few).filter(|row| !self.is_out(row));
        let one = |row: &Row| {
            let (run, failed, doubtful) = self.counts(row.stack);
            let parts = [(doubtful, "were marked"), (failed, "failed")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let said: Vec<String> =
                parts.map(|(count, what)| format!("{count} of {run} trials {what}")).collect();
            Unmeasured { stack: self.label(row.stack), reason: said.join(", ") }
        };
        found.map(one).collect()
    }

    fn more(&self, rounds: usize, round_ns: u64) -> Option<More> {
        let Finding::Unresolved { rounds_needed, .. } = self.comparison.finding else {
            return None;
        };
        let needed = rounds_needed.filter(|needed| *needed > rounds as u64)?;
        let more_ns = (needed - rounds as u64).saturating_mul(round_ns);
        Some(More { rounds: needed, more_ns })
    }

    /// A stack that may not be picked against the pick.
    fn against(&self, pick: usize, stack: usize) -> Option<Row> {
        let question = question(self.plan);
        let share = ErrorShare { error: 1.0 - question.confidence, stacks: 2 };
        let pair = [self.trials[pick].clone(), self.trials[stack].clone()];
        let found = compare_led_by(&pair, &question, share, 0).ok()?;
        found.rows.into_iter().nth(1)
    }

    /// Rows of the table for stacks that may not be picked.
    pub(super) fn not_eligible(&self) -> Vec<Ratio> {
        let barred = durability::ineligible(self.plan, self.outcomes);
        let values = values::present(self.trials);
        let row = |stack: &usize| {
            let row = self.against(self.comparison.baseline?, *stack)?;
            Some(super::ratio(self.label(*stack), &row, &values[*stack]))
        };
        barred.iter().filter_map(row).collect()
    }

    /// The best of the stacks that may lose what the pick keeps, against the pick.
    fn weaker(&self) -> Option<Weaker> {
        let barred = durability::ineligible(self.plan, self.outcomes);
        let pick = self.comparison.baseline?;
        let classes = durability::of_plan(self.plan, self.outcomes);
        let against = |stack: usize| Some((stack, self.against(pick, stack)?.ratio?));
        let sign = self.sign();
        let known = barred.iter().filter_map(|stack| against(*stack));
        let best = known.min_by(|a, b| (sign * a.1.centre).total_cmp(&(sign * b.1.centre)));
        if best.is_some_and(|(_, ratio)| sign * ratio.centre >= sign) {
            // It would gain nothing.
            return None;
        }
        let stack = best.map_or_else(|| barred.first().copied(), |(stack, _)| Some(stack))?;
        let ratio = best.map(|(_, ratio)| ratio);
        Some(Weaker {
            stacks: barred.len() as u32,
            stack: self.label(stack),
            class: classes[stack].class,
            pick_class: classes[pick].class,
            ratio: ratio.map(|ratio| ratio.centre),
            low: ratio.map(|ratio| ratio.low).filter(|low| *low > 0.0),
            high: ratio.map(|ratio| ratio.high).filter(|high| high.is_finite()),
            loses: loses(&classes[stack]),
        })
    }

    /// The answers per axis, the one that matters most first.
    fn axes(&self) -> Vec<AxisAnswer> {
        let ranked = self.plan.ranked();
        if ranked > MOST_STACKS || self.comparison.baseline.is_none() {
            return vec![];
        }
        let (names, design) = axes(self.plan, ranked);
        let barred = durability::ineligible(self.plan, self.outcomes);
        let mut trials = self.trials.to_vec();
        for stack in &barred {
            trials[*stack].fill(Observed::NotRun);
        }
        let mut is_out = vec![false; ranked];
        for row in self.comparison.rows.iter().filter(|row| self.is_out(row)) {
            is_out[row.stack] = true;
        }
        let question = question(self.plan);
        let field = Field::new(&trials, &question);
        let mut found = seekwell_stats::axis::axes(&design, &field, &is_out, &question);
        found.sort_by(|a, b| b.matters().total_cmp(&a.matters()));
        let words = AxisWords { names: &names, design: &design };
        found.iter().map(|axis| words.answer(axis)).collect()
    }
}

/// Data that a stack may lose, in words.
fn loses(found: &seekwell_model::verdict::StackDurability) -> String {
    if let Some(reason) = found.reasons.last() {
        return reason.clone();
    }
    match found.class {
        DurabilityClass::Volatile => "everything is in memory".to_owned(),
        class => format!("its class is {}", class.word()),
    }
}

/// Turns numbers of axes and values into names.
struct AxisWords<'a> {
    names: &'a [Axis],
    design: &'a Design,
}

impl AxisWords<'_> {
    fn value(&self, axis: usize, value: usize) -> String {
        self.names[axis].values[value].clone()
    }

    fn answer(&self, found: &AxisFound) -> AxisAnswer {
        let axis = found.axis;
        let name = |value: &usize| self.value(axis, *value);
        let out = |one: &Compared| ValueOut {
            value: name(&one.value),
            against: name(&one.against),
            ratio: one.ratio.centre,
            low: finite(one.ratio.low).filter(|low| *low > 0.0),
            high: finite(one.ratio.high),
        };
        AxisAnswer {
            axis: self.names[axis].name.to_owned(),
            left: found.left.iter().map(name).collect(),
            within: found.within().map(|within| within - 1.0),
            single: finite(found.single - 1.0).filter(|_| found.averaged.len() > 1),
            out: found.out.iter().map(out).collect(),
            over: self.over(found),
            depends: found.combinations.iter().map(|one| self.depends(axis, one)).collect(),
            trend: self.trend(found),
            ..AxisAnswer::default()
        }
    }

    /// Values that were averaged over: the values of each other axis, or its name where all take part.
    fn over(&self, found: &AxisFound) -> String {
        let mut parts = Vec::new();
        for axis in (0..self.design.axes()).filter(|axis| *axis != found.axis) {
            let mut values: Vec<usize> =
                found.averaged.iter().map(|stack| self.design.level(*stack, axis)).collect();
            values.sort_unstable();
            values.dedup();
            if self.design.size(axis) < 2 || values.len() < 2 {
                continue;
            }
            if values.len() == self.design.size(axis) {
                parts.push(format!("the {}", plural(self.names[axis].name)));
            } else {
                let names: Vec<String> =
                    values.iter().map(|value| self.value(axis, *value)).collect();
                parts.push(decision::and(&names));
            }
        }
        decision::and(&parts)
    }

    fn depends(&self, axis: usize, one: &seekwell_stats::axis::Combination) -> Depends {
        let others = (0..self.design.axes())
            .filter(|other| *other != axis && self.design.size(*other) > 1)
            .map(|other| self.value(other, self.design.level(one.stack, other)));
        let ratio = one.compared.ratio;
        Depends {
            with: others.collect::<Vec<_>>().join("/"),
            best: self.value(axis, one.compared.against),
            worst: self.value(axis, one.compared.value),
            ratio: ratio.centre,
            low: finite(ratio.low).filter(|low| *low > 0.0),
            high: finite(ratio.high),
        }
    }

    /// The trend over values that are numbers, such as chunk sizes; `None` with fewer than three.
    fn trend(&self, found: &AxisFound) -> Option<Trend> {
        let values = &self.names[found.axis].values;
        let mut sizes: Vec<(usize, f64)> = Vec::new();
        for (value, name) in values.iter().enumerate() {
            sizes.push((value, number(name)?));
        }
        sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (from, to) = (sizes.first()?.0, sizes.last()?.0);
        let all: Vec<&Compared> = found.out.iter().chain(&found.pairs).collect();
        let direct = all.iter().find(|one| {
            (one.value, one.against) == (to, from) || (one.value, one.against) == (from, to)
        })?;
        if sizes.len() < 3 {
            return None;
        }
        let turned = direct.value == from;
        let ratio = |value: f64| if turned { 1.0 / value } else { value };
        let (low, high) = (ratio(direct.ratio.low), ratio(direct.ratio.high));
        let places: Vec<usize> = sizes
            .iter()
            .filter_map(|(value, _)| found.left.iter().position(|left| left == value))
            .collect();
        let rises = places.windows(2).all(|two| two[0] < two[1]);
        let falls = places.windows(2).all(|two| two[0] > two[1]);
        Some(Trend {
            from: self.value(found.axis, from),
            to: self.value(found.axis, to),
            ratio: ratio(direct.ratio.centre),
            low: finite(low.min(high)).filter(|low| *low > 0.0),
            high: finite(low.max(high)),
            steady: rises || falls,
        })
    }
}

fn plural(axis: &str) -> String {
    match axis {
        "memory" => "memory sizes".to_owned(),
        axis => format!("{axis}s"),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A value such as `64KiB` or `128` as a number.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        "" | "B" => 1.0,
        "k" | "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1024.0 * 1024.0,
        "G" | "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(value * factor)
}
