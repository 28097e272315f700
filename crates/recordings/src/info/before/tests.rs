use crate::info::Summary;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::{Meta, Tree};
use seekwell_trace::{Event, FileEntry, FileId, InitialEntry, Limits, Trace, TraceWriter};

#[test]
fn what_is_overwritten_or_removed_unseen_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let tree = |root: &str, complete| Tree { root: root.to_owned(), complete };
    let meta =
        Meta { initial: vec![tree("/whole", true), tree("/part", false)], ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    for path in ["/whole/a", "/part/a"] {
        let (path, mode) = (path.to_owned(), 0o100_644);
        let entry = InitialEntry { path, mode, bytes: 1, ..InitialEntry::default() };
        writer.initial(InitialEntry { allocated_bytes: 4096, ..entry }).unwrap();
    }
    let paths = [
        "/whole/a", "/whole/new", "/part/a", "/part/b", "/else/cut", "/else/fresh", "/else/read",
        "/else/cut",
    ];
    for (id, path) in (0..).zip(paths) {
        writer.file(FileEntry {
            id: FileId(id),
            path: Some((*path).to_owned()),
            device: None,
            inode: None,
            mode: None,
            bytes: None,
        });
    }
    let call = |name: &str, file: u32, flags: u64| Event {
        file: Some(FileId(file)),
        result: Some(0),
        flags: Some(flags),
        ..Event::new(0, 1, 1, CallId::named(name).unwrap())
    };
    let cut = super::O_CREAT | super::O_TRUNC;
    let rename = Event { to_file: Some(FileId(3)), ..call("rename", 1, 0) };
    let failed = Event { result: Some(-2), ..call("unlink", 4, 0) };
    let events = [
        call("openat", 0, cut),
        call("openat", 1, cut),
        call("unlink", 2, 0),
        rename, // over /part/b: unknown
        failed,
        call("openat", 4, cut), // unknown
        call("openat", 5, cut | super::O_EXCL),
        call("openat", 6, 0),
        call("unlink", 6, 0),
        // The path of file 4 anew, as another file.
        call("unlink", 7, 0),
    ];
    events.into_iter().for_each(|event| writer.event(event).unwrap());
    writer.finish(&meta).unwrap();
    let summary = Summary::of(&Trace::open(folder.path()).unwrap()).unwrap();
    assert_eq!((summary.known_before, summary.unknown_before), (2, 2));
}
