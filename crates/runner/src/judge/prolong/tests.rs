use super::*;
use crate::fixture;

fn records(plan: &Plan) -> Records {
    let record = |candidate: u32, round: u32| {
        fixture::record((1.0 + f64::from(candidate)) * (1.0 + 0.001 * f64::from(round % 5)))
    };
    let made = |trial: &seekwell_model::plan::PlannedTrial| {
        (trial.index, (*trial, record(trial.candidate, trial.round)))
    };
    plan.trials.iter().map(made).collect()
}

#[test]
fn a_prolonged_plan_begins_with_the_same_trials() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut longer = plan.clone();
    prolong(&mut longer, 10);
    assert_eq!(longer.rounds(), 10);
    assert_eq!(longer.trials[..plan.trials.len()], plan.trials[..]);
    let mut race = fixture::race(4, 3, |_| {});
    prolong(&mut race, 200);
    let looks = &race.race.as_ref().unwrap().looks;
    assert!(looks.starts_with(&[6, 8, 10]) && looks.last() == Some(&200), "{looks:?}");
}

#[test]
fn a_run_of_an_older_method_is_judged_on_its_new_rounds_alone() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let finished = judge(&plan, &records(&plan));
    prolong(&mut plan, 14);
    let all = records(&plan);
    assert_eq!(judge_prolonged(&plan, &all, &finished).rounds, 14);
    let older = Verdict { method: 0, ..finished };
    let alone = judge_prolonged(&plan, &all, &older);
    assert_eq!(alone.rounds, 8);
    assert!(alone.reason.contains("the 8 rounds that were added alone"), "{}", alone.reason);
}
