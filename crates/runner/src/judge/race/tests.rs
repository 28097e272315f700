//! Verdicts of races whose trials are a function of stack and round alone.

use super::*;
use crate::fixture;
use crate::judge::{interim, judge};
use crate::order::round_order;
use seekwell_model::lab::Effort;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::{Decision, VerdictKind};
use seekwell_stats::interval::Interval;

/// Outcomes of a race up to its end, or to so many trials.
fn run(plan: &Plan, most: usize, record: impl Fn(&PlannedTrial) -> Record) -> Outcomes {
    let mut records = Outcomes::new();
    while let Some(round) = Staged::replay(plan, plan.race.as_ref().unwrap(), &records).round() {
        for trial in round {
            if records.len() == most {
                return records;
            }
            records.insert(trial.index, (trial, fixture::outcome(plan, &record(&trial))));
        }
    }
    records
}

/// A race of four stacks, each slower than the one before by `step`; it has no screen.
fn short(step: f64, noise: f64, most: usize) -> (Plan, Outcomes) {
    let plan = fixture::race(4, 1, |_| {});
    let records = run(&plan, most, |trial| fixture::raced(&plan, trial, step, noise));
    (plan, records)
}

#[test]
fn the_winner_of_a_race_is_better_than_so_many_others() {
    let (plan, records) = short(0.3, 0.005, usize::MAX);
    let verdict = judge(&plan, &records);
    assert_eq!(
        (verdict.kind, verdict.stacks),
        (VerdictKind::Winner, vec!["fs0/sched0".to_owned()])
    );
    assert_eq!(
        verdict.reason.split(';').next().unwrap(),
        "better than every other stack by more than the tie of 2 %, at 95 % confidence for all of them and all looks together"
    );
    let race = verdict.evidence.race.unwrap();
    assert_eq!((race.pilot_rounds, race.screen_rounds, race.finalists.len()), (2, 0, 4));
    assert!(race.final_rounds >= race.looked_at && race.looked_at == verdict.rounds);
    assert!(verdict.ratios.iter().all(|row| row.basis == Basis::Paired));
    assert_eq!(verdict.ratios.len(), 4);
}

#[test]
fn a_stack_that_never_ran_is_not_counted_among_the_others() {
    let plan = fixture::race(4, 1, |_| {});
    let records = run(&plan, usize::MAX, |trial| match trial.candidate {
        3 => fixture::failed("it cannot be mounted"),
        _ => fixture::raced(&plan, trial, 0.3, 0.005),
    });
    let verdict = judge(&plan, &records);
    assert_eq!(verdict.kind, VerdictKind::Winner, "{}", verdict.reason);
    let answer = verdict.answer.unwrap();
    assert_eq!((answer.among, answer.out.last().map(String::as_str)), (3, Some("fs3/sched0")));
}

/// With one trial, of each stack in turn, no other stack is picked.
#[test]
fn a_race_picks_no_stack_without_a_trial() {
    let budget = Effort::Budget(Nanos::seconds(40));
    let mut plan = fixture::race(2, 1, |lab| lab.judge.effort = budget);
    // As a run with little time: all start in the final.
    plan.race.as_mut().unwrap().pilot_rounds = 0;
    let all = run(&plan, 2, |trial| fixture::raced(&plan, trial, 0.3, 0.005));
    for (index, one) in &all {
        let verdict = interim(&plan, &Outcomes::from([(*index, one.clone())]));
        let own = plan.pair(&one.0).0.label.clone();
        let pick = verdict.answer.unwrap().pick;
        assert!(pick.as_ref().is_none_or(|pick| *pick == own), "{pick:?} without a trial");
    }
}

#[test]
fn a_race_that_was_stopped_says_how_far_it_is() {
    // Two rounds of the pilot, three of the final.
    let (plan, records) = short(0.3, 0.005, 20);
    let verdict = interim(&plan, &records);
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert!(
        verdict
            .reason
            .starts_with("only 3 rounds of the final are done; it is first judged after 6"),
        "{}",
        verdict.reason
    );
    assert!(
        verdict.sentence.starts_with("If you must choose: fs0/sched0; only 3"),
        "{}",
        verdict.sentence
    );
    assert_eq!(verdict.stacks.len(), 4);

    let plan = fixture::race(4, 3, |_| {});
    let screened = |most| run(&plan, most, |trial| fixture::raced(&plan, trial, 0.1, 0.01));
    let pilot = interim(&plan, &screened(5));
    assert_eq!(pilot.reason, "the pilot is not finished, and its trials are never ranked");
    let records = screened(8 + 12);
    let screen = interim(&plan, &records);
    assert!(
        screen.reason.starts_with("the race stopped in its screen after 1 rounds; its final is judged after 4 fresh rounds"),
        "{}",
        screen.reason
    );
    // Every stack that was run has its row, as an estimate.
    assert_eq!(screen.ratios.len(), 12);
    assert!(screen.ratios.iter().all(|row| row.basis == Basis::Screen && row.pairs == 0));
    for row in &screen.ratios {
        let of_row = records.values().filter(|(trial, _)| plan.pair(trial).0.label == row.stack);
        let values: Vec<_> = of_row.map(|(_, record)| record.value).collect();
        assert_eq!(row.median, median(&values), "{}", row.stack);
    }
}

#[test]
fn a_race_too_noisy_to_decide_gives_the_reason_of_its_comparison() {
    let (plan, records) = short(0.0, 0.4, usize::MAX);
    let verdict = judge(&plan, &records);
    assert_eq!(verdict.decision, Some(Decision::Inconclusive));
    assert!(
        verdict.reason.starts_with("the intervals are too wide after 80 complete rounds"),
        "{}",
        verdict.reason
    );
}

#[test]
fn a_race_with_trials_of_another_version_is_not_judged() {
    let plan = fixture::race(4, 3, |_| {});
    let trials = round_order(plan.lab.seed, 12, 0);
    let records = trials.into_iter().map(|trial| (trial, fixture::record(1.0)));
    let records = crate::records::outcomes(&plan, records);
    let verdict = judge(&plan, &records);
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert!(verdict.reason.starts_with("its trials are not those that this version would run"));
}

#[test]
fn a_race_of_an_earlier_version_is_judged_by_the_rounds_of_its_final() {
    let mut plan = fixture::race(4, 1, |_| {});
    let race = plan.race.as_mut().unwrap();
    (race.method, race.pilot_rounds, race.screen, race.looks) = (0, 2, vec![4, 4], vec![8]);
    let mut records = Outcomes::new();
    for round in 0..12 {
        for trial in round_order(plan.lab.seed, 4, round) {
            // Pilot and screen say the opposite.
            let step = if round < 4 { -0.2 } else { 0.3 };
            let record = fixture::raced(&plan, &trial, step, 0.005);
            records.insert(trial.index, (trial, fixture::outcome(&plan, &record)));
        }
    }
    let verdict = judge(&plan, &records);
    assert_eq!(
        (verdict.kind, verdict.stacks.as_slice()),
        (VerdictKind::Winner, ["fs0/sched0".to_owned()].as_slice())
    );
    let course = verdict.evidence.race.unwrap();
    assert_eq!((course.pilot_rounds, course.screen_rounds, course.final_rounds), (2, 2, 8));
    assert_eq!((course.looks, course.best_guess.as_deref()), (vec![8], Some("fs0/sched0")));
    let stopped = interim(&plan, &records);
    assert_eq!(
        stopped.reason,
        "this race was started by an earlier version and is not finished; it cannot be continued, run the lab again"
    );
    assert_eq!(stopped.kind, VerdictKind::Unresolved);
}

#[test]
fn a_small_risk_is_rounded_up() {
    let said = [0.0, 0.0005, 0.001, 0.0011, 0.0123, 0.25].map(risk_words);
    assert_eq!(said, ["0.1 %", "0.1 %", "0.1 %", "0.2 %", "1.3 %", "25 %"]);
}

#[test]
fn the_part_and_the_reason_of_leaving_are_named() {
    let plan = fixture::race(4, 1, |_| {});
    let ratio = Some(Interval { low: 1.5, centre: 2.0, high: 2.5 });
    let said = |in_screen, reason| {
        let found = left(&plan, &Dropped { stack: 3, in_screen, trials: 5, ratio, reason });
        assert_eq!((found.stack.as_str(), found.trials), ("fs3/sched0", 5));
        assert_eq!((found.low, found.ratio, found.high), (Some(1.5), Some(2.0), Some(2.5)));
        (found.part, found.reason)
    };
    let cases = [
        (
            true,
            DropReason::NotInBetterHalf { rank: 7, kept: 6 },
            "screen",
            "rank 7 by the estimates of the screen, which kept 6",
        ),
        (
            false,
            DropReason::WorseThanLeader { rounds: 9 },
            "final",
            "worse than the leader after 9 rounds of the final",
        ),
        (
            false,
            DropReason::NotBetter { rounds: 9 },
            "final",
            "not better than the leader by more than the tie after 9 rounds",
        ),
        (false, DropReason::Failed { failed: 3, of: 4 }, "final", "failed in 3 of 4 rounds"),
    ];
    for (in_screen, reason, part, text) in cases {
        assert_eq!(said(in_screen, reason), (part.to_owned(), text.to_owned()));
    }
}
