use super::*;
use crate::execute::{Event, Execution, Keeper};
use crate::fixture;
use crate::judge::{interim, judge};
use seekwell_model::backend::Backend;
use seekwell_model::record::Record;
use seekwell_model::units::Nanos;
use seekwell_model::verdict::{Basis, VerdictKind};
use std::error::Error;
use std::sync::atomic::AtomicBool;

type Failure = Box<dyn Error + Send + Sync>;

/// A backend whose trials are a function of stack and round alone, and that can die at one of them.
struct Scripted<'a> {
    script: &'a dyn Fn(&Plan, &PlannedTrial) -> Record,
    dies_at: Option<u32>,
    ran: Vec<PlannedTrial>,
}

impl Backend for Scripted<'_> {
    fn run(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        _: &mut dyn FnMut(&str),
    ) -> Result<Record, Failure> {
        if self.dies_at == Some(trial.index) {
            return Err("killed".into());
        }
        self.ran.push(*trial);
        Ok((self.script)(plan, trial))
    }
}

struct Nowhere;

impl Keeper for Nowhere {
    fn keep(&mut self, _: &PlannedTrial, _: &Record) -> Result<(), Failure> {
        Ok(())
    }
}

type Script = dyn Fn(&Plan, &PlannedTrial) -> Record;

/// Runs, or goes on, until the end or death; trials that ran and all records.
fn run(
    plan: &Plan,
    kept: Outcomes,
    script: &Script,
    dies_at: Option<u32>,
) -> (Vec<PlannedTrial>, Outcomes) {
    let mut backend = Scripted { script, dies_at, ran: vec![] };
    let mut execution = Execution::new(plan, kept);
    let stop = AtomicBool::new(false);
    let ended = execution.run(&mut backend, &mut Nowhere, &stop, &mut |_| {});
    assert_eq!(ended.is_err(), dies_at.is_some(), "{ended:?}");
    (backend.ran, execution.into_outcomes())
}

fn noisy(plan: &Plan, trial: &PlannedTrial) -> Record {
    fixture::raced(plan, trial, 0.08, 0.02)
}

#[test]
fn a_race_has_a_pilot_a_screen_and_a_final_of_fresh_rounds() {
    let plan = fixture::race(6, 4, |_| {});
    let race = plan.race.as_ref().unwrap();
    assert_eq!(race.pilot_rounds, 2);
    let (ran, records) = run(&plan, Outcomes::new(), &noisy, None);
    let verdict = judge(&plan, &records);
    let course = verdict.evidence.race.as_ref().unwrap();
    assert_eq!(course.pilot_rounds, 2);
    assert_eq!(course.finalists.len(), 8);
    assert!(course.looks.contains(&course.final_rounds), "{course:?}");
    let of = |from: u32, to: u32| ran.iter().filter(|t| (from..to).contains(&t.round)).count();
    let screen = course.pilot_rounds + course.screen_rounds;
    assert_eq!(of(0, 2), race.pilot.len() * 2);
    assert_eq!(of(2, screen), race.screen.iter().sum::<u32>() as usize);
    assert!(of(screen, u32::MAX) <= 8 * course.final_rounds as usize);
    // Every trial has its own index, without holes.
    let indices: Vec<u32> = ran.iter().map(|trial| trial.index).collect();
    assert_eq!(indices, (0..ran.len() as u32).collect::<Vec<_>>());
    // All 24 stacks stay listed, those of the screen as estimates.
    assert_eq!(verdict.ratios.len(), 24);
    let screened = verdict.ratios.iter().filter(|row| row.basis == Basis::Screen).count();
    assert_eq!(screened, 16);
    assert!(course.dropped.iter().all(|dropped| !dropped.reason.is_empty()));
    assert!(verdict.ratios.iter().all(|row| row.low.is_some() || row.stack == verdict.stacks[0]));
    kept(&verdict);
}

#[test]
fn the_fastest_filesystem_is_found_whatever_the_schedulers_do() {
    let plan = fixture::race(6, 4, |_| {});
    let (_, records) = run(&plan, Outcomes::new(), &noisy, None);
    let verdict = judge(&plan, &records);
    assert_ne!(verdict.kind, VerdictKind::Unresolved, "{}", verdict.reason);
    assert!(verdict.stacks[0].starts_with("fs0/"), "{:?}", verdict.stacks);
    let axes = verdict.answer.unwrap().axes;
    assert_eq!(axes[0].axis, "filesystem");
    assert_eq!(axes[0].left, ["fs0"], "{axes:?}");
    assert!(axes[1].out.is_empty(), "{axes:?}");
}

#[test]
fn a_race_killed_at_any_trial_goes_on_with_the_same_trials_to_the_same_verdict() {
    let plan = fixture::race(4, 3, |_| {});
    // One stack always fails, another now and then: what was not measured is part of the state.
    let script = |plan: &Plan, trial: &PlannedTrial| {
        let label = &plan.pair(trial).0.label;
        match label.as_str() {
            "fs3/sched2" => fixture::failed("mkfs said no"),
            "fs0/sched1" if trial.round % 3 == 1 => fixture::failed("now and then"),
            _ => fixture::raced(plan, trial, 0.03, 0.02),
        }
    };
    let (whole, records) = run(&plan, Outcomes::new(), &script, None);
    let expected = judge(&plan, &records);
    assert!(whole.len() > 60, "{}", whole.len());
    for index in (0..whole.len() as u32).step_by(7) {
        let (before, kept) = run(&plan, Outcomes::new(), &script, Some(index));
        let (after, resumed) = run(&plan, kept, &script, None);
        let ran: Vec<PlannedTrial> = before.into_iter().chain(after).collect();
        assert_eq!(ran, whole, "killed at trial {index}");
        assert_eq!(resumed.len(), records.len());
        if index % 14 == 0 {
            assert_eq!(judge(&plan, &resumed), expected, "killed at trial {index}");
        }
    }
}

#[test]
fn what_an_interruption_allows_is_what_the_last_planned_look_allowed() {
    let plan = fixture::race(4, 3, |_| {});
    let (whole, _) = run(&plan, Outcomes::new(), &noisy, None);
    let mut certified = 0;
    for index in (0..whole.len() as u32).step_by(5) {
        let (_, kept) = run(&plan, Outcomes::new(), &noisy, Some(index));
        let found = interim(&plan, &kept);
        let course = found.evidence.race.clone().unwrap_or_default();
        if course.looked_at == 0 {
            assert_eq!(found.kind, VerdictKind::Unresolved, "killed at trial {index}");
            assert!(!found.reason.is_empty());
        } else {
            assert!(course.looks.contains(&course.looked_at), "{course:?}");
            certified += 1;
        }
    }
    assert!(certified > 0);
}

#[test]
fn equal_stacks_without_any_noise_are_an_exact_tie() {
    let plan = fixture::on_models(fixture::race(5, 2, |_| {}));
    let exact = |_: &Plan, _: &PlannedTrial| fixture::record(1.25);
    let (_, records) = run(&plan, Outcomes::new(), &exact, None);
    let verdict = judge(&plan, &records);
    assert_eq!(verdict.kind, VerdictKind::Tie, "{}", verdict.reason);
    assert_eq!(verdict.stacks.len(), 8);
    let paired = verdict.ratios.iter().filter(|row| row.basis == Basis::Paired);
    for row in paired {
        assert_eq!((row.ratio, row.low, row.high), (Some(1.0), Some(1.0), Some(1.0)), "{row:?}");
    }
    kept(&verdict);
}

/// A verdict comes back from the run file: no number in it is without a text.
fn kept(verdict: &seekwell_model::verdict::Verdict) {
    let text = serde_json::to_string(verdict).unwrap();
    let back: seekwell_model::verdict::Verdict = serde_json::from_str(&text).unwrap();
    assert_eq!((back.kind, back.ratios.len()), (verdict.kind, verdict.ratios.len()), "{text}");
}

#[test]
fn an_exact_difference_is_exact() {
    let plan = fixture::on_models(fixture::race(5, 2, |_| {}));
    let exact = |plan: &Plan, trial: &PlannedTrial| fixture::raced(plan, trial, 0.5, 0.0);
    let (_, records) = run(&plan, Outcomes::new(), &exact, None);
    let verdict = judge(&plan, &records);
    assert_eq!(verdict.kind, VerdictKind::Tie);
    assert_eq!(verdict.stacks, ["fs0/sched0", "fs0/sched1"]);
    kept(&verdict);
}

#[test]
fn a_budget_plans_its_looks_from_the_pilot_and_ends_at_one() {
    // A scripted trial says that it takes a second: 12 stacks need 2 × 4 of the pilot and 12 of
    // the screen.
    for (seconds, last) in [(65, 6), (150, 16), (400, 47), (100_000, 80)] {
        let plan = fixture::race(4, 3, |lab| {
            lab.judge.effort = Effort::Budget(Nanos::seconds(seconds));
        });
        let same = |plan: &Plan, trial: &PlannedTrial| fixture::raced(plan, trial, 0.0, 0.05);
        let (ran, records) = run(&plan, Outcomes::new(), &same, None);
        let verdict = judge(&plan, &records);
        let course = verdict.evidence.race.as_ref().unwrap();
        assert_eq!(course.looks.last(), Some(&last), "{seconds} s: {course:?}");
        assert_eq!(course.looked_at, course.final_rounds);
        assert!(ran.len() as u64 <= seconds.max(20 + 6 * 8), "{seconds} s: {}", ran.len());
    }
}

#[test]
fn stacks_that_left_in_the_screen_are_out_too() {
    let plan = fixture::race(4, 3, |lab| lab.judge.effort = Effort::Budget(Nanos::seconds(70)));
    let same = |plan: &Plan, trial: &PlannedTrial| fixture::raced(plan, trial, 0.0, 0.1);
    let (_, records) = run(&plan, Outcomes::new(), &same, None);
    let verdict = judge(&plan, &records);
    let evidence = &verdict.evidence;
    let screened = evidence.race.as_ref().unwrap().dropped.iter().filter(|d| d.part == "screen");
    assert!(screened.clone().count() == 4, "{verdict:?}");
    let mut all: Vec<&String> = evidence.out.iter().map(|out| &out.stack).collect();
    assert!(screened.clone().all(|dropped| all.contains(&&dropped.stack)), "{evidence:?}");
    assert_eq!(verdict.answer.as_ref().unwrap().screened, 4);
    all.extend(&verdict.stacks);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 12, "every stack is possible or out: {verdict:?}");
}

/// A machine that other work slows: trials take longer from the given one on.
#[test]
fn a_race_keeps_its_time_on_a_machine_that_gets_slower() {
    for (slow_from, times) in [(0, 1), (0, 3), (10, 4), (30, 2), (60, 3), (90, 2)] {
        let plan = fixture::race(4, 3, |lab| {
            lab.judge.effort = Effort::Budget(Nanos::seconds(100));
        });
        let slower = move |plan: &Plan, trial: &PlannedTrial| {
            let elapsed_ns = 1_000_000_000 * if trial.index >= slow_from { times } else { 1 };
            Record { elapsed_ns, ..fixture::raced(plan, trial, 0.0, 0.05) }
        };
        let (ran, records) = run(&plan, Outcomes::new(), &slower, None);
        let spent_ns: u64 = records.values().map(|(_, record)| record.elapsed_ns).sum();
        let what = format!("slower {times} times from trial {slow_from}: {spent_ns} ns");
        // A trial more than was known when the last one began.
        assert!(spent_ns <= 115_000_000_000 + 1_000_000_000 * (times - 1), "{what}");
        assert!(spent_ns >= 85_000_000_000, "equal stacks: {what}");
        let verdict = judge(&plan, &records);
        assert_eq!(verdict.kind, VerdictKind::Unresolved, "{what}: {verdict:?}");
        // Called again, it has no time left, and finds the same.
        let (again, records) = run(&plan, records, &slower, None);
        assert!(again.is_empty() && !ran.is_empty(), "{what}: {again:?}");
        assert_eq!(judge(&plan, &records), verdict);
    }
}

#[test]
fn the_parts_of_a_race_are_said_in_order() {
    let plan = fixture::race(4, 3, |_| {});
    let mut backend = Scripted { script: &noisy, dies_at: Some(30), ran: vec![] };
    let mut execution = Execution::new(&plan, Outcomes::new());
    let stop = AtomicBool::new(false);
    let mut parts = Vec::new();
    let ended = execution.run(&mut backend, &mut Nowhere, &stop, &mut |event| {
        if let Event::Part { part, stacks } = event {
            parts.push((part, stacks));
        }
    });
    assert!(ended.is_err());
    assert_eq!(parts, [(Part::Pilot, 4), (Part::Screen, 12), (Part::Final, 8)]);
}
