use super::*;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::{Lost, Meta, Unfinished};
use seekwell_trace::{
    Event, FileEntry, FileId, InitialEntry, Limits, ProcessEntry, Request, RequestFlags,
    TraceWriter,
};
use std::path::Path;

const MS: u64 = 1_000_000;

fn event(call: &str, start_ms: u64, ms: u64, file: u32, result: i64) -> Event {
    Event {
        duration_ns: Some(ms * MS),
        file: Some(FileId(file)),
        result: Some(result),
        ..Event::new(start_ms * MS, 100, 100, CallId::named(call).unwrap())
    }
}

fn file(id: u32, path: &str, mode: u32) -> FileEntry {
    FileEntry {
        id: FileId(id),
        path: Some(path.to_owned()),
        device: None,
        inode: None,
        mode: Some(mode),
        bytes: None,
    }
}

fn request(operation: Operation, start_ms: u64, ms: u64, sector: u64, bytes: u64) -> Request {
    Request {
        start_ns: start_ms * MS,
        duration_ns: Some(ms * MS),
        process: Some(100),
        device: 8 << 20,
        operation,
        flags: RequestFlags::SYNC,
        sector,
        bytes,
        depth: Some(1),
    }
}

fn summary(meta: &Meta, events: &[Event], requests: &[Request]) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), meta, events, requests);
    Summary::of(&Trace::open(folder.path()).unwrap()).unwrap()
}

fn write(folder: &Path, meta: &Meta, events: &[Event], requests: &[Request]) {
    let mut writer = TraceWriter::create(folder, meta, Limits::default()).unwrap();
    writer.file(file(0, "/srv/db/log", 0o100_600));
    writer.file(file(1, "pipe:[7]", 0o010_000));
    writer.file(FileEntry { bytes: Some(7), ..file(2, "/srv/db/table", 0o100_600) });
    let name = Some("db".to_owned());
    writer.process(ProcessEntry { process: 100, parent: None, start_ns: 0, name });
    events.iter().for_each(|event| writer.event(*event).unwrap());
    requests.iter().for_each(|request| writer.request(*request).unwrap());
    writer.finish(meta).unwrap();
}

fn meta(duration_ms: u64, requests: bool) -> Meta {
    Meta { duration_ns: Some(duration_ms * MS), requests, ..Meta::new("test") }
}

/// Ten commits in a second: a write of 8 KiB, then an fsync of 50 ms of which the device is busy 40.
fn commits() -> (Vec<Event>, Vec<Request>) {
    let (mut events, mut requests) = (Vec::new(), Vec::new());
    for nth in 0..10 {
        let at = nth * 100;
        let write = event("pwrite64", at, 1, 0, 8192);
        events.push(Event { offset: Some(nth * 8192), length: Some(8192), ..write });
        events.push(event("fsync", at + 1, 50, 0, 0));
        requests.push(request(Operation::Write, at + 5, 40, nth * 1000, 8192));
    }
    events.push(event("read", 960, 30, 1, 10));
    (events, requests)
}

#[test]
fn a_device_is_on_a_device_and_shared_memory_is_not() {
    let kinds = [("/dev/sda", 0o060_660), ("/dev/shm/x", 0o100_644), ("/dev/null", 0o020_666)];
    let inside = kinds.map(|(path, mode)| {
        let folder = tempfile::tempdir().unwrap();
        let meta = meta(1000, false);
        let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
        writer.file(file(7, path, mode));
        writer.event(event("pread64", 1, 3, 7, 10)).unwrap();
        writer.finish(&meta).unwrap();
        Summary::of(&Trace::open(folder.path()).unwrap()).unwrap().in_calls_ns
    });
    assert_eq!(inside, [3 * MS, 0, 0]);
}

#[test]
fn commits_wait_for_syncs() {
    let (events, requests) = commits();
    let summary = summary(&meta(1000, true), &events, &requests);
    assert_eq!(summary.calling_ns, 510 * MS);
    assert_eq!(summary.elsewhere_ns, 30 * MS);
    assert_eq!(summary.bound(), Bound { ns: 400 * MS, by: By::DeviceInCalls });
    assert_eq!(summary.bytes_between_syncs, Some(8192));
    assert_eq!((summary.writes.sequential, summary.writes.aligned), (10, 10));
    insta::assert_snapshot!("commits", text(&summary));
}

#[test]
fn without_requests_the_bound_is_the_time_in_calls() {
    let (events, _) = commits();
    let summary = summary(&meta(1000, false), &events, &[]);
    assert_eq!(summary.bound(), Bound { ns: 510 * MS, by: By::Calls });
}

#[test]
fn a_device_that_had_nothing_to_do_can_gain_nothing() {
    let (events, _) = commits();
    let summary = summary(&meta(1000, true), &events, &[]);
    assert_eq!(summary.bound(), Bound { ns: 0, by: By::DeviceInCalls });
    assert!(summary.sentences()[2].ends_with("Device and I/O scheduler hardly matter."));
}

#[test]
fn a_shared_mapping_makes_the_bound_the_devices_time() {
    let (mut events, mut requests) = commits();
    events.push(Event { flags: Some(1), ..event("mmap", 995, 1, 2, 4096) });
    requests.push(request(Operation::Read, 750, 20, 50_000, 4096));
    let summary = summary(&meta(1000, true), &events, &requests);
    assert_eq!(summary.bound(), Bound { ns: 420 * MS, by: By::Device });
}

#[test]
fn recorded_page_faults_limit_what_mapped_files_can_wait() {
    let (mut events, mut requests) = commits();
    events.push(Event { flags: Some(1), ..event("mmap", 995, 1, 2, 1 << 20) });
    // Written back for others, or for nobody.
    requests.push(request(Operation::Write, 755, 40, 50_000, 4096));
    let recorded = Meta { faults: true, ..meta(1000, true) };
    let asleep = summary(&recorded, &events, &requests);
    assert_eq!(asleep.bound(), Bound { ns: 400 * MS, by: By::DeviceInCalls });
    let fault = event("page_fault", 760, 30, 2, 4096);
    events.push(fault);
    let faulted = summary(&recorded, &events, &requests);
    assert_eq!(faulted.faults.map(|faults| faults.slept_ns), Some(30 * MS));
    assert_eq!(faulted.bound(), Bound { ns: 430 * MS, by: By::DeviceInFaults });
}

#[test]
fn losses_are_in_the_second_sentence_and_their_meaning_at_the_end() {
    let (events, requests) = commits();
    let mut meta = meta(1000, true);
    let lost = |cpu, kind: &str, count| Lost { cpu, kind: kind.to_owned(), count };
    meta.lost = vec![lost(None, "paths", 34), lost(Some(1), "calls", 1200)];
    let summary = summary(&meta, &events, &requests);
    let second = &summary.sentences()[1];
    assert!(second.ends_with("with 1,234 lost events it may be more."), "{second}");
    let text = text(&summary);
    let said = "\nNot in the trace\n  - 1200 calls on CPU 1, 34 paths: lost. Counts, bytes and times are lower bounds, ";
    assert!(text.contains(said), "{text}");
    meta.lost = (0..10).map(|cpu| lost(Some(cpu), "calls", 10 - u64::from(cpu))).collect();
    let said = meta.losses().unwrap();
    assert!(said.ends_with("3 calls on CPU 7, 3 others"), "{said}");
}

#[test]
fn a_program_that_computes_is_told_so() {
    let events = [event("read", 10, 1, 0, 100)];
    let sentences = summary(&meta(1000, true), &events, &[]).sentences();
    insta::assert_snapshot!("computing", sentences.join("\n"));
}

#[test]
fn an_empty_trace_claims_nothing() {
    insta::assert_snapshot!("empty", text(&summary(&meta(1000, true), &[], &[])));
}

#[test]
fn scattered_reads_name_the_devices_latency_and_the_scheduler() {
    let read = |nth: u64| Request {
        depth: Some(8),
        ..request(Operation::Read, nth * 10, 10, nth * 7919 % 1000 * 64, 4096)
    };
    let requests: Vec<Request> = (0..50).map(read).collect();
    let events: Vec<Event> = (0..50)
        .map(|nth| Event {
            offset: Some(nth * 7919 % 1000 * 4096),
            ..event("pread64", nth * 10, 10, 2, 4096)
        })
        .collect();
    let third = summary(&meta(1000, true), &events, &requests).sentences()[2].clone();
    insta::assert_snapshot!("scattered", third);
}

#[test]
fn a_trace_of_requests_alone_says_what_a_device_does() {
    let meta = Meta { requests: true, duration_ns: Some(1_000 * MS), ..Meta::new("msr") };
    let reads = (0..8).map(|n| request(Operation::Read, n * 100, 50, n * 5_000, 4096));
    let writes = (0..2).map(|n| request(Operation::Write, n * 100 + 50, 10, n * 80, 4096));
    let requests: Vec<Request> = reads.chain(writes).collect();
    assert_eq!(
        summary(&meta, &[], &requests).sentences(),
        [
            "The trace holds block requests alone: 10, 10 a second, 80 % of them reads.",
            "A device without any delay would save at most 420 ms of 1.00 s (42 %): the time in \
             which a device was busy; how much of it a program waited is unknown.",
            "These choices can matter: latency of the device (scattered reads of 4 KiB); and latency \
             of the device (scattered writes of 4 KiB). Without calls it cannot tell about \
             filesystem and journal.",
        ]
    );
    let untimed: Vec<Request> =
        requests.iter().map(|request| Request { duration_ns: None, ..*request }).collect();
    assert_eq!(
        summary(&meta, &[], &untimed).sentences()[1],
        "It cannot tell what a faster device could gain: the time of its requests is unknown."
    );
}

#[test]
fn calls_without_durations_do_not_make_a_load_that_waits_for_nothing() {
    let untimed = Event { duration_ns: None, ..event("write", 1, 0, 0, 4096) };
    let found = summary(&Meta::new("iolog"), &[untimed, untimed], &[]);
    assert_eq!(
        found.sentences(),
        [
            "The trace holds 2 calls on files, 100 % of them without duration: it cannot tell what \
             the load waits for.",
            "It cannot tell what a faster device could gain.",
            "It cannot tell which choices can matter.",
        ]
    );
}

/// A second with 8 asynchronous reads of 100 ms at a time, awaited in calls of 90 ms, and the device
/// busy half of it; without the calls, the program looks at its ring itself.
fn asynchronous(awaits: bool) -> Summary {
    let (mut events, mut requests) = (Vec::new(), Vec::new());
    for nth in 0..10 {
        for part in 0..8 {
            let read = event("io_uring_read", nth * 100, 100, 2, 4096);
            events.push(Event { offset: Some((nth * 8 + part) * 8192), ..read });
        }
        if awaits {
            let call = event("io_uring_enter", nth * 100 + 5, 90, 0, 8);
            events.push(Event { file: None, ..call });
        }
        requests.push(request(Operation::Read, nth * 100, 50, nth * 1000, 4096));
    }
    summary(&meta(1000, true), &events, &requests)
}

#[test]
fn a_thread_does_not_wait_for_its_asynchronous_operations_but_in_the_call_that_awaits_them() {
    let found = asynchronous(true);
    let row = |name: &str| {
        let row = found.classes.iter().find(|row| row.class == name).unwrap();
        (row.count, row.time_ns)
    };
    assert_eq!((row("async read"), row("async")), ((80, 8000 * MS), (10, 900 * MS)));
    assert_eq!((found.operations, found.operations_ns), (80, 8000 * MS));
    assert_eq!((found.in_calls_ns, found.calling_ns), (900 * MS, 900 * MS));
    assert_eq!((found.in_flight_ns, found.in_progress_ns), (1000 * MS, 1000 * MS));
    assert_eq!((found.reads.count, found.reads.bytes, found.reads.sequential), (80, 80 << 12, 1));
    assert_eq!(found.top_processes[0].time_ns, 900 * MS);
    let [waits, gain, axes] = found.sentences();
    assert_eq!(
        waits,
        "It spends 90 % of the time in calls on files, 100 % of that in asynchronous I/O."
    );
    assert!(gain.contains("at most 500 ms of 1.00 s (50 %)"), "{gain}");
    assert!(axes.contains("latency of the device (scattered reads of 4 KiB)"), "{axes}");
}

#[test]
fn a_program_that_looks_at_its_ring_itself_may_wait() {
    let found = asynchronous(false);
    let [waits, gain, _] = found.sentences();
    assert_eq!(
        waits,
        "It spends 0 % of the time in calls on files, but asynchronous I/O is in progress 100 % of \
         it: the trace cannot tell how much of it the program waits."
    );
    assert!(gain.contains("at most 500 ms of 1.00 s (50 %)"), "{gain}");
    assert!(text(&found).contains("asynchronous      80 operations, 8.00 at a time"));
}

#[test]
fn an_idle_service_with_a_slow_sync_is_not_sent_away() {
    let (mut events, mut requests) = (Vec::new(), Vec::new());
    for nth in 0..60 {
        let at = nth * 1000 + 500;
        let cpu_ns = (nth > 0).then_some(MS);
        events.push(Event { cpu_ns, ..event("read", at, 0, 1, 10) });
        events.push(Event { cpu_ns: Some(MS), ..event("pwrite64", at + 1, 1, 0, 4096) });
        events.push(Event { cpu_ns: Some(0), ..event("fsync", at + 2, 40, 0, 0) });
        requests.push(request(Operation::Write, at + 3, 38, nth * 1000, 4096));
    }
    let found = summary(&meta(60_000, true), &events, &requests);
    assert_eq!((found.active_ns, found.idle_ns), (2_579 * MS, 57_421 * MS));
    assert_eq!(
        found.sentences(),
        [
            "It spends 95 % of its active time in calls on files, 98 % of that in syncs (fsync and the like). \
             Its threads sleep 96 % of 60.0 s.",
            "A device without any delay would save at most 2.28 s of 2.58 s in which it is active (88 %): the time \
             in which a device was busy during a call on files.",
            "These choices can matter: journal placement, filesystem and the device's flushes (it syncs every 4 KiB); \
             and latency of the device (scattered writes of 4 KiB).",
        ]
    );
    assert!(found.matters().journal);
    assert!(text(&found).contains("\nactive            2.58 s; asleep 57.4 s\n"));
}

#[test]
fn fewer_syncs_are_advised_where_they_save_much() {
    let (events, requests) = commits();
    // Ten syncs: fewer would be none.
    assert_eq!(summary(&meta(1000, true), &events, &requests).cheaper(), [""; 0]);
    let more = [event("fsync", 996, 1, 0, 0)];
    let all: Vec<Event> = events.into_iter().chain(more).collect();
    let found = summary(&meta(1000, true), &all, &requests).cheaper();
    assert_eq!(
        found,
        [
            "Cheaper than another stack, if the program can: one sync for 10 saves up to 451 ms in 11 syncs, and a crash \
          loses up to 10 times as much. To try it set sync_every = 10 in the workload of the lab."
        ]
    );
    let open = Event { flags: Some(0o100), ..event("openat", 0, 1, 0, 3) };
    let gone = event("unlink", 999, 1, 0, 0);
    let all: Vec<Event> = [open].into_iter().chain(all).chain([gone]).collect();
    let found = summary(&meta(1000, true), &all, &requests);
    assert_eq!(found.removed_sync_ns, 501 * MS);
    assert_eq!(
        found.cheaper()[1],
        "It syncs files that it then removes: without these syncs up to 501 ms less."
    );
    // What syncs took before an earlier removal counts once.
    let again = [
        Event { flags: Some(0o100), ..event("openat", 1000, 1, 0, 3) },
        event("unlink", 1001, 1, 0, 0),
    ];
    let all: Vec<Event> = all.into_iter().chain(again).collect();
    let twice = summary(&meta(2000, true), &all, &requests);
    assert_eq!((twice.removed, twice.removed_sync_ns), (2, 501 * MS));
    let idle = Summary { active_ns: 10_000 * MS, ..found };
    assert_eq!(idle.cheaper(), [""; 0]);
    // Threads that sync at the same time save no more than the whole time.
    let short = Summary { active_ns: 100 * MS, ..idle };
    assert!(short.cheaper()[0].contains("saves up to 100 ms in"), "{:?}", short.cheaper());
    assert_eq!(Summary::default().cheaper(), [""; 0]);
}

/// Someone who ends a recording because a sync hangs has that sync in no table.
#[test]
fn calls_in_progress_at_the_end_are_told_and_named_first_when_they_are_long() {
    let one =
        |call: &str, count, longest_ns| Unfinished { call: call.to_owned(), count, longest_ns };
    let mut summary = Summary {
        duration_ns: 10_000_000_000,
        unfinished: vec![one("fsync", 2, 9_000_000_000), one("read", 1, 1_000)],
        ended: true,
        ..Summary::default()
    };
    let [first, _, _] = summary.sentences();
    let told = "2 fsync, the first for 9.00 s; read for 1.00 µs";
    let said = format!("At the end calls were in progress that no figure counts: {told}. ");
    assert!(first.starts_with(&said), "{first}");
    let line = format!("  - calls that were in progress at the end: {told}\n");
    assert!(text(&summary).contains(&line), "{}", text(&summary));
    summary.unfinished.remove(0);
    let [first, _, _] = summary.sentences();
    assert!(!first.contains("At the end"), "{first}");
}

#[test]
fn time_between_the_parts_of_a_trace_is_none_of_the_loads() {
    let (events, requests) = commits();
    let meta = Meta { unrecorded_ns: vec![(1000 * MS, 60_000 * MS)], ..meta(60_000, true) };
    let found = summary(&meta, &events, &requests);
    assert_eq!((found.active_ns, found.unrecorded_ns), (1000 * MS, 59_000 * MS));
    assert!(found.sentences()[0].starts_with("It spends 51 % of the time in calls on files, "));
    assert!(found.sentences()[1].contains("at most 400 ms of 1.00 s (40 %)"));
}

/// Reads of 400 of 1,000 ms in a file of this device, next to a write of another program to 8:0.
fn on_device(device: u32) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    let meta = meta(1000, true);
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    writer.file(FileEntry { device: Some(device), ..file(0, "/mnt/a", 0o100_644) });
    for nth in 0..10 {
        writer.event(event("pread64", nth * 100, 40, 0, 4096)).unwrap();
    }
    writer.request(request(Operation::Write, 50, 1, 0, 4096)).unwrap();
    writer.finish(&meta).unwrap();
    Summary::of(&Trace::open(folder.path()).unwrap()).unwrap()
}

#[test]
fn a_filesystem_without_block_requests_is_not_said_to_be_in_the_page_cache() {
    // NFS and the like, and a zram device.
    for device in [45, 251 << 20] {
        let [waits, gain, axes] = on_device(device).sentences();
        assert_eq!(waits, "It spends 40 % of the time in calls on files, 100 % of that in reads.");
        assert!(
            gain.starts_with(
                "It cannot tell what a faster device could gain: 100 % of the time in calls is on \
                 filesystems without a block request in the trace (NFS, "
            ),
            "{gain}"
        );
        assert_eq!(
            axes,
            "These choices can matter: filesystem and memory (the trace cannot tell whether the page cache \
             serves the calls). About device and I/O scheduler the trace cannot tell."
        );
        assert!(on_device(device).matters().scheduler);
    }
    let [_, gain, axes] = on_device(8 << 20 | 1).sentences();
    assert!(gain.contains("save at most 0 ns of 1.00 s (0 %)"), "{gain}");
    assert!(axes.contains("(calls are served from the page cache). Device and"), "{axes}");
}

#[test]
fn memory_that_is_unmapped_is_no_file() {
    let memory = |call: &str, at| Event { file: None, ..event(call, at, 100, 0, 0) };
    let events = [memory("munmap", 0), memory("mremap", 200), event("munmap", 400, 7, 0, 0)];
    let found = summary(&meta(1000, true), &events, &[]);
    assert_eq!((found.in_calls_ns, found.elsewhere_ns), (7 * MS, 200 * MS));
    assert_eq!((found.calls, found.elsewhere), (3, 2));
    assert!(text(&found).contains("\nelsewhere              2       0     200 ms       -\n"));
}

#[test]
fn a_copy_into_a_file_is_a_write_of_it_whatever_it_comes_from() {
    let copy = |call: &str, at, file: u32, to: u32| Event {
        to_file: Some(FileId(to)),
        ..event(call, at, 10, file, 4096)
    };
    // From a pipe into a file, between files, and from a file into a pipe.
    let events =
        [copy("splice", 0, 1, 0), copy("copy_file_range", 20, 2, 0), copy("sendfile", 40, 2, 1)];
    let found = summary(&meta(100, true), &events, &[]);
    assert_eq!((found.elsewhere_ns, found.in_calls_ns), (0, 30 * MS));
    assert_eq!((found.writes.count, found.reads.count), (2, 1));
    let files: Vec<_> = found.top_files.iter().map(|row| (row.name.as_str(), row.calls)).collect();
    assert_eq!(files, [("/srv/db/log", 2), ("/srv/db/table", 1)]);
    // Into a pipe and out of a socket nothing reaches a file.
    let found = summary(&meta(100, true), &[copy("splice", 0, 1, 1)], &[]);
    assert_eq!((found.elsewhere_ns, found.in_calls_ns), (10 * MS, 0));
}

#[test]
fn a_file_is_made_where_there_was_none() {
    let open = |at, file| Event { flags: Some(0o100), ..event("openat", at, 1, file, 3) };
    let remove = |at, file| event("unlink", at, 1, file, 0);
    // The table was there before.
    let events = [open(0, 0), open(10, 0), open(20, 2), remove(30, 0), open(40, 0), remove(50, 2)];
    let found = summary(&meta(100, true), &events, &[]);
    assert_eq!((found.created, found.create_calls), (2, 4));
    assert_eq!((found.removed, found.short_lived), (2, 1));
}

#[test]
fn a_file_of_the_initial_tree_is_not_made_by_an_open_that_empties_it() {
    let folder = tempfile::tempdir().unwrap();
    let meta = meta(100, false);
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    writer
        .initial(InitialEntry {
            path: "/srv/db/log".to_owned(),
            mode: 0o100_600,
            ..InitialEntry::default()
        })
        .unwrap();
    writer.file(FileEntry { bytes: Some(0), ..file(0, "/srv/db/log", 0o100_600) });
    writer.event(Event { flags: Some(0o1100), ..event("openat", 0, 1, 0, 3) }).unwrap();
    writer.finish(&meta).unwrap();
    let found = Summary::of(&Trace::open(folder.path()).unwrap()).unwrap();
    assert_eq!((found.created, found.create_calls), (0, 1));
}

#[test]
fn a_call_that_starts_writing_is_no_sync() {
    let (mut events, requests) = commits();
    let range = |flags| Event { flags: Some(flags), ..event("sync_file_range", 970, 1, 0, 0) };
    events.push(range(2));
    assert_eq!(summary(&meta(1000, true), &events, &requests).bytes_between_syncs, Some(8192));
    events.push(range(7));
    assert_eq!(
        summary(&meta(1000, true), &events, &requests).bytes_between_syncs,
        Some(81_920 / 11)
    );
}

#[test]
fn missing_segments_and_a_missing_end_are_in_the_first_line() {
    let (events, requests) = commits();
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta { source: "capture".to_owned(), ..meta(1000, true) };
    let limits = Limits { bytes: 1, rows: 4, ..Limits::default() };
    let mut writer = TraceWriter::create(folder.path(), &meta, limits).unwrap();
    writer.file(file(0, "/srv/db/log", 0o100_600));
    events.iter().for_each(|event| writer.event(*event).unwrap());
    requests.iter().for_each(|request| writer.request(*request).unwrap());
    writer.finish(&Meta { duration_ns: None, ..meta.clone() }).unwrap();
    let read = || {
        let trace = Trace::open(folder.path()).unwrap();
        (Summary::of(&trace).unwrap(), trace.meta().gaps.len())
    };
    let (killed, gaps) = read();
    assert_eq!((killed.calls, gaps), (21, 1));
    let started = "The recording still runs or was killed: its last events are lost. It spends ";
    assert!(killed.sentences()[0].starts_with(started), "{:?}", killed.sentences());
    for number in [1, 2, 4] {
        std::fs::remove_file(folder.path().join(format!("calls-00000{number}.parquet"))).unwrap();
    }
    let (cut, gaps) = read();
    assert_eq!((cut.calls, gaps), (9, 2));
    let started =
        "Events are lost: missing segments calls-000001 to calls-000002, calls-000004. The rec";
    assert!(cut.sentences()[0].starts_with(started), "{:?}", cut.sentences());
    assert!(cut.sentences()[1].contains("with missing segments it may be more"));
}

/// Ten syncs of 50 ms on 8:0, next to another program on the same disk and one on 8:16.
#[test]
fn requests_of_other_programs_and_devices_are_in_no_figure_of_the_load() {
    let (events, mut requests) = commits();
    for nth in 0..100 {
        let other = request(Operation::Read, nth * 10, 10, nth * 50_000, 1 << 20);
        requests.push(Request { process: Some(7), depth: Some(30), ..other });
        requests.push(Request { device: 8 << 20 | 16, depth: Some(30), ..other });
    }
    requests.sort_by_key(|request| request.start_ns + request.duration_ns.unwrap());
    let meta = Meta { devices: vec![8 << 20], ..meta(1000, true) };
    let summary = summary(&meta, &events, &requests);
    let device = summary.device.as_ref().unwrap();
    assert_eq!((device.others, device.others_bytes), (200, 200 << 20));
    assert_eq!((device.busy_ns, device.mean_depth), (400 * MS, Some(1.0)));
    let said = text(&summary);
    assert!(
        said.contains("\n200 others with 200 MiB are of other programs or devices, in no"),
        "{said}"
    );
    assert_eq!(
        summary.sentences()[2],
        "These choices can matter: journal placement, filesystem and the device's flushes (it syncs every \
         8 KiB); and latency of the device (scattered writes of 8 KiB)."
    );
}

#[test]
fn waiting_in_a_ring_counts_while_its_operations_are_on_files() {
    let ring = |start_ms, ms| event("io_uring_enter", start_ms, ms, 3, 1);
    let folder = tempfile::tempdir().unwrap();
    let meta = meta(1000, false);
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    writer.file(FileEntry { bytes: Some(7), ..file(2, "/srv/db/table", 0o100_600) });
    writer.file(file(3, "anon_inode:[io_uring]", 0));
    // A read that the first wait ends with; the second wait is for a socket.
    writer.event(event("io_uring_read", 0, 400, 2, 4096)).unwrap();
    writer.event(ring(1, 400)).unwrap();
    writer.event(ring(500, 450)).unwrap();
    writer.finish(&meta).unwrap();
    let found = Summary::of(&Trace::open(folder.path()).unwrap()).unwrap();
    assert_eq!((found.calling_ns, found.elsewhere_ns), (400 * MS, 450 * MS));
}

#[test]
fn a_device_is_known_by_its_name_where_the_source_tells_no_types() {
    let folder = tempfile::tempdir().unwrap();
    let meta = meta(1000, false);
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    for (id, path) in [(0, "/dev/nvme0n1"), (1, "/dev/null")] {
        writer.file(FileEntry { mode: None, ..file(id, path, 0) });
        writer.event(event("pwrite64", u64::from(id) * 400, 300, id, 4096)).unwrap();
    }
    writer.finish(&meta).unwrap();
    let found = Summary::of(&Trace::open(folder.path()).unwrap()).unwrap();
    assert_eq!(
        (found.in_calls_ns, found.raw_ns, found.elsewhere_ns),
        (300 * MS, 300 * MS, 300 * MS)
    );
}

#[test]
fn an_axis_needs_a_tenth_of_the_active_time() {
    // Syncs of 8 % of the time.
    let events: Vec<Event> = (0..10).map(|nth| event("fsync", nth * 100, 8, 0, 0)).collect();
    let found = summary(&meta(1000, true), &events, &[]);
    assert!(found.sentences()[0].starts_with("It spends 8.0 % of the time in calls on files"));
    assert!(found.sentences()[2].starts_with("No choice of storage can matter"));
    assert!(!found.matters().any());
}
