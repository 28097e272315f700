use super::*;

const MB: u64 = 1_000_000;

fn totals(read: u64, written: u64) -> Option<DeviceTotals> {
    Some(DeviceTotals { read_bytes: read, written_bytes: written, ..DeviceTotals::default() })
}

fn read_step(cache: CacheState, app: u64, device: u64) -> StepBytes<'static> {
    StepBytes {
        step: "seek",
        cache,
        app_read: Some(app),
        app_reread: 0,
        app_written: None,
        device: totals(device, 0),
        journal: None,
    }
}

fn write_step(app: u64, device: u64, journal: Option<u64>) -> StepBytes<'static> {
    StepBytes {
        step: "unpack",
        cache: CacheState::Warm,
        app_read: None,
        app_reread: 0,
        app_written: Some(app),
        device: totals(0, device),
        journal: journal.and_then(|bytes| totals(0, bytes)),
    }
}

fn codes(bytes: &StepBytes<'_>) -> Vec<String> {
    step_warnings(bytes).into_iter().map(|warning| warning.code).collect()
}

#[test]
fn a_cold_or_direct_step_below_nine_tenths_was_served_from_cache() {
    for cache in [CacheState::Cold, CacheState::Direct] {
        assert_eq!(codes(&read_step(cache, 100 * MB, 89 * MB)), ["served-from-cache"]);
        assert_eq!(codes(&read_step(cache, 100 * MB, 90 * MB)), [""; 0]);
        assert_eq!(codes(&read_step(cache, 100 * MB, 0)), ["served-from-cache"]);
    }
    assert_eq!(codes(&read_step(CacheState::Warm, 100 * MB, 0)), [""; 0]);
}

#[test]
fn what_a_step_read_before_may_come_from_the_cache() {
    let again = |device: u64| StepBytes {
        app_reread: 40 * MB,
        ..read_step(CacheState::Cold, 100 * MB, device)
    };
    assert_eq!(codes(&again(54 * MB)), [""; 0]);
    assert_eq!(codes(&again(53 * MB)), ["served-from-cache"]);
    assert_eq!(read_per_byte(&again(54 * MB)), Some(0.54));
}

#[test]
fn texts_hold_both_amounts_and_what_to_do() {
    let warning = &step_warnings(&read_step(CacheState::Cold, 41_234_567, 12_345))[0];
    assert_eq!(warning.text, "seek: 41.2 MB read by the workload, 0.01 MB by the device");
    assert!(warning.remedy.starts_with("make the data set larger than the memory limit"));
    let warning = &step_warnings(&write_step(100 * MB, 350 * MB, None))[0];
    assert_eq!(warning.text, "unpack: 100 MB written by the workload, 350 MB to the device");
}

#[test]
fn amplification_is_a_factor_and_not_the_metadata_of_a_small_step() {
    assert_eq!(codes(&read_step(CacheState::Direct, 10 * MB, 20 * MB)), [""; 0]);
    assert_eq!(codes(&read_step(CacheState::Direct, 10 * MB, 21 * MB)), ["read-amplified"]);
    assert_eq!(codes(&read_step(CacheState::Warm, 10 * MB, 21 * MB)), ["read-amplified"]);
    assert_eq!(codes(&read_step(CacheState::Direct, 4096, 400_000)), [""; 0]);
    assert_eq!(codes(&write_step(10 * MB, 20 * MB, None)), [""; 0]);
    assert_eq!(codes(&write_step(10 * MB, 21 * MB, None)), ["write-amplified"]);
}

#[test]
fn the_journal_device_counts_as_device() {
    let bytes = write_step(10 * MB, 11 * MB, Some(12 * MB));
    assert_eq!(written_per_byte(&bytes), Some(2.3));
    assert_eq!(codes(&bytes), ["write-amplified"]);
}

#[test]
fn writes_that_never_arrived_are_named() {
    assert_eq!(codes(&write_step(10 * MB, 8 * MB, None)), ["write-absorbed"]);
    assert_eq!(codes(&write_step(10 * MB, 9 * MB, None)), [""; 0]);
}

#[test]
fn unknown_bytes_raise_no_doubt_and_give_no_ratio() {
    let unknown_device = StepBytes { device: None, ..read_step(CacheState::Cold, 5 * MB, 0) };
    let unknown_app = StepBytes { app_read: None, ..read_step(CacheState::Cold, 0, 5 * MB) };
    for bytes in [unknown_device, unknown_app] {
        assert_eq!(step_warnings(&bytes), vec![]);
        assert_eq!(read_per_byte(&bytes), None);
        assert_eq!(written_per_byte(&bytes), None);
    }
    assert_eq!(read_per_byte(&read_step(CacheState::Cold, 0, 5 * MB)), None);
    assert_eq!(codes(&read_step(CacheState::Cold, 0, 5 * MB)), [""; 0]);
    assert_eq!(read_per_byte(&read_step(CacheState::Cold, 4 * MB, 5 * MB)), Some(1.25));
}

#[test]
fn a_device_that_others_use_is_busy_and_an_idle_one_is_not() {
    let seen = |busy_ms, reads| DeviceTotals { busy_ms, reads, ..DeviceTotals::default() };
    assert_eq!(busy_before("sda", &seen(10, 3), 200), None);
    assert_eq!(busy_before("sda", &seen(150, 0), 200), None);
    let warning = busy_before("sda", &seen(150, 30), 200).unwrap();
    assert_eq!(warning.code, "device-busy");
    assert_eq!(
        warning.text,
        "sda was busy 75 % of the time before it was measured: 30 requests of others in 200 ms"
    );
    assert!(warning.remedy.contains("seekwell watch sda"));
}
