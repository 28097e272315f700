use super::Blocks;
use crate::evidence::FlashEvidence;
use crate::flash::WearLeveling;
use proptest::prelude::*;

#[test]
fn leveling_spreads_erases_and_its_absence_does_not() {
    let wear = |leveling| {
        let mut blocks = Blocks::new(10, leveling);
        for _ in 0..100 {
            let block = blocks.take().unwrap();
            blocks.erase(block);
        }
        (blocks.most_worn(), blocks.total_erases(), blocks.wear(), blocks.free())
    };
    assert_eq!(wear(WearLeveling::Dynamic), (10, 100, 10.0, 10));
    assert_eq!(wear(WearLeveling::None), (100, 100, 100.0, 10));
}

#[test]
fn years_follow_from_the_wear_of_the_load() {
    let flash =
        |wear: f64, rated| FlashEvidence { wear, rated_erases: rated, ..FlashEvidence::default() };
    let hour_ns = 3_600_000_000_000;
    let years = |before: f64, after: f64, rated| {
        flash(after, rated).years_to_rating(&flash(before, rated), hour_ns)
    };
    // 10 erases an hour, 980 to go: 98 hours.
    let found = years(10.0, 20.0, Some(1000)).unwrap();
    assert!((found - 98.0 / 8766.0).abs() < 1e-9, "{found}");
    assert_eq!(years(10.0, 10.0, Some(1000)), None);
    assert_eq!(years(0.0, 10.0, None), None);
    assert_eq!(years(0.0, 2000.0, Some(1000)), Some(0.0));
}

proptest! {
    #[test]
    fn no_block_is_given_twice(steps in prop::collection::vec(any::<bool>(), 1..80), dynamic in any::<bool>()) {
        let leveling = if dynamic { WearLeveling::Dynamic } else { WearLeveling::None };
        let mut blocks = Blocks::new(6, leveling);
        let mut taken = Vec::new();
        for take in steps {
            if take {
                match blocks.take() {
                    Some(block) => {
                        prop_assert!(!taken.contains(&block));
                        taken.push(block);
                    }
                    None => prop_assert_eq!(taken.len(), 6),
                }
            } else if !taken.is_empty() {
                blocks.erase(taken.remove(0));
            }
            prop_assert_eq!(blocks.free() + taken.len(), 6);
        }
    }
}
