//! Trials that go out together: some, so that a claim is worth its cost, and never more than leave enough for the others.

use super::Unit;
use crate::spool::Share;
use seekwell_model::plan::PlannedTrial;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Work that a worker takes at once. A server of 0.2 ms for each file serves 1,000 nodes then.
const WORK: Duration = Duration::from_secs(10);

/// Trials in a share at most: its records are one file.
const MOST: usize = 64;

/// Parts into which the trials that are left are cut for each worker, so that all end at about the same time.
const PARTS: usize = 2;

/// The announced trials and their shares.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Announced trials by number.
    wanted: BTreeMap<u32, PlannedTrial>,
    /// Those that have no share yet, in order.
    left: VecDeque<PlannedTrial>,
    /// Shares by number.
    shares: BTreeMap<u32, Share>,
    /// Number of the share of each trial.
    places: BTreeMap<u32, u32>,
}

/// Number of trials of a share, from the time that a node needs for one.
fn size(trial_ns: Option<u64>, left: usize, workers: usize) -> usize {
    let Some(trial_ns) = trial_ns else { return 1 };
    let enough = WORK.as_nanos().div_ceil(u128::from(trial_ns.max(1)));
    let enough = usize::try_from(enough).unwrap_or(MOST);
    let fair = left / (PARTS * workers).max(1);
    enough.min(fair).clamp(1, MOST)
}

impl Shares {
    /// Adds a share that is there from before.
    pub(super) fn adopt(&mut self, share: Share) {
        self.places.extend(share.trials.iter().map(|trial| (trial.index, share.index)));
        self.shares.insert(share.index, share);
    }

    /// The trials that are wanted from now on. A share stays while one of its trials is wanted. `withdraw` tries to take
    /// back the offer of a share of which some are not wanted any more.
    pub(super) fn announce<E>(
        &mut self,
        trials: &[PlannedTrial],
        withdraw: &mut dyn FnMut(u32) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.wanted = trials.iter().map(|trial| (trial.index, *trial)).collect();
        let mut gone = Vec::new();
        for share in self.shares.values() {
            let of = |trial: &PlannedTrial| self.wanted.get(&trial.index);
            let is_other = share.trials.iter().any(|one| of(one).is_some_and(|new| new != one));
            let wanted = share.trials.iter().filter(|trial| of(trial).is_some()).count();
            let is_part = wanted < share.trials.len();
            if is_other || wanted == 0 || (is_part && withdraw(share.index)?) {
                gone.push(share.index);
            }
        }
        gone.into_iter().for_each(|index| self.forget(index));
        let is_new = |trial: &&PlannedTrial| !self.places.contains_key(&trial.index);
        self.left = trials.iter().filter(is_new).copied().collect();
        Ok(())
    }

    fn forget(&mut self, index: u32) {
        if let Some(share) = self.shares.remove(&index) {
            for trial in &share.trials {
                self.places.remove(&trial.index);
            }
        }
    }

    /// True for a share of which a trial is wanted.
    pub(super) fn has(&self, index: u32) -> bool {
        self.shares.contains_key(&index)
    }

    /// True for a trial that was announced.
    pub(super) fn wants(&self, index: u32) -> bool {
        self.wanted.contains_key(&index)
    }

    /// The next share to offer, for so many workers.
    pub(super) fn next(
        &mut self,
        unit: Unit,
        trial_ns: Option<u64>,
        workers: usize,
    ) -> Option<Share> {
        let first = *self.left.front()?;
        let index = unit.index(&first);
        let most = match unit {
            Unit::Trial => size(trial_ns, self.left.len(), workers),
            Unit::Round => usize::MAX,
        };
        let mut trials = Vec::new();
        while trials.len() < most
            && let Some(trial) = self.left.front()
            && (unit == Unit::Trial || unit.index(trial) == index)
        {
            trials.extend(self.left.pop_front());
        }
        let share = Share { index, trials };
        self.adopt(share.clone());
        Some(share)
    }

    /// The share of a trial: the one that it has, or the trial alone.
    pub(super) fn of(&mut self, unit: Unit, trial: &PlannedTrial) -> Share {
        let known = self.places.get(&trial.index).and_then(|index| self.shares.get(index));
        if let Some(share) = known.filter(|share| share.trials.contains(trial)) {
            return share.clone();
        }
        self.left.retain(|one| one.index != trial.index);
        let share = Share { index: unit.index(trial), trials: vec![*trial] };
        self.adopt(share.clone());
        share
    }
}

#[cfg(test)]
mod tests;
