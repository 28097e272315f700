use super::*;
use crate::filter::{Filter, filter};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Mount;
use seekwell_trace::{FileEntry, Operation, ProcessEntry, RequestFlags};

fn file(id: u32, path: &str, inode: u64) -> FileEntry {
    FileEntry {
        id: FileId(id),
        path: Some(path.to_owned()),
        device: Some(1),
        inode: Some(inode),
        mode: None,
        bytes: None,
    }
}

fn trace(folder: &Path, started_unix_ns: u64, files: &[FileEntry], times: &[u64]) -> Trace {
    let meta = Meta {
        started_unix_ns: Some(started_unix_ns),
        duration_ns: Some(1000),
        gaps: vec!["the same gap".to_owned()],
        ..Meta::new("test")
    };
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    files.iter().for_each(|file| writer.file(file.clone()));
    writer.process(ProcessEntry { process: 5, parent: None, start_ns: 0, name: None });
    for (nth, time) in (0_u32..).zip(times) {
        let file = Some(FileId(nth % u32::try_from(files.len()).unwrap()));
        let call = CallId::named("read").unwrap();
        writer
            .event(Event { file, duration_ns: Some(1), ..Event::new(*time, 5, 5, call) })
            .unwrap();
        let request = Request {
            start_ns: *time,
            duration_ns: None,
            process: None,
            device: 1,
            operation: Operation::Read,
            flags: RequestFlags::default(),
            sector: 0,
            bytes: 512,
            depth: None,
        };
        writer.request(request).unwrap();
    }
    writer.finish(&meta).unwrap();
    Trace::open(folder).unwrap()
}

fn rows(trace: &Trace) -> Vec<(u64, String)> {
    let files = trace.files().unwrap();
    let mut rows = Vec::new();
    let each = |event: Event| {
        let path = files[event.file.unwrap().0 as usize].path.clone().unwrap();
        rows.push((event.start_ns, path));
        Ok(())
    };
    trace.events(each).unwrap();
    rows
}

#[test]
fn traces_are_joined_by_time_and_files_by_path_and_inode() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let one = trace(&path("1"), 5_000, &[file(0, "/a", 1), file(1, "/b", 2)], &[0, 10, 700]);
    let two = trace(&path("2"), 5_600, &[file(0, "/b", 2), file(1, "/a", 9)], &[0, 50, 200]);
    assert_eq!(merge(&[two, one], &path("both")).unwrap(), 12);
    let both = Trace::open(&path("both")).unwrap();
    let named = |time, path: &str| (time, path.to_owned());
    let expected = [
        named(0, "/a"),
        named(10, "/b"),
        named(600, "/b"),
        named(650, "/a"),
        named(700, "/a"),
        named(800, "/b"),
    ];
    assert_eq!(rows(&both), expected);
    // /a is two files: another inode.
    assert_eq!(both.files().unwrap().len(), 3);
    assert_eq!((both.meta().started_unix_ns, both.meta().duration_ns), (Some(5_000), Some(1600)));
    assert_eq!(both.meta().gaps, ["the same gap"]);
    let mut requests = Vec::new();
    let each = |request: Request| {
        requests.push(request.start_ns);
        Ok(())
    };
    both.requests(each).unwrap();
    assert_eq!(requests, [0, 10, 600, 650, 700, 800]);
}

#[test]
fn halves_of_a_trace_become_the_whole_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let times: Vec<u64> = (0..9000).map(|nth| nth * 3).collect();
    let whole = trace(&path("whole"), 1, &[file(0, "/a", 1)], &times);
    let half = |name: &str, from_ns, to_ns| {
        let part = Filter { from_ns, to_ns, ..Filter::default() };
        filter(&whole, &path(name), &part).unwrap();
        Trace::open(&path(name)).unwrap()
    };
    let (first, second) = (half("first", 0, Some(13_000)), half("second", 13_000, None));
    merge(&[first, second], &path("again")).unwrap();
    assert_eq!(rows(&Trace::open(&path("again")).unwrap()), rows(&whole));
}

#[test]
fn places_outside_of_a_container_stay_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mount = |inside: &str| Mount { inside: inside.to_owned(), outside: "/var/a".to_owned() };
    let part = |name: &str, mounts: &[Mount]| {
        let meta = Meta { mounts: mounts.to_vec(), ..Meta::new("test") };
        let writer = TraceWriter::create(&path(name), &meta, Limits::default()).unwrap();
        writer.finish(&meta).unwrap();
        Trace::open(&path(name)).unwrap()
    };
    let parts = [part("1", &[mount("/a")]), part("2", &[mount("/a"), mount("/b")])];
    merge(&parts, &path("both")).unwrap();
    assert_eq!(Trace::open(&path("both")).unwrap().meta().mounts, [mount("/a"), mount("/b")]);
}

#[test]
fn a_damaged_trace_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let one = trace(&path("1"), 1, &[file(0, "/a", 1)], &[1, 2]);
    let two = trace(&path("2"), 1, &[file(0, "/a", 1)], &[1, 2]);
    std::fs::write(path("2").join("calls-000000.parquet"), b"PAR1").unwrap();
    assert!(matches!(merge(&[one, two], &path("out")), Err(TraceError::Segment { .. })));
}

#[test]
fn the_time_between_the_parts_is_not_recorded_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let part = |name: &str, started_unix_ns| {
        trace(&path(name), started_unix_ns, &[file(0, "/a", 1)], &[0])
    };
    let made = |traces: &[Trace], name: &str| {
        merge(traces, &path(name)).unwrap();
        Trace::open(&path(name)).unwrap()
    };
    // Each is 1,000 ns long; the second and third overlap.
    let both = made(&[part("1", 5_000), part("2", 8_000), part("3", 8_500)], "both");
    assert_eq!(both.meta().unrecorded_ns, [(1_000, 3_000)]);
    let more = made(&[both, part("4", 6_500)], "more");
    assert_eq!(more.meta().unrecorded_ns, [(1_000, 1_500), (2_500, 3_000)]);
    let cut = Filter { from_ns: 1_200, to_ns: Some(2_700), ..Filter::default() };
    filter(&more, &path("cut"), &cut).unwrap();
    let cut = Trace::open(&path("cut")).unwrap();
    assert_eq!(cut.meta().unrecorded_ns, [(0, 300), (1_300, 1_500)]);
}

#[test]
fn one_trace_with_names_makes_a_trace_with_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let part = |name: &str, anonymous| {
        let meta = Meta { anonymous, ..Meta::new("test") };
        TraceWriter::create(&path(name), &meta, Limits::default()).unwrap().finish(&meta).unwrap();
        Trace::open(&path(name)).unwrap()
    };
    for (name, (one, two), expected) in [("a", (true, false), false), ("b", (true, true), true)] {
        let parts = [part(&format!("{name}1"), one), part(&format!("{name}2"), two)];
        merge(&parts, &path(name)).unwrap();
        assert_eq!(Trace::open(&path(name)).unwrap().meta().anonymous, expected);
    }
}
