//! Changes of the program that cost less than another stack: fewer syncs.

use super::Summary;
use super::ratio;
use super::sentences::AT_STAKE;
use super::text::{count, time};
use seekwell_trace::calls::Class;

/// Syncs of which one is kept.
pub const SYNC_EVERY: u32 = 10;

impl Summary {
    /// Sentences about the most that fewer syncs of the program save: the time in them, of all threads, and never more
    /// than the program was active.
    #[must_use]
    pub fn cheaper(&self) -> Vec<String> {
        let at_most = |saved_ns: u64| {
            let saved_ns = saved_ns.min(self.active_ns);
            (ratio(saved_ns, self.active_ns) >= AT_STAKE).then(|| time(saved_ns))
        };
        let syncs = self.classes.iter().find(|class| class.class == Class::Sync.name());
        let every = u64::from(SYNC_EVERY);
        let fewer = syncs.filter(|syncs| syncs.count > every).and_then(|syncs| {
            at_most(syncs.time_ns / every * (every - 1)).map(|saved| {
                format!(
                    "Cheaper than another stack, if the program can: one sync for {SYNC_EVERY} saves up to {saved} in {} \
                     syncs, and a crash loses up to {SYNC_EVERY} times as much. To try it set sync_every = {SYNC_EVERY} \
                     in the workload of the lab.",
                    count(syncs.count)
                )
            })
        });
        let removed = at_most(self.removed_sync_ns).map(|saved| {
            format!("It syncs files that it then removes: without these syncs up to {saved} less.")
        });
        fewer.into_iter().chain(removed).collect()
    }
}
