use super::*;
use seekwell_trace::{Request, Trace};

/// A record; `action` has the category in its upper half.
fn record(
    big: bool,
    time_ns: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    payload: &[u8],
) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let length = u16::try_from(payload.len()).unwrap();
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    [
        &word(MAGIC | VERSION)[..],
        &word(1),
        &long(time_ns),
        &long(sector),
        &word(bytes),
        &word(action),
        &word(77),
        &word(8 << 20 | 1),
        &word(0),
        &half(0),
        &half(length),
        payload,
    ]
    .concat()
}

fn imported(files: &[(&str, Vec<u8>)], input: &str) -> (Imported, Vec<Request>, Trace) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let output = folder.path().join("trace");
    let counts = blktrace(&folder.path().join(input), &output).unwrap();
    let trace = Trace::open(&output).unwrap();
    let mut requests = Vec::new();
    let each = |request| {
        requests.push(request);
        Ok(())
    };
    trace.requests(each).unwrap();
    assert_eq!(trace.processes().unwrap()[0].name.as_deref(), Some("dd"));
    (counts, requests, trace)
}

#[test]
fn the_files_of_all_cpus_are_merged_in_either_byte_order() {
    for big in [false, true] {
        let issue = (WRITE | SYNC | FUA) << 16 | 7;
        let first = [
            record(big, 1_000, NOTIFY << 16, 0, 0, b"dd\0\0"),
            record(big, 1_000, issue, 64, 4096, &[]),
            record(big, 9_000, (READ | AHEAD) << 16 | 7, 128, 8192, &[]),
        ];
        let second = [
            record(big, 5_000, WRITE << 16 | 8, 64, 4096, &[]),
            record(big, 6_000, FLUSH << 16 | 7, 0, 0, &[]),
            record(big, 8_000, FLUSH << 16 | 8, 0, 0, &[]),
            record(big, 12_000, READ << 16 | 8, 128, 8192, &[]),
        ];
        let files = [("sda.blktrace.0", first.concat()), ("sda.blktrace.1", second.concat())];
        for input in ["sda", "sda.blktrace.1"] {
            let (counts, requests, trace) = imported(&files, input);
            assert_eq!((counts.events, counts.other, counts.damaged), (3, 1, 0));
            let short =
                |r: &Request| (r.start_ns, r.duration_ns, r.operation.name(), r.flags.letters());
            let rows: Vec<_> = requests.iter().map(short).collect();
            let expected = [
                (0, Some(4_000), "write", "SF".to_owned()),
                (5_000, Some(2_000), "flush", String::new()),
                (8_000, Some(3_000), "read", "A".to_owned()),
            ];
            assert_eq!(rows, expected, "{big} {input}");
            assert_eq!(requests[0].device, 8 << 20 | 1);
            assert_eq!(trace.meta().duration_ns, Some(11_000));
        }
    }
}

#[test]
fn a_cut_file_keeps_its_whole_records_and_text_is_refused() {
    let mut bytes = record(false, 1, NOTIFY << 16, 0, 0, b"dd");
    bytes.extend(record(false, 2, READ << 16 | 7, 0, 512, &[]));
    bytes.extend(&bytes.clone()[..20]);
    let (counts, requests, _) = imported(&[("dump", bytes)], "dump");
    assert_eq!((counts.damaged, requests.len()), (1, 1));
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "8,0 1 1 0.0 5 Q R 0 + 8 [a]\n".repeat(4)).unwrap();
    let error = blktrace(&text, &folder.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("no record of blktrace"), "{error}");
    assert!(!folder.path().join("out").exists());
}
