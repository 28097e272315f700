use super::*;
use crate::calls::CallId;
use crate::event::{FileId, Operation, RequestFlags};
use crate::read::Trace;
use proptest::prelude::*;

fn any_event() -> impl Strategy<Value = Event> {
    let numbers = (any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>());
    let small = (any::<u32>(), any::<Option<i32>>(), any::<Option<u32>>(), any::<Option<i64>>());
    let calls = 0..crate::calls::CALLS.len();
    (numbers, small, calls).prop_map(|((start, duration, offset, length), small, call)| Event {
        duration_ns: duration,
        fd: small.1,
        file: small.2.map(FileId),
        offset,
        length,
        result: small.3,
        flags: length,
        waker: small.2,
        woken_ns: duration,
        awaited_ns: offset,
        ..Event::new(start, small.0, small.0, CallId(u16::try_from(call).unwrap()))
    })
}

fn limits(rows: usize, bytes: u64) -> Limits {
    Limits { bytes, age: Duration::from_secs(3600), rows }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn events_come_back_as_they_were_written(
        events in proptest::collection::vec(any_event(), 0..50),
        rows in 1_usize..20,
        bytes in 1_u64..4000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let meta = Meta::new("test");
        let mut writer = TraceWriter::create(folder.path(), &meta, limits(rows, bytes)).unwrap();
        for event in &events {
            writer.event(*event).unwrap();
        }
        writer.finish(&meta).unwrap();
        let mut read = Vec::new();
        Trace::open(folder.path()).unwrap().events(|event| { read.push(event); Ok(()) }).unwrap();
        prop_assert_eq!(read, events);
    }
}

#[test]
fn files_processes_and_requests_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let file = FileEntry {
        id: FileId(0),
        path: Some("/srv/mail/cur/1".to_owned()),
        device: Some(8 << 20),
        inode: Some(u64::MAX),
        mode: Some(0o100_644),
        bytes: None,
    };
    let process =
        ProcessEntry { process: 7, parent: Some(1), start_ns: 5, name: Some("tar".to_owned()) };
    let request = Request {
        start_ns: 9,
        duration_ns: Some(100),
        process: None,
        device: 8 << 20,
        operation: Operation::Write,
        flags: RequestFlags::SYNC.with(RequestFlags::FUA),
        sector: 2048,
        bytes: 4096,
        depth: Some(3),
    };
    writer.file(file.clone());
    writer.process(process.clone());
    writer.request(request).unwrap();
    writer.finish(&meta).unwrap();
    let trace = Trace::open(folder.path()).unwrap();
    let mut requests = Vec::new();
    trace
        .requests(|request| {
            requests.push(request);
            Ok(())
        })
        .unwrap();
    assert_eq!(
        (trace.files().unwrap(), trace.processes().unwrap(), requests),
        (vec![file], vec![process], vec![request])
    );
}

#[test]
fn an_open_segment_is_not_read_and_sealed_ones_are() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, limits(2, 1)).unwrap();
    let event = Event::new(1, 2, 3, CallId(0));
    for _ in 0..5 {
        writer.event(event).unwrap();
    }
    let trace = Trace::open(folder.path()).unwrap();
    let mut count = 0;
    trace
        .events(|_| {
            count += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(count, 4, "the fifth is in the open segment");
    drop(writer);
}

#[test]
fn a_segment_is_sealed_by_its_age() {
    let count = |age: Duration| {
        let folder = tempfile::tempdir().unwrap();
        let (meta, limits) = (Meta::new("test"), Limits { age, ..Limits::default() });
        let mut writer = TraceWriter::create(folder.path(), &meta, limits).unwrap();
        writer.event(Event::new(1, 2, 3, CallId(0))).unwrap();
        writer.keep_up(&meta).unwrap();
        let mut count = 0;
        let each = |_| {
            count += 1;
            Ok(())
        };
        Trace::open(folder.path()).unwrap().events(each).unwrap();
        count
    };
    assert_eq!((count(Duration::ZERO), count(Duration::from_secs(3600))), (1, 0));
    assert_eq!(Limits::default().age, Duration::from_secs(10));
    assert_eq!(Limits::default().bytes, 64 << 20);
}

#[test]
fn the_format_is_described_with_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let text = std::fs::read_to_string(path).unwrap();
    let tables: [(&str, &[Column]); 5] = [
        ("calls", &CALLS),
        ("files", &FILES),
        ("requests", &REQUESTS),
        ("processes", &PROCESSES),
        ("initial", &INITIAL),
    ];
    for (table, columns) in tables {
        let (_, section) = text.split_once(&format!("\n## `{table}`")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let expected: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{table}");
    }
    assert!(text.contains(&format!("today {}", crate::meta::FORMAT)));
}

#[test]
fn only_the_owner_reads_a_trace() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("t");
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(&folder, &meta, Limits::default()).unwrap();
    writer.event(Event::new(1, 2, 3, CallId(0))).unwrap();
    writer.finish(&meta).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
    }
}

#[test]
fn a_folder_with_files_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "x").unwrap();
    let made = TraceWriter::create(folder.path(), &Meta::new("test"), Limits::default());
    assert!(matches!(made, Err(TraceError::Exists { .. })));
}

#[test]
fn a_newer_trace_and_a_folder_without_one_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Trace::open(folder.path()), Err(TraceError::NotATrace { .. })));
    Meta { format: "2.0".to_owned(), ..Meta::new("test") }.write(folder.path()).unwrap();
    assert!(matches!(Trace::open(folder.path()), Err(TraceError::Newer { .. })));
}

#[test]
fn rows_of_one_file_complete_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let path = Some("/srv/a".to_owned());
    let named =
        FileEntry { id: FileId(3), path, device: None, inode: None, mode: None, bytes: None };
    let opened = FileEntry { path: None, inode: Some(7), bytes: Some(0), ..named.clone() };
    writer.file(named.clone());
    writer.file(opened);
    writer.finish(&meta).unwrap();
    let files = Trace::open(folder.path()).unwrap().files().unwrap();
    assert_eq!(files, [FileEntry { inode: Some(7), bytes: Some(0), ..named }]);
}

#[test]
fn a_row_without_a_time_is_an_error_and_not_the_start() {
    let folder = tempfile::tempdir().unwrap();
    Meta::new("test").write(folder.path()).unwrap();
    let path = folder.path().join("processes-000000.parquet");
    let mut segment = Segment::create(&path, &PROCESSES).unwrap();
    let unknown = || Stored::whole(std::iter::once(None));
    let name = Stored::text(std::iter::once(Some("sh")));
    let process = Stored::whole(std::iter::once(Some(7)));
    segment.group(&[process, unknown(), unknown(), name]).unwrap();
    segment.seal().unwrap();
    let error = Trace::open(folder.path()).unwrap().processes().unwrap_err();
    assert!(matches!(error, TraceError::Column { column: "start_ns", .. }), "{error}");
}

#[test]
fn a_trace_of_format_1_0_is_read_with_its_later_columns_unknown() {
    let folder = tempfile::tempdir().unwrap();
    Meta { format: "1.0".to_owned(), ..Meta::new("test") }.write(folder.path()).unwrap();
    // Format 1.0 ends with `waited_ns`.
    let columns = &CALLS[..14];
    assert_eq!(columns.last().map(|(name, _)| *name), Some("waited_ns"));
    let path = folder.path().join("calls-000000.parquet");
    let mut segment = Segment::create(&path, columns).unwrap();
    let stored = |(at, (_, kind)): (i64, &Column)| match kind {
        Kind::Word => Stored::text(std::iter::once(Some(calls::CALLS[0].name))),
        _ => Stored::whole(std::iter::once(Some(at))),
    };
    let values: Vec<_> = (0..).zip(columns).map(stored).collect();
    segment.group(&values).unwrap();
    segment.seal().unwrap();
    let mut read = Vec::new();
    let each = |event| {
        read.push(event);
        Ok(())
    };
    assert_eq!(Trace::open(folder.path()).unwrap().events(each).unwrap(), 0);
    let event = Event {
        duration_ns: Some(1),
        fd: Some(5),
        file: Some(FileId(6)),
        to_file: Some(FileId(7)),
        offset: Some(8),
        length: Some(9),
        result: Some(10),
        flags: Some(11),
        cpu_ns: Some(12),
        waited_ns: Some(13),
        ..Event::new(0, 2, 3, CallId(0))
    };
    assert_eq!((event.waker, event.woken_ns, event.awaited_ns), (None, None, None));
    assert_eq!(read, [event]);
}

/// Another user, who can rename in the folder above, puts a folder of their own in the place of the output.
#[test]
fn a_folder_that_took_the_place_of_the_output_stays_empty() {
    let all = tempfile::tempdir().unwrap();
    let [folder, aside] = ["trace", "aside"].map(|name| all.path().join(name));
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(&folder, &meta, Limits::default()).unwrap();
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::create_dir(&folder).unwrap();
    writer.event(Event::new(1, 2, 3, CallId(0))).unwrap();
    writer.finish(&meta).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let trace = Trace::open(&aside).unwrap();
    let mut events = 0;
    trace
        .events(|_| {
            events += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(events, 1);

    let writer = TraceWriter::create(&folder, &meta, Limits::default()).unwrap();
    std::fs::remove_dir_all(&aside).unwrap();
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::create_dir(&folder).unwrap();
    writer.abandon();
    assert!(folder.exists(), "not this writer's");
    assert_eq!(std::fs::read_dir(&aside).unwrap().count(), 0);
}

#[test]
fn a_folder_of_another_user_or_that_others_write_is_no_output() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let all = tempfile::tempdir().unwrap();
    let [folder, link] = ["trace", "link"].map(|name| all.path().join(name));
    std::fs::create_dir(&folder).unwrap();
    symlink(&folder, &link).unwrap();
    let create = |path: &Path| TraceWriter::create(path, &Meta::new("test"), Limits::default());
    let refused = |path: &Path| create(path).err().expect("it is refused").to_string();
    assert!(create(&link).is_err());
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o757)).unwrap();
    assert!(refused(&folder).contains("belongs to another user, or others can write it"));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    if !seekwell_testing::root() {
        return seekwell_testing::skip("outputs_of_others", "needs root to give a folder away");
    }
    // The link of another user above the output may lead anywhere.
    std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
    let below = link.join("trace");
    let error = refused(&below);
    assert!(error.contains("link belongs to another user; name the folder itself"), "{error}");
    chown(&folder, Some(12_345), None).unwrap();
    assert!(refused(&folder).contains("belongs to another user, or others can write it"));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// The error of an attempt that must not wait for the writer of a FIFO.
fn at_once<T: Send + 'static>(
    attempt: impl FnOnce() -> Result<T, TraceError> + Send + 'static,
) -> String {
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(attempt().err().map(|error| error.to_string())));
    result.recv_timeout(Duration::from_secs(20)).expect("it waits").expect("it is refused")
}

fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_fifo_in_the_place_of_a_trace_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ends = |error: String| {
        assert!(error.contains("it is a FIFO, not a regular file"), "{error}");
    };
    std::fs::create_dir(at("a")).unwrap();
    fifo(&at("a/trace.json"));
    let path = at("a");
    ends(at_once(move || Trace::open(&path)));

    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(&at("b"), &meta, Limits::default()).unwrap();
    writer.event(Event::new(1, 2, 3, CallId(0))).unwrap();
    writer.finish(&meta).unwrap();
    std::fs::remove_file(at("b/calls-000000.parquet")).unwrap();
    fifo(&at("b/calls-000000.parquet"));
    let path = at("b");
    ends(at_once(move || Trace::open(&path)?.events(|_| Ok(()))));
}

/// A bit that a disk or a wire has changed is an error, never another event.
#[test]
fn a_changed_bit_of_a_page_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("trace");
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(&at, &meta, Limits::default()).unwrap();
    for index in 0..40 {
        let offset = (index % 3 > 0).then_some(index * index);
        let event = Event::new(index * 977, 2, 3, CallId(u16::try_from(index % 5).unwrap()));
        writer.event(Event { offset, length: Some(index % 7), ..event }).unwrap();
    }
    writer.finish(&meta).unwrap();
    let segment = at.join("calls-000000.parquet");
    let whole = std::fs::read(&segment).unwrap();
    let read = || {
        let mut events = Vec::new();
        let read = Trace::open(&at)?.events(|event| {
            events.push(event);
            Ok(())
        });
        read.map(|unknown| (unknown, events))
    };
    let expected = read().unwrap();
    let footer = whole[whole.len() - 8..].first_chunk().map(|four| u32::from_le_bytes(*four));
    let pages = 4..whole.len() - 8 - footer.unwrap() as usize;
    let mut unnoticed = Vec::new();
    for place in pages {
        let mut changed = whole.clone();
        changed[place] ^= 1 << (place % 8);
        std::fs::write(&segment, changed).unwrap();
        if read().is_ok_and(|found| found != expected) {
            unnoticed.push(place);
        }
    }
    assert_eq!(unnoticed, [0; 0]);
}
