use super::*;
use crate::fixture::{batch, line, offer, record, share, spool, took, trial};
use std::io;
use std::sync::Mutex;

#[test]
fn a_worker_runs_what_is_wanted_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0), share(1)]);
    let seen = Mutex::new(Vec::new());
    let ran = work(&spool, "a", Unit::Trial, &mut |trial| {
        seen.lock().unwrap().push(trial.index);
        if trial.index == 1 {
            spool.stop().unwrap();
        }
        Ok(record(trial.index))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 2, is_orphan: false });
    assert_eq!(*seen.lock().unwrap(), [0, 1]);
    let delivery = spool.delivered(&share(1)).unwrap().unwrap();
    assert_eq!((delivery.task.as_str(), delivery.results), ("a", vec![Ok(Box::new(record(1)))]));
    assert!(spool.beats().unwrap()["a"] > 0);
}

#[test]
fn a_broken_backend_is_delivered_with_its_causes_and_ends_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0), share(1)]);
    let ran = work(&spool, "a", Unit::Trial, &mut |_| {
        let source = io::Error::other("no memory");
        Err(Box::new(crate::ClusterError::Spool { action: "write", path: "/x".into(), source }))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 1, is_orphan: false });
    let delivery = spool.delivered(&share(0)).unwrap().unwrap();
    assert_eq!(delivery.results, [Err("cannot write /x: no memory: no memory".to_owned())]);
    assert_eq!(spool.delivered(&share(1)).unwrap(), None);
}

#[test]
fn a_worker_leaves_a_session_that_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.beat_session(5, 1).unwrap();
    let over = AtomicBool::new(false);
    // Its time of silence is over at the first heartbeat that brings nothing new.
    assert!(beat(&spool, "a", &over, Duration::ZERO).unwrap());
    assert!(over.load(Ordering::Relaxed));
}

/// A server that does not answer for a moment does not end a worker; one that stays away does.
#[test]
fn a_worker_tolerates_failed_heartbeats_as_long_as_a_silent_session() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let beats = spool.folder().join("beats");
    let over = AtomicBool::new(false);
    let away = spool.folder().join("away");
    std::fs::rename(&beats, &away).unwrap();
    std::thread::scope(|scope| {
        let beating = scope.spawn(|| beat(&spool, "a", &over, Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!beating.is_finished(), "its first beat failed");
        std::fs::rename(&away, &beats).unwrap();
        while !spool.beats().unwrap().contains_key("a") {
            beating.thread().unpark();
            std::thread::sleep(Duration::from_millis(1));
        }
        over.store(true, Ordering::Relaxed);
        beating.thread().unpark();
        assert!(matches!(beating.join().unwrap(), Ok(false)));
    });
    std::fs::rename(&beats, &away).unwrap();
    let over = AtomicBool::new(false);
    assert!(beat(&spool, "a", &over, Duration::ZERO).is_err());
    assert!(over.load(Ordering::Relaxed));
}

#[test]
fn a_folder_that_is_removed_is_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0), share(1)]);
    let ran = work(&spool, "a", Unit::Trial, &mut |trial| {
        spool.remove().unwrap();
        Ok(record(trial.index))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 0, is_orphan: false }, "its record came too late");
}

#[test]
fn a_worker_that_waits_starts_when_there_is_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nodes");
    let missing = Spool::open(&path).unwrap_err().to_string();
    assert!(missing.starts_with("cannot open"), "{missing}");
    let waits = std::thread::spawn({
        let path = path.clone();
        move || Spool::wait(&path, Duration::from_millis(1))
    });
    let spool = spool(&folder);
    // A heartbeat that does not change is that of a session which died.
    for count in 1.. {
        spool.beat_session(count, 1).unwrap();
        if waits.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waits.join().unwrap().unwrap().1, crate::fixture::some_work());
}

/// A round of two trials.
fn round() -> Share {
    Share { index: 3, trials: vec![trial(6), trial(7)] }
}

#[test]
fn the_trials_of_a_round_are_delivered_together() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&round()).unwrap();
    let ran = work(&spool, "a", Unit::Round, &mut |trial| {
        assert_eq!(spool.delivered(&round()).unwrap(), None);
        if trial.index == 7 {
            spool.stop().unwrap();
        }
        Ok(record(trial.index))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 2, is_orphan: false });
    let delivery = spool.delivered(&round()).unwrap().unwrap();
    assert_eq!(delivery.results, [Ok(Box::new(record(6))), Ok(Box::new(record(7)))]);
    // The rest of a round that a session was stopped in is there too.
    let rest = Share { index: 3, trials: vec![trial(7)] };
    assert_eq!(spool.delivered(&rest).unwrap(), Some(delivery));
}

#[test]
fn a_round_of_which_no_trial_is_wanted_any_more_is_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&round()).unwrap();
    let ran = work(&spool, "a", Unit::Round, &mut |trial| {
        spool.stop().unwrap();
        Ok(record(trial.index))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 0, is_orphan: false });
    assert_eq!(spool.delivered(&round()).unwrap(), None);
}

#[test]
fn a_trial_that_fails_runs_again_and_one_that_ends_well_does_not() {
    fn failed(reason: &str) -> Record {
        let (stage, reason) = ("unpack".to_owned(), reason.to_owned());
        Record { status: Status::Failed { stage, reason }, ..record(1) }
    }
    let run = |results: Vec<Record>| {
        let mut left = results.into_iter();
        let is_of_node = |record: &Record| record.status == failed("killed").status;
        let ran = confirmed(Duration::ZERO, is_of_node, &mut || Ok(left.next().unwrap()));
        (ran.map_err(|error| error.to_string()), left.len())
    };
    assert_eq!(run(vec![record(1), record(2)]), (Ok(record(1)), 1));
    assert_eq!(run(vec![failed("killed"), record(1)]), (Ok(record(1)), 0));
    assert_eq!(run(vec![failed("no space"), failed("no space")]), (Ok(failed("no space")), 0));
    assert_eq!(run(vec![failed("killed"), failed("no space")]), (Ok(failed("no space")), 0));
    // For want of memory, say: another node may have it.
    let (twice, left) = run(vec![failed("no space"), failed("killed")]);
    assert_eq!(
        (twice.unwrap_err().split(';').next(), left),
        (Some("this node ended the trial twice: killed"), 0)
    );
}

/// Each result is in the folder before the next trial begins, and the worker ends between two trials.
#[test]
fn a_worker_that_is_stopped_leaves_the_results_of_its_share() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..4)]);
    let ran = work(&spool, "a", Unit::Trial, &mut |trial| {
        let there = spool.begun(0, "a").unwrap().unwrap().lines.len();
        assert_eq!(there, trial.index as usize);
        if trial.index == 2 {
            spool.stop().unwrap();
        }
        Ok(record(trial.index))
    });
    assert_eq!(ran.unwrap(), Worked { trials: 3, is_orphan: false });
    assert_eq!(spool.begun(0, "a").unwrap().unwrap().missing(), [trial(3)]);
}

#[test]
fn a_worker_continues_behind_the_results_of_a_lost_one() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..3), batch(3..4)]);
    took(&spool, "lost").unwrap();
    assert!(spool.add(0, &line(1, "lost")).unwrap());
    spool.put_back(0, "lost").unwrap();
    let mut ran = Vec::new();
    work(&spool, "a", Unit::Trial, &mut |trial| {
        ran.push(trial.index);
        if trial.index == 3 {
            spool.stop().unwrap();
        }
        Ok(record(trial.index))
    })
    .unwrap();
    assert_eq!(ran, [0, 2, 3]);
    let results = spool.delivered(&batch(0..3)).unwrap().unwrap().results;
    let expected: Vec<Outcome> = (0..3).map(|index| Ok(Box::new(record(index)))).collect();
    assert_eq!(results, expected);
}

/// A worker that was believed dead goes on with another share.
#[test]
fn a_worker_leaves_a_share_that_was_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..2), batch(2..3)]);
    let mut ran = Vec::new();
    work(&spool, "a", Unit::Trial, &mut |trial| {
        ran.push(trial.index);
        match trial.index {
            0 => {
                spool.put_back(0, "a").unwrap();
                took(&spool, "b").unwrap();
            }
            _ => spool.stop().unwrap(),
        }
        Ok(record(trial.index))
    })
    .unwrap();
    assert_eq!(ran, [0, 2]);
    assert_eq!(spool.taken().unwrap(), [(0, "b".to_owned())]);
}
