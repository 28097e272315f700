//! Mapping of data to cells: units, their log blocks, and the cost of merging them.

use std::collections::BTreeMap;

use super::WearLeveling;
use super::wear::Blocks;

#[cfg(test)]
mod tests;

/// Operations of the cells. Times follow from these counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Pages programmed with data of the host.
    pub(crate) programmed: u64,
    /// Pages read because the host gave only a part of them.
    pub(crate) completed: u64,
    /// Pages copied by merges, or to fill a gap before a write.
    pub(crate) copied: u64,
    /// Blocks erased.
    pub(crate) erased: u64,
    /// Merges that only swapped the log in.
    pub(crate) switched: u64,
    /// Merges that completed the log.
    pub(crate) partial: u64,
    /// Merges that copied the whole unit.
    pub(crate) full: u64,
    /// The unit merged last.
    pub(crate) merged: Option<u64>,
}

impl Work {
    pub(crate) fn add(&mut self, other: &Self) {
        self.programmed += other.programmed;
        self.completed += other.completed;
        self.copied += other.copied;
        self.erased += other.erased;
        self.switched += other.switched;
        self.partial += other.partial;
        self.full += other.full;
        self.merged = other.merged.or(self.merged);
    }
}

/// One bit for each page of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageSet {
    words: Vec<u64>,
    count: u32,
}

impl PageSet {
    fn new(pages: u32) -> Self {
        Self { words: vec![0; pages.div_ceil(64) as usize], count: 0 }
    }

    fn full(pages: u32) -> Self {
        let mut set = Self::new(pages);
        (0..pages).for_each(|page| {
            set.insert(page);
        });
        set
    }

    fn has(&self, page: u32) -> bool {
        self.words[page as usize / 64] >> (page % 64) & 1 == 1
    }

    fn insert(&mut self, page: u32) {
        let word = &mut self.words[page as usize / 64];
        self.count += u32::from(*word >> (page % 64) & 1 == 0);
        *word |= 1 << (page % 64);
    }

    fn remove(&mut self, page: u32) {
        let word = &mut self.words[page as usize / 64];
        self.count -= u32::from(*word >> (page % 64) & 1 == 1);
        *word &= !(1 << (page % 64));
    }
}

/// The log block of a unit.
#[derive(Clone, Debug)]
struct Log {
    block: u32,
    /// Used pages of the log, with any content.
    used: u32,
    /// Pages whose newest data is in the log.
    holds: PageSet,
    /// True if page n of the log is page n of the unit, for all used so far.
    in_order: bool,
    /// The page written last and up to which of its sectors, while a write may continue inside it.
    tail: Option<(u32, u32)>,
    last_use: u64,
}

/// The map of a card.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pages_per_unit: u32,
    sectors_per_page: u32,
    open_units: usize,
    linear_from: u64,
    /// Pages that hold data, by unit; a unit without an entry is as it left the factory.
    valid: BTreeMap<u64, PageSet>,
    prefilled: bool,
    /// Block of the unit's data; a unit without an entry has its factory block, if prefilled.
    data: BTreeMap<u64, u32>,
    logs: BTreeMap<u64, Log>,
    pub(crate) blocks: Blocks,
    uses: u64,
}

/// Properties of the device that the translation needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) units: u32,
    pub(crate) pages_per_unit: u32,
    pub(crate) sectors_per_page: u32,
    pub(crate) open_units: u32,
    pub(crate) linear_from: Option<u32>,
    pub(crate) spare_blocks: u32,
    pub(crate) leveling: WearLeveling,
    pub(crate) prefilled: bool,
}

impl Translation {
    pub(crate) fn new(shape: Shape) -> Self {
        let count = shape.units + shape.open_units + shape.spare_blocks;
        let mut blocks = Blocks::new(count, shape.leveling);
        let mut data = BTreeMap::new();
        if shape.prefilled {
            for unit in 0..u64::from(shape.units) {
                data.extend(blocks.take().map(|block| (unit, block)));
            }
        }
        Self {
            pages_per_unit: shape.pages_per_unit,
            sectors_per_page: shape.sectors_per_page,
            open_units: shape.open_units as usize,
            linear_from: shape.linear_from.map_or(u64::MAX, u64::from),
            valid: BTreeMap::new(),
            prefilled: shape.prefilled,
            data,
            logs: BTreeMap::new(),
            blocks,
            uses: 0,
        }
    }

    pub(crate) fn is_written(&self, unit: u64, page: u32) -> bool {
        self.valid.get(&unit).map_or(self.prefilled, |valid| valid.has(page))
    }

    fn valid_mut(&mut self, unit: u64) -> &mut PageSet {
        let (pages, prefilled) = (self.pages_per_unit, self.prefilled);
        self.valid
            .entry(unit)
            .or_insert_with(|| if prefilled { PageSet::full(pages) } else { PageSet::new(pages) })
    }

    /// Writes `sectors` of a page from sector `first` of it on.
    pub(crate) fn write(&mut self, unit: u64, page: u32, first: u32, sectors: u32) -> Work {
        let mut work = Work::default();
        self.uses += 1;
        if self.goes_on(unit, page, first, sectors) {
            // A second partial program of the same page: no new page of the log.
            work.programmed = 1;
            return work;
        }
        let is_partial = sectors < self.sectors_per_page;
        self.make_room(unit, page, &mut work);
        work.completed += u64::from(is_partial && self.is_written(unit, page));
        work.programmed += 1;
        self.valid_mut(unit).insert(page);
        let uses = self.uses;
        if let Some(log) = self.logs.get_mut(&unit) {
            log.in_order &= log.used == page;
            log.used += 1;
            log.holds.insert(page);
            log.tail = Some((page, first + sectors));
            log.last_use = uses;
        }
        work
    }

    /// Returns true if the write continues the page written last in its unit, and records it then.
    fn goes_on(&mut self, unit: u64, page: u32, first: u32, sectors: u32) -> bool {
        let uses = self.uses;
        let Some(log) = self.logs.get_mut(&unit) else { return false };
        if first == 0 || log.tail != Some((page, first)) {
            return false;
        }
        log.tail = Some((page, first + sectors));
        log.last_use = uses;
        true
    }

    /// Sees to it that the unit has a log that takes `page` next.
    fn make_room(&mut self, unit: u64, page: u32, work: &mut Work) {
        let is_linear = unit >= self.linear_from;
        let takes = |log: &Log, pages: u32| log.used < pages && (!is_linear || page >= log.used);
        let pages = self.pages_per_unit;
        if self.logs.get(&unit).is_some_and(|log| !takes(log, pages)) {
            self.merge(unit, work);
        }
        if !self.logs.contains_key(&unit) {
            self.open(unit, work);
        }
        if is_linear {
            self.fill_gap(unit, page, work);
        }
    }

    /// Opens a log, closing the one longest unused if there are too many.
    fn open(&mut self, unit: u64, work: &mut Work) {
        while self.logs.len() >= self.open_units {
            let oldest = self.logs.iter().min_by_key(|(_, log)| log.last_use);
            let Some(oldest) = oldest.map(|(unit, _)| *unit) else { break };
            self.merge(oldest, work);
        }
        // There is one block for each unit, each log and at least one spare, so one is free here.
        let Some(block) = self.blocks.take() else { return };
        let holds = PageSet::new(self.pages_per_unit);
        let last_use = self.uses;
        self.logs.insert(unit, Log { block, used: 0, holds, in_order: true, tail: None, last_use });
    }

    /// In a linear-only unit the pages between the last written and this one are copied first.
    fn fill_gap(&mut self, unit: u64, page: u32, work: &mut Work) {
        let Some(mut log) = self.logs.remove(&unit) else { return };
        while log.used < page {
            let filler = log.used;
            if self.is_written(unit, filler) {
                work.copied += 1;
                log.holds.insert(filler);
            }
            log.used += 1;
        }
        self.logs.insert(unit, log);
    }

    /// Makes the log of a unit, together with what is still in its old block, its only block.
    fn merge(&mut self, unit: u64, work: &mut Work) {
        let Some(log) = self.logs.remove(&unit) else { return };
        let valid = self.valid_mut(unit).clone();
        let old = self.data.get(&unit).copied();
        let elsewhere =
            (0..self.pages_per_unit).filter(|page| valid.has(*page) && !log.holds.has(*page));
        let missing = elsewhere.count() as u64;
        work.merged = Some(unit);
        if log.in_order {
            if missing == 0 {
                work.switched += 1;
            } else {
                work.partial += 1;
                work.copied += missing;
            }
            self.data.insert(unit, log.block);
        } else {
            work.full += 1;
            work.copied += u64::from(valid.count);
            // The log's own block and the old one are freed below; the spare one is what the copy goes to.
            let Some(block) = self.blocks.take() else { return };
            self.data.insert(unit, block);
            self.blocks.erase(log.block);
            work.erased += 1;
        }
        if let Some(old) = old {
            self.blocks.erase(old);
            work.erased += 1;
        }
    }

    /// The content of a whole page is no longer wanted.
    pub(crate) fn discard(&mut self, unit: u64, page: u32) {
        self.valid_mut(unit).remove(page);
        if let Some(log) = self.logs.get_mut(&unit) {
            log.holds.remove(page);
            log.tail = log.tail.filter(|(tail, _)| *tail != page);
        }
    }
}
