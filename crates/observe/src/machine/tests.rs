use super::*;
use proptest::prelude::*;

const MEMINFO: &[u8] = b"MemTotal:       24669084 kB\nMemFree:        24000000 kB\nDirty:              1536 kB\nWriteback:             4 kB\nAnonPages:         20000 kB\nWritebackTmp:          9 kB\n";

#[test]
fn dirty_and_writeback_are_bytes() {
    let state = MemoryState::parse(MEMINFO);
    assert_eq!(state.dirty_bytes, Some(1536 * 1024));
    assert_eq!(state.writeback_bytes, Some(4096));
}

#[test]
fn what_is_not_there_is_absent() {
    assert_eq!(MemoryState::parse(b"MemTotal: 5 kB\n"), MemoryState::default());
    assert_eq!(MemoryState::parse(b"Dirty: many kB\nWriteback: 4 pages\n"), MemoryState::default());
}

#[test]
fn pressure_is_the_growth_of_the_total() {
    let before = PressureTotals::parse_total(
        b"some avg10=0.00 avg60=0.02 avg300=0.14 total=4965684\nfull avg10=0.00 avg60=0.02 avg300=0.12 total=4630292\n",
    );
    let after = PressureTotals::parse_total(
        b"some avg10=1.06 avg60=1.35 avg300=2.09 total=4990684\nfull avg10=0 avg60=0 avg300=0 total=1\n",
    );
    assert_eq!((before, after), (Some(4_965_684), Some(4_990_684)));
    assert_eq!(PressureTotals::percent(before, after, 100_000_000), Some(25.0));
    assert_eq!(PressureTotals::percent(before, before, 100_000_000), Some(0.0));
}

#[test]
fn pressure_that_is_not_known_is_absent() {
    assert_eq!(PressureTotals::parse_total(b""), None);
    assert_eq!(PressureTotals::parse_total(b"full avg10=0.00 total=5\n"), None);
    assert_eq!(PressureTotals::percent(None, Some(5), 1), None);
    assert_eq!(PressureTotals::percent(Some(5), None, 1), None);
    assert_eq!(PressureTotals::percent(Some(5), Some(4), 1), None);
    assert_eq!(PressureTotals::percent(Some(5), Some(6), 0), None);
}

#[test]
fn this_kernel_shows_memory() {
    let text = std::fs::read("/proc/meminfo").unwrap();
    let state = MemoryState::parse(&text);
    assert!(state.dirty_bytes.is_some() && state.writeback_bytes.is_some());
}

proptest! {
    #[test]
    fn parsing_any_bytes_does_not_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = MemoryState::parse(&text);
        let _ = PressureTotals::parse_total(&text);
    }
}

#[test]
fn others_are_the_programs_without_the_own_one() {
    let zero = |line: &[u8]| Processors::parse(line, &[0]);
    let before = zero(b"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 20 50 700 30 0 0 100 5 5\n").unwrap();
    assert_eq!(before, Processors { programs: 220, all: 1000 });
    // 200 ticks later: 80 of user, 10 of nice and 10 of steal time; 40 ticks of it are the own program's.
    let after = zero(b"cpu0 180 30 90 740 50 0 0 110 5 5\n").unwrap();
    assert_eq!(after.others_percent(before, 40.0), Some(30.0));
    assert_eq!(after.others_percent(before, 140.0), Some(0.0));
    assert_eq!(before.others_percent(after, 0.0), None);
    assert_eq!(before.others_percent(before, 0.0), None);
    assert_eq!(zero(b"intr 5\n"), None);
    assert_eq!(zero(b"cpu0 1 2 3\n"), None);
    let two = b"cpu0 1 1 1 1 1 1 1 1\ncpu1 2 2 2 2 2 2 2 2\ncpu10 9 9 9 9 9 9 9 9\n";
    assert_eq!(Processors::parse(two, &[0, 1]), Some(Processors { programs: 9, all: 24 }));
    assert_eq!(Processors::parse(two, &[1]), Some(Processors { programs: 6, all: 16 }));
    assert_eq!((Processors::parse(two, &[2]), Processors::parse(two, &[])), (None, None));
}
