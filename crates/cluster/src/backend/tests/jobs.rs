//! The jobs of workers, of this session and of earlier ones.

use super::*;

/// Slurm lets a requeued task wait for two minutes.
#[test]
fn requeued_tasks_do_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let delayed = |run: &[u32]| {
        let live = running(run).unwrap();
        Some(Live { waiting: 2, delayed: [3].into(), ..live })
    };
    let waits = Some(Live { waiting: 2, ..Live::default() });
    let live = vec![delayed(&[]), delayed(&[1]), waits, delayed(&[]), running(&[]), delayed(&[])];
    let (mut cluster, log) = cluster(&spool, ScriptedQueue { live, ..Default::default() });
    let logs = [0; 7].map(|_| {
        cluster.provide().unwrap();
        log.lock().unwrap().drain(..).collect::<Vec<_>>()
    });
    let expected: [&[&str]; 7] = [
        &["submit 0"],
        // Its begin is the wish of the user.
        &[],
        // One has begun.
        &["hasten 0 {3}"],
        &[],
        &["hasten 0 {3}"],
        // The next job has not begun.
        &["submit 0"],
        &[],
    ];
    assert_eq!(logs, expected);
}

#[test]
fn a_trial_of_a_task_that_slurm_has_ended_is_offered_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0), share(1)]);
    took(&spool, "1-0-node7-99-0");
    took(&spool, "2-0-node8-99-0");
    let (mut cluster, _) =
        cluster(&spool, ScriptedQueue { live: vec![running(&[2])], ..Default::default() });
    cluster.job = Some(JobId("0".to_owned()));
    cluster.provide().unwrap();
    assert_eq!(spool.taken().unwrap(), [(1, "2-0-node8-99-0".to_owned())]);
    assert_eq!(took(&spool, "2-0-node8-99-0"), Some(share(0)));
}

/// A session is killed and continued while its workers are in long trials and have all nodes: the tasks of the new job
/// wait, and have the same numbers.
#[test]
fn workers_of_the_job_before_are_judged_by_that_job() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0), share(1), share(2)]);
    let [runs, ended, unknown] = ["1--node1-9-4", "2--node2-9-4", "3--node3-9-3"];
    for task in [runs, ended, unknown] {
        took(&spool, task).unwrap();
    }
    let (mut cluster, log) = cluster(&spool, ScriptedQueue::default());
    cluster.job = Some(JobId("5".to_owned()));
    cluster.provide().unwrap();
    assert_eq!(spool.taken().unwrap().len(), 3, "the scheduler was not reached");
    let waits = Live { waiting: 3, ..Live::default() };
    let others = [("4".to_owned(), running(&[1]).unwrap()), ("5".to_owned(), waits)].into();
    cluster.queue =
        Box::new(ScriptedQueue { log: log.clone(), others, ..ScriptedQueue::default() });
    for _ in 0..5 {
        cluster.provide().unwrap();
        let taken = spool.taken().unwrap();
        assert_eq!(taken, [(0, runs.to_owned()), (2, unknown.to_owned())]);
    }
    let asked = log.lock().unwrap();
    assert_eq!(*asked, ["live 5", "live 4"].repeat(5), "once for both workers of a job");
}

/// The array of a session that was killed has the nodes for which that of the next one waits.
#[test]
fn the_next_session_ends_the_job_of_one_that_died() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    let session = || {
        let queue = ScriptedQueue { live: vec![running(&[1])], ..Default::default() };
        let log = queue.log.clone();
        let cluster =
            Cluster::later(first.folder(), some_work(), Box::new(queue), fast(), Arc::default());
        (cluster, log)
    };
    let (mut killed, log) = session();
    killed.announce(&[trial(0)]);
    killed.provide().unwrap();
    assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), ["submit 0"]);
    // Without its `drop`.
    killed.job = None;
    drop(killed);
    let (mut next, log) = session();
    next.announce(&[trial(0)]);
    assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), ["cancel 0"]);
    next.provide().unwrap();
    next.end().unwrap();
    let (mut third, log) = session();
    third.announce(&[trial(0)]);
    assert_eq!(*log.lock().unwrap(), [""; 0], "it was ended");
}

#[test]
fn the_reason_why_no_worker_runs_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let waits = |reason: &str| {
        Some(Live { waiting: 2, reason: Some(reason.to_owned()), ..Live::default() })
    };
    let live = ["Priority", "Priority", "PartitionTimeLimit", "JobHeldUser"].map(waits);
    let mut live = live.to_vec();
    live.insert(2, Some(Live { waiting: 1, ..running(&[1]).unwrap() }));
    let (cluster, _) = cluster(&spool, ScriptedQueue { live, ..Default::default() });
    let said = Arc::new(Mutex::new(Vec::new()));
    let tell = said.clone();
    let mut cluster =
        cluster.saying(Say::new(move |words| tell.lock().unwrap().push(words.to_owned())));
    (0..6).for_each(|_| cluster.provide().unwrap());
    let expected = [
        "job 0 waits (Priority)",
        "job 0 waits (PartitionTimeLimit); it cannot start like this: stop the run and change its options of sbatch",
        "job 0 waits (JobHeldUser); start it with: scontrol release 0",
    ];
    assert_eq!(*said.lock().unwrap(), expected);
}
