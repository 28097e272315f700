//! Changes of the program that cost less than another stack: fewer syncs.

use super::Summary;
use super::text::{count, time};
use seekwell_trace::calls::Class;

/// Syncs of which one is kept.
const SYNC_EVERY: u64 = 10;

/// Least share of the active time that a sentence is worth.
const AT_STAKE: f64 = 0.1;

impl Summary {
    /// Sentences about the most that fewer syncs of the program save. Where threads sync at the same time it is less:
    /// the time is that of all threads.
    #[must_use]
    pub fn cheaper(&self) -> Vec<String> {
        let is_worth = |saved_ns: u64| saved_ns as f64 >= AT_STAKE * self.active_ns as f64;
        let syncs = self.classes.iter().find(|class| class.class == Class::Sync.name());
        let fewer = syncs.filter(|syncs| syncs.count > SYNC_EVERY).and_then(|syncs| {
            let saved_ns = syncs.time_ns / SYNC_EVERY * (SYNC_EVERY - 1);
            is_worth(saved_ns).then(|| {
                format!(
                    "Cheaper than another stack, if the program can: one sync for {SYNC_EVERY} saves up to {} in {} \
                     syncs, and a crash loses up to {SYNC_EVERY} times as much. To try it set sync_every = {SYNC_EVERY} \
                     in the workload of the lab.",
                    time(saved_ns),
                    count(syncs.count)
                )
            })
        });
        let removed = is_worth(self.removed_sync_ns).then(|| {
            format!(
                "It syncs files that it then removes: without these syncs up to {} less.",
                time(self.removed_sync_ns)
            )
        });
        fewer.into_iter().chain(removed).collect()
    }
}
