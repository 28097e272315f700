use super::{Volatile, tidy};
use crate::model::{Lba, LostRange, SectorRange};
use proptest::prelude::*;

const SECTORS: usize = 64;

/// One stack of (id, order of arrival, time of arrival) for each sector.
#[derive(Clone, Default)]
struct Stacks(Vec<Vec<(u64, u64, u64)>>);

impl Stacks {
    /// Starts of runs of filled sectors, sorted by the first arrival in each.
    fn oldest_runs(&self, count: usize, seq: u64) -> Vec<u64> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut start = None;
        for sector in 0..=SECTORS {
            let oldest = self.0.get(sector).and_then(|stack| stack.first()).map(|layer| layer.1);
            match (oldest, start) {
                (Some(first), None) => {
                    start = Some(sector);
                    runs.push((first, sector as u64));
                }
                (Some(first), Some(_)) => {
                    let run = runs.last_mut().unwrap();
                    run.0 = run.0.min(first);
                }
                (None, _) => start = None,
            }
        }
        runs.retain(|(first, _)| *first <= seq);
        runs.sort_unstable();
        runs.into_iter().map(|(_, start)| start).take(count).collect()
    }
}

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
        let run = volatile.run_from(sector as u64, 6);
        let expected = (sector..SECTORS).take_while(&filled).take(6).count();
        prop_assert_eq!(run, sector as u64..(sector + expected) as u64);
    }
    for (count, seq) in [(1, 100), (4, 100), (4, 8), (100, 100)] {
        prop_assert_eq!(volatile.oldest_runs(count, seq), stacks.oldest_runs(count, seq));
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
fn candidates_are_the_oldest_runs_and_start_where_their_data_starts() {
    let mut volatile = Volatile::default();
    for (id, start) in (1..).zip([40, 10, 30, 20, 38, 42]) {
        volatile.insert(start..start + 2, id, 0);
    }
    assert_eq!(volatile.oldest_runs(3, u64::MAX), [38, 10, 30]);
    assert_eq!(volatile.oldest_runs(9, 3), [38, 10, 30]);
    assert_eq!(volatile.start_within(40..42, 1, 8), Some(38));
    assert_eq!(volatile.start_within(40..42, 1, 2), Some(40), "too far from the start of its run");
    assert_eq!(volatile.start_within(20..22, 3, 8), None, "it arrived later");
    assert_eq!(volatile.run_from(38, 5), 38..43);
    volatile.take(38..42);
    assert_eq!(volatile.oldest_runs(2, u64::MAX), [10, 30]);
}

#[test]
fn lost_ranges_are_joined() {
    let lost = |id, lba, sectors| LostRange { id, range: SectorRange { lba: Lba(lba), sectors } };
    let joined = tidy(vec![lost(2, 8, 2), lost(1, 0, 4), lost(2, 4, 4), lost(1, 6, 1)]);
    assert_eq!(joined, [lost(1, 0, 4), lost(1, 6, 1), lost(2, 4, 6)]);
}
