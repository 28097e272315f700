use super::*;
use crate::fixture::{self, judge};
use crate::records::{Records, outcomes_of};
use seekwell_model::lab::{Effort, Eligible};
use seekwell_model::record::Status;
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_model::verdict::Decision;

/// Rounds of stacks whose values are these, with noise of 1 %.
fn records(plan: &Plan, rounds: u32, values: &[f64]) -> Records {
    let mut all = Records::new();
    for round in 0..rounds {
        for trial in crate::order::round_order(plan.lab.seed, values.len() as u32, round) {
            let wobble = f64::from((trial.index * 7 + round * 3) % 11) / 1000.0;
            let value = values[trial.candidate as usize] * (1.0 + wobble);
            all.insert(trial.index, (trial, fixture::record(value)));
        }
    }
    all
}

fn answer(plan: &Plan, records: &Records) -> Answer {
    judge(plan, records).answer.unwrap()
}

#[test]
fn a_run_has_a_pick_a_bound_and_what_is_out() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(10));
    let verdict = judge(&plan, &records(&plan, 10, &[1.0, 1.02, 2.0]));
    let found = verdict.answer.clone().unwrap();
    assert_eq!(found.pick.as_deref(), Some("a"));
    assert_eq!((found.among, found.rounds), (3, 10));
    assert!(found.out.contains(&"c".to_owned()));
    assert!(found.loss.unwrap() < 0.02 && found.certified, "{:?}", found.loss);
    assert!(found.unmeasured.is_empty() && found.cause.is_none() && found.weaker.is_none());
    assert!(verdict.sentence.starts_with("Take a: at most"), "{}", verdict.sentence);
}

/// A lab whose trials are mostly marked ended as "Winner" with three values of one stack.
#[test]
fn marked_trials_count_against_a_certificate() {
    let plan = fixture::plan(&["ext4", "xfs", "btrfs"], Effort::Rounds(13));
    let mut all = records(&plan, 13, &[2.0, 1.0, 1.5]);
    let mut seen = [0; 3];
    for (trial, record) in all.values_mut() {
        let usable = [3, 10, 0][trial.candidate as usize];
        let count = &mut seen[trial.candidate as usize];
        *count += 1;
        if *count > usable {
            record.status = Status::Marked;
        }
    }
    let verdict = judge(&plan, &all);
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert_eq!(verdict.decision, Some(Decision::Inconclusive));
    let found = verdict.answer.unwrap();
    assert!(!found.certified && found.loss.is_none(), "{found:?}");
    let unmeasured: Vec<&str> = found.unmeasured.iter().map(|one| one.stack.as_str()).collect();
    assert_eq!(unmeasured, ["ext4", "btrfs"]);
    assert_eq!(found.unmeasured[0].reason, "10 of 13 trials were marked");
    assert!(found.cause.unwrap().contains("were marked as doubtful"));
}

#[test]
fn failures_that_could_change_the_choice_are_the_cause() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(8));
    let mut all = records(&plan, 8, &[1.0, 1.01]);
    let of_a = all.values_mut().filter(|(trial, _)| trial.candidate == 0);
    for (_, record) in of_a.take(3) {
        *record = fixture::failed("no space");
    }
    let found = answer(&plan, &all);
    assert_eq!(found.loss, None);
    let cause = found.cause.unwrap();
    assert!(cause.starts_with("3 of 8 trials of a failed; had they ended"), "{cause}");
}

#[test]
fn trials_that_were_given_up_are_not_counted_as_run() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(8));
    let mut all = records(&plan, 8, &[1.0, 2.0, 3.0]);
    let is_c = |trial: &PlannedTrial| plan.pair(trial).0.label == "c";
    all.retain(|_, (trial, _)| !is_c(trial) || trial.round < 3);
    let failed = Status::Failed { stage: "mount".to_owned(), reason: "no such option".to_owned() };
    let of_c = all.values_mut().filter(|(trial, _)| is_c(trial));
    of_c.for_each(|(_, record)| record.status = failed.clone());
    let found = answer(&plan, &all).unmeasured;
    let said: Vec<(&str, &str)> =
        found.iter().map(|one| (one.stack.as_str(), one.reason.as_str())).collect();
    assert_eq!(said, [("c", "3 of 3 trials failed")]);
}

#[test]
fn an_interrupted_run_has_a_bound_and_no_certificate() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(20));
    let all = records(&plan, 9, &[1.0, 2.0]);
    let verdict = crate::judge::interim(&plan, &outcomes_of(&plan, &all));
    let found = verdict.answer.unwrap();
    assert_eq!((found.pick.as_deref(), found.certified), (Some("a"), false));
    assert!(found.loss.is_some());
    assert!(verdict.sentence.starts_with("The run is not over. Take a"), "{}", verdict.sentence);
}

#[test]
fn a_run_without_a_value_has_no_pick() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let found = answer(&plan, &Records::new());
    assert_eq!((found.pick, found.loss), (None, None));
    assert_eq!(found.cause.as_deref(), Some("no trial reported step.elapsed"));
    let ended = |status: &Status| {
        let mut all = records(&plan, 6, &[1.0, 2.0]);
        all.values_mut().for_each(|(_, record)| record.status = status.clone());
        answer(&plan, &all).cause
    };
    let marked = "all 12 trials are marked as doubtful: none counts";
    assert_eq!(ended(&Status::Marked).as_deref(), Some(marked));
    let failed = Status::Failed { stage: "mkfs".to_owned(), reason: "no space".to_owned() };
    assert_eq!(ended(&failed).as_deref(), Some("all 12 trials failed"));
}

/// The faster stack is mounted so that synced data may be lost.
#[test]
fn a_stack_that_loses_what_others_keep_is_never_picked() {
    let mut plan = fixture::plan(&["safe", "fast"], Effort::Rounds(10));
    for stack in &mut plan.stacks {
        stack.filesystem.kind = "ext4".to_owned();
        stack.device.backing =
            Backing::Loop { size: Bytes::gib(2), directory: None, sector: Bytes(512) };
    }
    plan.stacks[1].filesystem.mount = vec!["nobarrier".to_owned()];
    let all = records(&plan, 10, &[1.3, 1.0]);
    let found = answer(&plan, &all);
    assert_eq!(found.pick.as_deref(), Some("safe"));
    let weaker = found.weaker.unwrap();
    assert_eq!((weaker.stacks, weaker.stack.as_str()), (1, "fast"));
    assert_eq!(weaker.class, DurabilityClass::Unsafe);
    assert_eq!(weaker.pick_class, DurabilityClass::Synced);
    assert!((weaker.ratio.unwrap() - 1.0 / 1.3).abs() < 0.02);
    assert!(weaker.loses.contains("nobarrier"), "{}", weaker.loses);
    plan.lab.judge.durability = Eligible::Any;
    let all = answer(&plan, &all);
    assert_eq!((all.pick.as_deref(), all.weaker), (Some("fast"), None));
}

#[test]
fn the_time_of_the_judged_step_is_split_by_value() {
    let plan = fixture::race(2, 2, |lab| {
        lab.judge.method = seekwell_model::lab::Method::Rounds;
        lab.judge.effort = Effort::Rounds(8);
    });
    let mut all = Records::new();
    for round in 0..8 {
        for trial in crate::order::round_order(plan.lab.seed, 4, round) {
            let mut record = fixture::raced(&plan, &trial, 0.3, 0.005);
            let metrics = &mut record.steps[0].metrics;
            let elapsed = metrics["elapsed"];
            metrics.insert("elapsed_durable".to_owned(), elapsed + 0.5);
            metrics.insert("cpu".to_owned(), 0.25 * elapsed);
            all.insert(trial.index, (trial, record));
        }
    }
    let spent = answer(&plan, &all).time.unwrap();
    assert_eq!(spent.axis, "filesystem");
    let row = &spent.rows[0];
    assert_eq!(row.value, "fs0");
    assert!(row.writing_out_ns.abs_diff(500_000_000) < 10, "{row:?}");
    let (computing, waiting) = (row.computing_ns.unwrap(), row.waiting_ns.unwrap());
    assert!(computing.abs_diff(waiting / 3) < 10_000_000, "{row:?}");
    assert!(row.elapsed_ns.abs_diff(computing + waiting + row.writing_out_ns) < 10, "{row:?}");
}

#[test]
fn numbers_with_units_have_an_order() {
    assert_eq!(number("64KiB"), Some(65_536.0));
    assert_eq!(number("4 MiB"), Some(4_194_304.0));
    assert_eq!([number("128"), number("ext4"), number("64 apples")], [Some(128.0), None, None]);
}
