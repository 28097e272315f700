use super::*;
use crate::calls::CallId;
use crate::event::{InitialEntry, Operation, ProcessEntry, Request, RequestFlags};
use tempfile::TempDir;

const FILES: [(&str, u32); 5] = [
    ("/srv/db/base/1", 0o100_600),
    ("/srv/db/wal/1", 0o100_600),
    ("/srv/db", 0o040_700),
    ("pipe:[1]", 0o010_000),
    ("/srv/db/base/deep/2", 0o100_600),
];

fn entry(path: &str) -> InitialEntry {
    InitialEntry {
        path: path.to_owned(),
        device: None,
        inode: None,
        mode: 0o100_600,
        owner: None,
        group: None,
        bytes: 1,
        allocated_bytes: 4096,
        content: None,
        birth_ms: None,
        target: None,
        attributes: Vec::new(),
        data: Vec::new(),
    }
}

/// Calls of two processes on files of a database.
fn made() -> (TempDir, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(&path, &meta, Limits::default()).unwrap();
    for (id, (path, mode)) in (0..).map(FileId).zip(FILES) {
        let (path, mode) = (Some(path.to_owned()), Some(mode));
        writer.file(FileEntry { id, path, device: None, inode: None, mode, bytes: None });
    }
    ["/srv/db", "/srv/db/base", "/srv/db/base/1", "/srv/db/wal/1", "/srv/db/wal/2"]
        .iter()
        .for_each(|path| writer.initial(entry(path)).unwrap());
    for (process, name) in [(7, "db: ../writer"), (8, "db")] {
        let (parent, name) = (None, Some(name.to_owned()));
        writer.process(ProcessEntry { process, parent, start_ns: 0, name });
    }
    let rows = [(7, Some(0)), (7, Some(1)), (8, Some(1)), (7, Some(2)), (7, Some(3)), (7, None)];
    for (nth, (process, file)) in (0..).zip(rows.into_iter().chain([(8, Some(4)), (7, Some(0))])) {
        let event = Event::new(nth, process, process, CallId::named("read").unwrap());
        writer.event(Event { file: file.map(FileId), ..event }).unwrap();
    }
    for process in [Some(8), None] {
        writer
            .request(Request {
                start_ns: 1,
                duration_ns: Some(1),
                process,
                device: 1,
                operation: Operation::Write,
                flags: RequestFlags::default(),
                sector: 0,
                bytes: 512,
                depth: None,
            })
            .unwrap();
    }
    writer.finish(&meta).unwrap();
    let trace = Trace::open(&path).unwrap();
    (folder, trace)
}

fn parts(by: By) -> (TempDir, Vec<(String, u64)>) {
    let (folder, trace) = made();
    let parts = split(&trace, &folder.path().join("parts"), by).unwrap();
    (folder, parts.into_iter().map(|part| (part.name, part.events)).collect())
}

fn starts(folder: &TempDir, part: &str) -> Vec<u64> {
    let trace = Trace::open(&folder.path().join("parts").join(part)).unwrap();
    let mut all = Vec::new();
    trace
        .events(|event| {
            all.push(event.start_ns);
            Ok(())
        })
        .unwrap();
    all
}

#[test]
fn each_process_is_a_part_and_no_name_leads_elsewhere() {
    let (folder, parts) = parts(By::Process);
    let expected = [("7-db--..-writer", 6), ("8-db", 3), ("rest", 1)];
    assert_eq!(parts, expected.map(|(name, events)| (name.to_owned(), events)));
    assert_eq!(starts(&folder, "8-db"), [2, 6]);
    let part = Trace::open(&folder.path().join("parts/8-db")).unwrap();
    let paths: Vec<_> = part.files().unwrap().into_iter().map(|file| file.path.unwrap()).collect();
    assert_eq!(paths, ["/srv/db/wal/1", "/srv/db/base/deep/2"]);
    let mut before = Vec::new();
    part.initial(|entry| {
        before.push(entry.path);
        Ok(())
    })
    .unwrap();
    // With the directories above its files, without the files of others.
    assert_eq!(before, ["/srv/db", "/srv/db/base", "/srv/db/wal/1"]);
    assert_eq!(part.processes().unwrap().len(), 1);
}

#[test]
fn each_directory_below_the_common_one_is_a_part() {
    let (folder, parts) = parts(By::Path);
    let expected = [("srv-db-base", 3), ("srv-db-wal", 2), ("srv-db", 1), ("rest", 2)];
    assert_eq!(parts, expected.map(|(name, events)| (name.to_owned(), events)));
    assert_eq!(starts(&folder, "srv-db-base"), [0, 6, 7]);
    assert_eq!(starts(&folder, "rest"), [4, 5]);
    let part = Trace::open(&folder.path().join("parts/srv-db-wal")).unwrap();
    assert!(!part.meta().requests);
    assert!(part.meta().gaps.last().unwrap().contains("all block requests are not in it"));
}

#[test]
fn a_folder_with_files_is_not_filled() {
    let (folder, trace) = made();
    let error = split(&trace, folder.path(), By::Process).unwrap_err().to_string();
    assert!(error.contains("exists and is not empty"), "{error}");
}
