use super::*;
use seekwell_trace::calls::CallId;

const HERE: [&str; 3] = ["/t/a", "/t/b", "/t/d"];

/// The changes of events, of which the nth ends at 10 n + 5.
fn changes(events: Vec<Event>, written: &[(u64, &[u8])]) -> Vec<Change> {
    let paths = (0..).zip(HERE).map(|(id, path)| (FileId(id), Rc::from(path))).collect();
    let pieces = |(start_ns, data): &(u64, &[u8])| ((1, *start_ns), vec![(0, data.to_vec())]);
    let written = written.iter().map(pieces).collect();
    let mut reader = Reader { paths, written, ..Reader::default() };
    for (nth, event) in (0..).zip(&events) {
        (reader.start_ns, reader.end_ns) = (10 * nth, 10 * nth + 5);
        reader.take(event);
    }
    reader.changes.all.into_iter().map(|timed| timed.change).collect()
}

fn event(call: &str, file: u32) -> Event {
    let file = Some(FileId(file));
    Event { file, result: Some(0), ..Event::new(0, 1, 1, CallId::named(call).unwrap()) }
}

fn opened(file: u32, flags: u64) -> Event {
    Event { fd: Some(3), flags: Some(flags), ..event("openat", file) }
}

fn written(file: u32, at: u64, bytes: i64) -> Event {
    let (fd, offset, result) = (Some(3), Some(at), Some(bytes));
    Event { fd, offset, result, ..event("pwrite64", file) }
}

fn named(path: &str, node: Option<Node>, cause: Cause) -> Change {
    Change::Name { path: path.into(), node, cause }
}

#[test]
fn calls_become_changes_of_names_and_data() {
    let events = vec![
        opened(0, O_CREAT),
        written(0, 4, 2),
        event("fdatasync", 0),
        Event { to_file: Some(FileId(1)), ..event("rename", 0) },
        event("fsync", 2),
        event("unlink", 1),
    ];
    let data = Rc::from(*b"xy");
    let expected = [
        named("/t/a", Some(0), Cause::Made),
        Change::Data { node: 0, at: 4, data, is_durable: false },
        Change::Sync { node: 0, with_names: false },
        Change::SyncNames { directory: "/t/a".into() },
        named("/t/a", None, Cause::Renamed),
        named("/t/b", Some(0), Cause::Renamed),
        Change::SyncNames { directory: "/t/d".into() },
        named("/t/b", None, Cause::Removed),
    ];
    assert_eq!(changes(events, &[(10, b"xy")]), expected);
}

#[test]
fn a_descriptor_opened_with_o_dsync_writes_durably() {
    let events =
        vec![opened(0, O_CREAT | O_DSYNC), written(0, 0, 1), opened(0, 0), written(0, 0, 1)];
    let found = changes(events, &[(10, b"x"), (30, b"y")]);
    let durable = |change: &Change| match change {
        Change::Data { is_durable, .. } => Some(*is_durable),
        _ => None,
    };
    assert_eq!(found.iter().filter_map(durable).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn data_that_no_record_has_are_unseen() {
    let events = vec![opened(0, O_CREAT), written(0, 0, 2)];
    let expected = [named("/t/a", Some(0), Cause::Made), Change::Unseen { node: 0 }];
    assert_eq!(changes(events, &[(10, b"x")]), expected);
}

#[test]
fn a_hole_and_a_zeroed_range_are_zeros_and_only_the_second_extends() {
    let fallocate = |flags| {
        let (fd, offset, length) = (Some(3), Some(4), Some(2));
        Event { fd, offset, length, flags: Some(flags), ..event("fallocate", 0) }
    };
    let events = vec![opened(0, O_CREAT), fallocate(3), fallocate(0x10), event("fsync", 0)];
    let zeros = Change::Zeros { node: 0, at: 4, bytes: 2 };
    let expected = [
        named("/t/a", Some(0), Cause::Made),
        zeros.clone(),
        zeros,
        Change::Data { node: 0, at: 6, data: Rc::from([]), is_durable: false },
        Change::Sync { node: 0, with_names: true },
        Change::SyncNames { directory: "/t/a".into() },
    ];
    assert_eq!(changes(events, &[]), expected);
}
