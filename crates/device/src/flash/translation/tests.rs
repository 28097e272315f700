use super::{Shape, Translation, Work};
use crate::flash::WearLeveling;
use proptest::prelude::*;
use std::collections::BTreeMap;

const UNITS: u32 = 6;
const PAGES: u32 = 8;
const SECTORS: u32 = 4;

/// Faults planted in the oracle: the comparison must notice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Closes the unit used last instead of the one longest unused.
    ClosesTheWrongUnit,
    /// Takes every merge for a switch.
    NeverCopies,
    /// Copies whole units even where the log is in order.
    AlwaysCopiesAll,
    /// Leaves the old block unerased.
    ForgetsToErase,
    /// Lets linear units take any order.
    IgnoresLinear,
    /// Takes a write that goes on inside a page for a new page.
    ForgetsTails,
}

/// Unit, what was appended to its log (page and version), the last sector written, the time of use.
type NaiveLog = (u64, Vec<(u32, Option<u32>)>, Option<(u32, u32)>, u32);

/// A card that keeps the version of every page in explicit blocks, as plainly as it can be written.
struct Naive {
    open: usize,
    linear_from: u64,
    data: BTreeMap<u64, Vec<Option<u32>>>,
    logs: Vec<NaiveLog>,
    clock: u32,
    planted: Planted,
}

impl Naive {
    fn new(open: u32, linear_from: Option<u32>, prefilled: bool, planted: Planted) -> Self {
        let blank = if prefilled { Some(0) } else { None };
        let data = (0..u64::from(UNITS)).map(|unit| (unit, vec![blank; PAGES as usize])).collect();
        let linear_from = linear_from.map_or(u64::MAX, u64::from);
        Self { open: open as usize, linear_from, data, logs: Vec::new(), clock: 0, planted }
    }

    /// The version of a page as a read would find it.
    fn read(&self, unit: u64, page: u32) -> Option<u32> {
        let log = self.logs.iter().find(|log| log.0 == unit);
        let logged = log.and_then(|log| log.1.iter().rev().find(|entry| entry.0 == page));
        logged.map_or(self.data[&unit][page as usize], |entry| entry.1)
    }

    fn write(&mut self, unit: u64, page: u32, first: u32, sectors: u32, version: u32) -> Work {
        let mut work = Work { programmed: 1, ..Work::default() };
        self.clock += 1;
        let clock = self.clock;
        if let Some(log) = self.logs.iter_mut().find(|log| log.0 == unit)
            && first > 0
            && log.2 == Some((page, first))
            && self.planted != Planted::ForgetsTails
        {
            (log.2, log.3) = (Some((page, first + sectors)), clock);
            if let Some(entry) = log.1.last_mut() {
                entry.1 = Some(version);
            }
            return work;
        }
        let linear = unit >= self.linear_from && self.planted != Planted::IgnoresLinear;
        if let Some(index) = self.logs.iter().position(|log| log.0 == unit) {
            let used = self.logs[index].1.len() as u32;
            if used == PAGES || (linear && page < used) {
                self.merge(index, &mut work);
            }
        }
        if !self.logs.iter().any(|log| log.0 == unit) {
            while self.logs.len() >= self.open {
                let by_age = (0..self.logs.len()).min_by_key(|index| self.logs[*index].3);
                let by_youth = (0..self.logs.len()).max_by_key(|index| self.logs[*index].3);
                let wrong = self.planted == Planted::ClosesTheWrongUnit;
                self.merge(if wrong { by_youth } else { by_age }.unwrap(), &mut work);
            }
            self.logs.push((unit, Vec::new(), None, clock));
        }
        let index = self.logs.iter().position(|log| log.0 == unit).unwrap();
        while linear && (self.logs[index].1.len() as u32) < page {
            let filler = self.logs[index].1.len() as u32;
            let content = self.read(unit, filler);
            work.copied += u64::from(content.is_some());
            self.logs[index].1.push((filler, content));
        }
        work.completed += u64::from(sectors < SECTORS && self.read(unit, page).is_some());
        let log = &mut self.logs[index];
        log.1.push((page, Some(version)));
        (log.2, log.3) = (Some((page, first + sectors)), clock);
        work
    }

    fn merge(&mut self, index: usize, work: &mut Work) {
        let (unit, log, ..) = self.logs[index].clone();
        work.merged = Some(unit);
        let content: Vec<Option<u32>> = (0..PAGES).map(|page| self.read(unit, page)).collect();
        let in_order = log.iter().zip(0..).all(|(entry, page)| entry.0 == page);
        let behind = content[log.len()..].iter().flatten().count() as u64;
        let all = content.iter().flatten().count() as u64;
        let had_block = self.data[&unit].iter().any(Option::is_some);
        if self.planted == Planted::NeverCopies {
            work.switched += 1;
        } else if in_order && self.planted != Planted::AlwaysCopiesAll {
            work.copied += behind;
            if behind == 0 { work.switched += 1 } else { work.partial += 1 }
        } else {
            work.full += 1;
            work.copied += all;
            work.erased += 1;
        }
        work.erased += u64::from(had_block && self.planted != Planted::ForgetsToErase);
        self.data.insert(unit, content);
        self.logs.remove(index);
    }
}

type Write = (u64, u32, u32, u32);

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let one = (0_u64..u64::from(UNITS), 0_u32..PAGES, 0_u32..SECTORS, 1_u32..=SECTORS);
    let part = one
        .prop_map(|(unit, page, first, sectors)| (unit, page, first, sectors.min(SECTORS - first)));
    let whole =
        (0_u64..u64::from(UNITS), 0_u32..PAGES).prop_map(|(unit, page)| (unit, page, 0, SECTORS));
    // Runs of whole pages, so that logs come to be in order; and pages in pieces.
    let run =
        (0_u64..u64::from(UNITS), 0_u32..PAGES, 1_u32..=PAGES).prop_map(|(unit, from, count)| {
            (from..(from + count).min(PAGES))
                .map(|page| (unit, page, 0, SECTORS))
                .collect::<Vec<_>>()
        });
    let pieces = (0_u64..u64::from(UNITS), 0_u32..PAGES)
        .prop_map(|(unit, page)| vec![(unit, page, 0, 1), (unit, page, 1, 2), (unit, page, 3, 1)]);
    let some = prop_oneof![
        part.prop_map(|write| vec![write]),
        whole.prop_map(|write| vec![write]),
        run,
        pieces,
    ];
    prop::collection::vec(some, 1..40).prop_map(|runs| runs.concat())
}

/// The first write at which the model and the oracle differ, if any.
fn difference(
    writes: &[Write],
    open: u32,
    linear_from: Option<u32>,
    prefilled: bool,
    planted: Planted,
) -> Option<(usize, Work, Work)> {
    let mut model = Translation::new(Shape {
        units: UNITS,
        pages_per_unit: PAGES,
        sectors_per_page: SECTORS,
        open_units: open,
        linear_from,
        spare_blocks: 1,
        leveling: WearLeveling::Dynamic,
        prefilled,
    });
    let mut naive = Naive::new(open, linear_from, prefilled, planted);
    for (index, &(unit, page, first, sectors)) in writes.iter().enumerate() {
        let found = model.write(unit, page, first, sectors);
        let expected = naive.write(unit, page, first, sectors, index as u32 + 1);
        assert_eq!(naive.read(unit, page), Some(index as u32 + 1), "data read is not data written");
        let pages = (0..u64::from(UNITS)).flat_map(|unit| (0..PAGES).map(move |page| (unit, page)));
        let mut same = pages.clone();
        let same = same
            .all(|(unit, page)| model.is_written(unit, page) == naive.read(unit, page).is_some());
        if found != expected || (planted == Planted::Nothing && !same) {
            return Some((index, found, expected));
        }
    }
    // Blocks are neither lost nor made: each is free, holds a unit or is a log.
    let used = model.data.len() + model.logs.len();
    let total = (UNITS + open + 1) as usize;
    assert_eq!(model.blocks.free() + used, total, "blocks were lost");
    None
}

proptest! {
    #[test]
    fn work_equals_that_of_the_naive_card(
        writes in writes(), open in 1_u32..4, linear in prop::option::of(0_u32..4), prefilled in any::<bool>(),
    ) {
        prop_assert_eq!(difference(&writes, open, linear, prefilled, Planted::Nothing), None);
    }
}

#[test]
fn comparison_notices_planted_faults() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases: Vec<Vec<Write>> =
        (0..60).map(|_| writes().new_tree(&mut runner).unwrap().current()).collect();
    for planted in [
        Planted::ClosesTheWrongUnit,
        Planted::NeverCopies,
        Planted::AlwaysCopiesAll,
        Planted::ForgetsToErase,
        Planted::IgnoresLinear,
        Planted::ForgetsTails,
    ] {
        let noticed =
            cases.iter().any(|writes| difference(writes, 2, Some(3), true, planted).is_some());
        assert!(noticed, "{planted:?}");
    }
}

#[test]
fn discarded_pages_are_not_copied() {
    let shape = Shape {
        units: 2,
        pages_per_unit: 8,
        sectors_per_page: 4,
        open_units: 1,
        linear_from: None,
        spare_blocks: 1,
        leveling: WearLeveling::None,
        prefilled: true,
    };
    let mut model = Translation::new(shape);
    (2..8).for_each(|page| model.discard(0, page));
    assert_eq!(model.write(0, 0, 0, 4), Work { programmed: 1, ..Work::default() });
    // Closing unit 0 completes its log with page 1 alone.
    let work = model.write(1, 3, 0, 4);
    assert_eq!((work.partial, work.copied, work.erased, work.merged), (1, 1, 1, Some(0)));
    assert!(!model.is_written(0, 5));
}
