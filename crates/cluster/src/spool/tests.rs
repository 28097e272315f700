use super::*;
use crate::fixture::{batch, line, offer, record, share, some_work, spool, took, trial};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

fn delivery(spool: &Spool, index: u32, task: &str) -> Delivery {
    spool.delivery(share(index), task, vec![Ok(Box::new(record(100)))])
}

#[test]
fn a_worker_finds_the_work_of_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let (_, work) = Spool::open(spool(&folder).folder()).unwrap();
    assert_eq!(work, some_work());
}

#[test]
fn a_trial_is_taken_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(10), share(2)]);
    assert_eq!(took(&spool, "a"), Some(share(2)));
    assert_eq!(took(&spool, "b"), Some(share(10)));
    assert_eq!(took(&spool, "a"), None);
    let taken = [(2, "a".to_owned()), (10, "b".to_owned())];
    assert_eq!(spool.taken().unwrap(), taken);
    // Who asks for it again does not double it.
    spool.want(&share(2)).unwrap();
    assert_eq!(took(&spool, "b"), None);
    spool.deliver(&delivery(&spool, 2, "a")).unwrap();
    spool.want(&share(2)).unwrap();
    assert_eq!(took(&spool, "b"), None);
    assert_eq!(spool.delivered(&share(2)).unwrap(), Some(delivery(&spool, 2, "a")));
    assert_eq!(spool.taken().unwrap(), [(10, "b".to_owned())]);
}

#[test]
fn many_workers_take_each_trial_once() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let shares: Vec<Share> = (0..60).map(share).collect();
    offer(&spool, &shares);
    let mut taken: Vec<u32> = std::thread::scope(|scope| {
        let workers: Vec<_> = ["a", "b", "c", "d"]
            .map(|task| {
                let spool = spool.clone();
                scope.spawn(move || {
                    std::iter::from_fn(|| took(&spool, task))
                        .map(|share| share.index)
                        .collect::<Vec<_>>()
                })
            })
            .into();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    taken.sort_unstable();
    assert_eq!(taken, (0..60).collect::<Vec<_>>());
}

#[test]
fn a_trial_of_a_lost_worker_is_wanted_again() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&share(1)).unwrap();
    took(&spool, "a");
    spool.put_back(1, "a").unwrap();
    assert_eq!(took(&spool, "b"), Some(share(1)));
    // It was not lost: its result counts as any other, and nothing is put back twice.
    spool.deliver(&delivery(&spool, 1, "a")).unwrap();
    spool.put_back(1, "a").unwrap();
    assert_eq!(spool.delivered(&share(1)).unwrap(), Some(delivery(&spool, 1, "a")));
    assert_eq!(took(&spool, "c"), None);
}

#[test]
fn a_result_of_another_trial_with_the_same_number_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.deliver(&delivery(&spool, 1, "a")).unwrap();
    let other = Share::from(PlannedTrial { seed: 8, ..trial(1) });
    assert_eq!(spool.delivered(&other).unwrap(), None);
    spool.want(&other).unwrap();
    assert_eq!(took(&spool, "a"), Some(other));
}

#[test]
fn a_continued_session_keeps_results_of_the_same_work_alone() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[share(1), share(2)]);
    took(&first, "a");
    first.deliver(&delivery(&first, 0, "a")).unwrap();
    first.stop().unwrap();
    let second = spool(&folder);
    assert!(!second.is_stopped());
    assert_eq!(second.delivered(&share(0)).unwrap(), Some(delivery(&second, 0, "a")));
    assert_eq!(second.taken().unwrap(), []);
    assert_eq!(took(&second, "b"), None, "wanted only when the run asks for it");
    let other = Work { environment: serde_json::json!({"kernel": "6.13"}), ..some_work() };
    let third = Spool::create(&folder.path().join("x.nodes"), &other).unwrap();
    assert_eq!(third.delivered(&share(0)).unwrap(), None);
    // A worker of the run before knows neither that its folder is another's now, nor that the trial is.
    assert!(second.is_other_work().unwrap() && !third.is_other_work().unwrap());
    second.deliver(&delivery(&second, 0, "a")).unwrap();
    assert_eq!(third.delivered(&share(0)).unwrap(), None);
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(&folder).folder().to_owned();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
    let message = format!(
        "{} is not a folder of this user alone; its files could be anybody's",
        path.display()
    );
    assert_eq!(Spool::open(&path).unwrap_err().to_string(), message);
    assert_eq!(Spool::create(&path, &some_work()).unwrap_err().to_string(), message);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(Spool::open(&link), Err(ClusterError::Foreign { .. })));
}

#[test]
fn files_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&share(0)).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(spool.folder().to_owned()), 0o700);
    assert_eq!(mode(spool.path(WANTED)), 0o700);
    assert_eq!(mode(spool.path(WANTED).join("00000000")), 0o600);
}

/// Offers and heartbeats are not synced: after a power cut they may be there without their text.
#[test]
fn an_offer_that_a_power_cut_has_torn_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[share(3), share(4), share(5)]);
    took(&first, "a").unwrap();
    for torn in [WANTED, TAKEN].map(|name| first.path(name)) {
        let name = names(&torn).unwrap().remove(0);
        fs::write(torn.join(name), "").unwrap();
    }
    assert!(!first.has_results().unwrap());
    assert_eq!(first.begun(3, "a").unwrap(), None);
    assert_eq!(first.taken().unwrap(), [], "or it would never be offered again");
    assert_eq!(took(&first, "b"), Some(share(5)));
    assert_eq!((first.taken().unwrap().len(), first.offered().unwrap().len()), (1, 0));
    first.want(&share(4)).unwrap();
    fs::write(first.path(WANTED).join("00000004"), "{\"work\":1").unwrap();
    assert_eq!(spool(&folder).left().unwrap(), [], "a run can be continued");
}

#[test]
fn a_delivered_share_that_is_torn_runs_again_in_the_next_session() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    first.deliver(&delivery(&first, 0, "a")).unwrap();
    first.deliver(&delivery(&first, 1, "a")).unwrap();
    let path = first.folder.join(DONE).join(name(0));
    fs::write(&path, "").unwrap();
    let message = first.delivered(&share(0)).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{} is damaged: ", path.display())), "{message}");
    assert_eq!(spool(&folder).left().unwrap(), [share(1)]);
    assert!(!path.exists());
}

#[test]
fn a_heartbeat_that_is_torn_is_not_heard() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.beat("a", 7).unwrap();
    spool.beat("b", 8).unwrap();
    spool.beat_session(9, 1).unwrap();
    for name in ["a", SESSION] {
        fs::write(spool.path(BEATS).join(name), "").unwrap();
    }
    assert_eq!(spool.beats().unwrap(), BTreeMap::from([("b".to_owned(), 8)]));
    assert_eq!(spool.heard_session().unwrap(), None);
}

/// A run with the same name is started anew while a worker of the one before is in its trial.
#[test]
fn a_worker_of_the_work_before_takes_nothing_and_delivers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let before = spool(&folder);
    let other = Work { environment: serde_json::json!({"kernel": "6.13"}), ..some_work() };
    let now = Spool::create(before.folder(), &other).unwrap();
    offer(&now, &[share(0)]);
    assert!(matches!(before.take("old"), Err(ClusterError::OtherWork { .. })));
    assert_eq!((now.taken().unwrap(), now.offered().unwrap()), (vec![], vec![0]));
    let taken = now.take("new").unwrap().unwrap();
    assert_eq!(taken.share, share(0));
    // Nor does it overwrite what the new run has.
    now.deliver(&delivery(&now, 0, "new")).unwrap();
    before.deliver(&before.delivery(share(0), "old", vec![Err("other".to_owned())])).unwrap();
    assert_eq!(now.delivered(&share(0)).unwrap(), Some(delivery(&now, 0, "new")));
}

#[test]
fn results_survive_a_session_that_died_while_it_withdrew_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[batch(0..3)]);
    took(&first, "a").unwrap();
    assert!(first.add(0, &line(1, "a")).unwrap());
    fs::rename(first.path(TAKEN).join("00000000.a"), first.path(ASIDE)).unwrap();
    let second = spool(&folder);
    assert_eq!(second.left().unwrap(), [share(1)]);
    assert!(!second.path(ASIDE).exists());
}

/// A share that was delivered has more results than the first one of an older copy.
#[test]
fn a_rescued_result_replaces_no_delivered_share() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[batch(0..2)]);
    took(&first, "a").unwrap();
    assert!(first.add(0, &line(0, "a")).unwrap());
    let copy = fs::read(first.path(TAKEN).join("00000000.a")).unwrap();
    assert!(first.add(0, &line(1, "a")).unwrap());
    first.hand_over(0, "a").unwrap();
    fs::write(first.path(WANTED).join("00000000"), copy).unwrap();
    assert_eq!(spool(&folder).left().unwrap(), [batch(0..2)]);
}

#[test]
fn the_last_words_are_those_of_the_newest_log_that_says_something() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    assert_eq!(spool.last_words(), "none");
    fs::write(spool.logs().join("1.txt"), "1\n2\n3\n4\n5\n6\n").unwrap();
    fs::write(spool.logs().join("2.txt"), "\n").unwrap();
    assert_eq!(spool.last_words(), "2 3 4 5 6");
}

#[test]
fn a_folder_that_no_session_made_is_neither_used_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nodes");
    fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
    // The second has names that a session gives.
    for files in [["photo", "more/photo"], ["done/report", "logs/mine"]] {
        for name in files {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), name).unwrap();
        }
        let refused = Spool::create(&path, &some_work()).unwrap_err();
        assert!(matches!(refused, ClusterError::Taken { .. }), "{refused}");
        for name in files {
            assert_eq!(fs::read_to_string(path.join(name)).unwrap(), name);
        }
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "nothing was added");
        fs::remove_dir_all(&path).unwrap();
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
    }
    fs::create_dir(path.join(DONE)).unwrap();
    Spool::create(&path, &some_work()).expect("a session died while it made the folder");
}

#[test]
fn what_a_person_put_into_the_folder_stays_when_the_run_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    fs::write(spool.path("notes"), "mine").unwrap();
    fs::write(spool.path(".node-4-12-3"), "half").unwrap();
    fs::write(spool.path(".profile"), "mine").unwrap();
    spool.remove().unwrap();
    assert_eq!(names(spool.folder()).unwrap(), [".profile", "notes"]);
    for name in [".profile", "notes"] {
        fs::remove_file(spool.path(name)).unwrap();
    }
    spool.remove().unwrap();
    assert!(spool.is_gone());
}

#[test]
fn a_folder_is_removed_while_a_worker_writes_into_it() {
    for _ in 0..100 {
        let folder = tempfile::tempdir().unwrap();
        let spool = spool(&folder);
        let over = AtomicBool::new(false);
        let removed = std::thread::scope(|scope| {
            let (writes, written) = std::sync::mpsc::sync_channel(1);
            let (worker, over) = (spool.clone(), &over);
            scope.spawn(move || {
                for count in 0.. {
                    if over.load(Ordering::Relaxed) || worker.beat("a", count).is_err() {
                        break;
                    }
                    let _ = writes.try_send(());
                    // A real worker pauses for seconds; one that never pauses can refill the folder endlessly.
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            written.recv().unwrap();
            let removed = spool.remove();
            over.store(true, Ordering::Relaxed);
            removed
        });
        removed.unwrap();
        assert!(spool.is_gone());
    }
}

/// A worker that dies after two of three trials costs the third one alone.
#[test]
fn results_of_a_lost_worker_stay_with_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(4..7)]);
    assert_eq!(spool.take("a").unwrap().unwrap().missing().len(), 3);
    assert!(spool.add(4, &line(4, "a")).unwrap());
    assert!(spool.add(4, &line(5, "a")).unwrap());
    assert_eq!(spool.delivered(&batch(4..7)).unwrap(), None);
    spool.put_back(4, "a").unwrap();
    assert_eq!(spool.take("b").unwrap().unwrap().missing(), [trial(6)]);
    // The first worker was not dead: it learns that the share is another's now, and changes nothing.
    assert!(!spool.add(4, &line(6, "a")).unwrap());
    spool.hand_over(4, "a").unwrap();
    assert_eq!(spool.delivered(&batch(4..7)).unwrap(), None);
    assert!(spool.add(4, &line(6, "b")).unwrap());
    spool.hand_over(4, "b").unwrap();
    let delivery = spool.delivered(&batch(4..7)).unwrap().unwrap();
    let expected: Vec<Outcome> = (4..7).map(|index| Ok(Box::new(record(index)))).collect();
    assert_eq!((delivery.results, delivery.task.as_str()), (expected, "b"));
    assert_eq!(delivery.trial_ns, Some(1_000_000_000));
    assert_eq!(spool.taken().unwrap(), []);
}

#[test]
fn a_continued_session_keeps_the_results_of_shares_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    offer(&first, &[batch(0..3), batch(3..6), batch(6..9)]);
    for (index, ran) in [(0, 0..2), (3, 3..4), (6, 6..9)] {
        took(&first, "a").unwrap();
        ran.for_each(|trial| assert!(first.add(index, &line(trial, "a")).unwrap()));
    }
    first.put_back(3, "a").unwrap();
    first.hand_over(6, "a").unwrap();
    let second = spool(&folder);
    assert!(second.offered().unwrap().is_empty());
    assert_eq!(second.left().unwrap(), [share(0), share(1), share(3), batch(6..9)]);
    let delivery = second.delivered(&share(1)).unwrap().unwrap();
    assert_eq!(delivery.results, [Ok(Box::new(record(1)))]);
    assert!(!first.add(0, &line(2, "a")).unwrap(), "its worker goes on with what is offered now");
}

#[test]
fn a_broken_node_is_no_result_for_the_session_that_continues() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    let broken = first.delivery(share(1), "a", vec![Err("no memory".to_owned())]);
    first.deliver(&broken).unwrap();
    assert_eq!(spool(&folder).left().unwrap(), []);
    assert_eq!(first.delivered(&share(1)).unwrap(), None);
}

#[test]
fn a_share_whose_line_was_damaged_is_offered_again() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..2)]);
    took(&spool, "a").unwrap();
    (0..2).for_each(|trial| assert!(spool.add(0, &line(trial, "a")).unwrap()));
    let path = spool.path(TAKEN).join("00000000.a");
    let mut text = fs::read(&path).unwrap();
    *text.last_mut().unwrap() = b'?';
    fs::write(&path, text).unwrap();
    spool.hand_over(0, "a").unwrap();
    assert_eq!(spool.delivered(&batch(0..2)).unwrap(), None);
    assert_eq!(spool.take("b").unwrap().unwrap().missing(), [trial(1)]);
}

#[test]
fn an_offer_is_withdrawn_unless_it_is_taken_or_has_results() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[batch(0..2), batch(2..4)]);
    took(&spool, "a").unwrap();
    assert!(!spool.withdraw(0).unwrap());
    assert!(spool.add(0, &line(0, "a")).unwrap());
    spool.put_back(0, "a").unwrap();
    assert!(!spool.withdraw(0).unwrap());
    assert!(spool.withdraw(2).unwrap());
    assert_eq!(spool.offered().unwrap(), [0]);
    assert_eq!(names(spool.folder()).unwrap().iter().find(|name| name.contains("withdrawn")), None);
}

/// Another user moves the folder away and puts one of their own in its place, with results of their own: it is neither
/// read nor written, and the worker ends.
#[test]
fn a_folder_that_took_the_place_of_the_shared_one_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    offer(&spool, &[share(0)]);
    let (path, aside) = (spool.folder().to_owned(), folder.path().join("aside"));
    fs::rename(&path, &aside).unwrap();
    let forged = Spool::create(&path, &some_work()).unwrap();
    forged.deliver(&delivery(&forged, 0, "mallory")).unwrap();
    assert_eq!(spool.delivered(&share(0)).unwrap(), None);
    assert_eq!(took(&spool, "a"), Some(share(0)));
    assert!(aside.join("taken/00000000.a").exists());
    assert!(spool.is_gone());
    // The number that results of this work have is unknown to others.
    assert_ne!(spool.work, forged.work);
    fs::copy(path.join("done/00000000"), aside.join("done/00000000")).unwrap();
    assert_eq!(spool.delivered(&share(0)).unwrap(), None);
}

#[test]
fn a_folder_above_in_which_others_rename_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let above = folder.path().join("above");
    fs::create_dir(&above).unwrap();
    let path = above.join("x.nodes");
    let set = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
    set(0o757);
    let refused = Spool::create(&path, &some_work()).unwrap_err();
    assert!(matches!(&refused, ClusterError::Exchangeable { parent, .. } if *parent == above));
    assert!(!path.exists(), "nothing is made there");
    set(0o1757);
    drop(Spool::create(&path, &some_work()).unwrap());
    set(0o757);
    assert!(matches!(Spool::open(&path), Err(ClusterError::Exchangeable { .. })));
}
