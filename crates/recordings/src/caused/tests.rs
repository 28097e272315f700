use super::*;
use proptest::prelude::*;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Operation, ProcessEntry, RequestFlags, TraceWriter};

const US: u64 = 1_000;
/// Processes with calls, and the thread of a journal.
const DB: u32 = 100;
const OTHER: u32 = 200;
const JOURNAL: u32 = 7;
/// A program that the capture did not record.
const BACKUP: u32 = 900;

fn call(name: &str, process: u32, start_us: u64, us: u64, file: u32) -> Event {
    Event {
        duration_ns: Some(us * US),
        file: Some(FileId(file)),
        ..Event::new(start_us * US, process, process, CallId::named(name).unwrap())
    }
}

fn request(process: u32, start_us: u64, us: u64, sector: u64) -> Request {
    Request {
        start_ns: start_us * US,
        duration_ns: Some(us * US),
        process: Some(process),
        device: 8 << 20 | 1,
        operation: Operation::Write,
        flags: RequestFlags::SYNC,
        sector,
        bytes: 4096,
        depth: Some(1),
    }
}

fn found(events: &[Event], requests: &[Request], wanted: &Wanted) -> Caused {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    for (id, path) in [(0, "/srv/db/log"), (1, "/srv/other")] {
        let (id, path) = (FileId(id), Some(path.to_owned()));
        let (device, inode, mode, bytes) = (None, None, None, None);
        writer.file(FileEntry { id, path, device, inode, mode, bytes });
    }
    let name = Some("jbd2/sda1-8".to_owned());
    writer.process(ProcessEntry { process: JOURNAL, parent: None, start_ns: 0, name });
    let name = Some("backup".to_owned());
    writer.process(ProcessEntry { process: BACKUP, parent: None, start_ns: 0, name });
    events.iter().for_each(|event| writer.event(*event).unwrap());
    requests.iter().for_each(|request| writer.request(*request).unwrap());
    writer.finish(&meta).unwrap();
    caused(&Trace::open(folder.path()).unwrap(), wanted).unwrap()
}

/// An fsync of 5 ms with two writes of its own and one of the journal, next to other work.
fn commit() -> (Vec<Event>, Vec<Request>) {
    let events = vec![
        call("write", DB, 900, 50, 0),
        call("fsync", OTHER, 2_000, 500, 1),
        call("fsync", DB, 1_000, 5_000, 0),
        call("read", DB, 7_000, 100, 0),
    ];
    let requests = vec![
        request(DB, 920, 30, 1),
        request(DB, 1_010, 900, 2_048),
        request(OTHER, 2_100, 300, 5_000),
        request(DB, 1_020, 1_500, 2_056),
        request(JOURNAL, 3_000, 2_900, 9_000),
        request(JOURNAL, 6_500, 100, 9_008),
    ];
    (events, requests)
}

#[test]
fn a_sync_has_the_writes_that_it_caused() {
    let (events, requests) = commit();
    let all = found(&events, &requests, &Wanted { longest: 10, ..Wanted::default() });
    assert_eq!((all.calls, all.time_ns, all.untimed), (2, 5_500 * US, 0));
    let [long, short] = all.longest.as_slice() else { panic!("{:?}", all.longest) };
    assert_eq!((long.call, long.process, long.path.as_deref()), ("fsync", DB, Some("/srv/db/log")));
    assert_eq!(long.own, Total { count: 2, bytes: 8192 });
    assert_eq!(long.others, Total { count: 1, bytes: 4096 });
    let rows: Vec<_> = long
        .requests
        .iter()
        .map(|row| (row.after_ns / US, row.sector, row.own, row.program.as_deref()))
        .collect();
    let journal = Some("jbd2/sda1-8");
    let expected =
        [(10, 2_048, true, None), (20, 2_056, true, None), (2_000, 9_000, false, journal)];
    assert_eq!(rows, expected);
    // That of the other process, and none of the first, which has calls of its own.
    let rows: Vec<_> = short.requests.iter().map(|row| (row.sector, row.own)).collect();
    assert_eq!((short.path.as_deref(), rows), (Some("/srv/other"), vec![(5_000, true)]));
    insta::assert_snapshot!(text(&all));
}

#[test]
fn calls_are_chosen_by_name_path_process_and_duration() {
    let (events, requests) = commit();
    let sectors = |wanted: Wanted| -> Vec<Vec<u64>> {
        let found = found(&events, &requests, &wanted);
        let sectors = |call: &CausedBy| call.requests.iter().map(|row| row.sector).collect();
        found.longest.iter().map(sectors).collect()
    };
    let all = || Wanted { longest: 9, ..Wanted::default() };
    let write = CallId::named("write").unwrap();
    assert_eq!(sectors(Wanted { calls: vec![write], ..all() }), [[1]]);
    assert_eq!(sectors(Wanted { paths: vec!["/srv/other".to_owned()], ..all() }), [[5_000]]);
    assert_eq!(sectors(Wanted { processes: vec![OTHER], ..all() }), [[5_000]]);
    let long = vec![vec![2_048, 2_056, 9_000]];
    assert_eq!(sectors(Wanted { paths: vec!["/srv/db".to_owned()], ..all() }), long);
    assert_eq!(sectors(Wanted { longest: 1, ..all() }), long);
    assert_eq!(sectors(Wanted { longest: 0, ..all() }), Vec::<Vec<u64>>::new());
}

#[test]
fn what_cannot_be_joined_is_said() {
    let mut unknown = call("fsync", DB, 10, 10, 0);
    unknown.duration_ns = None;
    let none =
        found(&[unknown], &[request(DB, 12, 1, 1)], &Wanted { longest: 3, ..Wanted::default() });
    assert_eq!((none.calls, none.untimed, none.longest.len()), (1, 1, 0));
    let said = "1 calls took 0 ns\n1 calls have no duration: no request can be joined to them\n";
    assert_eq!(text(&none), said);
    let without = Caused { has_requests: false, lost: 4, ..none };
    let said =
        "4 events were lost: calls and requests may be missing\nthe trace has no block requests\n";
    assert!(text(&without).ends_with(said), "{}", text(&without));
}

#[test]
fn only_the_first_hundred_requests_are_named() {
    let requests: Vec<_> = (0..130).map(|nth| request(DB, 10 + nth, 1, nth)).collect();
    let events = [call("fsync", DB, 0, 1_000, 0)];
    let many = found(&events, &requests, &Wanted { longest: 1, ..Wanted::default() });
    assert_eq!((many.longest[0].own.count, many.longest[0].requests.len()), (130, 100));
    assert!(text(&many).ends_with("          30 more\n"), "{}", text(&many));
}

#[test]
fn requests_of_programs_outside_of_the_trace_are_no_calls() {
    let (events, mut requests) = commit();
    requests.push(request(BACKUP, 2_500, 100, 70_000));
    let mut unknown = request(BACKUP, 2_600, 100, 70_008);
    unknown.process = None;
    requests.push(unknown);
    let found = found(&events, &requests, &Wanted { longest: 1, ..Wanted::default() });
    let long = &found.longest[0];
    assert_eq!((long.own.count, long.others.count, long.unrelated.count), (2, 1, 2));
    assert!(long.requests.iter().all(|row| row.sector < 70_000), "{:?}", long.requests);
    assert!(text(&found).contains("\n  of other programs, not its own: 2 requests (8 KiB)\n"));
}

#[test]
fn a_call_that_only_starts_writing_is_no_sync() {
    let range = |flags, start| Event { flags, ..call("sync_file_range", DB, start, 50, 0) };
    let events = [range(Some(2), 0), range(Some(7), 100), range(None, 200), range(Some(0), 300)];
    let found = found(&events, &[], &Wanted { longest: 9, ..Wanted::default() });
    let starts: Vec<u64> = found.longest.iter().map(|call| call.start_ns / US).collect();
    assert_eq!((found.calls, starts), (2, vec![100, 200]));
}

proptest! {
    /// Against a look at every pair.
    #[test]
    fn every_request_meets_the_calls_in_progress(
        calls in proptest::collection::vec((0..60_u64, 0..30_u64, 0..3_u32), 1..12),
        requests in proptest::collection::vec((0..100_u64, 0..6_u32), 0..40),
        longest in 1..12_usize,
    ) {
        let events: Vec<_> =
            calls.iter().map(|(start, us, process)| call("fsync", DB + process, *start, *us, 0)).collect();
        let requests: Vec<_> =
            (0..).zip(&requests).map(|(nth, (at, process))| {
                let process = if *process == 5 { JOURNAL } else { DB + process };
                request(process, *at, 1, nth)
            }).collect();
        let found = found(&events, &requests, &Wanted { longest, ..Wanted::default() });
        prop_assert_eq!(found.longest.len(), longest.min(events.len()));
        let shortest = found.longest.iter().map(|one| one.duration_ns).min().unwrap();
        let longer = events.iter().filter(|event| event.duration_ns.unwrap() > shortest).count();
        prop_assert!(longer <= longest);
        for one in &found.longest {
            let is_calling = |process| events.iter().any(|event| event.process == process);
            let is_its = |row: &&Request| {
                let issuer = row.process.unwrap();
                row.start_ns >= one.start_ns
                    && row.start_ns <= one.start_ns + one.duration_ns
                    && (issuer == one.process || (issuer == JOURNAL && !is_calling(issuer)))
            };
            let expected: Vec<u64> = requests.iter().filter(is_its).map(|row| row.sector).collect();
            let sectors: Vec<u64> = one.requests.iter().map(|row| row.sector).collect();
            prop_assert_eq!(sectors, expected);
        }
    }
}
