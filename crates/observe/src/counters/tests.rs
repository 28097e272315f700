use super::*;
use proptest::prelude::*;

/// A device that did 200 reads of 16 KiB, 50 writes of 64 KiB and one flush in half a second.
const BEFORE: &[u8] =
    b"    1000       10    80000     5000     2000      300   640000     9000        0    12000    14000        5        0      800        3        7        2\n";
const AFTER: &[u8] =
    b"    1200       14    86400     5500     2050      320   646400     9400        3    12250    14920        6        0     1824        4        8        3\n";

fn counters(text: &[u8]) -> DeviceCounters {
    DeviceCounters::parse(text).unwrap()
}

#[test]
fn columns_are_those_of_iostat() {
    let sample =
        sample_between(&counters(BEFORE), &counters(AFTER), 500_000_000, 1_500_000_000).unwrap();
    // iostat -x: rate = difference / 0.5 s; await = ms / requests; aqu-sz = weighted ms / ms;
    // %util = busy ms / ms; kB = sectors / 2.
    let expected = Sample {
        at_ns: 1_500_000_000,
        reads_per_s: 400.0,
        writes_per_s: 100.0,
        read_kib_per_s: 6400.0,
        written_kib_per_s: 6400.0,
        reads_merged_per_s: 8.0,
        writes_merged_per_s: 40.0,
        read_await_ms: Some(2.5),
        write_await_ms: Some(8.0),
        queue_size: 1.84,
        read_request_kib: Some(16.0),
        write_request_kib: Some(64.0),
        flushes_per_s: Some(2.0),
        utilisation_percent: 50.0,
        ..Sample::default()
    };
    assert_eq!(sample, expected);
}

#[test]
fn totals_are_differences_in_bytes() {
    let totals = totals_between(&counters(BEFORE), &counters(AFTER)).unwrap();
    let expected = DeviceTotals {
        reads: 200,
        reads_merged: 4,
        read_bytes: 200 * 16384,
        writes: 50,
        writes_merged: 20,
        written_bytes: 50 * 65536,
        discarded_bytes: Some(1024 * 512),
        flushes: Some(1),
        busy_ms: 250,
    };
    assert_eq!(totals, expected);
}

#[test]
fn a_mean_over_no_request_is_absent() {
    let before = counters(b"5 0 40 10 7 0 56 20 0 30 30");
    let after = counters(b"5 0 40 10 8 0 64 24 0 34 34");
    let sample = sample_between(&before, &after, 100_000_000, 100_000_000).unwrap();
    assert_eq!((sample.read_await_ms, sample.read_request_kib), (None, None));
    assert_eq!((sample.write_await_ms, sample.write_request_kib), (Some(4.0), Some(4.0)));
    assert_eq!(sample.reads_per_s, 0.0);
}

#[test]
fn old_kernels_leave_discards_and_flushes_absent() {
    let eleven = counters(b"1 2 3 4 5 6 7 8 9 10 11");
    assert_eq!((eleven.sectors_discarded, eleven.flushes), (None, None));
    let fifteen = counters(b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
    assert_eq!((fifteen.sectors_discarded, fifteen.flushes), (Some(14), None));
    let seventeen = counters(b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17");
    assert_eq!((seventeen.sectors_discarded, seventeen.flushes), (Some(14), Some(16)));
    let newer = counters(b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
    assert_eq!(newer, seventeen);
    let sample = sample_between(&eleven, &eleven, 1_000, 1_000).unwrap();
    assert_eq!(sample.flushes_per_s, None);
    let totals = totals_between(&eleven, &seventeen).unwrap();
    assert_eq!((totals.discarded_bytes, totals.flushes), (None, None));
}

#[test]
fn requests_in_flight_may_be_negative_and_nothing_else_may_be_text() {
    assert_eq!(counters(b"1 2 3 4 5 6 7 8 -1 10 11").busy_ms, 10);
    for text in [&b""[..], b"1 2 3", b"1 2 3 4 5 6 7 8 9 10 x", b"1 2 3 4 5 6 7 8 9 10 1e3"] {
        assert_eq!(DeviceCounters::parse(text), None, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn milliseconds_wrap_at_32_bits() {
    let limit = u64::from(u32::MAX);
    let before =
        DeviceCounters { reads: 1, read_ms: limit - 9, busy_ms: limit, ..Default::default() };
    let after = DeviceCounters { reads: 3, read_ms: 10, busy_ms: 99, ..Default::default() };
    let sample = sample_between(&before, &after, 1_000_000_000, 0).unwrap();
    assert_eq!(sample.read_await_ms, Some(10.0));
    assert_eq!(sample.utilisation_percent, 10.0);
}

#[test]
fn a_counter_that_was_reset_makes_the_interval_absent() {
    let before = DeviceCounters { reads: 5_000, ..Default::default() };
    let after = DeviceCounters { reads: 20, ..Default::default() };
    assert_eq!(totals_between(&before, &after), None);
    assert_eq!(sample_between(&before, &after, 1, 1), None);
    let large = DeviceCounters { sectors_read: 1 << 40, ..Default::default() };
    assert_eq!(totals_between(&large, &DeviceCounters::default()), None);
}

#[test]
fn an_empty_interval_has_no_rates() {
    let reading = counters(BEFORE);
    assert_eq!(sample_between(&reading, &reading, 0, 0), None);
}

fn fake_root(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn reads_sysfs_and_falls_back_to_diskstats() {
    let root = fake_root(&[
        ("sys/class/block/sda/stat", BEFORE),
        ("sys/class/block/cciss!c0d0/stat", AFTER),
        ("proc/diskstats", b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8      16 sdb 21 2 3 4 5 6 7 8 9 10 11\n"),
    ]);
    let read = |name: &str| DeviceCounters::read(root.path(), name);
    assert_eq!(read("sda").unwrap(), counters(BEFORE));
    assert_eq!(read("cciss/c0d0").unwrap(), counters(AFTER));
    assert_eq!(read("sdb").unwrap().reads, 21);
    let path = root.path().display();
    assert_eq!(
        read("sdc").unwrap_err().to_string(),
        format!(
            "the kernel has no counters for block device 'sdc' under {path}; is it attached, and are /sys and /proc mounted?"
        )
    );
    assert_eq!(
        read("..").unwrap_err().to_string(),
        "'..' is not the kernel name of a block device; write it as in /proc/partitions, for example 'sda' or 'loop3'"
    );
}

#[test]
fn a_malformed_file_is_named_with_what_it_holds() {
    let root = fake_root(&[("sys/class/block/sda/stat", b"1 2 x\n")]);
    let error = DeviceCounters::read(root.path(), "sda").unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{}/sys/class/block/sda/stat holds '1 2 x', expected at least 11 numbers",
            root.path().display()
        )
    );
}

#[test]
fn this_kernel_counts_in_the_documented_form() {
    let mut read = 0;
    for entry in std::fs::read_dir("/sys/class/block").into_iter().flatten() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        DeviceCounters::read(Path::new("/"), &name).unwrap();
        read += 1;
    }
    if read == 0 {
        seekwell_testing::skip(
            "this_kernel_counts_in_the_documented_form",
            "no block device in sysfs",
        );
    }
}

proptest! {
    /// However the counters start (near a wrap or not), the columns depend on the advance alone.
    #[test]
    fn columns_depend_on_the_advance_alone(
        start in prop::array::uniform10(0_u64..=u64::from(u32::MAX)),
        advance in prop::array::uniform10(0_u64..1_000_000),
        interval_ns in 1_u64..10_000_000_000,
    ) {
        let at = |values: [u64; 10]| {
            let wrap = |value: u64| value & u64::from(u32::MAX);
            DeviceCounters {
                reads: wrap(values[0]), reads_merged: wrap(values[1]), sectors_read: wrap(values[2]),
                read_ms: wrap(values[3]), writes: wrap(values[4]), writes_merged: wrap(values[5]),
                sectors_written: wrap(values[6]), write_ms: wrap(values[7]), busy_ms: wrap(values[8]),
                weighted_ms: wrap(values[9]), sectors_discarded: None, flushes: None,
            }
        };
        let end: [u64; 10] = std::array::from_fn(|index| start[index] + advance[index]);
        let sample = sample_between(&at(start), &at(end), interval_ns, 1).unwrap();
        let from_zero = sample_between(&DeviceCounters::default(), &at(advance), interval_ns, 1).unwrap();
        prop_assert_eq!(sample, from_zero);
        let totals = totals_between(&at(start), &at(end)).unwrap();
        prop_assert_eq!(totals.read_bytes, advance[2] * 512);
        prop_assert_eq!(totals.written_bytes, advance[6] * 512);
    }

    #[test]
    fn parsing_any_bytes_does_not_panic(text in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = DeviceCounters::parse(&text);
    }
}
