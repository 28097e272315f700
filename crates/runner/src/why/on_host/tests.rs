use super::*;
use crate::fixture::{failed, judge, plan, record};
use crate::records::Records;
use crate::why::trials;
use seekwell_model::lab::Effort;
use seekwell_model::stack::Memory;

/// Two stacks on an image, the better one with a scheduler, and the trials that are repeated.
fn run() -> (Plan, Verdict, Pair, Trials) {
    let mut plan = plan(&["a", "b"], Effort::Rounds(6));
    for stack in &mut plan.stacks {
        stack.device.backing =
            Backing::Loop { size: Bytes(1 << 30), directory: None, sector: Bytes(4096) };
        stack.memory = Memory::plain("all", MemoryLimit::Unlimited);
        stack.scheduler = Scheduler::plain("none");
    }
    plan.stacks[0].scheduler = Scheduler::plain("bfq");
    let seconds = |trial: &PlannedTrial| f64::from(1 + trial.candidate);
    let records: Records =
        plan.trials.iter().map(|trial| (trial.index, (*trial, record(seconds(trial))))).collect();
    let measured: Vec<(PlannedTrial, f64)> =
        plan.trials.iter().map(|trial| (*trial, seconds(trial))).collect();
    let verdict = judge(&plan, &records);
    let pair = Pair { better: "a".to_owned(), worse: "b".to_owned() };
    let trials = trials(&plan, &verdict, &pair, &measured).unwrap();
    (plan, verdict, pair, trials)
}

#[test]
fn every_condition_that_changes_a_stack_is_run_in_every_round() {
    use Condition::{AsTheyAre, InMemory, NoFlushes, NoScheduler};
    let (plan, _, _, trials) = run();
    let rounds = Rounds::new(&plan, &trials, 3, true);
    let both = |condition| [(0, condition), (1, condition)];
    let expected = [both(AsTheyAre), both(NoFlushes), both(InMemory)].concat();
    assert_eq!(rounds.of, [expected, vec![(0, NoScheduler)]].concat());
    let in_memory = Backing::Ram { size: Bytes(1 << 30), sector: Bytes(4096) };
    assert_eq!(rounds.plan.stacks[4].device.backing, in_memory);
    let flushes = rounds.plan.stacks[2].device.settings.write_cache;
    assert_eq!(flushes, Some(WriteCache::WriteThrough));
    let mut each: Vec<(u32, u32)> =
        rounds.plan.trials.iter().map(|trial| (trial.round, trial.candidate)).collect();
    each.sort_unstable();
    let all: Vec<(u32, u32)> =
        (0..3).flat_map(|round| (0..7).map(move |one| (round, one))).collect();
    assert_eq!(each, all);
    let without = Rounds::new(&plan, &trials, 3, false);
    assert!(without.of.iter().all(|(_, condition)| *condition != InMemory));
}

/// Seconds of a trial: in memory 1 and 1.5; the device takes 2 more on both sides, and the flushes of the worse side 4.
fn seconds((side, condition): (usize, Condition), round: u32) -> f64 {
    let worse = side as f64;
    // Noise that both sides share.
    let noise = f64::from(round % 2) / 8.0;
    noise
        + match condition {
            Condition::InMemory => 1.0 + 0.5 * worse,
            Condition::NoFlushes => 3.0 + 0.5 * worse,
            _ => 3.0 + 4.5 * worse,
        }
}

#[test]
fn the_difference_is_divided_into_flushes_device_and_rest() {
    let (plan, verdict, pair, trials) = run();
    let rounds = Rounds::new(&plan, &trials, 4, true);
    let records: Vec<(PlannedTrial, Record)> = rounds
        .plan
        .trials
        .iter()
        .map(|trial| (*trial, record(seconds(rounds.of[trial.candidate as usize], trial.round))))
        .collect();
    let why = rounds.explain(&pair, &verdict, &records).unwrap();
    let causes: Vec<(&str, f64)> =
        why.causes.iter().map(|one| (one.laws[0].as_str(), one.amount)).collect();
    assert_eq!(causes, [("flush", 4.0), (DEVICE, 0.0)]);
    assert_eq!((why.rest, why.difference(), why.trials), (0.5, 4.5, 28));
    let host = why.on_host.unwrap();
    // Noise that both sides share does not widen anything.
    assert_eq!((host.rounds, host.errors.as_slice()), (4, &[0.0; 4][..]));
    assert_eq!(host.not_tested.len(), 1);
    let names: Vec<&str> = why.improvements.iter().map(|one| one.law.as_str()).collect();
    assert_eq!(names, ["flush", "scheduler"]);
}

#[test]
fn a_trial_that_fails_names_its_condition() {
    let (plan, verdict, pair, trials) = run();
    let rounds = Rounds::new(&plan, &trials, 2, true);
    let trial = rounds.plan.trials.iter().find(|trial| trial.candidate == 2).unwrap();
    let wrong = rounds.explain(&pair, &verdict, &[(*trial, failed("no space"))]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the trial of a without flush measured no step.elapsed: step: no space"
    );
}
