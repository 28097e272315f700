//! Bounds of runs whose replays take another time than the program did.

use crate::judge::decision;
use crate::judge::prolong::NoMore;
use crate::records::{JudgedStep, Outcomes};
use crate::values::judged_workloads;
use seekwell_model::answer::{Answer, Doubt};
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::replay_check::{LIMIT, OffPart, ReplayComparison, WITHHELD, worst};
use seekwell_model::verdict::{Decision, Verdict, VerdictKind};
use seekwell_stats::estimate::median;

#[cfg(test)]
mod tests;

/// Least share of a replay's time asleep with which sleeps can hide a difference in calls.
const LEAST_ASLEEP: f64 = 0.2;

/// Metrics that the sleep of a replay is part of.
const ELAPSED: [&str; 2] = ["elapsed", "elapsed_durable"];

/// Calls of stacks that are close take another time, which recorded sleep hides: it is the same on every stack, and
/// may be a wait for a lock or a client that the recording does not show.
pub(super) struct Hidden {
    doubt: Doubt,
    /// The loss of the pick if its sleep is as long as its calls make it.
    loss: f64,
}

impl Hidden {
    /// Looks for it in the replays of the pick and of the stacks that are close to it.
    pub(super) fn find(plan: &Plan, outcomes: &Outcomes, answer: &Answer) -> Option<Self> {
        // Other metrics have no sleep in them.
        let (_, metric) = plan.lab.judge.metric.rsplit_once('.')?;
        if !ELAPSED.contains(&metric) {
            return None;
        }
        let pick = Times::of(plan, outcomes, answer.pick.as_ref()?)?;
        let others: Vec<Times<'_>> =
            answer.close.iter().filter_map(|label| Times::of(plan, outcomes, label)).collect();
        let far = |one: &&Times<'_>| one.calls_from(&pick);
        let farthest = others.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
        let (calls, elapsed) = (farthest.calls_from(&pick), farthest.elapsed_from(&pick));
        let asleep = pick.asleep().max(farthest.asleep());
        // Half of the distance in calls would be seen in the time of the replay.
        if calls <= LIMIT.ln() || elapsed > calls / 2.0 || asleep < LEAST_ASLEEP {
            return None;
        }
        let (slow, fast) = match farthest.calls_s > pick.calls_s {
            true => (farthest, &pick),
            false => (&pick, farthest),
        };
        let doubt = Doubt {
            name: "recorded-sleep".to_owned(),
            text: format!(
                "calls on files take {} times as long on {} as on {}, but {} of the replay is sleep, which is \
                 the same on every stack",
                decision::three(calls.exp()),
                slow.label,
                fast.label,
                crate::judge::percent((100.0 * asleep).round() / 100.0)
            ),
            remedy: "if your program sleeps until a lock or a client is ready, run it itself on the best \
                     two (seekwell try); if a timer ends its sleep, judge replay.time_in_calls"
                .to_owned(),
        };
        let least_s = others.iter().map(|one| one.calls_s).fold(pick.calls_s, f64::min);
        Some(Self { doubt, loss: pick.calls_s / least_s - 1.0 })
    }

    /// The doubt in words.
    pub(super) fn doubt(&self) -> Doubt {
        self.doubt.clone()
    }

    /// Widens the bound to the loss that is hidden.
    pub(super) fn widen(&self, verdict: &mut Verdict) {
        let Some(answer) = &mut verdict.answer else { return };
        answer.loss = answer.loss.map(|loss| loss.max(self.loss));
        uncertify(verdict);
    }
}

/// Takes the certificate from a verdict whose bound is above the tie now.
fn uncertify(verdict: &mut Verdict) {
    let Some(answer) = &mut verdict.answer else { return };
    if answer.loss.is_none_or(|loss| loss > verdict.tie) {
        answer.certified = false;
        verdict.kind = VerdictKind::Unresolved;
        verdict.decision = Some(Decision::Inconclusive);
    }
}

/// Medians of a stack's replays.
struct Times<'a> {
    label: &'a str,
    elapsed_s: f64,
    calls_s: f64,
    cpu_s: f64,
}

impl<'a> Times<'a> {
    fn of(plan: &Plan, outcomes: &Outcomes, label: &'a str) -> Option<Self> {
        let is_its = |trial: &PlannedTrial| plan.pair(trial).0.label == label;
        let steps: Vec<&JudgedStep> = outcomes
            .values()
            .filter(|(trial, _)| is_its(trial))
            .filter_map(|(_, outcome)| outcome.judged.as_deref())
            .collect();
        let middle = |of: fn(&JudgedStep) -> Option<f32>| {
            median(&steps.iter().filter_map(|step| of(step).map(f64::from)).collect::<Vec<f64>>())
        };
        Some(Self {
            label,
            elapsed_s: middle(|step| step.elapsed)?,
            calls_s: middle(|step| step.in_calls).filter(|calls_s| *calls_s > 0.0)?,
            cpu_s: middle(|step| step.cpu)?,
        })
    }

    fn calls_from(&self, other: &Self) -> f64 {
        (self.calls_s / other.calls_s).ln().abs()
    }

    fn elapsed_from(&self, other: &Self) -> f64 {
        (self.elapsed_s / other.elapsed_s).ln().abs()
    }

    /// Share of the time in which no thread can have been in a call or computing.
    fn asleep(&self) -> f64 {
        1.0 - (self.calls_s + self.cpu_s) / self.elapsed_s
    }
}

/// Widens the bound by the factor that the replay is off by; above [`WITHHELD`] there is none.
pub(super) fn widen(plan: &Plan, verdict: &mut Verdict) {
    let judged: Vec<&str> = judged_workloads(plan)
        .into_values()
        .flatten()
        .filter_map(|index| Some(plan.workloads.get(index as usize)?.name.as_str()))
        .collect();
    let checks = plan.replay_checks.iter().filter(|check| judged.contains(&&*check.workload));
    let check = worst(checks).and_then(|check| check.compared());
    let Some(error) = check.and_then(ReplayComparison::error) else { return };
    let is_slow = check.and_then(ReplayComparison::off) == Some(OffPart::Overhead);
    let Some(answer) = &mut verdict.answer else { return };
    let sign = if verdict.better == Better::Lower { 1 } else { -1 };
    // Nearer to the pick than the replay is to the program.
    let is_near = |stack: &String| {
        let row = verdict.ratios.iter().find(|row| row.stack == *stack);
        let centre = row.and_then(|row| row.ratio);
        centre.is_none_or(|centre| centre.powi(sign) <= error)
    };
    let (near, out): (Vec<_>, Vec<_>) =
        std::mem::take(&mut answer.out).into_iter().partition(is_near);
    answer.out = out;
    answer.close.extend(near);
    // More rounds do not bring the replay nearer to the program.
    answer.more = None;
    answer.loss = answer.loss.map(|loss| (1.0 + loss) * error - 1.0);
    if error > WITHHELD {
        answer.loss = None;
        answer.cause = Some(match is_slow {
            true => "more than a third of the replay is its own work".to_owned(),
            false => "the replay is too unlike your program".to_owned(),
        });
    }
    let has_bound = answer.loss.is_some();
    // What is open for another reason keeps that one.
    let would_end = verdict.kind != VerdictKind::Unresolved || verdict.evidence.needed.is_some();
    uncertify(verdict);
    if has_bound && would_end && error - 1.0 > verdict.tie {
        verdict.evidence.needed = None;
        verdict.reason = NoMore::Replay.to_string();
    }
}
