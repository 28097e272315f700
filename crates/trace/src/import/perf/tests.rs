use super::*;
use crate::read::Trace;

type Row = (u64, Option<u64>, u32, &'static str, Option<i64>);

struct Made {
    counts: Imported,
    rows: Vec<Row>,
    /// Path, offset and length of each row.
    places: Vec<(Option<String>, Option<u64>, Option<u64>)>,
    names: Vec<(u32, Option<String>)>,
    meta: Meta,
}

fn imported(text: &str) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("log"), folder.path().join("trace"));
    std::fs::write(&input, text).unwrap();
    let counts = perf(&input, &output).unwrap();
    let trace = Trace::open(&output).unwrap();
    let files = trace.files().unwrap();
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    trace
        .events(|event| {
            let call = event.call.call().name;
            rows.push((event.start_ns, event.duration_ns, event.thread, call, event.result));
            let file = files.iter().find(|file| Some(file.id) == event.file);
            let path = file.and_then(|file| file.path.clone());
            places.push((path, event.offset, event.length));
            Ok(())
        })
        .unwrap();
    let processes = trace.processes().unwrap();
    let names = processes.into_iter().map(|entry| (entry.process, entry.name)).collect();
    Made { counts, rows, places, names, meta: trace.meta().clone() }
}

#[test]
fn calls_have_times_files_and_results() {
    let text = r#"         ? (         ): sh/70  ... [continued]: execve())                     = 0
     1.091 ( 0.020 ms): sh/70 brk()                                       = 0x562468db3000
     1.400 ( 0.017 ms): sh/70 openat(dfd: CWD, filename: "/srv/a,b", flags: CREAT|WRONLY, mode: IRUGO) = 4
     1.500 ( 0.013 ms): sh/70 write(fd: 4</srv/a,b>, buf: 0x7ffc5f5843f8, count: 832) = 832
     1.600 ( 0.013 ms): sh/70 write(fd: 4</srv/a,b>, buf: 0x7ffc5f5843f8, count: 100) = 100
     1.700 ( 0.013 ms): sh/70 pread64(fd: 4</srv/a,b>, buf: 0x7ffc5f584010, count: 784, pos: 64) = 784
     1.800 ( 0.013 ms): sh/70 openat(dfd: CWD, filename: 0xec1ae2a0)      = -1 ENOENT (No such file or directory)
     1.900 (         ): sh/70 fsync(fd: 4</srv/a,b>)                      ...
     2.000 ( 0.001 ms): true/71 majfault [elf_load+0x28a] => 0x56285bbf91e0 (?k)
LOST 12 events!
     1.900 (25.231 ms): sh/70  ... [continued]: fsync())                  = 0
"#;
    let made = imported(text);
    let expected: [Row; 7] = [
        (0, None, 70, "execve", Some(0)),
        (1_400_000, Some(17_000), 70, "openat", Some(4)),
        (1_500_000, Some(13_000), 70, "write", Some(832)),
        (1_600_000, Some(13_000), 70, "write", Some(100)),
        (1_700_000, Some(13_000), 70, "pread64", Some(784)),
        (1_800_000, Some(13_000), 70, "openat", Some(-2)),
        (1_900_000, Some(25_231_000), 70, "fsync", Some(0)),
    ];
    assert_eq!(made.rows, expected);
    let file = || Some("/srv/a,b".to_owned());
    let places = [
        (None, None, None),
        (file(), None, None),
        (file(), Some(0), Some(832)),
        (file(), Some(832), Some(100)),
        (file(), Some(64), Some(784)),
        (None, None, None),
        (file(), None, None),
    ];
    assert_eq!(made.places, places);
    assert_eq!(made.names, [(70, Some("sh".to_owned()))]);
    assert_eq!((made.counts.events, made.counts.other, made.counts.damaged), (7, 2, 0));
    assert_eq!(made.meta.lost_events(), 12);
    assert!(made.meta.gaps[3].starts_with("1 calls name their file by an address alone"));
    assert_eq!(made.meta.duration_ns, Some(27_131_000));
}

#[test]
fn a_single_thread_has_no_name() {
    let made = imported("     0.010 ( 0.002 ms): read(fd: 3</d/a>, buf: 0x1, count: 9) = 0\n");
    assert_eq!(made.rows, [(10_000, Some(2_000), 1, "read", Some(0))]);
    assert_eq!(made.names, [(1, None)]);
}

#[test]
fn other_texts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("log"), folder.path().join("trace"));
    std::fs::write(&input, "7 1.000001 read(3, \"\", 1) = 1\nhello\n").unwrap();
    let error = perf(&input, &output).unwrap_err().to_string();
    assert!(error.ends_with("record with `perf trace -o FILE COMMAND`"), "{error}");
    assert!(!output.exists());
}

#[test]
fn times_from_the_start_of_the_machine_count_from_the_first_call() {
    let text = "         ? (         ): sh/70  ... [continued]: execve())   = 0\n\
                2663010.500 ( 0.002 ms): sh/70 read(fd: 3</d/a>, buf: 0x1, count: 9)  = 0\n\
                2663011.000 ( 0.002 ms): sh/70 read(fd: 3</d/a>, buf: 0x1, count: 9)  = 0\n";
    let made = imported(text);
    let starts: Vec<u64> = made.rows.iter().map(|row| row.0).collect();
    assert_eq!(starts, [0, 0, 500_000]);
    assert_eq!(made.meta.duration_ns, Some(502_000));
}
