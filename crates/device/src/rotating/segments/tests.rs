use super::Segments;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn a_run_is_held_as_far_as_it_was_read_and_no_longer_than_the_segment() {
    let mut segments = Segments::new(2, 10);
    let one = segments.open(100).unwrap();
    segments.extend(one, 106);
    assert_eq!((segments.held_until(100), segments.held_until(106)), (106, 106));
    segments.extend(one, 115);
    assert_eq!(segments.held_until(104), 104, "the oldest five fell out");
    assert!(segments.covers(&(105..115)));
}

#[test]
fn a_run_goes_on_in_its_segment_and_others_take_the_one_longest_unused() {
    let mut segments = Segments::new(2, 10);
    let one = segments.open(0).unwrap();
    segments.extend(one, 5);
    let two = segments.open(50).unwrap();
    segments.extend(two, 55);
    assert_ne!(one, two);
    assert_eq!(segments.open(5), Some(one));
    assert_eq!(segments.open(90), Some(two));
    assert!(!segments.covers(&(50..51)));
    assert!(segments.covers(&(0..5)));
}

#[test]
fn delivery_counts_as_use_and_may_empty() {
    let mut segments = Segments::new(1, 10);
    let one = segments.open(0).unwrap();
    segments.extend(one, 8);
    segments.deliver(&(0..4), true);
    assert!(segments.covers(&(0..8)));
    segments.deliver(&(0..4), false);
    assert_eq!((segments.held_until(0), segments.held_until(4)), (0, 8));
}

#[test]
fn without_segments_nothing_is_held() {
    let mut segments = Segments::new(0, 10);
    assert_eq!(segments.open(3), None);
    assert_eq!(segments.held_until(3), 3);
}

#[test]
fn a_write_may_cost_the_whole_segment_that_it_meets() {
    let mut segments = Segments::new(2, 20);
    for start in [0, 50] {
        let index = segments.open(start).unwrap();
        segments.extend(index, start + 10);
    }
    segments.discard(&(10..50));
    assert_eq!((segments.held_until(0), segments.held_until(50)), (10, 60), "it meets neither");
    segments.discard(&(9..12));
    assert_eq!((segments.held_until(0), segments.held_until(50)), (0, 60));
}

#[test]
fn a_run_begins_where_it_was_read_whatever_was_delivered() {
    let mut segments = Segments::new(1, 20);
    let index = segments.open(100).unwrap();
    segments.extend(index, 115);
    segments.deliver(&(100..108), false);
    assert!(!segments.covers(&(100..101)));
    assert_eq!(segments.begun(110), 100);
    segments.extend(index, 130);
    assert_eq!(segments.begun(125), 110, "the oldest ten fell out");
}

proptest! {
    /// What is held was read and not overwritten since.
    #[test]
    fn nothing_stale_is_held(steps in prop::collection::vec((0_u8..4, 0_u64..60, 1_u64..12), 1..60)) {
        let mut segments = Segments::new(3, 8);
        let mut fresh: BTreeSet<u64> = BTreeSet::new();
        for (kind, start, length) in steps {
            match kind {
                0 => {
                    let index = segments.open(start).unwrap();
                    segments.extend(index, start + length);
                    fresh.extend(start..start + length);
                }
                1 => {
                    segments.forget(&(start..start + length));
                    fresh.retain(|sector| !(start..start + length).contains(sector));
                }
                2 => {
                    segments.discard(&(start..start + length));
                    fresh.retain(|sector| !(start..start + length).contains(sector));
                }
                _ => segments.deliver(&(start..start + length), length % 2 == 0),
            }
            for sector in 0..80 {
                let until = segments.held_until(sector);
                prop_assert!((sector..until).all(|held| fresh.contains(&held)), "{sector}..{until}");
                prop_assert!(until - sector <= 8);
            }
        }
    }
}
