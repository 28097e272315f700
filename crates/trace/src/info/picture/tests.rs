use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn steps_hold_what_falls_into_them(
        events in proptest::collection::vec((0_u64..1 << 40, 0_u64..1 << 44), 1..200),
        duration_ns in prop_oneof![Just(2), 0..1_u64 << 38],
    ) {
        let (mut timeline, mut seeks) = (Timeline::default(), Seeks::default());
        for (time, place) in &events {
            timeline.add(*time, *place, 1, duration_ns);
            seeks.add(*time, *place);
        }
        prop_assert!(timeline.count.len() <= COLUMNS && seeks.accesses.len() <= COLUMNS);
        for (at, count) in timeline.count.iter().enumerate() {
            let inside = |time: u64| time / timeline.step_ns == at as u64;
            let found: Vec<_> = events.iter().filter(|(time, _)| inside(*time)).collect();
            prop_assert_eq!(*count, found.len() as u64);
            prop_assert_eq!(timeline.read_bytes[at], found.iter().map(|(_, read)| read).sum::<u64>());
            prop_assert_eq!(timeline.time_ns[at], duration_ns * count);
            let (from, to) = (at as u64 * timeline.step_ns, (at as u64 + 1) * timeline.step_ns);
            let shared = |time: u64| (time + duration_ns).min(to).saturating_sub(time.max(from));
            let shared: u64 = events.iter().map(|(time, _)| shared(*time)).sum();
            prop_assert_eq!(timeline.in_progress_ns[at], shared);
        }
        for (column, rows) in seeks.accesses.iter().enumerate() {
            prop_assert!(rows.len() <= ROWS);
            for (row, count) in rows.iter().enumerate() {
                let inside = |time: u64, place: u64| {
                    time / seeks.step_ns == column as u64 && place / seeks.step_bytes == row as u64
                };
                let found = events.iter().filter(|(time, place)| inside(*time, *place)).count();
                prop_assert_eq!(*count, found as u64);
            }
        }
    }
}

#[test]
fn the_last_moment_has_room() {
    let (mut timeline, mut seeks) = (Timeline::default(), Seeks::default());
    timeline.add(u64::MAX, u64::MAX, 0, 0);
    timeline.add(u64::MAX, u64::MAX, 0, 0);
    seeks.add(u64::MAX, u64::MAX);
    assert_eq!(timeline.read_bytes.last(), Some(&u64::MAX));
    assert_eq!(seeks.accesses.iter().flatten().sum::<u64>(), 1);
}

#[test]
fn sizes_and_times_are_counted_by_powers_of_two() {
    let mut heat = Heat::default();
    for (bytes, ns) in [(4096, 1000), (6000, 1023), (8192, 1024), (8192, 70_000), (8192, 0)] {
        heat.add(bytes, ns);
    }
    assert_eq!((heat.accesses[12][9], heat.accesses[13][10], heat.accesses[13][16]), (2, 1, 1));
    assert_eq!(heat.accesses[13][0], 1);
    let mut heat = Heat::default();
    assert_eq!(heat.trimmed(), (0, 0, Vec::new()));
    heat.add(4096, 1000);
    heat.add(16_384, 2048);
    assert_eq!(heat.trimmed(), (12, 9, vec![vec![1], vec![], vec![0, 0, 1]]));
    heat.add(u64::MAX, u64::MAX);
    assert_eq!(heat.accesses[63][63], 1);
}
