use super::*;
use seekwell_trace::calls::CallId;
use seekwell_trace::{Event, Trace};

/// A record with its length before it, as the kernel writes it.
fn frame(record: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(record.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend_from_slice(record);
    bytes
}

fn mark(kind: u32, lost: u32, at_ns: u64) -> Vec<u8> {
    let mut bytes = [kind.to_ne_bytes(), lost.to_ne_bytes()].concat();
    bytes.extend(at_ns.to_ne_bytes());
    frame(&bytes)
}

fn added(kind: u32, value: &Value) -> Vec<u8> {
    frame(&[kind.to_ne_bytes().as_slice(), value.to_string().as_bytes()].concat())
}

/// A record of a path; its names are in the order from the file up.
fn path(kind: u32, slot: u32, fd: i32, names: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    put(0, kind);
    put(4, u32::try_from(names.len()).unwrap());
    put(16, 7);
    put(20, 7);
    put(24, 12);
    put(44, 0o100_644);
    put(48, slot);
    put(52, 1);
    put(56, fd.cast_unsigned());
    put(60, u32::MAX);
    bytes.extend_from_slice(names);
    frame(&bytes)
}

fn call(name: &str, times: [u64; 2], result: i64, args: [u64; 2]) -> Vec<u8> {
    let mut bytes = vec![0; 112];
    let number = u32::from(CallId::named(name).unwrap().call().number);
    bytes[0..4].copy_from_slice(&1_u32.to_ne_bytes());
    bytes[4..8].copy_from_slice(&number.to_ne_bytes());
    let longs =
        [(8, times[1]), (16, times[0]), (32, result.cast_unsigned()), (48, args[0]), (56, args[1])];
    for (at, long) in longs {
        bytes[at..at + 8].copy_from_slice(&long.to_ne_bytes());
    }
    bytes[24] = 7;
    bytes[28] = 7;
    frame(&bytes)
}

fn traced(records: &[u8]) -> (u64, Trace, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("trace");
    let events = trace_of(&mut &*records, &place, "6.12-test").unwrap();
    (events, Trace::open(&place).unwrap(), folder)
}

#[test]
fn held_descriptors_and_the_working_directory_name_the_files_of_calls() {
    let here = (-100_i64).cast_unsigned();
    let records = [
        mark(BEGUN, 0, 1_000),
        path(32, 0, 5, b"held\0mnt\0"),
        path(32, 3, -1, b"base\0mnt\0"),
        call("fsync", [1_100, 1_400], 0, [5, 0]),
        path(2, 1, -1, b"new\0"),
        call("unlinkat", [1_500, 1_600], 0, [here, 0]),
        // No process of this kernel is asked for what no record tells.
        call("fsync", [1_700, 1_800], 0, [0, 0]),
        mark(ENDED, 0, 2_000),
    ]
    .concat();
    let (events, trace, _folder) = traced(&records);
    assert_eq!(events, 3);
    let files = trace.files().unwrap();
    let mut rows = Vec::new();
    let each = |event: Event| {
        let file = event.file.and_then(|id| files.iter().find(|file| file.id == id));
        let name = file.and_then(|file| file.path.clone());
        rows.push((event.start_ns, event.duration_ns.unwrap(), event.call.call().name, name));
        Ok(())
    };
    trace.events(each).unwrap();
    let named = |text: &str| Some(text.to_owned());
    let expected = [
        (100, 300, "fsync", named("/mnt/held")),
        (500, 100, "unlinkat", named("/mnt/base/new")),
        (700, 100, "fsync", None),
    ];
    assert_eq!(rows, expected);
    let meta = trace.meta();
    assert_eq!((meta.duration_ns, meta.kernel.as_deref()), (Some(1_000), Some("6.12-test")));
    assert_eq!((meta.lost_events(), meta.requests, meta.faults), (0, false, true));
}

fn attribute(name: &str, bytes: u32) -> InitialAttribute {
    InitialAttribute { name: name.to_owned(), bytes }
}

#[test]
fn a_walked_tree_comes_out_as_it_went_in() {
    let entries =
        [None, Some(Content::Zero), Some(Content::Compressible(40)), Some(Content::Random)].map(
            |content| InitialEntry {
                path: "/mnt/base/a \"b\"".to_owned(),
                device: Some(1 << 20 | 3),
                inode: Some(u64::MAX),
                mode: 0o100_600,
                owner: Some(0),
                group: None,
                bytes: 1 << 40,
                allocated_bytes: 512,
                content,
                birth_ms: content.map(|_| 1_700_000_000_123),
                target: content.map(|_| "../b".to_owned()),
                attributes: content.iter().map(|_| attribute("user.a b", 7)).collect(),
                data: content
                    .map(|_| DataRange { start: 4096, bytes: 1 << 40 })
                    .into_iter()
                    .collect(),
            },
        );
    let mut records: Vec<u8> =
        entries.iter().flat_map(|entry| added(INITIAL, &initial_value(entry))).collect();
    records.extend(added(TREE, &json!(["/mnt/base", true])));
    records.extend(mark(ENDED, 4, 9));
    let (events, trace, _folder) = traced(&records);
    let mut found = Vec::new();
    let each = |entry: InitialEntry| {
        found.push(entry);
        Ok(())
    };
    trace.initial(each).unwrap();
    assert_eq!((events, found.as_slice()), (0, entries.as_slice()));
    let root = "/mnt/base".to_owned();
    assert_eq!(trace.meta().initial, [Tree { root, complete: true }]);
    assert_eq!(trace.meta().lost, [Lost { cpu: Some(0), kind: "records".to_owned(), count: 4 }]);
}

#[test]
fn damaged_records_are_an_error_and_leave_no_trace() {
    let whole = [mark(BEGUN, 0, 1), call("fsync", [2, 3], 0, [9, 0])].concat();
    let mut long = mark(BEGUN, 0, 1);
    long.extend(u32::MAX.to_ne_bytes());
    for records in [&whole[..whole.len() - 1], long.as_slice()] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("trace");
        let error = trace_of(&mut &*records, &place, "").unwrap_err();
        assert!(error.to_string().starts_with("cannot trace the guest's records: "), "{error}");
        assert!(!place.join("trace.json").exists());
    }
}

#[test]
fn a_kernel_that_does_not_record_is_named_with_the_remedy() {
    let error = Recording::open().unwrap_err().to_string();
    assert!(error.ends_with("seekwell kernel build --set layers"), "{error}");
}
