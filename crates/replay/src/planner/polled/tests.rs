use crate::action::Action;
use crate::fixture::{REGULAR, Script};
use crate::planner::Choice;

const SETLK: u64 = 6;
const BUSY: i64 = -(libc::EAGAIN as i64);

/// A call that asks process 1 or 2 for the lock of `/db`; after this sleep, without computing.
fn asks(script: &mut Script, process: u32, result: i64, slept_ns: u64) {
    script.now_ns += slept_ns;
    let lock = script.on(process, "fcntl", (3, "/db"), result);
    lock.flags = Some(SETLK);
    (lock.cpu_ns, lock.waited_ns) = (Some(1000), Some(slept_ns));
}

/// Process 1 locks, syncs until 1 ms and ends its transaction; process 2 asks twice in vain meanwhile and again,
/// 300 µs after the end of the sync.
fn polls() -> Script {
    let mut script = Script::default();
    script.known("/db", REGULAR, 0);
    script.open(1, "/db", libc::O_RDWR, 3);
    script.open(2, "/db", libc::O_RDWR, 3);
    asks(&mut script, 1, 0, 0);
    asks(&mut script, 2, BUSY, 0);
    asks(&mut script, 2, BUSY, 400_000);
    script.now_ns = 1_000_000;
    let sync = script.on(1, "fsync", (3, "/db"), 0);
    (sync.start_ns, sync.duration_ns) = (20_000, Some(980_000));
    script.now_ns = 500_000;
    asks(&mut script, 2, 0, 800_000);
    script
}

/// Action, operations of process 1 before it, computing and sleep.
type Row = (Action, Vec<(u32, u64)>, u64, u64);

/// The operations of process 2.
fn rows(script: &Script) -> Vec<Row> {
    let plan = script.plan(&Choice::default()).unwrap();
    let all = plan.operations(1).into_iter().filter(|one| one.action != Action::Close);
    all.map(|one| (one.action, one.after, one.think_ns, one.wait_ns)).collect()
}

#[test]
fn a_poller_comes_after_the_holder_and_sleeps_only_from_its_end() {
    let rows = rows(&polls());
    assert_eq!(
        rows[1..],
        [
            (Action::LockRecord, vec![(0, 2)], 1000, 0),
            // The holder was in its sync: the sleep goes, and what the thread computed stays.
            (Action::Order, vec![], 1000, 0),
            (Action::LockRecord, vec![], 0, 0),
            // After the sync and the close at the end of process 1 it looked 300 µs later.
            (Action::Order, vec![(0, 4)], 1000, 0),
            (Action::LockRecord, vec![], 0, 300_000),
        ]
    );
}

#[test]
fn sleep_after_a_refused_lock_stays_when_it_is_not_asked_for_again() {
    let mut script = polls();
    // The last attempt is on another file.
    script.known("/other", REGULAR, 0);
    let other = script.file("/other");
    script.events.last_mut().unwrap().file = Some(other);
    let rows = rows(&script);
    let last = rows.last().unwrap();
    assert_eq!((&last.1, last.3), (&vec![], 800_000));
}

#[test]
fn a_poller_without_a_recorded_holder_sleeps_as_recorded() {
    let mut script = Script::default();
    script.known("/db", REGULAR, 0);
    script.open(1, "/db", libc::O_RDWR, 3);
    script.open(2, "/db", libc::O_RDWR, 3);
    asks(&mut script, 2, BUSY, 0);
    asks(&mut script, 2, 0, 400_000);
    assert_eq!(rows(&script).last().unwrap().3, 400_000);
}
