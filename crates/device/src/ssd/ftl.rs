//! The page-mapped translation: the position of each unit, and the choice of blocks to empty for room.

use std::collections::BTreeSet;

use super::map::Map;
use crate::flash::WearLeveling;
use crate::flash::wear::Blocks;

#[cfg(test)]
mod tests;

/// Sizes, in units of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Units of the capacity.
    pub(crate) units: u32,
    pub(crate) dies: u32,
    pub(crate) blocks_per_die: u32,
    pub(crate) units_per_block: u32,
    /// Units programmed at once on a die.
    pub(crate) units_per_stripe: u32,
    pub(crate) units_per_page: u32,
    /// Erased blocks a die keeps before it collects.
    pub(crate) reserve_blocks: u32,
}

/// Cost of a stripe of the host in addition to its own program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Units copied.
    pub(crate) units: u32,
    /// Pages read for that.
    pub(crate) pages_read: u32,
    /// Blocks erased.
    pub(crate) erased: u32,
}

/// The block being filled, and how far.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    block: u32,
    used: u32,
}

/// A block being emptied.
#[derive(Clone, Copy, Debug)]
struct Victim {
    block: u32,
    next_slot: u32,
    /// Valid units when it was chosen: sets the pace.
    valid_at_start: u32,
    /// Units copied out of it.
    moved: u32,
    /// Credit given for that so far.
    earned: i64,
}

impl Victim {
    /// Units that one copy pays for, if no more are invalidated.
    fn credit_per_copy(&self, units_per_block: u32) -> i64 {
        let gain = i64::from(units_per_block.saturating_sub(self.valid_at_start));
        gain * CREDIT / i64::from(self.valid_at_start.max(1))
    }
}

#[derive(Clone, Debug)]
struct Die {
    blocks: Blocks,
    /// Valid units of each block.
    valid: Vec<u32>,
    /// Unit that each slot of a block was written with; none for an erased block.
    holds: Vec<Option<Box<[u32]>>>,
    /// Blocks that are full and not being emptied, by valid units.
    full: BTreeSet<(u32, u32)>,
    host: Option<Frontier>,
    collector: Option<Frontier>,
    victim: Option<Victim>,
    /// Valid units of all its blocks.
    valid_units: u64,
    /// Slots that collecting has freed beyond those the host has used, in parts of [`CREDIT`].
    credit: i64,
}

/// The map of a disk.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    shape: Shape,
    map: Map,
    dies: Vec<Die>,
    next_die: u32,
}

/// Credit for one slot: fine enough that single copies can be paid for.
const CREDIT: i64 = 1 << 20;

/// A slot that was skipped to fill a stripe up.
const NOTHING: u32 = u32::MAX;

impl Ftl {
    pub(crate) fn new(shape: Shape) -> Self {
        let blocks = shape.blocks_per_die;
        let die = Die {
            blocks: Blocks::new(blocks, WearLeveling::Dynamic),
            valid: vec![0; blocks as usize],
            holds: vec![None; blocks as usize],
            full: BTreeSet::new(),
            host: None,
            collector: None,
            victim: None,
            valid_units: 0,
            credit: 0,
        };
        let dies = vec![die; shape.dies as usize];
        Self { shape, map: Map::default(), dies, next_die: 0 }
    }

    pub(crate) const fn shape(&self) -> Shape {
        self.shape
    }

    /// Die and page (numbered within the die) of a unit; `None` when nothing was written there.
    pub(crate) fn place(&self, unit: u32) -> Option<(u32, u32)> {
        let slot = self.map.get(unit)?;
        let per_die = self.shape.blocks_per_die * self.shape.units_per_block;
        Some((slot / per_die, slot % per_die / self.shape.units_per_page))
    }

    /// The next die in turn that can take a stripe, of those that `is_ready`.
    ///
    /// A die that holds nothing but valid data could free nothing any more, so it is passed over: data that is
    /// overwritten moves from die to die.
    pub(crate) fn next_die(&mut self, is_ready: impl Fn(u32) -> bool) -> Option<u32> {
        let dies = self.shape.dies;
        let kept_free = self.shape.reserve_blocks + 2;
        let usable = u64::from(self.shape.blocks_per_die - kept_free)
            * u64::from(self.shape.units_per_block);
        let room = usable - u64::from(self.shape.units_per_stripe).min(usable);
        let turn = (0..dies).map(|step| (self.next_die + step) % dies);
        let found = turn
            .clone()
            .find(|die| is_ready(*die) && self.dies[*die as usize].valid_units <= room)?;
        self.next_die = (found + 1) % dies;
        Some(found)
    }

    /// Writes units of the host, a stripe at most, on a die; collects as much as the pace asks.
    pub(crate) fn program(&mut self, die: u32, units: &[u32]) -> Collected {
        let mut collected = Collected::default();
        let stripe = self.shape.units_per_stripe;
        self.collect(die, stripe, &mut collected);
        for index in 0..stripe {
            let unit = units.get(index as usize).copied();
            self.put(die, unit, true);
        }
        collected
    }

    /// The content of a unit is no longer wanted.
    pub(crate) fn unmap(&mut self, unit: u32) {
        if let Some(slot) = self.map.set(unit, None) {
            self.invalidate(slot);
        }
    }

    fn invalidate(&mut self, slot: u32) {
        let per_block = self.shape.units_per_block;
        let per_die = self.shape.blocks_per_die * per_block;
        let block = slot % per_die / per_block;
        let die = &mut self.dies[(slot / per_die) as usize];
        let valid = &mut die.valid[block as usize];
        if die.full.remove(&(*valid, block)) {
            die.full.insert((*valid - 1, block));
        }
        *valid -= 1;
        die.valid_units -= 1;
    }

    /// Fills the next slot of the host's or the collector's block with a unit, or leaves it empty.
    fn put(&mut self, die: u32, unit: Option<u32>, by_host: bool) {
        let Shape { units_per_block, blocks_per_die, .. } = self.shape;
        let this = &mut self.dies[die as usize];
        let frontier = if by_host { &mut this.host } else { &mut this.collector };
        let current = match frontier {
            Some(frontier) => frontier,
            None => {
                // The reserve and the pace of collecting see to it that a block is free.
                debug_assert!(this.blocks.free() > 0, "die {die} ran out of erased blocks");
                let Some(block) = this.blocks.take() else { return };
                this.holds[block as usize] =
                    Some(vec![NOTHING; units_per_block as usize].into_boxed_slice());
                frontier.insert(Frontier { block, used: 0 })
            }
        };
        let Frontier { block, used } = *current;
        current.used += 1;
        let is_full = current.used == units_per_block;
        if is_full {
            *frontier = None;
        }
        if let Some(unit) = unit {
            let slot = (die * blocks_per_die + block) * units_per_block + used;
            let old = self.map.set(unit, Some(slot));
            if let Some(holds) = &mut self.dies[die as usize].holds[block as usize] {
                holds[used as usize] = unit;
            }
            self.dies[die as usize].valid[block as usize] += 1;
            self.dies[die as usize].valid_units += 1;
            if let Some(old) = old {
                self.invalidate(old);
            }
        }
        if is_full {
            let this = &mut self.dies[die as usize];
            this.full.insert((this.valid[block as usize], block));
        }
    }

    /// Copies from the victim in proportion to what the host writes: a victim with v of n units valid pays for n - v
    /// units of the host. What one victim pays too little or too much is carried over to the next.
    fn collect(&mut self, die: u32, host_units: u32, collected: &mut Collected) {
        if !self.choose_victim(die) {
            self.dies[die as usize].credit = 0;
            return;
        }
        self.dies[die as usize].credit -= i64::from(host_units) * CREDIT;
        while self.dies[die as usize].credit < 0 && self.choose_victim(die) {
            let this = &self.dies[die as usize];
            let Some(victim) = this.victim else { return };
            let per_copy = victim.credit_per_copy(self.shape.units_per_block);
            let due = this.credit.unsigned_abs().div_ceil(per_copy.unsigned_abs().max(1));
            self.empty(die, u32::try_from(due).unwrap_or(u32::MAX), collected);
        }
    }

    /// Chooses a block to empty if the die is short of erased ones; returns true if there is one.
    fn choose_victim(&mut self, die: u32) -> bool {
        let this = &mut self.dies[die as usize];
        if this.victim.is_some() {
            return true;
        }
        if this.blocks.free() > self.shape.reserve_blocks as usize {
            return false;
        }
        let Some((valid, block)) = this.full.pop_first() else { return false };
        if valid == self.shape.units_per_block {
            this.full.insert((valid, block));
            return false;
        }
        this.victim =
            Some(Victim { block, next_slot: 0, valid_at_start: valid, moved: 0, earned: 0 });
        true
    }

    /// Moves up to `count` valid units out of the victim; erases it when none is left.
    fn empty(&mut self, die: u32, count: u32, collected: &mut Collected) {
        let Shape { units_per_block, blocks_per_die, units_per_page, .. } = self.shape;
        let Some(mut victim) = self.dies[die as usize].victim else { return };
        let first_slot = (die * blocks_per_die + victim.block) * units_per_block;
        let mut moved = 0;
        let mut last_page = None;
        while victim.next_slot < units_per_block && moved < count {
            let slot = victim.next_slot;
            victim.next_slot += 1;
            let holds = self.dies[die as usize].holds[victim.block as usize].as_ref();
            let unit = holds.map_or(NOTHING, |holds| holds[slot as usize]);
            if unit == NOTHING || self.map.get(unit) != Some(first_slot + slot) {
                continue;
            }
            let page = slot / units_per_page;
            collected.pages_read += u32::from(last_page != Some(page));
            last_page = Some(page);
            self.put(die, Some(unit), false);
            moved += 1;
        }
        collected.units += moved;
        victim.moved += moved;
        let this = &mut self.dies[die as usize];
        let earned = i64::from(moved) * victim.credit_per_copy(units_per_block);
        victim.earned += earned;
        this.credit += earned;
        let is_empty = this.valid[victim.block as usize] == 0;
        this.victim = Some(victim).filter(|_| !is_empty);
        if is_empty {
            // The units really freed: some may have been invalidated while it was being emptied.
            this.credit += i64::from(units_per_block - victim.moved) * CREDIT - victim.earned;
            this.holds[victim.block as usize] = None;
            this.blocks.erase(victim.block);
            collected.erased += 1;
        }
    }

    /// Erases of the block erased most often.
    pub(crate) fn most_worn(&self) -> u64 {
        self.dies.iter().map(|die| u64::from(die.blocks.most_worn())).max().unwrap_or(0)
    }

    pub(crate) fn total_erases(&self) -> u64 {
        self.dies.iter().map(|die| die.blocks.total_erases()).sum()
    }

    /// Erases that count against the rating: dies are used in turn and wear alike.
    pub(crate) fn wear(&self) -> f64 {
        self.dies.iter().map(|die| die.blocks.wear()).sum::<f64>() / self.dies.len() as f64
    }
}
