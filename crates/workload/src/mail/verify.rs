//! Reads a share of the unpacked files, after a remount, and compares each with its content, which
//! the seed gives again.

use super::Mail;
use super::content::Content;
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::StepContext;
use crate::verify::Checked;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_stats::{derive_seed, seeded};
use std::path::Path;

impl Mail {
    pub(super) fn verify(
        &self,
        mounted: &Path,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        let name = &self.outline.name;
        let params = &self.shared.params;
        let copy = self.shared.newest_copy(name)?;
        let root = mounted.join(&copy);
        let tree = self.shared.tree(context.seed);
        let mut content = Content::of_copy(params, context.seed, &copy);
        let mut chance = seeded(derive_seed(context.seed, "verify"));
        let begin_ns = MonotonicClock.now_ns();
        let (mut checked, mut ops) = (Checked::default(), 0);
        let mut path = String::with_capacity(64);
        let mut expected = Vec::new();
        for file in 0..tree.len() {
            if context.is_stopped() {
                break;
            }
            // Also of files that are not read: the content of each follows those before it.
            expected.clear();
            content.file(tree.size(file), |bytes| {
                expected.extend_from_slice(bytes);
                Ok(())
            })?;
            let is_chosen = chance.below(100) < u64::from(params.verify);
            // At least one, also of a few files.
            let is_last = ops == 0 && file + 1 == tree.len();
            if !is_chosen && !is_last {
                continue;
            }
            ops += 1;
            let path = root.join(tree.path(file, &mut path));
            match std::fs::read(&path) {
                Ok(found) if found.len() > expected.len() => {
                    checked.lose(expected.len() as u64, || {
                        let (has, had) = (found.len(), expected.len());
                        format!("in {}, which has {has} bytes instead of {had}", path.display())
                    });
                }
                Ok(found) => checked
                    .compare(&expected, &found, |at| format!("at byte {at} of {}", path.display())),
                Err(error) => checked.lose(expected.len() as u64, || {
                    format!("in {}, which cannot be read: {error}", path.display())
                }),
            }
        }
        let elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
        let stopped = context.is_stopped();
        Ok(StepOutcome { ops, elapsed_ns, stopped, ..checked.outcome(name) })
    }
}
