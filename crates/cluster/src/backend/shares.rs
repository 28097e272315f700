//! Trials that go out together: some, so that a claim is worth its cost, and never more than leave enough for the others.

use super::Unit;
use crate::pace;
use crate::spool::Share;
use seekwell_model::plan::PlannedTrial;
use std::collections::{BTreeMap, VecDeque};

/// The announced trials and their shares.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Announced trials by number.
    wanted: BTreeMap<u32, PlannedTrial>,
    /// Numbers of those that the run has not asked for, in order.
    unasked: VecDeque<u32>,
    /// Those that have no share yet, in order.
    left: VecDeque<PlannedTrial>,
    /// Shares by number.
    shares: BTreeMap<u32, Share>,
    /// Number of the share of each trial.
    places: BTreeMap<u32, u32>,
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
        self.unasked = trials.iter().map(|trial| trial.index).collect();
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

    /// Notes that the run asks for a trial, and so not for those before it.
    pub(super) fn asked(&mut self, trial: &PlannedTrial) {
        if let Some(place) = self.unasked.iter().position(|index| *index == trial.index) {
            self.unasked.drain(..=place);
        }
    }

    /// Number of the share of the trial that the run asks for next, as far as it was announced.
    pub(super) fn next_asked(&self) -> Option<u32> {
        self.places.get(self.unasked.front()?).copied()
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
            Unit::Trial => pace::share(trial_ns, self.left.len(), workers),
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
