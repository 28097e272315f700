//! States of threads and processes, mostly found without a hash.

use seekwell_trace::fast::FastMap;

/// Places of the numbers that were asked for last.
const RECENT: usize = 64;

/// A state for each number.
pub(super) struct ById<T> {
    all: Vec<(u32, T)>,
    places: FastMap<u32, usize>,
    /// Place of a number with these lowest bits.
    recent: [usize; RECENT],
}

impl<T> ById<T> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), places: FastMap::default(), recent: [0; RECENT] }
    }

    /// The state of a number, which `first` makes when there is none.
    #[inline]
    pub(super) fn get(&mut self, id: u32, first: impl FnOnce() -> T) -> &mut T {
        let recent = id as usize % RECENT;
        let mut at = self.recent[recent];
        if self.all.get(at).is_none_or(|(known, _)| *known != id) {
            at = self.find(id, first);
            self.recent[recent] = at;
        }
        &mut self.all[at].1
    }

    fn find(&mut self, id: u32, first: impl FnOnce() -> T) -> usize {
        let next = self.all.len();
        let at = *self.places.entry(id).or_insert(next);
        if at == next {
            self.all.push((id, first()));
        }
        at
    }

    /// True when the number was asked for.
    pub(super) fn has(&self, id: u32) -> bool {
        self.places.contains_key(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// All states, in the order of their first use.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(u32, T)> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests;
