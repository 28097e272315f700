//! Writes a judged run of many trials, which are those of another run again and again with some noise, to measure
//! reports.
//!
//! usage: `many_trials SOURCE FILE TRIALS`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

use seekwell_model::lab::Effort;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};
use seekwell_runner::judge::prolong;
use seekwell_runner::records::{Extractor, Outcomes};
use seekwell_store::RunFile;
use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, trials] = words.as_slice() else { panic!("SOURCE FILE TRIALS") };
    let source = RunFile::open(Path::new(source)).expect("a run file");
    let mut plan = source.plan().unwrap();
    let each = plan.candidates.len() as u32;
    let rounds = trials.parse::<u32>().expect("a number") / each;
    plan.trials = (0..each * rounds).map(|index| trial(index, each)).collect();
    plan.lab.judge.effort = Effort::Rounds(rounds);
    plan.race = None;
    let mut known: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
    for (trial, record) in source.records().unwrap() {
        if record.status == Status::Ok {
            known.entry(trial.candidate).or_default().push(record);
        }
    }
    let environment = source.environment().unwrap();
    let mut file = RunFile::create(Path::new(target), &plan, &environment).unwrap();
    let (mut extractor, mut outcomes) = (Extractor::new(&plan), Outcomes::new());
    for trial in &plan.trials {
        let Some(records) = known.get(&trial.candidate) else { continue };
        let mut record = records[trial.round as usize % records.len()].clone();
        vary(&mut record, trial.index);
        file.append(trial, &record).unwrap();
        outcomes.insert(trial.index, (*trial, extractor.outcome(&record)));
    }
    file.set_verdict(&prolong::judged(&plan, &outcomes)).unwrap();
}

fn trial(index: u32, each: u32) -> PlannedTrial {
    let round = index / each;
    PlannedTrial { index, round, candidate: index % each, seed: u64::from(round) }
}

/// Multiplies each metric by a factor of its own, from 0.98 to 1.02.
fn vary(record: &mut Record, seed: u32) {
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for value in record.steps.iter_mut().flat_map(|step| step.metrics.values_mut()) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *value *= 0.98 + 0.04 * (state >> 11) as f64 / (1_u64 << 53) as f64;
    }
}
