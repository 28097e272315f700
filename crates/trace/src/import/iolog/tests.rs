use super::*;
use crate::read::Trace;

type Row = (u64, &'static str, Option<u64>, Option<u64>);

fn imported(text: &str) -> (Imported, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("log"), folder.path().join("trace"));
    std::fs::write(&input, text).unwrap();
    let counts = iolog(&input, &output).unwrap();
    let mut rows = Vec::new();
    let each = |event: Event| {
        rows.push((event.start_ns, event.call.call().name, event.offset, event.length));
        Ok(())
    };
    Trace::open(&output).unwrap().events(each).unwrap();
    (counts, rows)
}

#[test]
fn version_2_adds_up_its_waits() {
    let text = "fio version 2 iolog\n/d/a add\n/d/a open\n/d/a write 0 4096\nwait 250\n\
                /d/a read 4096 512\n/d/a wait 50 0\n/d/a trim 0 4096\n/d/a sync 0 0\n/d/a close\n\
                /d/a write 1\n/d/a jump 1 2\n";
    let (counts, rows) = imported(text);
    assert_eq!((counts.events, counts.other, counts.damaged), (6, 1, 2));
    let expected = [
        (0, "openat", None, None),
        (0, "pwrite64", Some(0), Some(4096)),
        (250_000, "pread64", Some(4096), Some(512)),
        (300_000, "fallocate", Some(0), Some(4096)),
        (300_000, "fsync", None, None),
        (300_000, "close", None, None),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn version_3_has_times() {
    let text = "fio version 3 iolog\n100 /d/a add\n120 /d/a open\n150 /d/a datasync\n\
                170 /d/a write 8192 100\nlate /d/a close\n";
    let (counts, rows) = imported(text);
    assert_eq!((counts.events, counts.damaged), (3, 1));
    let expected = [
        (120_000, "openat", None, None),
        (150_000, "fdatasync", None, None),
        (170_000, "pwrite64", Some(8192), Some(100)),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn another_head_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("log");
    std::fs::write(&input, "fio version 9 iolog\n").unwrap();
    let error = iolog(&input, &folder.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("write_iolog"), "{error}");
}

/// Unit of the times of a log, and the length of its trace.
fn unit(times: impl Iterator<Item = u64>) -> (String, Option<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("log"), folder.path().join("trace"));
    let head = "fio version 3 iolog\n0 /d/a add\n0 /d/a open\n".to_owned();
    let rows = times.map(|time| format!("{time} /d/a read 0 4096\n"));
    std::fs::write(&input, head + &rows.collect::<String>()).unwrap();
    iolog(&input, &output).unwrap();
    let meta = Trace::open(&output).unwrap().meta().clone();
    (meta.gaps[0].clone(), meta.duration_ns)
}

#[test]
fn nanoseconds_are_known_by_what_microseconds_cannot_be() {
    // As fio writes them: a step of 20 can be no nanoseconds.
    let (said, length) = unit((1..50).map(|nth| nth * 20 + nth / 5 * 7_000));
    assert_eq!((said.as_str(), length), ("times are those of the submission", Some(63_980_000)));
    let (said, length) = unit((1..50).map(|nth| nth * 113_000));
    assert!(said.contains("read as nanoseconds"), "{said}");
    assert_eq!(length, Some(5_537_000));
    // A disk of 10 ms, or an SSD of 10 µs.
    let (said, length) = unit((1..50).map(|nth| nth * 10_123));
    assert!(said.contains("could as well hold nanoseconds"), "{said}");
    assert_eq!(length, Some(496_027_000));
    // A log with a resolution of a millisecond: several lines have one time.
    let (said, _) = unit((1..50).map(|nth| nth / 4 * 1_000));
    assert!(said.contains("could as well hold nanoseconds"), "{said}");
}
