//! Measures the memory of a session: runs as many trials as are asked for with the records of a kept run, and prints the
//! memory of the process before and after.
//!
//! `cargo run --release -p seekwell-bench --example session_memory -- SOURCE TRIALS [FILE]`
//!
//! SOURCE is a kept run. With FILE the records are kept in that run file, as a session does; without it they are dropped,
//! so that a million trials need no disk: the session itself is the same.
//!
//! The run has 1,000 rounds of as many stacks as that takes. Prints the bytes of memory for each trial and, in a second
//! line, the time in which the run is judged and the most memory of all.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

#[path = "shared/in_file.rs"]
mod in_file;

use in_file::InFile;
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::plan::{Candidate, Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::Stack;
use seekwell_runner::execute::{Ended, Execution, Keeper};
use seekwell_runner::judge::judge;
use seekwell_store::RunFile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Rounds of a run, the most that one may have.
const ROUNDS: u32 = 1_000;

/// Records of a commit.
const BATCH: usize = 64;

/// Gives the records of another run, one after the other.
struct Made {
    records: Vec<Record>,
    ran: usize,
}

impl Backend for Made {
    fn run(
        &mut self,
        _: &Plan,
        trial: &PlannedTrial,
        _: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.ran += 1;
        Ok(self.records[trial.index as usize % self.records.len()].clone())
    }

    fn holds_last(&self) -> bool {
        !self.ran.is_multiple_of(BATCH)
    }
}

/// The plan with so many stacks, all equal.
fn with_stacks(mut plan: Plan, stacks: u32) -> Plan {
    let (stack, pair) = (plan.stacks[0].clone(), plan.candidates[0]);
    let named = |number| Stack { label: format!("{} {number}", stack.label), ..stack.clone() };
    plan.stacks = (0..stacks).map(named).collect();
    plan.candidates = (0..stacks).map(|stack| Candidate { stack, ..pair }).collect();
    plan
}

struct Nowhere;

impl Keeper for Nowhere {
    fn keep(&mut self, _: &PlannedTrial, _: &Record) -> Result<(), BackendError> {
        Ok(())
    }
}

/// A value of `/proc/self/status` in MiB.
fn mib(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, trials, file @ ..] = words.as_slice() else { panic!("SOURCE TRIALS [FILE]") };
    let trials: u32 = trials.parse().expect("a number");
    let (plan, records) = in_file::source(source, ROUNDS);
    let plan = with_stacks(plan, (trials / ROUNDS).max(2));
    let trials = plan.candidates.len() as u32 * ROUNDS;
    let mut backend = Made { records, ran: 0 };
    let mut execution = Execution::new(&plan, BTreeMap::new());
    let (before_mib, stop) = (mib("VmRSS:"), AtomicBool::new(false));
    let mut run =
        |keeper: &mut dyn Keeper| execution.run(&mut backend, keeper, &stop, &mut |_| {}).unwrap();
    let ended = match file.first() {
        Some(path) => {
            let environment = serde_json::json!({});
            let mut file = RunFile::create(Path::new(path), &plan, &environment).unwrap();
            run(&mut InFile::new(&mut file))
        }
        None => run(&mut Nowhere),
    };
    assert_eq!((ended, execution.outcomes().len()), (Ended::Complete, trials as usize));
    let after_mib = mib("VmRSS:");
    println!("trials,before_mib,after_mib,bytes/trial");
    let bytes = (after_mib - before_mib) * f64::from(1 << 20) / f64::from(trials);
    println!("{trials},{before_mib:.0},{after_mib:.0},{bytes:.0}");
    let begun = Instant::now();
    let verdict = judge(&plan, execution.outcomes());
    assert_eq!(verdict.ratios.len(), plan.stacks.len());
    println!("judged in {:.1} s, {:.0} MiB at most", begun.elapsed().as_secs_f64(), mib("VmHWM:"));
}
