use crate::action::Action;
use crate::fixture::{REGULAR, Script};
use crate::plan::{Plan, Reason};
use crate::planner::Choice;
use seekwell_trace::Event;
use seekwell_trace::calls::DATA_ALONE;

/// An operation of thread 1.
fn operation(script: &mut Script, name: &str, (start_ns, end_ns): (u64, u64), offset: u64) {
    let event: &mut Event = script.on(1, name, (3, "/a"), 4096);
    (event.start_ns, event.duration_ns) = (start_ns, Some(end_ns - start_ns));
    (event.offset, event.length) = (Some(offset), Some(4096));
}

fn enter(script: &mut Script, (start_ns, end_ns): (u64, u64)) {
    let event = script.call(1, "io_uring_enter", 1);
    (event.start_ns, event.duration_ns) = (start_ns, Some(end_ns - start_ns));
}

/// Reads at a depth of two: two are submitted at 2000, a third when the first is complete.
fn depth_of_two() -> Script {
    let mut script = Script::default();
    script.known("/a", REGULAR, 1 << 20);
    script.open(1, "/a", libc::O_RDONLY, 3);
    operation(&mut script, "io_uring_read", (2100, 5000), 0);
    enter(&mut script, (2000, 5100));
    operation(&mut script, "io_uring_read", (2200, 7000), 4096);
    operation(&mut script, "io_uring_read", (5300, 9000), 8192);
    enter(&mut script, (5200, 9100));
    script.now_ns = 10_000;
    script.on(1, "close", (3, "/a"), 0);
    script
}

/// Action, offset and order.
type Row = (Action, u64, Vec<(u32, u64)>);

fn lanes(plan: &Plan) -> Vec<Vec<Row>> {
    let row = |one: crate::Operation| (one.action, one.offset, one.after);
    (0..plan.lanes()).map(|lane| plan.operations(lane).into_iter().map(row).collect()).collect()
}

#[test]
fn operations_are_calls_of_as_many_threads_as_were_in_flight() {
    let plan = depth_of_two().plan(&Choice::default()).unwrap();
    let recorded = plan.recorded();
    assert_eq!((recorded.asynchronous, recorded.planned), (3, 5));
    assert_eq!(recorded.skipped.get(&Reason::Submission), Some(&2));
    // All in the ring of thread 1.
    let submitters: Vec<_> = plan.lanes.iter().map(|lane| lane.submitter).collect();
    assert_eq!(submitters, [None, Some(0), Some(0)]);
    assert!(!Reason::Submission.is_loss());
    assert_eq!(
        lanes(&plan),
        [
            vec![
                (Action::Open, 0, vec![]),
                // The first call returned with the first read, the second with the other two.
                (Action::Order, 0, vec![(1, 1)]),
                (Action::Order, 0, vec![(1, 2), (2, 1)]),
                (Action::Close, 0, vec![]),
            ],
            vec![
                (Action::ReadAt, 0, vec![(0, 1)]),
                // Submitted after the first call had returned.
                (Action::ReadAt, 8192, vec![(0, 2)]),
            ],
            vec![(Action::ReadAt, 4096, vec![(0, 1)])],
        ]
    );
}

#[test]
fn writes_syncs_and_operations_at_the_position_of_the_file_are_planned() {
    let mut script = Script::default();
    script.known("/a", REGULAR, 1 << 20);
    script.open(1, "/a", libc::O_RDWR, 3);
    operation(&mut script, "aio_write", (2000, 3000), 4096);
    operation(&mut script, "io_uring_fsync", (4000, 5000), 0);
    operation(&mut script, "io_uring_write", (6000, 7000), 0);
    let last = script.events.last_mut().unwrap();
    // A registered file, of which the trace has no descriptor.
    (last.fd, last.offset) = (None, None);
    operation(&mut script, "io_uring_fsync", (8000, 9000), 0);
    script.events.last_mut().unwrap().flags = Some(3 | DATA_ALONE);
    let plan = script.plan(&Choice::default()).unwrap();
    let actions: Vec<_> = plan.operations(1).into_iter().map(|one| one.action).collect();
    let expected = [Action::WriteAt, Action::Sync, Action::Write, Action::SyncData];
    assert_eq!(actions[..4], expected);
    assert_eq!(plan.recorded().asynchronous, 4);
}

#[test]
fn submissions_without_recorded_operations_are_a_loss() {
    let mut script = Script::default();
    script.at(1, "newfstatat", "/a", -2);
    script.call(1, "io_submit", 1);
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().skipped.get(&Reason::NotRecorded), Some(&1));
}

#[test]
fn more_operations_at_once_than_threads_are_all_made() {
    let mut script = Script::default();
    script.known("/a", REGULAR, 1 << 20);
    script.open(1, "/a", libc::O_RDONLY, 3);
    for nth in 0..300 {
        operation(&mut script, "io_uring_read", (2000, 10_000 + nth), 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    // That of the thread, which has ended, is used again.
    assert_eq!((plan.lanes(), plan.recorded().asynchronous), (256, 300));
}
