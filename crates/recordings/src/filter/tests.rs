use super::*;
use seekwell_trace::calls::CallId;
use seekwell_trace::{Event, Operation, ProcessEntry, Request, RequestFlags};

/// Ten calls of two processes on two files, one every 10 ns, each with a request.
fn trace(folder: &Path) -> Trace {
    let meta = Meta {
        duration_ns: Some(100),
        started_unix_ns: Some(1_000),
        requests: true,
        ..Meta::new("test")
    };
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for (id, path) in [(0, "/srv/mail/1"), (1, "/srv/mailman")] {
        let path = Some(path.to_owned());
        let id = FileId(id);
        writer.file(FileEntry { id, path, device: None, inode: None, mode: None, bytes: None });
    }
    for process in [7, 8] {
        writer.process(ProcessEntry { process, parent: None, start_ns: 0, name: None });
    }
    for nth in 0..10_u32 {
        let (start_ns, process) = (u64::from(nth) * 10, 7 + nth / 5);
        let event = Event::new(start_ns, process, process, CallId(0));
        writer.event(Event { file: Some(FileId(nth % 2)), ..event }).unwrap();
        let request = Request {
            start_ns,
            duration_ns: Some(1),
            process: Some(process),
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

/// The part that a filter keeps.
struct Part {
    /// Start and process of each call.
    calls: Vec<(u64, u32)>,
    requests: usize,
    files: Vec<String>,
    processes: Vec<u32>,
    meta: Meta,
}

fn kept(filter: &Filter) -> Part {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("part");
    super::filter(&trace(&folder.path().join("whole")), &output, filter).unwrap();
    let part = Trace::open(&output).unwrap();
    let (mut calls, mut requests) = (Vec::new(), 0);
    let each = |event: Event| {
        calls.push((event.start_ns, event.process));
        Ok(())
    };
    part.events(each).unwrap();
    let count = |_| {
        requests += 1;
        Ok(())
    };
    part.requests(count).unwrap();
    let files = part.files().unwrap().into_iter().filter_map(|file| file.path).collect();
    let processes = part.processes().unwrap().into_iter().map(|entry| entry.process).collect();
    Part { calls, requests, files, processes, meta: part.meta().clone() }
}

#[test]
fn a_time_is_cut_out_and_begins_at_zero() {
    let Part { calls, requests, files, processes, meta } =
        kept(&Filter { from_ns: 30, to_ns: Some(60), ..Filter::default() });
    assert_eq!(calls, [(0, 7), (10, 7), (20, 8)]);
    assert_eq!((requests, files.len(), processes), (3, 2, vec![7, 8]));
    assert_eq!((meta.started_unix_ns, meta.duration_ns), (Some(1_030), Some(30)));
}

#[test]
fn a_directory_keeps_what_is_below_and_not_its_namesakes() {
    let filter = Filter { paths: vec!["/srv/mail/".to_owned()], ..Filter::default() };
    let Part { calls, requests, files, meta, .. } = kept(&filter);
    assert_eq!(calls.len(), 5);
    assert_eq!(files, ["/srv/mail/1"]);
    assert_eq!(requests, 10, "requests have no path");
    assert_eq!(meta.gaps, ["block requests are those of all files"]);
}

#[test]
fn a_process_is_kept_alone() {
    let Part { calls, requests, processes, .. } =
        kept(&Filter { processes: vec![8], ..Filter::default() });
    assert_eq!(calls, [(50, 8), (60, 8), (70, 8), (80, 8), (90, 8)]);
    assert_eq!((requests, processes), (5, vec![8]));
}

#[test]
fn durations_end_with_the_part_and_what_began_before_it_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, output) = (folder.path().join("whole"), folder.path().join("part"));
    let meta = Meta { duration_ns: Some(100), ..Meta::new("test") };
    let mut writer = TraceWriter::create(&whole, &meta, Limits::default()).unwrap();
    let rows =
        [(0, Some(5)), (5, Some(20)), (12, None), (15, Some(15)), (20, Some(11)), (30, Some(1))];
    for (start_ns, duration_ns) in rows {
        let event = Event::new(start_ns, 7, 7, CallId(0));
        writer.event(Event { duration_ns, ..event }).unwrap();
    }
    writer.finish(&meta).unwrap();
    let filter = Filter { from_ns: 10, to_ns: Some(30), ..Filter::default() };
    super::filter(&Trace::open(&whole).unwrap(), &output, &filter).unwrap();
    let part = Trace::open(&output).unwrap();
    let mut kept = Vec::new();
    part.events(|event| {
        kept.push((event.start_ns, event.duration_ns));
        Ok(())
    })
    .unwrap();
    assert_eq!(kept, [(2, None), (5, Some(15)), (10, Some(10))]);
    let expected = [
        "1 calls and block requests began before the start of this part: left out",
        "1 calls and block requests ended after the end of this part: their durations are cut there",
    ];
    assert_eq!(part.meta().gaps, expected);
}

#[test]
fn a_part_without_anything_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, output) = (trace(&folder.path().join("whole")), folder.path().join("part"));
    let all = Filter::default;
    let cases = [
        (Filter { processes: vec![99], ..all() }, "no call or block request of process 99;"),
        (
            Filter { paths: vec!["/no/such".to_owned()], ..all() },
            "no call on files at or below /no/such;",
        ),
        (Filter { from_ns: 2_000, ..all() }, "no call or block request from 2.00 µs to its end;"),
        (
            Filter { from_ns: 10, to_ns: Some(5), ..all() },
            "no call or block request from 10 ns to 5 ns;",
        ),
    ];
    for (filter, expected) in cases {
        let error = super::filter(&whole, &output, &filter).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!output.exists());
    }
}
