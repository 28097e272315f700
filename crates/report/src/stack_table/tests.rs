use super::*;
use crate::fixture;
use seekwell_model::record::Status;
use seekwell_model::workloads::{CacheState, WorkloadParams};
use std::path::Path;

#[test]
fn only_trials_behind_the_number_are_counted() {
    let mut view = fixture::winner();
    let table = |view: &RunView| {
        let rows = StackTable::of(view).rows;
        rows.into_iter().map(|row| row.trials).collect::<Vec<_>>()
    };
    assert_eq!(table(&view), ["8", "8", "8"]);
    // A second workload that does not report the judged metric, on every stack.
    let mut other = view.plan.workloads[0].clone();
    other.name = "other".to_owned();
    other.parts.clear();
    view.plan.workloads.push(other);
    let records = view.records.clone();
    for (mut trial, mut record) in records {
        let mut pair = view.plan.candidates[trial.candidate as usize];
        pair.workload = 1;
        view.plan.candidates.push(pair);
        trial.candidate = view.plan.candidates.len() as u32 - 1;
        trial.index += 1000;
        record.steps.clear();
        view.records.push((trial, record));
    }
    assert_eq!(table(&view), ["8", "8", "8"]);
    view.records[1].1.status = Status::Marked;
    view.records[4].1.steps.clear();
    assert_eq!(table(&view), ["6 + 1 marked + 1 without a value", "8", "8"]);
}

#[test]
fn a_replay_that_syncs_shows_the_time_of_its_syncs() {
    let mut view = fixture::winner();
    let params = seekwell_fixtures::replay_params(Path::new("/t"), CacheState::Cold);
    view.plan.workloads[0].parts = vec![WorkloadParams::Replay(params)];
    view.verdict.metric = "replay.elapsed_durable".to_owned();
    let columns = |view: &RunView| {
        let others = StackTable::of(view).others;
        others.iter().map(|(column, _)| column.title().to_owned()).collect::<Vec<_>>()
    };
    assert!(columns(&view).is_empty(), "a load without syncs");
    for (_, record) in &mut view.records {
        record.steps = vec![seekwell_fixtures::step("replay", "sync_latency_p99", 42e6)];
    }
    assert_eq!(columns(&view), ["sync_latency_p99"]);
    let table = StackTable::of(&view);
    assert_eq!(table.rows[0].others, ["42.0"]);
}
