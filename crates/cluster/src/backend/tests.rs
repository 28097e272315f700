use super::*;
use crate::fixture::{batch, line, offer, record, share, some_work, spool, took, trial};
use crate::queue::Live;
use std::collections::BTreeSet;
use std::sync::Mutex;

mod disks;
mod jobs;

/// A scheduler by script: each submission takes the next course.
#[derive(Default)]
struct ScriptedQueue {
    log: Arc<Mutex<Vec<String>>>,
    /// Actions at the submission of each job, by its number.
    on_submit: Vec<Box<dyn FnMut()>>,
    /// Answers about live tasks, last one repeated.
    live: Vec<Option<Live>>,
    /// Jobs of other sessions, which are asked about by their numbers.
    others: BTreeMap<String, Live>,
}

impl Queue for ScriptedQueue {
    fn submit(&mut self) -> Result<JobId, ClusterError> {
        let mut log = self.log.lock().unwrap();
        let number = log.iter().filter(|line| line.starts_with("submit")).count();
        log.push(format!("submit {number}"));
        drop(log);
        if let Some(act) = self.on_submit.get_mut(number) {
            act();
        }
        Ok(JobId(number.to_string()))
    }

    fn live(&mut self, job: &JobId) -> Result<Option<Live>, ClusterError> {
        if let Some(live) = self.others.get(&job.0) {
            self.log.lock().unwrap().push(format!("live {}", job.0));
            return Ok(Some(live.clone()));
        }
        let next = match self.live.len() {
            0 | 1 => self.live.first().cloned().flatten(),
            _ => self.live.remove(0),
        };
        next.map(Some).ok_or_else(|| ClusterError::Command {
            command: "squeue",
            words: "Unable to contact slurm controller".to_owned(),
        })
    }

    fn outlives_session(&self) -> bool {
        true
    }

    fn hasten(&mut self, job: &JobId, tasks: &BTreeSet<u32>) -> Result<(), ClusterError> {
        self.log.lock().unwrap().push(format!("hasten {} {tasks:?}", job.0));
        Ok(())
    }

    fn cancel(&mut self, job: &JobId) -> Result<(), ClusterError> {
        self.log.lock().unwrap().push(format!("cancel {}", job.0));
        Ok(())
    }
}

/// A scheduler that counts questions and answers that a task runs.
#[derive(Default)]
struct Counting(Arc<Mutex<Vec<&'static str>>>);

impl Queue for Counting {
    fn submit(&mut self) -> Result<JobId, ClusterError> {
        self.0.lock().unwrap().push("submit");
        Ok(JobId("0".to_owned()))
    }

    fn live(&mut self, _job: &JobId) -> Result<Option<Live>, ClusterError> {
        self.0.lock().unwrap().push("live");
        Ok(running(&[1]))
    }

    fn cancel(&mut self, _job: &JobId) -> Result<(), ClusterError> {
        Ok(())
    }
}

/// 10,000 trials are one submission, and the controller is asked every 10 s, however often the folder is looked at.
#[test]
fn the_scheduler_is_asked_seldom() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let log = Arc::new(Mutex::new(Vec::new()));
    let queue = Box::new(Counting(log.clone()));
    let mut cluster = Cluster::new(spool.clone(), queue, Patience::default(), Arc::default());
    let trials: Vec<PlannedTrial> = (0..10_000).map(trial).collect();
    cluster.announce(&trials);
    let begun = cluster.next_question;
    (0..=1200).for_each(|look| cluster.tend(begun + look * Duration::from_millis(50)).unwrap());
    let log = log.lock().unwrap();
    assert_eq!(*log, ["submit", "live", "live", "live", "live", "live", "live"]);
    let offered = std::fs::read_dir(spool.folder().join("wanted")).unwrap().count();
    assert_eq!(offered, pace::offers(0, true), "more follow when workers are heard and take them");
}

/// These tasks run, and none waits.
fn running(tasks: &[u32]) -> Option<Live> {
    let tasks: BTreeSet<u32> = tasks.iter().copied().collect();
    Some(Live { running: tasks.clone(), on_nodes: tasks, ..Live::default() })
}

fn fast() -> Patience {
    Patience {
        look: Duration::from_millis(1),
        ask: Duration::ZERO,
        silent: Duration::from_secs(60),
    }
}

/// A worker that takes one trial and delivers it.
fn runs_one(spool: &Spool) -> Box<dyn FnMut()> {
    let spool = spool.clone();
    Box::new(move || {
        let share = took(&spool, "a").unwrap();
        let results = share.trials.iter().map(|trial| Ok(Box::new(record(trial.index))));
        let results = results.collect();
        spool.deliver(&spool.delivery(share, "a", results)).unwrap();
    })
}

/// A queue whose one worker takes one share.
fn with_one_worker(spool: &Spool) -> ScriptedQueue {
    ScriptedQueue {
        on_submit: vec![runs_one(spool)],
        live: vec![running(&[1])],
        ..Default::default()
    }
}

fn cluster(spool: &Spool, queue: ScriptedQueue) -> (Cluster, Arc<Mutex<Vec<String>>>) {
    let log = queue.log.clone();
    (Cluster::new(spool.clone(), Box::new(queue), fast(), Arc::default()), log)
}

#[test]
fn a_record_comes_back_and_nothing_is_left_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let queue = with_one_worker(&spool);
    let (mut cluster, log) = cluster(&spool, queue);
    cluster.announce(&[trial(0), trial(1)]);
    let mut steps = Vec::new();
    let got =
        cluster.run(&some_work().plan, &trial(0), &mut |step| steps.push(step.to_owned())).unwrap();
    assert_eq!(got, record(0));
    assert_eq!(steps, [QUEUED]);
    cluster.settled().unwrap();
    Box::new(cluster).finish().unwrap();
    assert_eq!(*log.lock().unwrap(), ["submit 0", "cancel 0"]);
    assert!(!spool.folder().exists());
}

#[test]
fn workers_that_ended_are_submitted_again_and_their_trial_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let takes = {
        let spool = spool.clone();
        Box::new(move || assert_eq!(took(&spool, "killed"), Some(share(0))))
    };
    let queue = ScriptedQueue {
        on_submit: vec![takes, runs_one(&spool)],
        // Reached, not reached, and then the job is over.
        live: vec![running(&[1]), None, running(&[])],
        ..Default::default()
    };
    let (mut cluster, log) = cluster(&spool, queue);
    assert_eq!(cluster.run(&some_work().plan, &trial(0), &mut |_| {}).unwrap(), record(0));
    assert_eq!(*log.lock().unwrap(), ["submit 0", "submit 1"]);
}

#[test]
fn workers_that_never_deliver_end_the_run_with_their_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    std::fs::write(spool.logs().join("1.txt"), "error: no lab kernel\n").unwrap();
    let queue = ScriptedQueue { live: vec![running(&[])], ..Default::default() };
    let (mut cluster, log) = cluster(&spool, queue);
    let error = cluster.run(&some_work().plan, &trial(0), &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the workers of 3 jobs ended without a result; the last words of one: error: no lab kernel"
    );
    drop(cluster);
    assert_eq!(*log.lock().unwrap(), ["submit 0", "submit 1", "submit 2", "cancel 2"]);
    assert!(spool.is_stopped() && spool.folder().exists(), "the logs stay");
}

#[test]
fn a_trial_of_a_silent_worker_is_put_back_and_given_up_after_three() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&share(0)).unwrap();
    let (mut cluster, _) =
        cluster(&spool, ScriptedQueue { live: vec![running(&[1])], ..Default::default() });
    let begun = Instant::now();
    let later = |seconds| begun + Duration::from_secs(seconds);
    for (task, first) in [("a", 0), ("b", 100)] {
        took(&spool, task);
        cluster.listen(later(first)).unwrap();
        spool.beat(task, 1).unwrap();
        cluster.listen(later(first + 50)).unwrap();
        cluster.listen(later(first + 90)).unwrap();
        assert_eq!(spool.taken().unwrap(), [(0, task.to_owned())], "it lives");
        cluster.listen(later(first + 50 + 61)).unwrap();
        assert_eq!(spool.taken().unwrap(), []);
    }
    took(&spool, "c");
    cluster.listen(later(300)).unwrap();
    let message = cluster.listen(later(361)).unwrap_err().to_string();
    let logs = spool.logs();
    let expected =
        format!("3 workers vanished while they ran trial 0; their logs are in {}", logs.display());
    assert_eq!(message, expected);
}

#[test]
fn a_trial_of_a_worker_whose_task_began_again_is_put_back_soon() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0)]);
    assert_eq!(took(&spool, "1--node1-20"), Some(share(0)));
    let (mut cluster, _) = cluster(&spool, ScriptedQueue::default());
    let begin = Instant::now();
    let later = |seconds| begin + Duration::from_secs(seconds);
    spool.beat("1--node1-20", 1).unwrap();
    cluster.listen(begin).unwrap();
    // Another task is no replacement; the same one is, once the first worker is silent.
    spool.beat("2--node2-20", 1).unwrap();
    cluster.listen(later(5)).unwrap();
    cluster.listen(later(20)).unwrap();
    assert_eq!(spool.taken().unwrap().len(), 1);
    spool.beat("1--node1-20", 2).unwrap();
    cluster.listen(later(21)).unwrap();
    spool.beat("1--node1-99", 1).unwrap();
    cluster.listen(later(22)).unwrap();
    assert_eq!(spool.taken().unwrap().len(), 1);
    cluster.listen(later(30)).unwrap();
    assert_eq!(spool.taken().unwrap().len(), 0);
    assert_eq!(took(&spool, "1--node1-99"), Some(share(0)));
}

/// A node that is broken costs the others nothing but its own share of the work.
#[test]
fn the_trial_of_a_sick_node_runs_on_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..3)]);
    let said = Arc::new(Mutex::new(Vec::new()));
    let tell = said.clone();
    let (cluster, _) = cluster(&spool, with_a_task());
    let mut cluster =
        cluster.saying(Say::new(move |words| tell.lock().unwrap().push(words.to_owned())));
    let breaks = |task: &str, at: u32| {
        took(&spool, task).unwrap();
        let broken = crate::spool::Line { result: Err("no memory".to_owned()), ..line(at, task) };
        assert!(spool.add(0, &broken).unwrap());
        spool.hand_over(0, task).unwrap();
    };
    cluster.heard.insert("2--node2-9-0".to_owned(), (1, Instant::now()));
    took(&spool, "1--node1-9-0").unwrap();
    assert!(spool.add(0, &line(0, "1--node1-9-0")).unwrap());
    spool.put_back(0, "1--node1-9-0").unwrap();
    breaks("1--node1-9-0", 1);
    assert!(cluster.result(&trial(0), &batch(0..3)).unwrap().is_none());
    // Its good result stays, and so the next worker begins behind it.
    assert_eq!(spool.take("3--node1-8-0").unwrap().unwrap().missing(), [trial(1), trial(2)]);
    spool.put_back(0, "3--node1-8-0").unwrap();
    breaks("3--node1-8-0", 1);
    assert!(cluster.result(&trial(0), &batch(0..3)).unwrap().is_none(), "the same node again");
    breaks("2--node2-9-0", 1);
    cluster.waiting = 1;
    assert!(cluster.result(&trial(0), &batch(0..3)).unwrap().is_none(), "more are to come");
    assert_eq!(said.lock().unwrap().len(), 3);
    let expected = "1--node1-9-0 could not run a trial, which another node runs: no memory";
    assert_eq!(said.lock().unwrap()[0], expected);
    // The third node: the trial, or what is common to all of them, is broken.
    breaks("4--node3-9-0", 1);
    assert_eq!(cluster.result(&trial(0), &batch(0..3)).unwrap().unwrap().unwrap(), record(0));
    let message = cluster.result(&trial(1), &batch(0..3)).unwrap().unwrap().unwrap_err();
    assert_eq!(message.to_string(), "4--node3-9-0 could not run trial 1: no memory");
}

/// A round counts only together.
#[test]
fn the_round_of_a_sick_node_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let round = Share { index: 0, trials: vec![trial(0), trial(1)] };
    let results = vec![Ok(Box::new(record(0))), Err("no disk".to_owned())];
    spool.deliver(&spool.delivery(round.clone(), "1--node1-9-0", results)).unwrap();
    let (cluster, _) = cluster(&spool, with_a_task());
    let mut cluster = cluster.by(Unit::Round);
    cluster.heard.insert("2--node2-9-0".to_owned(), (1, Instant::now()));
    assert!(cluster.result(&trial(0), &round).unwrap().is_none());
    assert_eq!(spool.take("2--node2-9-0").unwrap().unwrap().missing(), [trial(0), trial(1)]);
}

/// The verdict is reached: a folder that a log of another node keeps is no error.
#[test]
fn a_folder_that_cannot_be_removed_is_told_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (cluster, _) = cluster(&spool, with_a_task());
    let said = Arc::new(Mutex::new(Vec::new()));
    let tell = said.clone();
    let cluster =
        cluster.saying(Say::new(move |words| tell.lock().unwrap().push(words.to_owned())));
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_folder_that_cannot_be_removed", "needs root for a mount");
    }
    let kept = folder.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    if rustix::mount::mount_bind(&kept, spool.logs()).is_err() {
        return seekwell_testing::skip("a_folder_that_cannot_be_removed", "no mounts here");
    }
    let ended = Box::new(cluster).finish();
    for place in ["x.nodes/logs", "x.nodes.removed/logs"] {
        // It is at one of them.
        let _ =
            rustix::mount::unmount(folder.path().join(place), rustix::mount::UnmountFlags::DETACH);
    }
    ended.unwrap();
    let said = said.lock().unwrap();
    assert!(
        said.len() == 1 && said[0].contains("busy") && said[0].contains("can be removed"),
        "{said:?}"
    );
}

#[test]
fn a_broken_worker_and_a_wish_to_end_are_errors_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&share(0)).unwrap();
    let broken =
        spool.delivery(share(0), "3-0-node7", vec![Err("cannot start a guest".to_owned())]);
    took(&spool, "3-0-node7");
    spool.deliver(&broken).unwrap();
    let (mut cluster, _) =
        cluster(&spool, ScriptedQueue { live: vec![running(&[3])], ..Default::default() });
    let error = cluster.run(&some_work().plan, &trial(0), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "3-0-node7 could not run trial 0: cannot start a guest");
    assert!(cluster.has_failed);
    cluster.stop.store(true, Ordering::Relaxed);
    let error = cluster.run(&some_work().plan, &trial(1), &mut |_| {}).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(ClusterError::Stopped)));
    assert!(cluster.is_needed_again().unwrap(), "an error may name its logs");
}

/// A session that ends before its first trial, because another one writes the run file, leaves that one's folder.
#[test]
fn the_folder_of_another_session_stays_until_a_trial_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    first.want(&share(0)).unwrap();
    let second = || {
        let queue = Box::new(ScriptedQueue::default());
        Cluster::later(first.folder(), some_work(), queue, fast(), Arc::default())
    };
    drop(second());
    Box::new(second()).finish().unwrap();
    assert!(!first.is_stopped());
    assert_eq!(took(&first, "a"), Some(share(0)));
    let mut third = second();
    third.announce(&[trial(1)]);
    assert_eq!(took(&first, "a"), Some(share(1)), "made anew");
    Box::new(third).finish().unwrap();
    assert!(first.is_gone());
}

/// Three trials of two rounds.
fn of_rounds() -> Vec<PlannedTrial> {
    let trial = |index| PlannedTrial { round: index / 2, ..trial(index) };
    vec![trial(0), trial(1), trial(2)]
}

#[test]
fn workers_take_whole_rounds_and_a_session_asks_trial_by_trial() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let queue = with_one_worker(&spool);
    let (cluster, _) = cluster(&spool, queue);
    let mut cluster = cluster.by(Unit::Round);
    let trials = of_rounds();
    cluster.announce(&trials);
    let plan = some_work().plan;
    assert_eq!(cluster.run(&plan, &trials[0], &mut |_| {}).unwrap(), record(0));
    // A session that dies now finds the rest of the round.
    assert!(spool.delivered(&Share { index: 0, trials: vec![trials[1]] }).unwrap().is_some());
    assert_eq!(cluster.run(&plan, &trials[1], &mut |_| {}).unwrap(), record(1));
    runs_one(&spool)();
    assert_eq!(cluster.run(&plan, &trials[2], &mut |_| {}).unwrap(), record(2));
    let first = Share { index: 0, trials: vec![trials[0]] };
    assert!(spool.delivered(&first).unwrap().is_some(), "nor is it kept by now");
    cluster.settled().unwrap();
    assert_eq!(spool.delivered(&first).unwrap(), None);
}

#[test]
fn a_lost_round_is_named_as_one_and_of_some_trials_the_one_under_way() {
    let sheet = |lines| Sheet { work: 0, share: batch(0..2), lines };
    assert_eq!(Unit::Round.words(&sheet(vec![])), "round 1");
    assert_eq!(Unit::Trial.words(&sheet(vec![])), "trial 0");
    assert_eq!(Unit::Trial.words(&sheet(vec![line(0, "a")])), "trial 1");
}

/// A queue whose worker runs on while the test does its work.
fn with_a_task() -> ScriptedQueue {
    ScriptedQueue { live: vec![running(&[1])], ..Default::default() }
}

/// Takes the next share, and delivers it trial by trial, each after this time.
fn takes_and_delivers(spool: &Spool, wall_ns: u64) -> Share {
    let share = took(spool, "1-a").unwrap();
    for trial in &share.trials {
        let line = crate::spool::Line { wall_ns: Some(wall_ns), ..line(trial.index, "1-a") };
        assert!(spool.add(share.index, &line).unwrap());
    }
    spool.hand_over(share.index, "1-a").unwrap();
    share
}

#[test]
fn trials_go_out_together_once_their_time_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (mut cluster, _) = cluster(&spool, with_a_task());
    let trials: Vec<PlannedTrial> = (0..400).map(trial).collect();
    cluster.announce(&trials);
    spool.beat("1-a", 1).unwrap();
    let plan = some_work().plan;
    let mut sizes = Vec::new();
    for index in 0..400 {
        if !spool.is_delivered(index) && cluster.ready.is_none() {
            sizes.push(takes_and_delivers(&spool, 1_000_000_000).trials.len());
        }
        assert_eq!(cluster.run(&plan, &trial(index), &mut |_| {}).unwrap(), record(index));
        cluster.refill(Instant::now()).unwrap();
    }
    assert_eq!(sizes.iter().sum::<usize>(), 400);
    assert_eq!(sizes[..64], [1; 64], "nothing is known of the first");
    assert!(sizes.contains(&10), "10 s of work: {sizes:?}");
    assert_eq!(sizes.last(), Some(&1), "the last ones go to all workers");
    let known = sizes.iter().position(|size| *size > 1).unwrap();
    assert!(sizes[known..].is_sorted_by(|one, next| one >= next), "{sizes:?}");
}

/// Records of several shares are kept together when they are there: the files stay until all of them are kept.
#[test]
fn shares_stay_until_the_run_has_kept_them() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (mut cluster, _) = cluster(&spool, with_a_task());
    let plan = some_work().plan;
    let shares = [batch(0..2), batch(2..4), batch(4..6)];
    offer(&spool, &shares);
    shares.into_iter().for_each(|share| cluster.shares.adopt(share));
    cluster.announce(&[0, 1, 2, 3, 4, 5].map(trial));
    (0..2).for_each(|_| drop(takes_and_delivers(&spool, 5)));
    let there = || [0, 2, 4].map(|index| spool.is_delivered(index));
    let run = |cluster: &mut Cluster, index| {
        cluster.run(&plan, &trial(index), &mut |_| {}).unwrap();
        (cluster.holds_last(), there())
    };
    assert_eq!(run(&mut cluster, 0), (true, [true, true, false]));
    assert_eq!(run(&mut cluster, 1), (true, [true, true, false]), "the next share is there");
    assert_eq!(run(&mut cluster, 2), (true, [true, true, false]));
    assert_eq!(run(&mut cluster, 3), (false, [true, true, false]), "the next one is waited for");
    cluster.settled().unwrap();
    assert_eq!(there(), [false; 3]);
    takes_and_delivers(&spool, 5);
    assert_eq!(run(&mut cluster, 4), (true, [false, false, true]));
    // Half of a share is kept: the other half stays.
    cluster.settled().unwrap();
    assert_eq!(there(), [false, false, true]);
    // A trial that is not wanted any more is not waited for.
    cluster.announce(&[]);
    assert!(!cluster.holds_last());
    cluster.settled().unwrap();
    assert_eq!(there(), [false; 3]);
}

/// However many results are there, so many records are kept together at most.
#[test]
fn a_session_that_is_behind_keeps_some_records_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (mut cluster, _) = cluster(&spool, with_a_task());
    let plan = some_work().plan;
    let trials: Vec<PlannedTrial> = (0..200).map(trial).collect();
    offer(&spool, &[batch(0..200)]);
    cluster.shares.adopt(batch(0..200));
    cluster.announce(&trials);
    takes_and_delivers(&spool, 5);
    let mut settled_at = Vec::new();
    for trial in &trials {
        cluster.run(&plan, trial, &mut |_| {}).unwrap();
        if !cluster.holds_last() {
            settled_at.push(trial.index);
            cluster.settled().unwrap();
        }
    }
    assert_eq!(settled_at, [63, 127, 191, 199]);
}

/// A folder with results that the run has not kept is for the session that continues it.
#[test]
fn results_that_were_not_kept_outlive_the_session() {
    let ended = |act: &dyn Fn(&Spool, &mut Cluster)| {
        let folder = tempfile::tempdir().unwrap();
        let spool = spool(&folder);
        let (mut cluster, _) = cluster(&spool, with_a_task());
        cluster.announce(&[0, 1].map(trial));
        act(&spool, &mut cluster);
        Box::new(cluster).finish().unwrap();
        !spool.is_gone()
    };
    let run = |spool: &Spool, cluster: &mut Cluster| {
        takes_and_delivers(spool, 5);
        cluster.run(&some_work().plan, &trial(0), &mut |_| {}).unwrap();
    };
    let stop = |cluster: &Cluster| cluster.stop.store(true, Ordering::Relaxed);
    assert!(ended(&run), "a full disk may have kept the record from the run file");
    assert!(!ended(&|spool, cluster| {
        run(spool, cluster);
        cluster.settled().unwrap();
        // Of a race that needs it no more.
        takes_and_delivers(spool, 5);
    }));
    assert!(!ended(&|_, cluster| stop(cluster)), "there are none");
    assert!(ended(&|spool, cluster| {
        takes_and_delivers(spool, 5);
        stop(cluster);
    }));
    assert!(ended(&|spool, cluster| {
        let share = took(spool, "1-a").unwrap();
        assert!(spool.add(share.index, &line(0, "1-a")).unwrap());
        stop(cluster);
    }));
}

#[test]
fn offers_follow_the_announced_trials() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (mut cluster, _) = cluster(&spool, with_a_task());
    cluster.announce(&[0, 1, 2, 3].map(trial));
    took(&spool, "a").unwrap();
    takes_and_delivers(&spool, 5);
    cluster.announce(&[0, 1, 3, 4].map(trial));
    assert_eq!(spool.offered().unwrap(), [3, 4]);
    let other = PlannedTrial { seed: 8, ..trial(3) };
    cluster.announce(&[trial(0), other]);
    assert_eq!(spool.offered().unwrap(), [3]);
    assert_eq!(took(&spool, "b"), Some(other.into()), "another trial of the same number");
}

/// Three workers that vanish with one trial end the run; three of which each ran another trial before do not.
#[test]
fn losses_count_anew_after_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let (mut cluster, _) = cluster(&spool, with_a_task());
    offer(&spool, &[batch(0..9)]);
    for trial in 0..5 {
        let task = format!("{trial}-a");
        took(&spool, &task).unwrap();
        assert!(spool.add(0, &line(trial, &task)).unwrap());
        cluster.lose(0, &task).unwrap();
    }
    took(&spool, "7-a").unwrap();
    cluster.lose(0, "7-a").unwrap();
    took(&spool, "8-a").unwrap();
    let message = cluster.lose(0, "8-a").unwrap_err().to_string();
    assert!(message.starts_with("3 workers vanished while they ran trial 5;"), "{message}");
}

/// The session of a run that is continued finds results by their trial, also within a share.
#[test]
fn results_of_an_interrupted_session_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[batch(0..3), batch(3..6)]);
    takes_and_delivers(&first, 5);
    took(&first, "1-a").unwrap();
    assert!(first.add(3, &line(3, "1-a")).unwrap());
    let queue = Box::new(with_a_task());
    let mut cluster = Cluster::later(first.folder(), some_work(), queue, fast(), Arc::default());
    // Two were kept before the session died.
    cluster.announce(&[2, 3, 4, 5].map(trial));
    assert_eq!(first.offered().unwrap(), [4, 5]);
    let plan = some_work().plan;
    for index in [2, 3] {
        assert_eq!(cluster.run(&plan, &trial(index), &mut |_| {}).unwrap(), record(index));
        assert!(cluster.ready.is_none(), "trials that nobody asks for are not waited for");
    }
}
