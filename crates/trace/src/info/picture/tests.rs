use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn steps_hold_what_falls_into_them(
        events in proptest::collection::vec((0_u64..1 << 40, 0_u64..1 << 44), 1..200),
    ) {
        let (mut timeline, mut seeks) = (Timeline::default(), Seeks::default());
        for (time, place) in &events {
            timeline.add(*time, *place, 1, 2);
            seeks.add(*time, *place);
        }
        prop_assert!(timeline.count.len() <= COLUMNS && seeks.accesses.len() <= COLUMNS);
        for (at, count) in timeline.count.iter().enumerate() {
            let inside = |time: u64| time / timeline.step_ns == at as u64;
            let found: Vec<_> = events.iter().filter(|(time, _)| inside(*time)).collect();
            prop_assert_eq!(*count, found.len() as u64);
            prop_assert_eq!(timeline.read_bytes[at], found.iter().map(|(_, read)| read).sum::<u64>());
            prop_assert_eq!(timeline.time_ns[at], 2 * count);
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
