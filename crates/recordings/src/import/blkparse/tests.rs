use super::*;
use seekwell_trace::{Request, Trace};

fn imported(text: &str) -> Result<(Imported, Vec<Request>, Meta), TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("text"), folder.path().join("trace"));
    std::fs::write(&input, text).unwrap();
    let counts = blkparse(&input, &output)?;
    let trace = Trace::open(&output)?;
    let mut requests = Vec::new();
    trace.requests(|request| {
        requests.push(request);
        Ok(())
    })?;
    Ok((counts, requests, trace.meta().clone()))
}

const TEXT: &str = "\
  8,16   1        1     5.000000000  1234  Q  WS 2048 + 8 [sqlite]
  8,16   1        2     5.000001000  1234  G  WS 2048 + 8 [sqlite]
  8,16   1        3     5.000002000  1234  D  WS 2048 + 8 [sqlite]
  8,16   0        1     5.000003000    99  D   R 4096 + 256 [cat]
  8,16   1        4     5.000052000     0  C  WS 2048 + 8 [0]
  8,16   1        5     5.000060000  1234  D  FN [sqlite]
  8,16   0        2     5.000103000     0  C   R 4096 + 256 [0]
  8,16   1        6     5.000200000     0  C  FN [0]
  8,16   1        7     5.000300000  1234  D FWFSM 9000 + 8 [jbd2/sdb-8]
  8,0    1        8     5.000300000  1234  m   N cfq idle
CPU0 (sdb):
 Reads Queued:           1,      128KiB
";

#[test]
fn issues_and_completions_become_requests() {
    let (counts, requests, meta) = imported(TEXT).unwrap();
    assert_eq!((counts.events, counts.damaged), (4, 0));
    let short = |r: &Request| (r.start_ns, r.duration_ns, r.operation.name(), r.sector, r.bytes);
    let rows: Vec<_> = requests.iter().map(short).collect();
    let expected = [
        (2_000, Some(50_000), "write", 2048, 4096),
        (3_000, Some(100_000), "read", 4096, 131_072),
        (60_000, Some(140_000), "flush", 0, 0),
        (300_000, None, "write", 9000, 4096),
    ];
    assert_eq!(rows, expected);
    assert_eq!(requests[3].flags.letters(), "SMFP");
    assert_eq!((requests[0].depth, requests[1].depth), (Some(1), Some(2)));
    assert_eq!((requests[0].process, requests[0].device), (Some(1234), 8 << 20 | 16));
    assert_eq!(meta.duration_ns, Some(300_000));
    assert!(meta.gaps.iter().any(|gap| gap.starts_with("1 requests have no completion")));
}

#[test]
fn without_issues_requests_begin_with_queueing() {
    let text = "8,0 0 1 0.5 7 Q R 10 + 2 [a]\n8,0 0 2 0.6 7 Q R 20 + 2 [a]\n8,0 0 3 0.7 0 C R 10 + 2 [0]\n";
    let (_, requests, meta) = imported(text).unwrap();
    let rows: Vec<_> = requests.iter().map(|r| (r.start_ns, r.duration_ns, r.sector)).collect();
    assert_eq!(rows, [(0, Some(200_000_000), 10), (100_000_000, None, 20)]);
    assert!(meta.gaps.iter().any(|gap| gap.contains("issues (D) are missing")));
}

#[test]
fn drops_are_losses_and_other_text_is_refused() {
    let text = format!("{TEXT}You have 37 ( 0.1%) dropped events\n");
    assert_eq!(imported(&text).unwrap().2.lost_events(), 37);
    let error = imported("hello\n").unwrap_err().to_string();
    assert!(error.contains("blkparse -i DEVICE"), "{error}");
}

/// Start and duration in microseconds, and sector, of each request of `lines` on 8,0.
fn rows(lines: &[&str]) -> Vec<(u64, Option<u64>, u64)> {
    let text: String = lines.iter().map(|line| format!("8,0 0 1 {line} [a]\n")).collect();
    let (_, requests, _) = imported(&text).unwrap();
    let row = |r: &Request| (r.start_ns / 1000, r.duration_ns.map(|ns| ns / 1000), r.sector);
    requests.iter().map(row).collect()
}

#[test]
fn a_lost_completion_leaves_its_own_request_without_time() {
    let lines = ["0.0 7 D W 100 + 8", "100.0 7 D W 100 + 8", "100.001 0 C W 100 + 8"];
    assert_eq!(rows(&lines), [(0, None, 100), (100_000_000, Some(1_000), 100)]);
}

#[test]
fn a_request_that_the_driver_gave_back_counts_from_its_second_issue() {
    let lines =
        ["0.0 7 D W 100 + 8", "0.1 7 R W 100 + 8", "0.2 7 D W 100 + 8", "0.3 0 C W 100 + 8"];
    assert_eq!(rows(&lines), [(200_000, Some(100_000), 100)]);
}

#[test]
fn the_second_end_of_a_flushed_write_ends_no_other_request() {
    let lines = [
        "0.000000 7 D FWS 64 + 8", "0.000001 7 D WS 72 + 8", "0.000004 0 C FWS 64 + 8",
        "0.000005 0 C WS 72 + 0", "0.000900 0 C WS 72 + 8",
    ];
    assert_eq!(rows(&lines), [(0, Some(4), 64), (1, Some(899), 72)]);
    // A flush alone has the letter of a write and no place.
    let flush = ["0.0 7 Q FWS", "0.1 0 C FWS"];
    assert_eq!(rows(&flush), [(0, Some(100_000), 0)]);
}

#[test]
fn a_stacked_device_beside_its_disk_counts_from_queueing() {
    let text = "253,0 0 1 0.0 7 Q R 10 + 8 [a]\n8,0 0 2 0.1 7 Q R 90 + 8 [a]\n\
                8,0 0 3 0.2 7 D R 90 + 8 [a]\n8,0 0 4 0.3 0 C R 90 + 8 [0]\n\
                253,0 0 5 0.4 0 C R 10 + 8 [0]\n8,1 0 6 0.5 7 Q R 5 + 8 [a]\n";
    let (counts, requests, meta) = imported(text).unwrap();
    let devices: Vec<_> = requests.iter().map(|r| (r.device, r.duration_ns)).collect();
    assert_eq!(devices, [(8 << 20, Some(100_000_000)), (253 << 20, Some(400_000_000))]);
    // The queueing of the disk's request, and that of a partition, which its disk completes.
    assert_eq!(counts.other, 2);
    assert!(meta.gaps.iter().any(|gap| gap.starts_with("times of 253:0 count")), "{meta:?}");
}
