use crate::action::Action;
use crate::fixture::{REGULAR, Script};
use crate::planner::Choice;
use seekwell_trace::Event;

/// Thread 1 writes, computes 1800 ns, and sleeps until thread 2, which syncs from 6000 to `end_ns`,
/// wakes it; at 110,000 ns it writes again. Returns that call.
fn waits_for_a_sync(script: &mut Script, end_ns: u64) -> &mut Event {
    script.known("/a", REGULAR, 0);
    script.known("/b", REGULAR, 0);
    script.open(1, "/a", libc::O_WRONLY, 3);
    script.open(1, "/b", libc::O_WRONLY, 4).thread = 2;
    script.on(1, "write", (3, "/a"), 10).offset = Some(0);
    let sync = script.on(1, "fsync", (4, "/b"), 0);
    (sync.thread, sync.duration_ns) = (2, Some(end_ns - 6000));
    script.now_ns = 110_000;
    let write = script.on(1, "write", (3, "/a"), 10);
    write.offset = Some(10);
    (write.cpu_ns, write.waited_ns) = (Some(3000), Some(100_500));
    (write.waker, write.woken_ns, write.awaited_ns) = (Some(2), Some(1500), Some(100_200));
    write
}

/// Action, order, computing and sleep before it, and if it pauses first.
type Row = (Action, Vec<(u32, u64)>, u64, u64, bool);

fn rows(script: &Script) -> Vec<Row> {
    let plan = script.plan(&Choice::default()).unwrap();
    let all = plan.operations(0).into_iter().filter(|one| one.action != Action::Close);
    let row = |one: crate::Operation| {
        (one.action, one.after, one.think_ns, one.wait_ns, one.pauses_first)
    };
    all.map(row).collect()
}

#[test]
fn a_woken_thread_waits_for_the_call_of_its_waker_and_does_not_sleep() {
    let mut script = Script::default();
    waits_for_a_sync(&mut script, 106_000);
    let rows = rows(&script);
    assert_eq!(
        rows[2..],
        [
            // 108,500 less 5000 and less the sleep is its own; 1500 of it others ran.
            (Action::Order, vec![(1, 2)], 1800, 0, true),
            // From the end of the sync on, both computed; 300 of that it slept otherwise.
            (Action::Write, vec![], 3700, 300, false),
        ]
    );
}

#[test]
fn computing_of_the_waker_is_time_of_the_program() {
    let mut script = Script::default();
    // It ended long before: the rest of the sleep the waker computed.
    waits_for_a_sync(&mut script, 7000);
    let rows = rows(&script);
    assert_eq!(
        rows[2..],
        [
            (Action::Order, vec![(1, 2)], 1800, 0, true),
            // 110,000 less 5000 and less the 3300 before the sleep.
            (Action::Write, vec![], 101_400, 300, false),
        ]
    );
    // Up to the wake-up at 108,500 the thread slept while the other one computed.
    let plan = script.plan(&Choice::default()).unwrap();
    let beside: Vec<u64> = plan.operations(0).iter().map(|one| one.beside_ns).collect();
    assert_eq!(beside[..4], [0, 0, 0, 100_200]);
}

#[test]
fn a_thread_whose_waker_made_no_call_before_sleeps_as_recorded() {
    for (waker, woken_ns) in [(9, 1500), (2, 108_000)] {
        let mut script = Script::default();
        let write = waits_for_a_sync(&mut script, 106_000);
        (write.waker, write.woken_ns) = (Some(waker), Some(woken_ns));
        let rows = rows(&script);
        // The gap of 105,000 without 1500 in which others ran.
        assert_eq!(rows[2..], [(Action::Write, vec![], 3000, 100_500, false)]);
    }
}

/// Thread 3 looks at something outside of the folder, sleeps, and is told to end by thread 2.
#[test]
fn the_intervals_of_a_helper_are_not_slept() {
    for (place, sleeps) in [("/elsewhere", false), ("/w/a", true)] {
        let mut script = Script::default();
        script.known("/w/b", REGULAR, 0);
        script.open(1, "/w/b", libc::O_WRONLY, 4).thread = 2;
        script.on(1, "write", (4, "/w/b"), 10).thread = 2;
        let look = |script: &mut Script, at_ns| -> usize {
            script.now_ns = at_ns;
            script.at(1, "newfstatat", place, -2).thread = 3;
            script.events.len() - 1
        };
        look(&mut script, 10_000);
        for at_ns in [40_000, 70_000] {
            let nap = look(&mut script, at_ns);
            let event = &mut script.events[nap];
            (event.cpu_ns, event.waited_ns) = (Some(500), Some(25_000));
        }
        let last = look(&mut script, 130_000);
        let event = &mut script.events[last];
        (event.cpu_ns, event.waited_ns) = (Some(500), Some(60_000));
        (event.waker, event.woken_ns, event.awaited_ns) = (Some(2), Some(1500), Some(10_000));
        let choice = Choice { only: Some("/w".to_owned()), ..Choice::default() };
        let plan = script.plan(&choice).unwrap();
        let all = (0..2).flat_map(|lane| plan.operations(lane)).collect::<Vec<_>>();
        let slept_ns = all.iter().map(|one| one.wait_ns).sum::<u64>();
        assert_eq!(slept_ns > 25_000, sleeps, "{place}: {all:?}");
    }
}

#[test]
fn the_end_of_a_thread_can_be_awaited() {
    let mut script = Script::default();
    waits_for_a_sync(&mut script, 106_000);
    // The sync is the thread's last call; a third one runs on.
    script.at(1, "newfstatat", "/c", -2).thread = 3;
    let rows = rows(&script);
    assert_eq!(rows[2].1, [(1, 2)]);
}
