use super::*;

#[test]
fn the_columns_stand_below_their_titles_and_nothing_is_never_zero() {
    let sample = Sample {
        at_ns: 1_500_000_000,
        reads_per_s: 1234.56,
        read_kib_per_s: 123_456.7,
        read_await_ms: Some(0.123),
        read_request_kib: Some(100.0),
        queue_size: 1.5,
        utilisation_percent: 99.9,
        ..Sample::default()
    };
    let latency = WatchedLatency {
        p50_ns: Some(123_000),
        p99_ns: Some(4_567_000),
        most_in_flight: 32,
        sequential: Some(0.5),
    };
    let lines = [
        watch_header(true),
        watch_line(&sample, Some(&latency)),
        watch_line(&Sample::default(), Some(&WatchedLatency::default())),
    ];
    assert_eq!(
        lines,
        [
            "  time_s      r/s      rkB/s   rrqm/s  r_await rareq-sz      w/s      wkB/s   wrqm/s  w_await wareq-sz     f/s  aqu-sz  %util  p50_us  p99_us  depth  seq%",
            "     1.5   1234.6     123457      0.0     0.12    100.0      0.0        0.0      0.0        -        -       -    1.50   99.9     123    4567     32    50",
            "     0.0      0.0        0.0      0.0        -        -      0.0        0.0      0.0        -        -       -    0.00    0.0       -       -      0     -",
        ]
    );
    assert_eq!(watch_header(false).len(), watch_line(&sample, None).len());
}
