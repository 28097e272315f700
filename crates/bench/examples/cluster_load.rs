//! Runs a session with very many workers on this machine, whose trials sleep: the folder, its protocol and the run file are
//! those of a run on a cluster.
//!
//! `cargo run --release -p seekwell-bench --example cluster_load -- FOLDER SOURCE TIMES SECONDS WORKERS TRIALS`
//!
//! FOLDER is on the disk of run file and shared folder. SOURCE is a kept run, whose records are delivered. TIMES has the
//! host time of a measured trial in seconds on each line, which are multiplied so that SECONDS is their mean. Nothing goes
//! over a network, and all workers share the CPUs of this machine with the session.
//!
//! Prints the efficiency (time of the trials over time of the workers), the CPU time of the session for each trial, the
//! time that it waits for the disk, and the trials in a commit.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a tool for measurements")]

#[path = "shared/in_file.rs"]
mod in_file;

use in_file::{InFile, cpu_time};
use seekwell_cluster::{Cluster, Others, Patience, Spool, Unit, Work};
use seekwell_model::backend::Backend;
use seekwell_runner::execute::{Ended, Execution};
use seekwell_store::RunFile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Memory for the stack of a worker.
const STACK_BYTES: usize = 256 << 10;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, source, times, seconds, workers, trials] = words.as_slice() else {
        panic!("FOLDER SOURCE TIMES SECONDS WORKERS TRIALS")
    };
    let (seconds, workers, trials): (f64, u32, u32) =
        (seconds.parse().unwrap(), workers.parse().unwrap(), trials.parse().unwrap());
    let text = std::fs::read_to_string(times).expect("a file of times");
    let all: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let factor = seconds / (all.iter().sum::<f64>() / all.len() as f64);
    let time_of = |trial: u32| all[trial as usize * 7919 % all.len()] * factor;
    let (plan, records) = in_file::source(source, trials / 2);

    let path = Path::new(folder).join("load.seekwell");
    let environment = serde_json::json!({});
    let mut file = RunFile::create(&path, &plan, &environment).unwrap();
    let work = Work { plan: plan.clone(), environment, settings: serde_json::json!({}) };
    let spool = Spool::create(&Path::new(folder).join("load.nodes"), &work).unwrap();
    let stop = AtomicBool::new(false);
    let (mut execution, begun) = (Execution::new(&plan, BTreeMap::new()), Instant::now());
    let (wall, cpu, commits, in_commits) = std::thread::scope(|scope| {
        for worker in 0..workers {
            let (spool, records, time_of) = (spool.clone(), &records, &time_of);
            let run = move || {
                let task = format!("{worker}--node{worker}-1-1");
                let ran = seekwell_cluster::work(&spool, &task, Unit::Trial, &mut |trial| {
                    std::thread::sleep(Duration::from_secs_f64(time_of(trial.index)));
                    Ok(records[trial.index as usize % records.len()].clone())
                });
                assert!(ran.is_ok() || spool.folder().metadata().is_err(), "{ran:?}");
            };
            Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run).expect("a worker");
        }
        let others = Box::new(Others);
        let mut cluster =
            Cluster::new(spool.clone(), others, Patience::default(), Default::default());
        let mut keeper = InFile::new(&mut file);
        let before = cpu_time();
        let ended = execution.run(&mut cluster, &mut keeper, &stop, &mut |_| {}).unwrap();
        assert_eq!(ended, Ended::Complete);
        let (wall, cpu) = (begun.elapsed().as_secs_f64(), (cpu_time() - before).as_secs_f64());
        let counted = (keeper.commits, keeper.elapsed.as_secs_f64());
        Box::new(cluster).finish().unwrap();
        (wall, cpu, counted.0, counted.1)
    });
    assert_eq!(execution.outcomes().len(), trials as usize);
    let worked: f64 = (0..trials).map(time_of).sum();
    println!(
        "seconds,workers,trials,wall_s,efficiency_percent,session_cpu_ms,commits_s,trials/commit"
    );
    println!(
        "{seconds:.1},{workers},{trials},{wall:.1},{:.1},{:.2},{in_commits:.1},{:.1}",
        100.0 * worked / (wall * f64::from(workers)),
        1000.0 * cpu / f64::from(trials),
        f64::from(trials) / f64::from(commits.max(1)),
    );
    drop(file);
    std::fs::remove_file(path).unwrap();
}
