//! Power cuts after sequences of calls: one guest makes many of them, and the power fails as each has ended.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::power_cut::AfterCut;
use seekwell_model::workloads::calls::Call;
use seekwell_model::workloads::{CallsParams, WorkloadParams};

use super::{Guest, Result, VirtualBackend, VirtualBackendError, judge};
use crate::backend::Lane;

/// State after the power failed as a sequence had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceCut {
    /// State.
    pub after: AfterCut,
    /// The first loss in words; empty if nothing is lost.
    pub text: String,
}

impl VirtualBackend {
    /// Makes these sequences on a trial's stack, in one guest, and cuts the power when the last call of each has
    /// returned. The plan's workload is of the kind `calls`; the results are in the order of the sequences.
    ///
    /// # Errors
    ///
    /// When the backend fails, a call fails, or a state cannot be looked at.
    pub fn cut_sequences(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        lane: &Lane,
        sequences: &[Vec<Call>],
    ) -> Result<Vec<SequenceCut>> {
        let plan = with_calls(plan, sequences);
        let guest = Guest::whole(&plan, trial, lane);
        let label = guest.stack().label.clone();
        let failed = |why| VirtualBackendError::Stack(format!("no power cuts of {label}: {why}"));
        let story = self.story(&guest)?.map_err(failed)?;
        // The step acknowledges each sequence.
        let instants: Vec<u64> = story.changes.rows.iter().map(|(at_ns, _)| *at_ns).collect();
        if instants.len() != sequences.len() {
            return Err(failed("not every sequence was acknowledged".to_owned()));
        }
        let mut cuts = Vec::with_capacity(instants.len());
        self.surveys(&guest, &story, &instants, &mut |at_ns, promised, state| {
            let Some(record) = &state.record else { return };
            let (after, mut text) = judge(record, &state.loss(at_ns, promised));
            if let Some(top) = state.files.first().map(|top| &top.path) {
                // Paths become those of the sequence; a file of one before it keeps its directory.
                text = text.replace(&format!("{top}/calls-{}/", cuts.len() + 1), "");
                text = text.replace(&format!("{top}/"), "");
            }
            cuts.push(after.map(|after| SequenceCut { after, text: text.clone() }).ok_or(text));
        })?;
        cuts.into_iter().collect::<Result<_, _>>().map_err(failed)
    }
}

/// The plan with these sequences in place of its own.
fn with_calls(plan: &Plan, sequences: &[Vec<Call>]) -> Plan {
    let mut plan = plan.clone();
    for part in plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        *part = WorkloadParams::Calls(CallsParams { run: sequences.to_vec() });
    }
    plan
}
