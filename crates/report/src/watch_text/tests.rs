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
        watch_header(true, None),
        watch_line(&sample, Some(&latency), None),
        watch_line(&Sample::default(), Some(&WatchedLatency::default()), None),
    ];
    assert_eq!(
        lines,
        [
            "  time_s      r/s      rkB/s   rrqm/s  r_await rareq-sz      w/s      wkB/s   wrqm/s  w_await wareq-sz     f/s  aqu-sz  %util  p50_us  p99_us  depth  seq%",
            "     1.5   1234.6     123457      0.0     0.12    100.0      0.0        0.0      0.0        -        -       -    1.50   99.9     123    4567     32    50",
            "     0.0      0.0        0.0      0.0        -        -      0.0        0.0      0.0        -        -       -    0.00    0.0       -       -      0     -",
        ]
    );
    assert_eq!(watch_header(false, None).len(), watch_line(&sample, None, None).len());
}

#[test]
fn a_narrow_terminal_gives_up_merges_and_sizes_and_keeps_the_utilisation() {
    let titles = |columns| watch_header(true, Some(columns));
    assert_eq!(
        titles(80),
        " time_s      r/s      rkB/s  r_await      w/s      wkB/s  w_await  aqu-sz  %util"
    );
    for columns in [60, 80, 100, 120, 160] {
        let sample = Sample { utilisation_percent: 100.0, ..Sample::default() };
        let latency = WatchedLatency::default();
        let line = watch_line(&sample, Some(&latency), Some(columns));
        assert!(titles(columns).len() <= columns && line.len() == titles(columns).len(), "{line}");
        assert!(titles(columns).contains("%util") && line.contains(" 100.0"), "{line}");
    }
    assert!(titles(100).contains("p99_us") && !titles(100).contains("rrqm/s"), "{}", titles(100));
    assert_eq!(titles(160).trim_start(), watch_header(true, None).trim_start());
}
