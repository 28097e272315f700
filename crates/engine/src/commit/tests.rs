use super::*;
use std::sync::mpsc;

/// Spins until so many threads wait.
fn until_waiting(group: &GroupCommit, threads: u64) {
    while group.waiting() < threads {
        std::thread::yield_now();
    }
}

#[test]
fn claims_are_consecutive() {
    let end = AppendEnd::new(100);
    assert_eq!([end.claim(10), end.claim(5), end.claim(1)], [100, 110, 115]);
}

#[test]
fn a_thread_alone_syncs_each_time() {
    let group = GroupCommit::default();
    for _ in 0..3 {
        group.wait(|| Ok(())).unwrap();
    }
    assert_eq!(group.syncs(), 3);
}

#[test]
fn those_who_come_during_a_sync_share_the_next() {
    let group = GroupCommit::default();
    let (release, released) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let group = &group;
        let first = scope.spawn(move || {
            group.wait(|| {
                released.recv().unwrap();
                Ok(())
            })
        });
        until_waiting(group, 1);
        let others: Vec<_> = (0..4).map(|_| scope.spawn(move || group.wait(|| Ok(())))).collect();
        // All four wait while the first sync is in progress, which began too early for them.
        until_waiting(group, 5);
        assert_eq!(group.syncs(), 0);
        release.send(()).unwrap();
        first.join().unwrap().unwrap();
        others.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    });
    assert_eq!((group.syncs(), group.waiting()), (2, 0));
}

#[test]
fn a_failure_reaches_everybody_who_waited_for_it() {
    let group = GroupCommit::default();
    assert_eq!(group.wait(|| Err(Errno::IO)), Err(Errno::IO));
    // The kernel reports a write-back failure once; the data stays lost.
    assert_eq!(group.wait(|| Ok(())), Err(Errno::IO));
}
