use super::{Volatile, tidy};
use crate::model::{Lba, LostRange, SectorRange};
use proptest::prelude::*;

const SECTORS: usize = 64;

/// One stack of (id, order of arrival, time of arrival) for each sector.
#[derive(Clone, Default)]
struct Stacks(Vec<Vec<(u64, u64, u64)>>);

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64),
    Take(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0_u64..56, 1_u64..8);
    prop_oneof![
        3 => range.clone().prop_map(|(start, length)| Step::Insert(start, start + length)),
        1 => range.prop_map(|(start, length)| Step::Take(start, start + length)),
    ]
}

fn compare(volatile: &Volatile, stacks: &Stacks) -> Result<(), TestCaseError> {
    let filled = |sector: &usize| !stacks.0[*sector].is_empty();
    prop_assert_eq!(volatile.sectors(), (0..SECTORS).filter(filled).count() as u64);
    prop_assert_eq!(volatile.is_empty(), !(0..SECTORS).any(|sector| filled(&sector)));
    let all = stacks.0.iter().flatten();
    prop_assert_eq!(volatile.oldest_id(), all.clone().map(|layer| layer.0).min());
    let oldest = all.min_by_key(|layer| layer.1).copied();
    prop_assert_eq!(volatile.oldest_since_ns(), oldest.map(|layer| layer.2));
    for seq in [0, 3, 8, 100] {
        let holds = stacks.0[8..24].iter().flatten().any(|layer| layer.1 <= seq);
        prop_assert_eq!(volatile.holds(8..24, seq), holds);
    }
    prop_assert_eq!(volatile.covers(5..20), (5..20).all(|sector| filled(&sector)));
    for sector in 0..SECTORS {
        let run = volatile.run_around(sector as u64, 6);
        prop_assert!(run.end - run.start <= 6);
        prop_assert!(run.clone().all(|sector| filled(&(sector as usize))));
        prop_assert_eq!(run.is_empty(), !filled(&sector));
    }
    Ok(())
}

proptest! {
    #[test]
    fn equals_a_stack_for_each_sector(steps in prop::collection::vec(step(), 1..50)) {
        let mut volatile = Volatile::default();
        let mut stacks = Stacks(vec![Vec::new(); SECTORS]);
        for (index, step) in (1..).zip(steps) {
            match step {
                Step::Insert(start, end) => {
                    let seq = volatile.insert(start..end, index, index * 10);
                    for stack in &mut stacks.0[start as usize..end as usize] {
                        stack.push((index, seq, index * 10));
                    }
                }
                Step::Take(start, end) => {
                    for (range, layers) in volatile.take(start..end) {
                        for sector in range {
                            let stack = std::mem::take(&mut stacks.0[sector as usize]);
                            let ids: Vec<u64> = stack.iter().map(|layer| layer.0).collect();
                            prop_assert_eq!(&layers.ids, &ids);
                            prop_assert_eq!((layers.first_seq, layers.since_ns), (stack[0].1, stack[0].2));
                        }
                    }
                    prop_assert!(stacks.0[start as usize..end as usize].iter().all(Vec::is_empty));
                }
            }
            compare(&volatile, &stacks)?;
        }
        let mut lost = tidy(volatile.lose());
        for range in &lost {
            prop_assert!(range.range.sectors > 0);
        }
        let mut expected: Vec<(u64, u64)> = Vec::new();
        for (sector, stack) in (0..).zip(&stacks.0) {
            expected.extend(stack.iter().map(|layer| (layer.0, sector)));
        }
        expected.sort_unstable();
        expected.dedup();
        let found: Vec<(u64, u64)> = lost
            .drain(..)
            .flat_map(|lost| (lost.range.lba.0..lost.range.lba.0 + lost.range.sectors).map(move |s| (lost.id, s)))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert!(volatile.is_empty());
    }
}

#[test]
fn candidates_go_on_from_a_place_and_wrap() {
    let mut volatile = Volatile::default();
    for (id, start) in (1..).zip([40, 10, 30, 20]) {
        volatile.insert(start..start + 2, id, 0);
    }
    assert_eq!(volatile.next_starts(25, 3), [30, 40, 10]);
    assert_eq!(volatile.starts_within(0..64, 3, 25, 9), [30, 40, 10]);
    assert_eq!(volatile.starts_within(0..25, 9, 15, 9), [20, 10]);
    assert_eq!(volatile.oldest_sector(), Some(40));
}

#[test]
fn lost_ranges_are_joined() {
    let lost = |id, lba, sectors| LostRange { id, range: SectorRange { lba: Lba(lba), sectors } };
    let joined = tidy(vec![lost(2, 8, 2), lost(1, 0, 4), lost(2, 4, 4), lost(1, 6, 1)]);
    assert_eq!(joined, [lost(1, 0, 4), lost(1, 6, 1), lost(2, 4, 6)]);
}
