//! Measures the costs of a run on many nodes with the functions that session and workers call, for `cluster_scaling`.
//!
//! `cargo run --release -p seekwell-bench --example cluster_costs -- FOLDER SOURCE [WRITERS]`
//!
//! FOLDER is on the disk to measure, which holds the run file and the shared folder. SOURCE is a kept run, whose records
//! are used. WRITERS workers write at once (32 if not given), so that costs of workers are those of a busy folder; with the
//! work of their programs, which on a cluster has CPUs of its own. Nothing here goes over a network.
//!
//! Prints a line `NAME=MICROSECONDS` for each cost: the least of fifteen measurements, each too short for other work of the
//! machine to be in all of them. What a session does without the disk is CPU time of its thread; what waits for the disk,
//! and the work of many writers, is elapsed time.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

#[path = "shared/in_file.rs"]
mod in_file;

use in_file::{InFile, cpu_time};
use seekwell_cluster::{Line, Outcome, Share, Spool, Work};
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_runner::execute::Execution;
use seekwell_store::RunFile;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Measurements of each cost.
const TIMES: usize = 15;

/// Trials of a measured run.
const TRIALS: u32 = 256;

/// Shares of one measurement.
const SHARES: u32 = 128;

/// Offers in a folder: few, and so many as 1,000 workers have at most.
const OFFERS: [u32; 2] = [64, 4096];

/// Trials of a small and of a large share.
const SIZES: [u32; 2] = [1, 9];

/// Records in a commit.
const BATCH: usize = 64;

/// A place to measure in.
struct Place {
    folder: PathBuf,
    plan: Plan,
    records: Vec<Record>,
    writers: u32,
}

/// The costs of parts, from the times of few and of many.
fn costs(least: &Costs) -> Costs {
    let of = |name: &str| least[name];
    let record = (of("large read") - of("small read")) / f64::from(SIZES[1] - SIZES[0]);
    let entry = (of("of many") - of("of few")) / f64::from(OFFERS[1] - OFFERS[0]);
    let mut costs = least.clone();
    costs.retain(|name, _| !name.contains(' '));
    costs.extend([
        ("fetch_record", record),
        ("fetch", of("small read") - record),
        ("entry", entry),
        ("take", of("of few") - entry * f64::from(OFFERS[0])),
    ]);
    costs
}

/// Costs of one measurement by name, in µs.
type Costs = BTreeMap<&'static str, f64>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, source, more @ ..] = words.as_slice() else { panic!("FOLDER SOURCE [WRITERS]") };
    let (plan, records) = in_file::source(source, TRIALS / 2);
    let writers = more.first().map_or(32, |number| number.parse().expect("a number"));
    let place = Place { folder: PathBuf::from(folder), plan, records, writers };
    let mut least = Costs::new();
    for _ in 0..TIMES {
        for (name, cost_us) in place.session().into_iter().chain(place.nodes()) {
            let known = least.entry(name).or_insert(cost_us);
            *known = known.min(cost_us);
        }
    }
    for (name, cost_us) in costs(&least) {
        println!("{name}={cost_us:.1}");
    }
}

/// Mean time of each of so many in µs.
fn mean_us(begun: Instant, count: u32) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(count)
}

fn trial(index: u32) -> PlannedTrial {
    PlannedTrial { index, round: index / 2, candidate: index % 2, seed: u64::from(index / 2) }
}

fn share(first: u32, size: u32) -> Share {
    Share { index: first, trials: (first..first + size).map(trial).collect() }
}

impl Place {
    fn record(&self, trial: u32) -> Record {
        self.records[trial as usize % self.records.len()].clone()
    }

    /// Costs of keeping records: all that a session does with one, and the commit of many.
    fn session(&self) -> Costs {
        let path = self.folder.join("costs.seekwell");
        let mut file = RunFile::create(&path, &self.plan, &serde_json::json!({})).unwrap();
        let mut execution = Execution::new(&self.plan, BTreeMap::new());
        let mut backend = Made { place: self, ran: 0, cpu_us: 0.0 };
        let mut keeper = InFile::new(&mut file);
        let (before, stop) = (cpu_us(), AtomicBool::new(false));
        execution.run(&mut backend, &mut keeper, &stop, &mut |_| {}).unwrap();
        let kept_us = cpu_us() - before - keeper.cpu.as_secs_f64() * 1e6 - backend.cpu_us;
        let commit = keeper.elapsed.as_secs_f64() * 1e6 / f64::from(keeper.commits);
        drop(file);
        std::fs::remove_file(path).unwrap();
        [("commit", commit), ("keep", kept_us / f64::from(TRIALS))].into()
    }

    /// Costs of the folder.
    fn nodes(&self) -> Costs {
        let (small, mut costs) = self.shares(SIZES[0]);
        let (large, _) = self.shares(SIZES[1]);
        costs.extend([("small read", small), ("large read", large)]);
        let [few, many] = OFFERS.map(|offers| self.take_us(offers));
        costs.extend([("of few", few), ("of many", many)]);
        costs
    }

    fn spool(&self) -> Spool {
        let (plan, environment) = (self.plan.clone(), serde_json::json!({}));
        let work = Work { plan, environment, settings: serde_json::json!({}) };
        let path = self.folder.join("costs.nodes");
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        Spool::create(&path, &work).unwrap()
    }

    /// Each writer does its part of so many things; the mean time of one in µs.
    fn at_once(&self, count: u32, act: impl Fn(u32, &str) + Sync) -> f64 {
        let (writers, act) = (self.writers, &act);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for writer in 0..writers {
                scope.spawn(move || {
                    let task = format!("{writer}--node-1");
                    (writer..count).step_by(writers as usize).for_each(|one| act(one, &task));
                });
            }
        });
        mean_us(begun, count)
    }

    /// Shares of so many trials on their way from the offer until they are removed; the time of reading one, and others.
    fn shares(&self, size: u32) -> (f64, Costs) {
        let spool = self.spool();
        let shares: Vec<Share> = (0..SHARES).map(|one| share(one * size, size)).collect();
        let mut costs = Costs::new();
        let begun = Instant::now();
        shares.iter().for_each(|share| spool.offer(share).unwrap());
        costs.insert("offer", mean_us(begun, SHARES));
        let tasks: Vec<String> = (0..SHARES).map(|one| format!("{one}--node-1")).collect();
        let taken: Vec<Share> =
            tasks.iter().map(|task| spool.take(task).unwrap().expect("an offer").share).collect();
        let added = self.at_once(SHARES, |one, _| {
            let (task, share) = (&tasks[one as usize], &taken[one as usize]);
            for trial in &share.trials {
                let result: Outcome = Ok(Box::new(self.record(trial.index)));
                let (task, wall_ns) = (task.clone(), Some(1_000_000));
                let line = Line { trial: trial.index, task, wall_ns, result };
                assert!(spool.add(share.index, &line).unwrap());
            }
        });
        costs.insert("add", added / f64::from(size));
        let delivered = self.at_once(SHARES, |one, _| {
            spool.hand_over(taken[one as usize].index, &tasks[one as usize]).unwrap();
        });
        costs.insert("deliver", delivered);
        let beaten = self.at_once(SHARES, |one, task| {
            spool.beat(&format!("{task}-{one}"), u64::from(one)).unwrap();
        });
        costs.insert("beat", beaten);
        let begun = Instant::now();
        assert_eq!(spool.beats().unwrap().len(), SHARES as usize);
        costs.insert("listen", mean_us(begun, SHARES));
        let begun = Instant::now();
        let wanted = spool.folder().join("wanted");
        assert!(tasks.iter().all(|task| !wanted.join(task).exists()));
        costs.insert("probe", mean_us(begun, SHARES));
        let before = cpu_us();
        for share in &shares {
            assert_eq!(spool.delivered(share).unwrap().expect("results").share, *share);
        }
        let read = (cpu_us() - before) / f64::from(SHARES);
        let begun = Instant::now();
        shares.iter().for_each(|share| spool.kept(share.index).unwrap());
        costs.insert("remove", mean_us(begun, SHARES));
        (read, costs)
    }

    /// Time in which one of all writers takes a share in µs, with so many offers in the folder.
    fn take_us(&self, offers: u32) -> f64 {
        let spool = self.spool();
        let count = offers.min(SHARES) / 2;
        (0..offers).for_each(|one| spool.offer(&share(one, 1)).unwrap());
        let begun = Instant::now();
        for one in 0..count {
            assert!(spool.take(&format!("{one}--node-1")).unwrap().is_some());
        }
        mean_us(begun, count)
    }
}

/// CPU time of this thread in µs.
fn cpu_us() -> f64 {
    cpu_time().as_secs_f64() * 1e6
}

/// A backend that has all records, and holds many of them.
struct Made<'a> {
    place: &'a Place,
    ran: usize,
    /// CPU time of making records.
    cpu_us: f64,
}

impl Backend for Made<'_> {
    fn run(
        &mut self,
        _: &Plan,
        trial: &PlannedTrial,
        _: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.ran += 1;
        let before = cpu_us();
        let record = self.place.record(trial.index);
        self.cpu_us += cpu_us() - before;
        Ok(record)
    }

    fn holds_last(&self) -> bool {
        !self.ran.is_multiple_of(BATCH)
    }
}
