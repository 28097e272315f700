use super::*;
use crate::fixture::{DIRECTORY, REGULAR, Script};
use crate::plan::{TreeEntry, TreeKind};
use proptest::prelude::*;
use seekwell_trace::ProcessEntry;
use seekwell_trace::meta::Lost;

mod border;
mod random;
mod walked;

fn entry(path: &str, kind: TreeKind, mode: Option<u32>, bytes: u64) -> TreeEntry {
    TreeEntry::new(path.to_owned(), kind, mode, bytes)
}

/// Action, path and order of an operation.
type Short = (Action, String, Vec<(u32, u64)>);

fn short(plan: &Plan, lane: usize) -> Vec<Short> {
    let all = plan.operations(lane);
    all.iter()
        .map(|one| {
            let path = plan.path(one.path).unwrap_or_default().to_owned();
            (one.action, path, one.after.clone())
        })
        .collect()
}

/// A program that reads one file, makes another and renames it over a third.
fn scripted() -> Script {
    let mut script = Script::default();
    script.known("/w/in", REGULAR, 5000);
    script.known("/w/out.new", REGULAR, 0);
    script.open(1, "/w/in", libc::O_RDONLY, 3);
    for (offset, result) in [(0, 4096), (4096, 904), (5000, 0)] {
        let read = script.on(1, "read", (3, "/w/in"), result);
        (read.offset, read.length) = (Some(offset), Some(4096));
    }
    script.on(1, "close", (3, "/w/in"), 0);
    script.at(1, "newfstatat", "/w/out", 0);
    script.at(1, "newfstatat", "/w/none", -2);
    script.open(1, "/w/out.new", libc::O_WRONLY | libc::O_CREAT, 3);
    let write = script.on(1, "write", (3, "/w/out.new"), 700);
    (write.offset, write.length) = (Some(0), Some(700));
    script.on(1, "fsync", (3, "/w/out.new"), 0);
    let to = script.file("/w/out");
    script.at(1, "rename", "/w/out.new", 0).to_file = Some(to);
    script.on(1, "close", (3, "/w/out.new"), 0);
    script
}

#[test]
fn a_program_becomes_its_tree_and_its_calls() {
    let plan = scripted().plan(&Choice::default()).unwrap();
    assert_eq!(
        plan.tree,
        [
            entry("/w", TreeKind::Directory, None, 0),
            entry("/w/in", TreeKind::File, Some(0o640), 5000),
            entry("/w/out", TreeKind::File, None, 0),
        ]
    );
    let call = |action, path: &str| (action, path.to_owned(), vec![]);
    assert_eq!(
        short(&plan, 0),
        [
            call(Action::Open, "/w/in"),
            call(Action::Read, ""),
            call(Action::Read, ""),
            call(Action::Read, ""),
            call(Action::Close, ""),
            call(Action::StatusOf, "/w/out"),
            call(Action::StatusOf, "/w/none"),
            call(Action::Open, "/w/out.new"),
            call(Action::Write, ""),
            call(Action::Sync, ""),
            call(Action::Rename, "/w/out.new"),
            call(Action::Close, ""),
        ]
    );
    let recorded = plan.recorded();
    assert_eq!(recorded.planned, 12);
    assert_eq!((recorded.elapsed_ns, recorded.inside_ns), (23_000, 12_000));
    let thinks: Vec<u64> = plan.operations(0).iter().map(|one| one.think_ns).collect();
    assert_eq!(thinks, [0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000]);
}

#[test]
fn calls_that_the_recording_lost_lower_the_fidelity() {
    let mut script = scripted();
    let lost = |kind: &str, count| Lost { cpu: Some(0), kind: kind.to_owned(), count };
    script.lost = vec![lost("calls", 3), lost("paths", 50), lost("page faults", 1)];
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().skipped, [(Reason::Lost, 4)].into());
    let replayed = crate::Replayed { issued: 12, ..crate::Replayed::default() };
    let fidelity = crate::Fidelity::of(plan.recorded(), &replayed);
    // The file that was replaced is unknown too.
    assert_eq!((fidelity.calls, fidelity.share()), (16, Some(11.0 / 16.0)));
}

#[test]
fn calls_elsewhere_are_counted_and_left_out() {
    let mut script = scripted();
    script.known("/dev/null", libc::S_IFCHR | 0o666, 0);
    script.open(1, "/dev/null", libc::O_WRONLY, 5);
    script.on(1, "write", (5, "/dev/null"), 10);
    script.on(1, "write", (1, "pipe:[17]"), 10);
    script.call(1, "sync", 0);
    script.call(1, "io_submit", 1);
    script.call(1, "munmap", 0);
    script.at(1, "mknod", "/w/fifo", 0).flags = Some((libc::S_IFIFO | 0o600).into());
    script.at(1, "newfstatat", &format!("/w/{}", "x".repeat(300)), -36);
    script.at(1, "newfstatat", &format!("/{}", "y/".repeat(5000)), -36);
    script.at(1, "getxattr", "/w/in", 12);
    script.at(1, "newfstatat", "/usr/lib/x", 0);
    let choice = Choice { only: Some("/w/".to_owned()), ..Choice::default() };
    let plan = script.plan(&choice).unwrap();
    let skipped: Vec<(Reason, u64)> =
        plan.recorded().skipped.iter().map(|(reason, count)| (*reason, *count)).collect();
    assert_eq!(
        skipped,
        [
            (Reason::NotAFile, 3),
            (Reason::Outside, 1),
            (Reason::Process, 1),
            (Reason::NotRecorded, 2),
            (Reason::Machine, 1),
            (Reason::DeviceNode, 1),
            (Reason::LongName, 2),
        ]
    );
    assert_eq!(plan.recorded().planned, 12);
    let tree: Vec<&str> = plan.tree.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(tree, ["/in", "/out"], "the folder is the root");
}

#[test]
fn threads_wait_for_what_they_use_and_for_nothing_else() {
    let mut script = Script::default();
    script.at(1, "mkdir", "/d", 0);
    script.open(1, "/d/a", libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, 3);
    // Reads what 1 makes.
    script.at(2, "newfstatat", "/d/a", 0);
    // Has nothing in common with 1 or 2.
    script.open(3, "/other", libc::O_RDONLY, 3);
    script.on(3, "fsync", (3, "/other"), 0);
    script.on(1, "close", (3, "/d/a"), 0);
    script.at(2, "unlink", "/d/a", 0);
    script.at(3, "rmdir", "/d", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let after = |lane| -> Vec<_> { short(&plan, lane).into_iter().map(|one| one.2).collect() };
    assert_eq!(after(0), [vec![], vec![], vec![]]);
    assert_eq!(after(1), [vec![(0, 2)], vec![]]);
    assert_eq!(after(2), [vec![], vec![], vec![(0, 2), (1, 2)], vec![]]);
}

#[test]
fn children_share_descriptors_and_parents_wait_for_them() {
    let mut script = Script::default();
    script.open(1, "/a", libc::O_RDONLY, 3);
    script.call(1, "fork", 2);
    script.on(2, "read", (3, "/a"), 0).offset = Some(0);
    script.on(2, "close", (3, "/a"), 0);
    script.on(1, "read", (3, "/a"), 0).offset = Some(0);
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(
        short(&plan, 0),
        [
            (Action::Open, "/a".to_owned(), vec![]),
            // The fork.
            (Action::Order, String::new(), vec![]),
            // The child's read moved the position that both share; the child has ended.
            (Action::Read, String::new(), vec![(1, 2)]),
            // The end of the process closes.
            (Action::Close, String::new(), vec![]),
        ]
    );
    assert_eq!(
        short(&plan, 1),
        [
            (Action::Read, String::new(), vec![(0, 2)]),
            // Its close, which leaves the file open.
            (Action::Order, String::new(), vec![]),
        ]
    );
    assert_eq!(plan.slots, 2);
}

/// A shell that delivers a message: its children sync a file and rename it, one after the other.
#[test]
fn a_child_of_vfork_begins_after_those_that_its_parent_waited_for() {
    let mut script = Script::default();
    for process in [2, 3] {
        script.processes.push(ProcessEntry { process, parent: Some(1), start_ns: 0, name: None });
    }
    script.open(1, "/a", libc::O_WRONLY, 3);
    script.on(1, "close", (3, "/a"), 0);
    script.open(2, "/a", libc::O_RDONLY, 3);
    script.call(1, "vfork", 2);
    let sync = script.on(2, "fsync", (3, "/a"), 0);
    sync.duration_ns = Some(70_000_000);
    let end_ns = sync.start_ns + 70_000_000;
    script.on(2, "close", (3, "/a"), 0).start_ns = end_ns;
    script.call(3, "execve", 0).start_ns = end_ns + 50_000;
    let to = script.file("/b");
    let rename = script.at(3, "rename", "/a", 0);
    (rename.to_file, rename.start_ns) = (Some(to), end_ns + 60_000);
    // The call ends when its child runs another program.
    script.call(1, "vfork", 3).start_ns = end_ns + 40_000;
    let plan = script.plan(&Choice::default()).unwrap();
    let third = plan.operations(2);
    assert!(
        third.iter().any(|one| one.after.iter().any(|(lane, number)| (*lane, *number) == (1, 3))),
        "{third:?}"
    );
    let pauses: u64 = third.iter().map(|one| one.think_ns + one.wait_ns).sum();
    assert!(pauses < 100_000, "the sync of the second process is no pause of the third: {third:?}");
    assert_ordered(&plan);
}

/// Computing and sleep up to the second of two calls on files, 51 µs after the first; between them
/// another call that takes 50 µs.
fn pauses_around(between: impl FnOnce(&mut Script)) -> (u64, u64) {
    let mut script = Script::default();
    script.at(1, "newfstatat", "/a", 0);
    between(&mut script);
    script.events[1].duration_ns = Some(50_000);
    script.now_ns = 52_000;
    script.at(1, "newfstatat", "/b", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let add = |sum: (u64, u64), one: &crate::Operation| (sum.0 + one.think_ns, sum.1 + one.wait_ns);
    plan.operations(0).iter().fold((0, 0), add)
}

#[test]
fn a_long_call_that_is_not_repeated_is_sleep_unless_the_kernel_computed_in_it() {
    let network = pauses_around(|script| {
        script.on(1, "read", (3, "socket:[1]"), 10);
    });
    assert_eq!(network, (1000, 50_000));
    let program = pauses_around(|script| {
        script.call(1, "execve", 0);
    });
    assert_eq!(program, (51_000, 0));
    let fork = pauses_around(|script| {
        script.call(1, "clone3", 2);
    });
    assert_eq!(fork, (51_000, 0));
    // The child runs already: vfork ends when it runs another program.
    let mut script = Script::default();
    script.processes.push(ProcessEntry { process: 2, parent: Some(1), start_ns: 0, name: None });
    script.at(1, "newfstatat", "/a", 0);
    script.call(1, "clone3", 2);
    script.at(2, "newfstatat", "/a", 0);
    script.events.swap(1, 2);
    script.events[2].duration_ns = Some(50_000);
    script.now_ns = 52_000;
    script.at(1, "newfstatat", "/b", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let fork = plan.operations(0).remove(1);
    assert_eq!((fork.action, fork.think_ns, fork.wait_ns), (Action::Order, 1000, 50_000));
}

/// A compiler that works on files elsewhere, and a shell that waits for its end.
#[test]
fn a_parent_waits_for_what_its_child_does_after_its_last_call_in_the_folder() {
    let mut script = Script::default();
    script.processes.push(ProcessEntry { process: 2, parent: Some(1), start_ns: 0, name: None });
    script.at(1, "newfstatat", "/w/a", 0);
    script.call(1, "vfork", 2);
    script.at(2, "newfstatat", "/w/b", 0);
    script.now_ns += 7_000_000;
    let object = script.at(2, "newfstatat", "/tmp/o", 0);
    (object.cpu_ns, object.waited_ns) = (Some(7_000_500), Some(500));
    script.at(1, "newfstatat", "/w/c", 0).waited_ns = Some(7_003_000);
    let only = Some("/w".to_owned());
    let plan = script.plan(&Choice { only, ..Choice::default() }).unwrap();
    assert_eq!(
        short(&plan, 1),
        [(Action::StatusOf, "/b".to_owned(), vec![(0, 2)]), (Action::Order, String::new(), vec![])]
    );
    let child = plan.operations(1).pop().unwrap();
    assert_eq!((child.think_ns, child.wait_ns), (7_001_500, 500));
    let parent = plan.operations(0).pop().unwrap();
    assert_eq!((parent.after.as_slice(), parent.think_ns), ([(1, 2)].as_slice(), 1000));
}

#[test]
fn what_a_process_computes_before_it_makes_another_is_computed_once() {
    let mut script = Script::default();
    let process = |start_ns| ProcessEntry { process: 2, parent: Some(1), start_ns, name: None };
    script.processes.push(process(4_001_500));
    script.at(1, "newfstatat", "/a", 0);
    script.now_ns = 4_001_000;
    let fork = script.call(1, "clone", 2);
    (fork.cpu_ns, fork.waited_ns) = (Some(4_000_000), Some(0));
    script.now_ns = 4_012_000;
    let first = script.at(2, "newfstatat", "/b", 0);
    // It waited for a processor for 4000.
    (first.cpu_ns, first.waited_ns) = (Some(7000), Some(0));
    script.at(1, "newfstatat", "/c", 0).cpu_ns = Some(12_000);
    let plan = script.plan(&Choice::default()).unwrap();
    let pauses = |lane| -> Vec<(Action, u64)> {
        plan.operations(lane).iter().map(|one| (one.action, one.think_ns)).collect()
    };
    assert_eq!(
        pauses(0),
        [(Action::StatusOf, 0), (Action::Order, 4_001_000), (Action::StatusOf, 1000)]
    );
    assert_eq!(pauses(1), [(Action::StatusOf, 6000)]);
}

/// vfork is in the trace behind the first calls of the process that it made.
#[test]
fn what_a_process_computes_before_vfork_is_sleep_of_the_new_one() {
    let mut script = Script::default();
    let process = |start_ns| ProcessEntry { process: 2, parent: Some(1), start_ns, name: None };
    script.processes.push(process(4_001_000));
    script.at(1, "newfstatat", "/a", 0);
    script.now_ns = 4_012_000;
    let first = script.at(2, "newfstatat", "/b", 0);
    (first.cpu_ns, first.waited_ns) = (Some(11_000), Some(0));
    script.call(1, "vfork", 2).start_ns = 4_000_500;
    let plan = script.plan(&Choice::default()).unwrap();
    let first = plan.operations(1).remove(0);
    assert_eq!((first.think_ns, first.beside_ns), (4_011_000, 4_000_000));
}

#[test]
fn a_reader_of_a_pipe_waits_for_the_writer() {
    let mut script = Script::default();
    script.processes.push(ProcessEntry { process: 2, parent: Some(1), start_ns: 0, name: None });
    script.at(2, "newfstatat", "/b", 0);
    script.at(1, "newfstatat", "/a", 0);
    script.on(1, "write", (1, "pipe:[5]"), 10);
    script.on(2, "read", (0, "pipe:[5]"), 10);
    script.at(2, "newfstatat", "/c", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(
        short(&plan, 0),
        [
            (Action::StatusOf, "/b".to_owned(), vec![]),
            (Action::Order, String::new(), vec![(1, 2)]),
            (Action::StatusOf, "/c".to_owned(), vec![]),
        ]
    );
}

#[test]
fn a_file_open_before_the_trace_is_opened_at_its_position() {
    let mut script = Script::default();
    let read = script.on(1, "read", (7, "/log"), 100);
    (read.offset, read.length) = (Some(4000), Some(100));
    script.on(1, "getdents64", (8, "/folder"), 50);
    let plan = script.plan(&Choice::default()).unwrap();
    let all = plan.operations(0);
    assert_eq!(
        all.iter().map(|one| (one.action, one.added, one.offset)).collect::<Vec<_>>(),
        [
            (Action::Open, true, 4000),
            (Action::Read, false, 4000),
            (Action::Open, true, 0),
            (Action::List, false, 0),
            (Action::Close, true, 0),
            (Action::Close, true, 0),
        ]
    );
    assert_eq!(
        plan.tree,
        [entry("/log", TreeKind::File, None, 4100), entry("/folder", TreeKind::Directory, None, 0)]
    );
}

#[test]
fn set_user_id_bits_are_counted_and_left_out() {
    let mut script = Script::default();
    script.known("/a", libc::S_IFREG | 0o4755, 0);
    script.open(1, "/a", libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 3);
    script.at(1, "chmod", "/a", 0).flags = Some(0o6711);
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().special_bits, 2);
    let all = plan.operations(0);
    assert_eq!((all[0].mode, all[1].flags), (0o755, 0o711));
}

#[test]
fn traces_beyond_the_limits_are_refused_in_words() {
    let mut script = Script::default();
    for process in 1..5 {
        script.at(process, "newfstatat", "/a", -2);
    }
    for process in 1..5 {
        script.at(process, "newfstatat", "/a", -2);
    }
    let limited = |limits| Choice { limits, ..Choice::default() };
    let refused = |limits| script.plan(&limited(limits)).unwrap_err().to_string();
    assert_eq!(
        refused(Limits { lanes: 3, ..Limits::default() }),
        "the trace has 4 threads at the same time, a replay takes at most 3; \
         cut it with `seekwell trace filter`"
    );
    assert_eq!(
        refused(Limits { bytes: 10, spilled_bytes: 5, ..Limits::default() }),
        "the trace has 0 MiB of calls, a replay takes at most 0; cut it with `seekwell trace filter`"
    );
    let mut script = Script::default();
    script.call(1, "sync", 0);
    assert_eq!(
        script.plan(&Choice::default()).unwrap_err().to_string(),
        "the trace has no call on a file; record one with `seekwell capture`"
    );
}

#[test]
fn openings_without_end_are_bounded() {
    let mut script = Script::default();
    for fd in 0..5000 {
        script.open(1, "/a", libc::O_RDONLY, fd);
    }
    let limits = Limits { open: 1000, ..Limits::default() };
    let plan = script.plan(&Choice { limits, ..Choice::default() }).unwrap();
    assert_eq!(plan.recorded().skipped[&Reason::TooManyOpen], 4000);
    assert_eq!(plan.slots, 1001);
}

#[test]
fn processes_that_are_their_own_ancestors_do_no_harm() {
    let mut script = Script::default();
    for (process, parent) in [(1, 2), (2, 1), (3, 3)] {
        let parent = Some(parent);
        script.processes.push(ProcessEntry { process, parent, start_ns: 0, name: None });
    }
    for process in [1, 2, 3, 1, 2, 3] {
        script.call(process, "fork", process.into());
        script.at(process, "newfstatat", "/a", 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.recorded().planned, 6);
    assert_ordered(&plan);
}

/// Fails when an order could hold two threads up for ever: each operation comes after operations that
/// can all run before it.
pub(super) fn assert_ordered(plan: &Plan) {
    let lanes: Vec<_> = (0..plan.lanes()).map(|lane| plan.operations(lane)).collect();
    let mut done = vec![0_usize; lanes.len()];
    loop {
        let ready = (0..lanes.len()).find(|lane| {
            lanes[*lane].get(done[*lane]).is_some_and(|one| {
                one.after.iter().all(|(other, number)| done[*other as usize] as u64 >= *number)
            })
        });
        match ready {
            Some(lane) => done[lane] += 1,
            None => break,
        }
    }
    let all: Vec<usize> = lanes.iter().map(Vec::len).collect();
    assert_eq!(done, all, "threads hold each other up");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a trace holds, its plan is made or refused, and can run to its end.
    #[test]
    fn no_trace_makes_threads_wait_for_each_other(
        calls in proptest::collection::vec(
            (0..seekwell_trace::calls::CALLS.len(), 1_u32..5, -3_i64..8, 0_u64..6, any::<u64>(), any::<u64>()),
            1..120,
        )
    ) {
        const PATHS: [&str; 8] = [
            "/a", "/a/b", "/a/b/c", "/d", "/../../x", "pipe:[3]", "…/relative", "",
        ];
        let mut script = Script::default();
        for (call, process, result, fd, offset, flags) in calls {
            let name = seekwell_trace::calls::CALLS[call].name;
            let (path, to) = (PATHS[(offset % 8) as usize], PATHS[(flags % 8) as usize]);
            let to = script.file(to);
            let event = script.at(process, name, path, result);
            event.thread = process + (flags % 2) as u32 * 10;
            event.to_file = Some(to);
            event.fd = i32::try_from(fd).ok();
            event.offset = Some(offset);
            event.length = Some(flags);
            event.flags = Some(flags);
            event.waker = Some((offset % 6) as u32 + 10 * (fd % 2) as u32);
            (event.woken_ns, event.awaited_ns) = (Some(flags % 9000), Some(offset));
        }
        match script.plan(&Choice::default()) {
            Ok(plan) => assert_ordered(&plan),
            Err(error) => prop_assert!(error.to_string().starts_with("the trace has no call")),
        }
    }
}

#[test]
fn a_directory_that_is_listed_is_ordered_after_its_names() {
    let mut script = Script::default();
    script.known("/d", DIRECTORY, 0);
    script.open(1, "/d", libc::O_DIRECTORY, 3);
    script.open(2, "/d/a", libc::O_CREAT | libc::O_EXCL, 3);
    script.open(3, "/d/b", libc::O_CREAT | libc::O_EXCL, 3);
    script.on(1, "getdents64", (3, "/d"), 80);
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(short(&plan, 0)[1].2, [(1, 1), (2, 1)]);
    // The two names have nothing in common.
    assert_eq!(short(&plan, 1)[0].2, []);
    assert_eq!(short(&plan, 2)[0].2, []);
}

#[test]
fn pauses_are_what_the_thread_computed_and_slept_and_not_what_others_took() {
    let mut script = Script::default();
    script.known("/w/in", REGULAR, 5000);
    let timed = |event: &mut Event, cpu_ns: u64, waited_ns: u64| {
        (event.cpu_ns, event.waited_ns) = (Some(cpu_ns), Some(waited_ns));
    };
    timed(script.open(1, "/w/in", libc::O_RDONLY, 3), 10, 0);
    // Each call begins 1000 ns after the end of the one before.
    timed(script.on(1, "fstat", (3, "/w/in"), 0), 300, 200);
    // A call that is not replayed: 1000 ns of its own, of which nothing is known.
    timed(script.on(1, "write", (1, "pipe:[17]"), 10), 600, 0);
    timed(script.on(1, "fstat", (3, "/w/in"), 0), 100, 0);
    script.on(1, "fstat", (3, "/w/in"), 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let own: Vec<_> = plan.operations(0).into_iter().filter(|one| !one.added).collect();
    let pauses: Vec<(u64, u64)> = own.iter().map(|one| (one.think_ns, one.wait_ns)).collect();
    assert_eq!(pauses.first(), Some(&(0, 0)));
    assert_eq!(pauses[1], (300, 200));
    assert_eq!(pauses.last(), Some(&(1000, 0)));
    let whole: u64 = plan.operations(0).iter().map(|one| one.think_ns + one.wait_ns).sum();
    // 500, then 600, 1000 and 100, and 1000.
    assert_eq!(whole, 500 + 1700 + 1000);
}

#[test]
fn a_thread_pauses_while_it_waits_for_those_that_did_not_hold_it_back() {
    let mut script = Script::default();
    // Calls of 1000 ns, one each 2000 ns.
    script.at(1, "mkdir", "/early", 0);
    script.at(2, "mkdir", "/own", 0);
    script.at(2, "rmdir", "/early", 0);
    script.at(1, "mkdir", "/late", 0);
    script.at(2, "rmdir", "/late", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let all: Vec<_> = plan
        .operations(1)
        .into_iter()
        .map(|one| (one.after, one.think_ns, one.pauses_first))
        .collect();
    let expected = [(vec![], 2000, false), (vec![(0, 1)], 1000, true), (vec![(0, 2)], 1000, false)];
    assert_eq!(all, expected);
}

#[test]
fn files_that_a_process_leaves_open_are_closed_at_once() {
    let mut script = Script::default();
    script.open(1, "/left", libc::O_CREAT | libc::O_WRONLY, 3);
    script.now_ns += 5_000_000;
    script.at(1, "newfstatat", "/left", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let all: Vec<_> =
        plan.operations(0).into_iter().map(|one| (one.action, one.think_ns)).collect();
    assert_eq!(all, [(Action::Open, 0), (Action::StatusOf, 5_001_000), (Action::Close, 0)]);
}

#[test]
fn mappings_that_may_be_written_through_are_counted() {
    const PRIVATE: u64 = 2;
    const SHARED: u64 = 1;
    let mapped = |access: i32, kind: u64, result: i64| {
        let mut script = Script::default();
        script.known("/w/file", REGULAR, 8192);
        script.open(1, "/w/file", access, 3);
        let map = script.on(1, "mmap", (3, "/w/file"), result);
        (map.offset, map.length, map.flags) = (Some(0), Some(8192), Some(kind));
        let plan = script.plan(&Choice::default()).unwrap();
        plan.recorded().mapped_writes
    };
    let address = 0x7f00_0000_0000;
    assert_eq!(mapped(libc::O_RDWR, SHARED, address), 1);
    assert_eq!(mapped(libc::O_RDWR, PRIVATE, address), 0);
    assert_eq!(mapped(libc::O_RDONLY, SHARED, address), 0);
    assert_eq!(mapped(libc::O_RDWR, SHARED, -12), 0);
}

#[test]
fn pages_of_a_mapping_are_touched_one_by_one_until_it_is_gone() {
    const SHARED: u64 = 1;
    let mut script = Script { faults: true, ..Script::default() };
    script.known("/w/file", REGULAR, 16_384);
    script.open(1, "/w/file", libc::O_RDWR, 3);
    let map = script.on(1, "mmap", (3, "/w/file"), 0x7f00_0000_0000);
    (map.offset, map.length, map.flags) = (Some(0), Some(16_384), Some(SHARED));
    script.on(1, "close", (3, "/w/file"), 0);
    for (offset, write) in [(8192, 0), (12_288, 1)] {
        let page = script.at(1, "page_fault", "/w/file", 0);
        (page.offset, page.length, page.flags) = (Some(offset), Some(4096), Some(write));
        (page.result, page.duration_ns) = (None, None);
    }
    script.at(1, "msync", "/w/file", 0).flags = Some(4);
    script.at(1, "msync", "/w/file", 0).flags = Some(1);
    script.at(1, "munmap", "/w/file", 0).length = Some(16_384);
    script.at(1, "newfstatat", "/w/file", 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let all: Vec<_> =
        plan.operations(0).into_iter().map(|one| (one.action, one.offset, one.flags)).collect();
    let both = u64::try_from(libc::O_RDWR).unwrap();
    let expected = [
        (Action::Open, 0, both),
        (Action::Attach, 0, SHARED),
        (Action::Touch, 8192, 0),
        (Action::Touch, 12_288, 1),
        (Action::SyncData, 0, 4),
        (Action::Close, 0, 0),
        (Action::StatusOf, 0, 0),
    ];
    assert_eq!(all, expected);
    // The trace holds what the program wrote to, and pages in memory are no calls without a time.
    assert_eq!((plan.recorded().mapped_writes, plan.recorded().untimed), (0, 0));
    assert_eq!(plan.recorded().skipped, [(Reason::Process, 3)].into());
}

#[test]
fn touches_of_pages_read_as_the_program_advised() {
    const SINGLE: u64 = 1 << 1;
    let mut script = Script { faults: true, ..Script::default() };
    script.known("/w/file", REGULAR, 65_536);
    script.open(1, "/w/file", libc::O_RDWR, 3);
    let map = |script: &mut Script| {
        let map = script.on(1, "mmap", (3, "/w/file"), 0x7f00_0000_0000);
        (map.offset, map.length, map.flags) = (Some(0), Some(65_536), Some(1));
    };
    let advise = |script: &mut Script, (offset, length, advice): (u64, u64, u64)| {
        let call = script.at(1, "madvise", "/w/file", 0);
        (call.offset, call.length, call.flags) = (Some(offset), Some(length), Some(advice));
    };
    let touch = |script: &mut Script, offset: u64, write: u64| {
        let page = script.at(1, "page_fault", "/w/file", 0);
        (page.offset, page.flags, page.result) = (Some(offset), Some(write), None);
    };
    map(&mut script);
    advise(&mut script, (0, 32_767, 1));
    touch(&mut script, 28_672, 1);
    touch(&mut script, 32_768, 0);
    advise(&mut script, (0, 4096, 0));
    touch(&mut script, 0, 0);
    touch(&mut script, 4096, 0);
    // Freeing pages is no way to read them.
    advise(&mut script, (0, 65_536, 4));
    touch(&mut script, 8192, 0);
    advise(&mut script, (16_384, 8192, 3));
    map(&mut script);
    touch(&mut script, 4096, 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let all = plan.operations(0).into_iter().map(|one| (one.action, one.offset, one.flags));
    let is_page = |one: &(Action, u64, u64)| matches!(one.0, Action::Touch | Action::ReadAhead);
    assert_eq!(
        all.filter(is_page).collect::<Vec<_>>(),
        [
            (Action::Touch, 28_672, SINGLE | 1),
            (Action::Touch, 32_768, 0),
            (Action::Touch, 0, 0),
            (Action::Touch, 4096, SINGLE),
            (Action::Touch, 8192, SINGLE),
            (Action::ReadAhead, 16_384, 3),
            (Action::Touch, 4096, 0),
        ]
    );
}

#[test]
fn a_page_of_a_mapping_from_before_the_trace_opens_its_file() {
    let mut script = Script { faults: true, ..Script::default() };
    script.known("/w/file", REGULAR, 16_384);
    for _ in 0..2 {
        let page = script.at(1, "page_fault", "/w/file", 0);
        (page.offset, page.flags, page.result) = (Some(4096), Some(0), None);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    let all: Vec<_> = plan.operations(0).into_iter().map(|one| (one.action, one.slot)).collect();
    let expected = [(Action::Open, 1), (Action::Touch, 1), (Action::Touch, 1), (Action::Close, 1)];
    assert_eq!(all, expected);
}

#[test]
fn a_sync_of_the_machine_is_left_out_with_its_time() {
    let mut script = Script::default();
    script.open(1, "/w/a", libc::O_CREAT | libc::O_WRONLY, 3);
    script.call(1, "sync", 0).duration_ns = Some(500_000);
    script.now_ns += 499_000;
    script.on(1, "fsync", (3, "/w/a"), 0);
    let plan = script.plan(&Choice::default()).unwrap();
    let think: u64 = plan.operations(0).iter().map(|one| one.think_ns).sum();
    assert_eq!(think, 2 * 1000, "between the three calls");
    assert_eq!(plan.recorded().skipped[&Reason::Machine], 1);
}

#[test]
fn every_tenth_sync_is_repeated_and_the_others_take_no_time() {
    let mut script = Script::default();
    script.open(1, "/w/a", libc::O_CREAT | libc::O_WRONLY, 3);
    for name in ["fsync", "fdatasync"].into_iter().cycle().take(25) {
        script.on(1, name, (3, "/w/a"), 0).duration_ns = Some(500_000);
        script.now_ns += 499_000;
    }
    script.on(1, "close", (3, "/w/a"), 0);
    let plan = script.plan(&Choice { sync_every: 10, ..Choice::default() }).unwrap();
    let all = plan.operations(0);
    let syncs = all.iter().filter(|one| [Action::Sync, Action::SyncData].contains(&one.action));
    assert_eq!((syncs.count(), plan.recorded().skipped[&Reason::FewerSyncs]), (3, 22));
    assert!(!Reason::FewerSyncs.is_loss());
    let think: u64 = all.iter().map(|one| one.think_ns).sum();
    assert_eq!(think, 26 * 1000, "between the 27 calls");
    let plan = script.plan(&Choice { sync_every: 1, ..Choice::default() }).unwrap();
    assert_eq!((plan.recorded().planned, plan.recorded().skipped.len()), (27, 0));
}

/// A sync through a ring has a lane of its own, and so has what comes after it.
#[test]
fn a_sync_of_a_ring_that_is_left_out_takes_no_time() {
    let mut script = Script::default();
    script.open(1, "/w/a", libc::O_CREAT | libc::O_WRONLY, 3);
    for name in ["io_uring_fsync", "io_uring_write"].into_iter().cycle().take(8) {
        let call = script.on(1, name, (3, "/w/a"), 0);
        (call.duration_ns, call.offset, call.length) = (Some(500_000), Some(0), Some(0));
        script.now_ns += 499_000;
    }
    let plan = script.plan(&Choice { sync_every: 10, ..Choice::default() }).unwrap();
    assert_eq!(plan.recorded().skipped[&Reason::FewerSyncs], 3);
    let all = (0..plan.lanes()).flat_map(|lane| plan.operations(lane)).collect::<Vec<_>>();
    assert!(all.iter().all(|one| one.think_ns < 500_000), "{all:?}");
}

/// The shell starts two programs in turn by vfork, which both end before vfork returns for the second.
/// They share a lane, as threads do of which there were many.
#[test]
fn a_parent_waits_for_each_child_of_one_lane() {
    let mut script = Script::default();
    let child = |process, parent| ProcessEntry { process, parent, start_ns: 0, name: None };
    for process in 10..80 {
        script.processes.push(child(process, None));
        script.at(process, "newfstatat", "/w/a", 0);
    }
    script.processes.extend([child(2, Some(1)), child(3, Some(1))]);
    script.at(1, "newfstatat", "/w/a", 0);
    script.now_ns += 7_000_000;
    script.at(2, "newfstatat", "/w/b", 0);
    let start_ns = script.now_ns;
    script.at(3, "newfstatat", "/w/c", 0).start_ns = start_ns + 1000;
    let vfork = script.call(1, "vfork", 3);
    (vfork.start_ns, vfork.duration_ns) = (start_ns, Some(3000));
    (vfork.cpu_ns, vfork.waited_ns) = (Some(1000), Some(7_000_000));
    let plan = script.plan(&Choice::default()).unwrap();
    let parent = (0..plan.lanes()).map(|lane| plan.operations(lane));
    let forks = parent.flatten().filter(|one| one.call.call().name == "vfork");
    let pauses: Vec<u64> = forks.map(|one| one.think_ns + one.wait_ns).collect();
    assert_eq!(pauses.len(), 1);
    assert!(pauses[0] < 100_000, "{pauses:?}");
}

#[test]
fn the_room_of_a_plan_is_what_its_calls_need_at_most_at_one_time() {
    let mut script = Script::default();
    script.known("/w/old", REGULAR, 1000);
    let write = |script: &mut Script, path: &str, offset: u64, bytes: u64| {
        let one = script.on(1, "pwrite64", (3, path), i64::try_from(bytes).unwrap());
        (one.offset, one.length) = (Some(offset), Some(bytes));
    };
    // In place, then longer by 500.
    script.open(1, "/w/old", libc::O_RDWR, 3);
    write(&mut script, "/w/old", 0, 1000);
    write(&mut script, "/w/old", 500, 1000);
    script.on(1, "close", (3, "/w/old"), 0);
    assert_eq!(script.plan(&Choice::default()).unwrap().growth, 500);
    // A hole of 10,000 and 4,000 of data, written twice; then nothing of it is left.
    let new = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    script.open(1, "/w/new", new, 3);
    for _ in 0..2 {
        write(&mut script, "/w/new", 10_000, 4_000);
    }
    script.on(1, "close", (3, "/w/new"), 0);
    assert_eq!(script.plan(&Choice::default()).unwrap().growth, 4_500);
    script.at(1, "unlink", "/w/new", 0);
    script.open(1, "/w/other", new, 3);
    write(&mut script, "/w/other", 0, 4_000);
    // A write that failed takes nothing, and a file that is cut gives back.
    script.on(1, "pwrite64", (3, "/w/other"), -28).length = Some(1 << 40);
    script.on(1, "ftruncate", (3, "/w/other"), 0).length = Some(0);
    write(&mut script, "/w/other", 0, 2_000);
    assert_eq!(script.plan(&Choice::default()).unwrap().growth, 4_500);
    write(&mut script, "/w/other", 2_000, 20_000);
    assert!(script.plan(&Choice::default()).unwrap().growth > 4_500);
}
