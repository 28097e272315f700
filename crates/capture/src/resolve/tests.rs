use super::*;
use crate::record::{FaultRecord, LIBAIO, SleptRecord, WakeRecord};
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Trace};

fn call(name: &str, result: i64, args: [u64; 6]) -> Record {
    let number = CallId::named(name).unwrap().call().number.into();
    Record::Call(CallRecord {
        number,
        end_ns: 20,
        start_ns: 15,
        process: 70_000_000,
        thread: 70_000_000,
        result,
        position: None,
        args,
        cpu_ns: Some(3),
        waited_ns: Some(2),
    })
}

fn path(slot: Slot, text: &str, inode: u64) -> Record {
    Record::Path(PathRecord {
        process: 70_000_000,
        thread: 70_000_000,
        slot,
        fd: None,
        other_fd: None,
        inode,
        bytes: 10,
        device: 1,
        mode: 0o100_644,
        text: text.to_owned(),
    })
}

/// Name, file and second file of each event of these records.
fn rows(limits: &[&str], records: Vec<Record>) -> Vec<(&'static str, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
    let mut resolver = Resolver::new(10, std::process::id(), limits);
    for record in records {
        resolver.add(record, &mut writer).unwrap();
    }
    writer.finish(&meta).unwrap();
    let trace = Trace::open(folder.path()).unwrap();
    let files = trace.files().unwrap();
    let named = |file: Option<FileId>| {
        let entry = file.and_then(|id| files.iter().find(|file| file.id == id));
        entry.and_then(|entry| entry.path.clone()).unwrap_or_default()
    };
    let mut rows = Vec::new();
    let each = |event: Event| {
        rows.push((event.call.call().name, named(event.file), named(event.to_file)));
        Ok(())
    };
    trace.events(each).unwrap();
    rows
}

#[test]
fn a_descriptor_keeps_its_file_through_dup_and_close() {
    let found = rows(
        &[],
        vec![
            path(Slot::Opened, "/a", 1),
            call("openat", 3, [0; 6]),
            call("dup2", 5, [3, 5, 0, 0, 0, 0]),
            call("close", 0, [3, 0, 0, 0, 0, 0]),
            call("pread64", 4, [5, 0, 4, 0, 0, 0]),
            call("fsync", 0, [3, 0, 0, 0, 0, 0]),
        ],
    );
    let files: Vec<&str> = found.iter().map(|(_, file, _)| file.as_str()).collect();
    assert_eq!(files, ["/a", "/a", "/a", "/a", ""]);
}

#[test]
fn the_time_of_the_recording_itself_is_no_computing() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let mut resolver = Resolver::new(10, std::process::id(), Vec::new());
    for around_ns in [0, 2, 9] {
        resolver.around_ns = around_ns;
        resolver.add(call("fsync", 0, [3, 0, 0, 0, 0, 0]), &mut writer).unwrap();
    }
    writer.finish(&meta).unwrap();
    let mut computing = Vec::new();
    let each = |event: Event| {
        computing.push(event.cpu_ns);
        Ok(())
    };
    Trace::open(folder.path()).unwrap().events(each).unwrap();
    assert_eq!(computing, [Some(3), Some(1), Some(0)]);
}

#[test]
fn names_are_relative_to_the_working_directory_and_to_descriptors() {
    let here = (-100_i64).cast_unsigned();
    let found = rows(
        &[],
        vec![
            path(Slot::Directory, "/srv", 0),
            call("chdir", 0, [0; 6]),
            path(Slot::First, "x", 0),
            path(Slot::Second, "../y", 0),
            call("rename", 0, [0; 6]),
            path(Slot::Opened, "/mail", 9),
            call("openat", 4, [0; 6]),
            path(Slot::First, "new", 0),
            call("mkdirat", 0, [4, 0, 0, 0, 0, 0]),
            path(Slot::First, "old", 0),
            call("unlinkat", 0, [here, 0, 0, 0, 0, 0]),
        ],
    );
    let expected =
        [("/srv", ""), ("/srv/x", "/y"), ("/mail", ""), ("/mail/new", ""), ("/srv/old", "")];
    let files: Vec<_> = found.iter().map(|(_, a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(files, expected);
}

#[test]
fn a_limited_trace_holds_only_calls_below_its_directories() {
    let records = vec![
        path(Slot::Opened, "/srv/a", 1),
        call("openat", 3, [0; 6]),
        path(Slot::Opened, "/srvother/b", 2),
        call("openat", 4, [0; 6]),
        call("fsync", 0, [4, 0, 0, 0, 0, 0]),
        call("fsync", 0, [3, 0, 0, 0, 0, 0]),
    ];
    let found = rows(&["/srv"], records);
    let names: Vec<_> = found.iter().map(|(name, file, _)| (*name, file.as_str())).collect();
    assert_eq!(names, [("openat", "/srv/a"), ("fsync", "/srv/a")]);
}

#[test]
fn exec_closes_what_is_marked_and_a_child_has_its_parents_descriptors() {
    let life = |life, process: u32, other_process: u32| {
        let name = Some("x".to_owned());
        let thread = process;
        let other_thread = other_process;
        Record::Life(LifeRecord {
            life,
            end_ns: 21,
            process,
            thread,
            other_process,
            other_thread,
            is_last: false,
            name,
        })
    };
    let parent = 70_000_000;
    let found = rows(
        &[],
        vec![
            path(Slot::Opened, "/kept", 1),
            call("openat", 3, [0; 6]),
            path(Slot::Opened, "/closed", 2),
            call("openat", 4, [0, 0, O_CLOEXEC, 0, 0, 0]),
            life(Life::Exec, parent, parent),
            call("fsync", 0, [3, 0, 0, 0, 0, 0]),
            call("fsync", -9, [4, 0, 0, 0, 0, 0]),
        ],
    );
    let files: Vec<&str> = found.iter().map(|(_, file, _)| file.as_str()).collect();
    assert_eq!(files, ["/kept", "/closed", "/kept", ""]);
}

#[test]
fn an_empty_name_is_the_descriptor_itself() {
    let found = rows(
        &[],
        vec![
            path(Slot::Opened, "/old", 1),
            call("openat", 3, [0; 6]),
            path(Slot::First, "", 0),
            call("utimensat", 0, [3, 0, 0, 0, 0, 0]),
        ],
    );
    let files: Vec<&str> = found.iter().map(|(_, file, _)| file.as_str()).collect();
    assert_eq!(files, ["/old", "/old"]);
}

fn operation(code: u32, fd: Option<i32>, inode: u64) -> Record {
    Record::Operation(OperationRecord {
        code,
        end_ns: 30,
        start_ns: 22,
        process: 70_000_000,
        thread: 70_000_001,
        result: 4096,
        offset: 8192,
        length: 4096,
        fd,
        inode,
        device: 1,
        flags: 1,
    })
}

#[test]
fn operations_have_the_file_of_their_descriptor_or_of_a_registered_inode() {
    const READ: u32 = 22;
    const RECEIVE: u32 = 27;
    let found = rows(
        &[],
        vec![
            path(Slot::Opened, "/a", 1),
            call("openat", 3, [0; 6]),
            path(Slot::Opened, "/b", 2),
            call("openat", 4, [0; 6]),
            call("close", 0, [4, 0, 0, 0, 0, 0]),
            operation(READ, Some(3), 0),
            operation(LIBAIO + 1, Some(3), 0),
            operation(READ, None, 2),
            operation(READ, None, 77),
            operation(RECEIVE, Some(3), 0),
        ],
    );
    let found: Vec<_> = found[3..].iter().map(|(call, file, _)| (*call, file.as_str())).collect();
    let expected = [
        ("io_uring_read", "/a"),
        ("aio_write", "/a"),
        ("io_uring_read", "/b"),
        ("io_uring_read", ""),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_limited_trace_holds_only_operations_below_its_directories() {
    const WRITE: u32 = 23;
    let records = vec![
        path(Slot::Opened, "/srv/a", 1),
        call("openat", 3, [0; 6]),
        path(Slot::Opened, "/b", 2),
        call("openat", 4, [0; 6]),
        operation(WRITE, Some(3), 0),
        operation(WRITE, Some(4), 0),
    ];
    let found = rows(&["/srv"], records);
    let names: Vec<_> = found.iter().map(|(name, file, _)| (*name, file.as_str())).collect();
    assert_eq!(names, [("openat", "/srv/a"), ("io_uring_write", "/srv/a")]);
}

/// Thread that each call waited for, the time since then, and the time asleep until then.
fn wakers(records: Vec<Record>) -> Vec<(Option<u32>, Option<u64>, Option<u64>)> {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let mut resolver = Resolver::new(10, std::process::id(), Vec::new());
    for record in records {
        resolver.add(record, &mut writer).unwrap();
    }
    writer.finish(&meta).unwrap();
    let mut found = Vec::new();
    let each = |event: Event| {
        found.push((event.waker, event.woken_ns, event.awaited_ns));
        Ok(())
    };
    Trace::open(folder.path()).unwrap().events(each).unwrap();
    found
}

fn wake(thread: u32, waker: u32, end_ns: u64, slept_ns: u64) -> Record {
    Record::Wake(WakeRecord { waker, end_ns, slept_ns, thread })
}

#[test]
fn a_call_has_the_last_thread_that_woke_its_own_since_the_call_before() {
    const OWN: u32 = 70_000_000;
    let sync = || call("fsync", 0, [0; 6]);
    // Calls begin at 15.
    let found = wakers(vec![sync(), wake(OWN, 8, 5, 100), wake(OWN, 9, 12, 30), sync(), sync()]);
    assert_eq!(found, [(None, None, None), (Some(9), Some(3), Some(130)), (None, None, None)]);
}

/// In a PID namespace of its own a program has other numbers for its children.
#[test]
fn a_process_that_polled_waited_for_its_own_child_alone() {
    const OWN: u32 = 70_000_000;
    let life = |life, process, other_process| {
        Record::Life(LifeRecord {
            life,
            end_ns: 6,
            process,
            thread: process,
            other_process,
            other_thread: other_process,
            name: None,
            is_last: true,
        })
    };
    let polled = |parent| {
        let wake = WakeRecord { waker: 9, end_ns: 12, slept_ns: 30, thread: OWN };
        let sync = call("fsync", 0, [0; 6]);
        let ends = life(Life::Exit, 9, 9);
        wakers(vec![life(Life::Fork, OWN, 9), ends, Record::Reaped(parent, wake), sync])
    };
    assert_eq!(polled(OWN), [(Some(9), Some(3), Some(30))]);
    assert_eq!(polled(OWN + 1), [(None, None, None)]);
}

#[test]
fn a_thread_that_was_woken_passes_on_the_one_that_woke_it() {
    const OWN: u32 = 70_000_000;
    let sync = || call("fsync", 0, [0; 6]);
    // 8 woke 9, which made no call before it woke this thread.
    let found = wakers(vec![wake(9, 8, 5, 100), wake(OWN, 9, 12, 30), sync()]);
    assert_eq!(found, [(Some(8), Some(10), Some(30))]);
    // Threads that wake each other in turn wait for each other and not for themselves.
    let found = wakers(vec![wake(9, OWN, 5, 100), wake(OWN, 9, 12, 30), sync()]);
    assert_eq!(found, [(Some(9), Some(3), Some(30))]);
    // A new thread with the number of an earlier one was woken by none.
    let fork = LifeRecord {
        life: Life::Fork,
        end_ns: 6,
        process: 8,
        thread: 8,
        other_process: 8,
        other_thread: 9,
        is_last: false,
        name: None,
    };
    let records = vec![wake(9, 8, 5, 100), Record::Life(fork), wake(OWN, 9, 12, 30), sync()];
    assert_eq!(wakers(records), [(Some(9), Some(3), Some(30))]);
}

fn fault(address: u64, code: u32) -> Record {
    Record::Fault(FaultRecord {
        code,
        start_ns: 14,
        process: 70_000_000,
        thread: 70_000_000,
        address,
        cpu_ns: Some(1),
        waited_ns: Some(4),
    })
}

/// A sleep in a fault of this time.
fn slept(thread: u32, start_ns: u64) -> Record {
    Record::Slept(SleptRecord { start_ns, thread, slept_ns: 5 })
}

/// Name, file, offset, flags, on-CPU time and waiting of each event.
fn touched(limits: &[&str], records: Vec<Record>) -> Vec<(String, u64, u64, u64, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
    let mut resolver = Resolver::new(10, std::process::id(), limits);
    records.into_iter().for_each(|record| resolver.add(record, &mut writer).unwrap());
    writer.finish(&meta).unwrap();
    let trace = Trace::open(folder.path()).unwrap();
    let files = trace.files().unwrap();
    let mut found = Vec::new();
    let each = |event: Event| {
        let path = files.iter().find(|file| Some(file.id) == event.file);
        let path = path.and_then(|file| file.path.clone()).unwrap_or_default();
        let known = |number: Option<u64>| number.unwrap_or(u64::MAX);
        found.push((
            format!("{} {path}", event.call.call().name),
            known(event.offset),
            known(event.flags),
            known(event.cpu_ns),
            known(event.waited_ns),
        ));
        Ok(())
    };
    trace.events(each).unwrap();
    found
}

#[test]
fn a_fault_has_the_page_of_its_file_until_it_is_unmapped() {
    const AT: u64 = 0x7000_0000;
    let result = AT.cast_signed();
    let map = |kind: u64, offset: u64| call("mmap", result, [0, 0x4000, 3, kind, 3, offset]);
    let records = |kind: u64| {
        vec![
            path(Slot::Opened, "/srv/a", 1),
            call("openat", 3, [0; 6]),
            map(kind, 0x8000),
            fault(AT + 0x1fff, 4),
            fault(AT + 0x2000, 6),
            // The page is there, its protection is in the way.
            fault(AT + 0x2000, 7),
            slept(70_000_000, 14),
            fault(AT + 0x4000, 4),
            slept(70_000_000, 14),
            call("munmap", 0, [AT, 0x4000, 0, 0, 0, 0]),
            fault(AT, 4),
            slept(70_000_000, 14),
            call("fsync", 0, [3, 0, 0, 0, 0, 0]),
        ]
    };
    let row = |name: &str, offset: u64, flags: u64, cpu_ns: u64, waited_ns: u64| {
        (format!("{name} /srv/a"), offset, flags, cpu_ns, waited_ns)
    };
    const NONE: u64 = u64::MAX;
    let shared = [
        row("openat", NONE, 0, 3, 2),
        row("mmap", 0x8000, 1, 3, 2),
        row("page_fault", 0x9000, 0, 1, 4),
        row("page_fault", 0xa000, 1, 1, 4),
        row("page_fault", 0xa000, 1, 1, 4),
        // The time before and in a fault elsewhere is that of the next call.
        row("munmap", NONE, NONE, 4, 11),
        row("fsync", NONE, NONE, 4, 11),
    ];
    assert_eq!(touched(&[], records(1)), shared);
    assert_eq!(touched(&["/srv"], records(1)), shared);
    let private = [
        row("openat", NONE, 0, 3, 2),
        row("mmap", 0x8000, 2, 3, 2),
        row("page_fault", 0x9000, 0, 1, 4),
        // A write to a private mapping reads the page and copies it.
        row("page_fault", 0xa000, 0, 1, 4),
        row("munmap", NONE, NONE, 5, 20),
        row("fsync", NONE, NONE, 4, 11),
    ];
    assert_eq!(touched(&[], records(2)), private);
    assert_eq!(touched(&["/elsewhere"], records(1)), []);
}

#[test]
fn memory_in_the_place_of_a_mapping_is_no_page_of_the_file() {
    const AT: u64 = 0x7000_0000;
    let found = touched(
        &[],
        vec![
            path(Slot::Opened, "/srv/a", 1),
            call("openat", 3, [0; 6]),
            call("mmap", AT.cast_signed(), [0, 0x4000, 3, 1, 3, 0]),
            call("mmap", AT.cast_signed() + 0x1000, [AT + 0x1000, 0x1000, 3, 0x32, NO_FD, 0]),
            fault(AT + 0x1000, 6),
            call("madvise", 0, [AT + 0x1000, 0x1000, 1, 0, 0, 0]),
            call("madvise", 0, [AT + 0x2000, 0x1000, 1, 0, 0, 0]),
            call("mremap", 0x9000_0000, [AT + 0x2000, 0x2000, 0x3000, 1, 0, 0]),
            fault(0x9000_2000, 4),
            fault(AT + 0x2000, 4),
        ],
    );
    let rows: Vec<_> = found.iter().map(|row| (row.0.as_str(), row.1)).collect();
    let expected = [
        ("openat /srv/a", u64::MAX),
        ("mmap /srv/a", 0),
        ("madvise /srv/a", 0x2000),
        ("mremap /srv/a", u64::MAX),
        ("page_fault /srv/a", 0x4000),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_fault_lasts_as_long_as_its_thread_slept_in_it() {
    const AT: u64 = 0x7000_0000;
    const IN_CALL: u32 = 8;
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let mut resolver = Resolver::new(10, std::process::id(), Vec::new());
    let records = [
        path(Slot::Opened, "/srv/a", 1),
        call("openat", 3, [0; 6]),
        call("mmap", AT.cast_signed(), [0, 0x4000, 3, 1, 3, 0]),
        fault(AT, 4),
        slept(OWN, 14),
        fault(AT, 4),
        // In another fault, which was lost.
        slept(OWN, 13),
        fault(AT, 4 | IN_CALL),
        fault(AT, 4),
    ];
    records.into_iter().for_each(|record| resolver.add(record, &mut writer).unwrap());
    assert_eq!(writer.events(), 5);
    resolver.write_all_held(Some(OWN + 1), &mut writer).unwrap();
    assert_eq!(writer.events(), 5);
    resolver.write_all_held(None, &mut writer).unwrap();
    writer.finish(&meta).unwrap();
    let mut found = Vec::new();
    let each = |event: Event| {
        found.push((event.duration_ns, event.waited_ns));
        Ok(())
    };
    Trace::open(folder.path()).unwrap().events(each).unwrap();
    let faults = [(Some(5), Some(4)), (None, Some(4)), (None, Some(9)), (None, Some(4))];
    assert_eq!(found[2..], faults);
}

const OWN: u32 = 70_000_000;

/// The same record of another thread of the process.
fn of_thread(thread: u32, record: Record) -> Record {
    match record {
        Record::Fault(fault) => Record::Fault(FaultRecord { thread, ..fault }),
        Record::Call(call) => Record::Call(CallRecord { thread, ..call }),
        other => other,
    }
}

#[test]
fn a_fault_is_of_the_file_that_was_mapped_when_it_happened() {
    const AT: u64 = 0x7000_0000;
    let map = |fd: u64| call("mmap", AT.cast_signed(), [AT, 0x4000, 1, 0x11, fd, 0]);
    let records = vec![
        path(Slot::Opened, "/srv/a", 1),
        call("openat", 3, [0; 6]),
        path(Slot::Opened, "/srv/b", 2),
        call("openat", 4, [0; 6]),
        map(3),
        of_thread(8, fault(AT + 0x1000, 4)),
        of_thread(9, fault(AT + 0x2000, 4)),
        slept(9, 14),
        map(4),
        // Too late for the row, which is in front of the mapping that took its place.
        slept(8, 14),
        of_thread(8, fault(AT + 0x3000, 4)),
        of_thread(8, call("fsync", 0, [3, 0, 0, 0, 0, 0])),
    ];
    let rows: Vec<_> = touched(&[], records).into_iter().map(|row| (row.0, row.1, row.4)).collect();
    let expected = [
        ("openat /srv/a", u64::MAX, 2),
        ("openat /srv/b", u64::MAX, 2),
        ("mmap /srv/a", 0, 2),
        ("page_fault /srv/a", 0x2000, 4),
        ("page_fault /srv/a", 0x1000, 4),
        ("mmap /srv/b", 0, 2),
        ("page_fault /srv/b", 0x3000, 9),
        ("fsync /srv/a", u64::MAX, 2),
    ];
    assert_eq!(rows, expected.map(|(name, offset, ns)| (name.to_owned(), offset, ns)));
}

#[test]
fn a_process_keeps_files_and_mappings_until_its_last_thread_ends() {
    const AT: u64 = 0x7000_0000;
    let exit = |is_last: bool| {
        Record::Life(LifeRecord {
            life: Life::Exit,
            end_ns: 21,
            process: OWN,
            thread: OWN,
            other_process: OWN,
            other_thread: OWN,
            is_last,
            name: None,
        })
    };
    let records = |is_last: bool| {
        vec![
            path(Slot::Opened, "/srv/a", 1),
            call("openat", 3, [0; 6]),
            call("mmap", AT.cast_signed(), [0, 0x4000, 1, 1, 3, 0]),
            exit(is_last),
            of_thread(8, fault(AT, 4)),
            of_thread(8, call("fsync", 0, [3, 0, 0, 0, 0, 0])),
        ]
    };
    let names = |is_last: bool| touched(&[], records(is_last)).into_iter().map(|row| row.0);
    let kept = ["openat /srv/a", "mmap /srv/a", "page_fault /srv/a", "fsync /srv/a"];
    assert_eq!(names(false).collect::<Vec<_>>(), kept);
    assert_eq!(names(true).collect::<Vec<_>>(), ["openat /srv/a", "mmap /srv/a", "fsync "]);
}

/// A descriptor of -1 as a register holds it.
const NO_FD: u64 = u64::MAX;

#[test]
fn requests_name_their_issuer_and_those_of_the_recorder_are_left_out() {
    let own = std::process::id();
    let request = |process: u32, sector: u64, text: &str| {
        let mut name = [0; 16];
        name[..text.len()].copy_from_slice(text.as_bytes());
        Record::Block(BlockRecord {
            flags: 1 | 1 << 11,
            end_ns: 90,
            start_ns: 30,
            process,
            device: 8 << 20,
            sector,
            bytes: 4096,
            depth: 1,
            name,
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let mut resolver = Resolver::new(10, own, Vec::new());
    let records = [
        request(70_000_001, 8, "jbd2/sda1-8"),
        request(own, 16, "seekwell"),
        request(70_000_001, 24, "jbd2/sda1-8"),
    ];
    records.into_iter().for_each(|record| resolver.add(record, &mut writer).unwrap());
    writer.finish(&meta).unwrap();
    let trace = Trace::open(folder.path()).unwrap();
    let mut rows = Vec::new();
    let each = |request: seekwell_trace::Request| {
        rows.push((request.start_ns, request.duration_ns, request.sector, request.process));
        Ok(())
    };
    trace.requests(each).unwrap();
    let issuer = Some(70_000_001);
    assert_eq!(rows, [(20, Some(60), 8, issuer), (20, Some(60), 24, issuer)]);
    let names: Vec<_> = trace.processes().unwrap().into_iter().map(|row| row.name).collect();
    assert_eq!(names, [Some("jbd2/sda1-8".to_owned())]);
}
