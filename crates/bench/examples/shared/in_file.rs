//! A run that is made of the records of a kept one, and a keeper that counts its commits.

use rustix::time::{ClockId, clock_gettime};
use seekwell_model::backend::BackendError;
use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_runner::execute::Keeper;
use seekwell_store::RunFile;
use std::path::Path;
use std::time::{Duration, Instant};

/// The plan of a kept run for so many rounds of its first two stacks, and its records that went well.
pub fn source(path: &str, rounds: u32) -> (Plan, Vec<Record>) {
    let source = RunFile::open(Path::new(path)).expect("a run file");
    let mut plan = source.plan().unwrap();
    plan.candidates.truncate(2);
    plan.race = None;
    plan.lab.judge.effort = Effort::Rounds(rounds);
    let records = source.records().unwrap().into_iter().map(|(_, record)| record);
    (plan, records.filter(|record| record.status == Status::Ok).collect())
}

/// Keeps records, and counts commits and their time.
pub struct InFile<'a> {
    file: &'a mut RunFile,
    has_put: bool,
    /// Commits with records in them.
    pub commits: u32,
    /// Time of all commits.
    pub elapsed: Duration,
    /// CPU time of all commits.
    pub cpu: Duration,
}

impl<'a> InFile<'a> {
    pub fn new(file: &'a mut RunFile) -> Self {
        let (elapsed, cpu) = (Duration::ZERO, Duration::ZERO);
        Self { file, has_put: false, commits: 0, elapsed, cpu }
    }
}

impl Keeper for InFile<'_> {
    fn keep(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.put(trial, record)?;
        self.settle()
    }

    fn put(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.has_put = true;
        self.file.put(trial, record).map_err(Into::into)
    }

    fn settle(&mut self) -> Result<(), BackendError> {
        if !std::mem::take(&mut self.has_put) {
            return Ok(());
        }
        let (begun, before) = (Instant::now(), cpu_time());
        let settled = self.file.settle();
        self.commits += 1;
        self.elapsed += begun.elapsed();
        self.cpu += cpu_time() - before;
        settled.map_err(Into::into)
    }
}

/// CPU time of this thread.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
