use super::*;
use crate::calls::CallId;
use crate::event::{Operation, Request, RequestFlags};
use crate::import;
use crate::meta::Meta;
use crate::write::{Limits, TraceWriter};

fn event(call: &str, start_ns: u64, file: u32, offset: Option<u64>, result: i64) -> Event {
    Event {
        file: Some(FileId(file)),
        offset,
        length: u64::try_from(result).ok(),
        result: Some(result),
        ..Event::new(start_ns, 7, 8, CallId::named(call).unwrap())
    }
}

fn trace(folder: &Path) -> Trace {
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    let paths = [("/srv/a", 0o100_600), ("pipe:[1]", 0o010_000), ("/srv/a b,\"c\"", 0o100_600)];
    for (id, (path, mode)) in (0..).zip(paths) {
        let path = Some(path.to_owned());
        let (device, inode, bytes) = (None, None, None);
        let mode = Some(mode);
        writer.file(FileEntry { id: FileId(id), path, device, inode, mode, bytes });
    }
    let events = [
        event("write", 1_000, 0, Some(0), 4096),
        event("pread64", 2_500, 0, Some(512), 100),
        event("fdatasync", 3_000, 0, None, 0),
        event("write", 4_000, 0, None, 5),
        event("read", 5_000, 1, Some(0), 5),
        event("write", 6_000, 2, Some(0), 5),
        event("read", 7_000, 0, Some(4096), 0),
        event("read", 8_000, 0, Some(0), -5),
        event("unlink", 9_000, 0, None, 0),
    ];
    events.into_iter().for_each(|event| writer.event(event).unwrap());
    let request = Request {
        start_ns: 5,
        duration_ns: None,
        process: Some(7),
        device: 8 << 20 | 16,
        operation: Operation::Write,
        flags: RequestFlags::SYNC.with(RequestFlags::FUA),
        sector: 2048,
        bytes: 4096,
        depth: Some(1),
    };
    writer.request(request).unwrap();
    writer.finish(&meta).unwrap();
    Trace::open(folder).unwrap()
}

#[test]
fn reads_writes_and_syncs_become_a_log_that_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&folder.path().join("trace"));
    let log = folder.path().join("log");
    assert_eq!(iolog(&trace, &log).unwrap(), Exported { events: 3, left_out: 6 });
    let expected = "fio version 3 iolog\n1 /srv/a add\n1 /srv/a open\n1 /srv/a write 0 4096\n\
                    2 /srv/a read 512 100\n3 /srv/a datasync 0 0\n";
    assert_eq!(std::fs::read_to_string(&log).unwrap(), expected);
    let back = import::iolog(&log, &folder.path().join("back")).unwrap();
    assert_eq!((back.events, back.damaged), (4, 0));
    assert!(matches!(iolog(&trace, &log), Err(TraceError::Exists { .. })));
}

#[test]
fn tables_become_csv() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&folder.path().join("trace"));
    let (calls, requests) = (folder.path().join("calls"), folder.path().join("requests"));
    assert_eq!(csv(&trace, Table::Calls, &calls).unwrap(), Exported { events: 9, left_out: 0 });
    let text = std::fs::read_to_string(&calls).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[1], "1000,,7,8,write,,/srv/a,,0,4096,4096,,,,,,");
    assert_eq!(lines[6], "6000,,7,8,write,,\"/srv/a b,\"\"c\"\"\",,0,5,5,,,,,,");
    assert_eq!(lines[8], "8000,,7,8,read,,/srv/a,,0,,-5,,,,,,");
    assert_eq!(csv(&trace, Table::Requests, &requests).unwrap().events, 1);
    let text = std::fs::read_to_string(&requests).unwrap();
    assert_eq!(text.lines().last(), Some("5,,7,8:16,write,SF,2048,4096,1"));
}
