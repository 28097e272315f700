use super::*;
use crate::fixture;
use crate::records::{outcomes, worth_keeping};
use seekwell_model::lab::Effort;
use seekwell_model::replay_check::{CheckResult, Compared, ReplayCheck, ReplayComparison};
use seekwell_model::verdict::VerdictKind;

/// Outcomes of all trials of a plan: `value` is that of a candidate in a round.
fn records(plan: &Plan, value: impl Fn(u32, u32) -> f64) -> Outcomes {
    let made = |trial: &seekwell_model::plan::PlannedTrial| {
        (*trial, fixture::record(value(trial.candidate, trial.round)))
    };
    outcomes(plan, plan.trials.iter().map(made))
}

/// The second stack takes twice as long, with a little noise.
fn clear(candidate: u32, round: u32) -> f64 {
    (1.0 + f64::from(candidate)) * (1.0 + 0.001 * f64::from((round * 7 + candidate * 3) % 5))
}

/// A run of so many rounds that was judged.
fn finished(rounds: u32) -> (Plan, Outcomes, Verdict) {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(rounds));
    let records = records(&plan, clear);
    let verdict = judged(&plan, &records);
    (plan, records, verdict)
}

#[test]
fn a_continued_plan_begins_with_the_same_trials_and_keeps_its_lab() {
    let (plan, records, verdict) = finished(6);
    let mut longer = plan.clone();
    prolong(&mut longer, &records, &verdict).unwrap();
    assert_eq!(longer.rounds(), 7);
    assert_eq!(longer.trials[..plan.trials.len()], plan.trials[..]);
    assert_eq!(longer.lab, plan.lab);
    assert_eq!(longer.effort(), Effort::Rounds(7));
    assert_eq!(longer.prolonged.unwrap().judged_trials, 12);
}

#[test]
fn looks_are_a_quarter_apart_and_each_has_a_share_of_its_own() {
    let end = Prolonged { rounds: 0, judged_rounds: 20, judged_trials: 0, method: METHOD };
    let looks: Vec<u32> = looks_of(&end).take(6).collect();
    assert_eq!(looks, [25, 31, 39, 48, 61, 76]);
    let shares = looks_of(&end).take(60).map(|look| looks::added_share(20, look as usize));
    let spent: f64 = shares.sum();
    assert!(spent <= 1.0 - looks::PLANNED, "{spent}");
    for first in 6..200 {
        let end = Prolonged { judged_rounds: first, ..end };
        let shares: Vec<f64> = looks_of(&end)
            .take(30)
            .map(|look| looks::added_share(first as usize, look as usize))
            .collect();
        assert!(shares.is_sorted_by(|a, b| a > b), "{first}: a share is spent twice");
    }
}

#[test]
fn rounds_between_two_looks_wait_for_the_next() {
    let (mut plan, first, verdict) = finished(20);
    prolong(&mut plan, &first, &verdict).unwrap();
    // At the end of the planned rounds the stacks differ; later they do not.
    let later = |candidate: u32, round: u32| if round < 20 { clear(candidate, round) } else { 1.0 };
    let all = records(&plan, later);
    let until = |trials: u32| -> Outcomes {
        all.range(..trials).map(|(index, kept)| (*index, kept.clone())).collect()
    };
    let short = judged(&plan, &until(49));
    assert_eq!((short.rounds, short.kind), (20, VerdictKind::Winner));
    assert_eq!(short, so_far(&plan, &until(49)));
    assert_eq!(judged(&plan, &until(50)).rounds, 25);
}

#[test]
fn a_run_of_the_oldest_method_has_no_more_looks() {
    let (mut plan, first, verdict) = finished(6);
    let oldest = Verdict { method: 0, ..verdict };
    assert_eq!(prolong(&mut plan, &first, &oldest), Err(NoMore::EarlierMethod));
}

#[test]
fn a_race_is_continued_at_its_planned_looks() {
    let mut race = fixture::race(4, 3, |_| {});
    let verdict = Verdict { rounds: 6, ..judge(&race, &Outcomes::new()) };
    prolong(&mut race, &Outcomes::new(), &verdict).unwrap();
    assert_eq!(race.effort(), Effort::Rounds(MOST_ROUNDS));
    assert_eq!(prolong(&mut race, &Outcomes::new(), &verdict), Err(NoMore::MostRounds));
    // What was decided without its last look is open for what more rounds do not change.
    for (replayed, expected) in [(1.0, NoMore::MostRounds), (1.4, NoMore::Replay)] {
        let elapsed_s = Compared { recorded: 1.0, replayed };
        let compared = ReplayComparison { elapsed_s, ..ReplayComparison::default() };
        let result = CheckResult::Compared(Box::new(compared));
        race.replay_checks = vec![ReplayCheck { workload: "replay".to_owned(), result }];
        assert_eq!(prolong(&mut race, &Outcomes::new(), &verdict), Err(expected));
    }
    race.prolonged = None;
    let decided = Verdict { kind: VerdictKind::Tie, ..verdict.clone() };
    let before = race.clone();
    assert_eq!(prolong(&mut race, &Outcomes::new(), &decided), Err(NoMore::Decided));
    assert_eq!(race, before);
    race.race.as_mut().unwrap().method = 0;
    assert_eq!(prolong(&mut race, &Outcomes::new(), &verdict), Err(NoMore::EarlierMethod));
}

#[test]
fn failed_trials_of_a_judged_run_are_not_tried_again() {
    let (mut plan, first, verdict) = finished(6);
    let failed = first.values().map(|(trial, _)| (*trial, fixture::failed("x")));
    let failed = outcomes(&plan, failed);
    assert_eq!(worth_keeping(&plan, failed.clone(), false).len(), 0);
    assert_eq!(worth_keeping(&plan, failed.clone(), true).len(), 12, "more rounds are asked for");
    prolong(&mut plan, &first, &verdict).unwrap();
    assert_eq!(worth_keeping(&plan, failed, false).len(), 12);
}

#[test]
fn a_run_that_has_the_most_rounds_gets_no_more() {
    let (mut plan, records, verdict) = finished(6);
    plan.prolonged =
        Some(Prolonged { rounds: 0, judged_rounds: MOST_ROUNDS, judged_trials: 0, method: METHOD });
    let before = plan.clone();
    assert_eq!(prolong(&mut plan, &records, &verdict), Err(NoMore::MostRounds));
    assert_eq!(plan, before);
    // The last look may have just as many.
    plan.prolonged =
        Some(Prolonged { judged_rounds: MOST_ROUNDS * 4 / 5, ..before.prolonged.unwrap() });
    prolong(&mut plan, &records, &verdict).unwrap();
    assert_eq!(plan.rounds(), MOST_ROUNDS);
    (plan.prolonged, plan.candidates) = (None, vec![]);
    assert_eq!(prolong(&mut plan, &records, &verdict), Err(NoMore::MostRounds));
}

#[test]
fn a_look_is_behind_the_rounds_that_are_done() {
    let end = Prolonged { rounds: 0, judged_rounds: 20, judged_trials: 0, method: METHOD };
    assert_eq!([24, 25, 26].map(|done| next_look(&end, done)), [25, 31, 31]);
}

#[test]
fn a_continued_race_is_judged_at_a_look_behind_its_first_end() {
    let mut plan = fixture::race(4, 1, |_| {});
    let mut all = Outcomes::new();
    while let Some(round) =
        crate::staged::Staged::replay(&plan, plan.race.as_ref().unwrap(), &all).round()
    {
        for trial in round {
            let record = fixture::raced(&plan, &trial, 0.3, 0.005);
            all.insert(trial.index, (trial, fixture::outcome(&plan, &record)));
        }
    }
    let whole = interim(&plan, &all);
    assert!(whole.rounds >= 6, "{whole:?}");
    let judged_trials = 8;
    let judged_rounds = whole.rounds;
    plan.prolonged = Some(Prolonged { rounds: 80, judged_rounds, judged_trials, method: METHOD });
    let again = judged(&plan, &all);
    assert_eq!((again.kind, again.rounds), (VerdictKind::Winner, whole.rounds));
}
