use super::*;
use crate::fixture::{some_work, spool};

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

/// The next worker of the node takes the lock over between the look and the release.
#[test]
fn a_lock_that_was_taken_over_meanwhile_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let [dead, next] = ["1--node1-20-7", "1-1-node1-33-7"].map(|task| writer("a", "node1", task));
    assert_eq!(spool.lock_disk(&dead).unwrap(), None);
    assert_eq!(spool.lock_disk(&next).unwrap(), None);
    let path = spool.lock_of("a");
    spool.release_if(&path, &dead).unwrap();
    assert_eq!(spool.writers().unwrap(), std::slice::from_ref(&next));
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "nothing is left aside");
    spool.release_if(&path, &next).unwrap();
    assert_eq!(spool.writers().unwrap(), []);
    spool.release_if(&path, &next).unwrap();
}
