use super::*;
use crate::fixture::{some_work, spool};
use std::sync::atomic::{AtomicU32, Ordering};

fn writer(disk: &str, node: &str, task: &str) -> Writer {
    let [disk, node, task] = [disk, node, task].map(str::to_owned);
    Writer { disk, boot: format!("boot of {node}"), node, task }
}

#[test]
fn one_node_at_a_time_writes_to_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let [first, second] = [writer("naa.5", "node1", "1"), writer("naa.5", "node2", "2")];
    assert_eq!(spool.lock_disk(&first).unwrap(), None);
    assert_eq!(spool.lock_disk(&second).unwrap(), Some(first.clone()));
    assert_eq!(spool.lock_disk(&writer("naa:5", "node2", "2")).unwrap(), None, "another disk");
    // Nobody releases the lock of another worker.
    spool.release_disk(&second).unwrap();
    assert_eq!(spool.lock_disk(&second).unwrap(), Some(first.clone()));
    spool.release_disk(&first).unwrap();
    assert_eq!(spool.lock_disk(&second).unwrap(), None);
    let writers = spool.writers().unwrap();
    assert!(writers.len() == 2 && writers.contains(&second), "{writers:?}");
}

#[test]
fn a_worker_takes_over_the_disk_of_a_dead_one_of_its_node() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let [dead, next] = ["1--node1-20-7", "1-1-node1-33-7"].map(|task| writer("a", "node1", task));
    assert_eq!(spool.lock_disk(&dead).unwrap(), None);
    assert_eq!(spool.lock_disk(&next).unwrap(), None);
    assert_eq!(spool.writers().unwrap(), std::slice::from_ref(&next));
    // Another machine of that name, or the same one after a crash, of which the scheduler knows.
    let rebooted = Writer { boot: "another".to_owned(), ..next.clone() };
    assert_eq!(spool.lock_disk(&rebooted).unwrap(), Some(next));
}

#[test]
fn of_many_workers_one_gets_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let got: Vec<bool> = std::thread::scope(|scope| {
        let nodes: Vec<_> = (0..16)
            .map(|node| {
                let spool = spool.clone();
                let writer = writer("a", &format!("node{node}"), &node.to_string());
                scope.spawn(move || spool.lock_disk(&writer).unwrap().is_none())
            })
            .collect();
        nodes.into_iter().map(|node| node.join().unwrap()).collect()
    });
    assert_eq!(got.into_iter().filter(|got| *got).count(), 1);
}

#[test]
fn disks_stay_locked_when_a_session_continues_or_another_begins() {
    let folder = tempfile::tempdir().unwrap();
    let first = spool(&folder);
    let writer = writer("a", "node1", "1");
    first.lock_disk(&writer).unwrap();
    assert_eq!(spool(&folder).writers().unwrap(), std::slice::from_ref(&writer));
    let other = crate::spool::Work { settings: serde_json::json!({"other": 1}), ..some_work() };
    let next = Spool::create(first.folder(), &other).unwrap();
    assert_eq!(next.writers().unwrap(), [writer]);
}

/// The session has looked, and releases the lock of a dead worker when another one has it.
#[test]
fn the_release_of_a_dead_workers_lock_never_touches_that_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let dead = writer("a", "node1", "1--node1-20-7");
    let same_node = writer("a", "node1", "1-1-node1-33-7");
    let other_node = writer("a", "node2", "2--node2-20-7");
    assert_eq!(spool.lock_disk(&dead).unwrap(), None);
    for next in [&same_node, &other_node] {
        if next == &other_node {
            spool.release_disk(&same_node).unwrap();
        }
        assert_eq!(spool.lock_disk(next).unwrap(), None);
        spool.release_disk(&dead).unwrap();
        assert_eq!(spool.writers().unwrap(), std::slice::from_ref(next));
    }
    spool.release_disk(&other_node).unwrap();
    assert_eq!(spool.writers().unwrap(), []);
    spool.release_disk(&other_node).unwrap();
    let names = names(&spool.path(DISKS)).unwrap();
    assert_eq!(names.len(), 1, "the empty lock stays and nothing else: {names:?}");
}

/// Workers of three nodes lock, write and end, and some die. Sessions release what the dead have left, and do so late.
#[test]
fn a_disk_has_one_writer_whoever_releases_locks_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    // Locks of machines: a worker has that of its node, and a dead one none.
    let machines = [(); 3].map(|()| std::sync::Mutex::new(0_u32));
    let (writing, got) = (&AtomicU32::new(0), &AtomicU32::new(0));
    let dead = &std::sync::Mutex::new(Vec::<Writer>::new());
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let (spool, machine) = (spool.clone(), &machines[thread % 3]);
            scope.spawn(move || {
                for turn in 0..60 {
                    let mut number = machine.lock().unwrap();
                    *number += 1;
                    let task = format!("{thread}-{number}");
                    let one = writer("a", &format!("node{}", thread % 3), &task);
                    if spool.lock_disk(&one).unwrap().is_some() {
                        continue;
                    }
                    assert_eq!(writing.fetch_add(1, Ordering::SeqCst), 0, "two write");
                    got.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                    writing.fetch_sub(1, Ordering::SeqCst);
                    if (turn + thread) % 3 == 0 {
                        dead.lock().unwrap().push(one);
                    } else {
                        spool.release_disk(&one).unwrap();
                    }
                }
            });
        }
        let spool = spool.clone();
        scope.spawn(move || {
            for _ in 0..200 {
                // Some that were released long ago, too.
                let all = dead.lock().unwrap().clone();
                all.iter().for_each(|one| spool.release_disk(one).unwrap());
                std::thread::yield_now();
            }
        });
    });
    assert!(got.load(Ordering::Relaxed) > 0);
}
