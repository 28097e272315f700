//! Locks on the disks of workers that have ended.

use super::*;
use crate::spool::Writer;

/// Locks the disk of a node for a worker.
fn locked(spool: &Spool, node: &str, task: &str) -> Writer {
    let [disk, node, boot, task] =
        [&format!("disk of {node}"), node, node, task].map(str::to_owned);
    let writer = Writer { disk, node, boot, task };
    assert_eq!(spool.lock_disk(&writer).unwrap(), None);
    writer
}

/// A disk is free when the scheduler has no process of its worker any more, and not for its silence.
#[test]
fn the_disk_of_a_worker_is_released_once_slurm_says_that_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let ended = locked(&spool, "node1", "1--node1-99-5");
    let runs = locked(&spool, "node2", "2--node2-99-5");
    let by_hand = locked(&spool, "node3", "node3-99");
    let (mut cluster, _) =
        cluster(&spool, ScriptedQueue { live: vec![running(&[2])], ..Default::default() });
    cluster.job = Some(JobId("5".to_owned()));
    cluster.listen(Instant::now() + Duration::from_secs(100_000)).unwrap();
    assert_eq!(spool.writers().unwrap(), [ended, runs.clone(), by_hand.clone()]);
    cluster.provide().unwrap();
    assert_eq!(spool.writers().unwrap(), [runs.clone(), by_hand.clone()]);
    // The scheduler runs the task again, which it does when the first worker is gone.
    spool.beat("2-1-node1-42-5", 1).unwrap();
    cluster.listen(Instant::now()).unwrap();
    cluster.provide().unwrap();
    assert_eq!(spool.writers().unwrap(), [by_hand]);
}

/// The workers of a session that died may write on: the scheduler is asked about their job.
#[test]
fn the_disks_of_an_earlier_job_are_released_when_that_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let earlier = [locked(&spool, "node1", "1--node1-99-4")];
    // Not reached, it runs, it has ended.
    let live = vec![None, running(&[1]), running(&[])];
    let (mut cluster, _) = cluster(&spool, ScriptedQueue { live, ..Default::default() });
    cluster.job = Some(JobId("5".to_owned()));
    let mut release = || {
        let (writers, live) = (spool.writers().unwrap(), Live::default());
        let known = cluster.ask(&live, writers.iter().map(|writer| &writer.task));
        cluster.release_disks(&writers, &known).unwrap();
    };
    for _ in 0..2 {
        release();
        assert_eq!(spool.writers().unwrap(), earlier);
    }
    release();
    assert_eq!(spool.writers().unwrap(), []);
}

/// The folder, and so the lock, outlives a run whose worker is not done with its disk.
#[test]
fn a_run_ends_after_its_workers_or_leaves_their_locks() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let writer = locked(&spool, "node1", "1--node1-99-0");
    let queue = |live| ScriptedQueue { live: vec![live], ..Default::default() };
    let (mut first, _) = cluster(&spool, queue(running(&[1])));
    first.patience.silent = Duration::ZERO;
    Box::new(first).finish().unwrap();
    assert_eq!(spool.writers().unwrap(), [writer]);
    let (second, _) = cluster(&spool, queue(running(&[])));
    Box::new(second).finish().unwrap();
    assert!(spool.is_gone());
}
