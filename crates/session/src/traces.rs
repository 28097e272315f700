//! The traces that a lab replays, checked before there is a plan: in a trial a mistake would cost a
//! mkfs and come once per trial.

use crate::error::SessionError;
use seekwell_model::lab::Lab;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{ReplayParams, WorkloadParams};
use seekwell_replay::{Choice, Plan, ReplayError};
use seekwell_trace::Trace;

/// Checks that every trace of the lab can be replayed, and that its files fit on every device whose
/// size the lab tells.
///
/// # Errors
/// [`SessionError::Trace`] for a trace that is missing, damaged or too long, and
/// [`SessionError::TraceRoom`] for files larger than a device.
pub(crate) fn check(lab: &Lab) -> Result<(), SessionError> {
    let mut seen: Vec<&ReplayParams> = Vec::new();
    for workload in &lab.workloads {
        for part in workload.parts.iter().chain(&workload.beside) {
            let WorkloadParams::Replay(replay) = part else { continue };
            let is_same =
                |other: &&ReplayParams| other.trace == replay.trace && other.only == replay.only;
            if seen.iter().any(is_same) {
                continue;
            }
            let wrong = |source| SessionError::Trace { workload: workload.name.clone(), source };
            let plan = planned(replay).map_err(wrong)?;
            check_room(lab, &workload.name, &plan)?;
            seen.push(replay);
        }
    }
    Ok(())
}

fn planned(replay: &ReplayParams) -> Result<Plan, ReplayError> {
    let trace = Trace::open(&replay.trace)?;
    seekwell_replay::plan(&trace, &Choice { only: replay.only.clone(), ..Choice::default() })
}

fn check_room(lab: &Lab, workload: &str, plan: &Plan) -> Result<(), SessionError> {
    let needed = plan.tree_bytes();
    let small = lab.devices.iter().find_map(|device| {
        let size = device.backing.size()?;
        (size.0 < needed).then_some((device, size))
    });
    let Some((device, size)) = small else { return Ok(()) };
    Err(SessionError::TraceRoom {
        workload: workload.to_owned(),
        needed: Bytes(needed.next_multiple_of(1 << 20)),
        device: device.name.clone(),
        size,
    })
}
