//! The traces that a lab replays, checked before there is a plan: in a trial a mistake would cost a
//! mkfs and come once per trial.

use crate::error::SessionError;
use crate::replay_check::plan;
use seekwell_host::confine::{Reach, read_confined};
use seekwell_model::lab::Lab;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::replay::ReplaySpeed;
use seekwell_model::workloads::{ReplayParams, RequestsParams, WorkloadParams};
use seekwell_replay::{Choice, Place, Plan, ReplayError, RequestChoice, plan_requests};
use seekwell_trace::Trace;

/// Sector of devices whose own is not known yet.
const LARGEST_SECTOR: u32 = 4096;

/// Checks that every trace of the lab can be replayed, and that its files fit on every device whose
/// size the lab tells.
///
/// # Errors
/// [`SessionError::Trace`] for a trace that is missing, damaged or too long, and [`SessionError::Usage`] for files
/// larger than a device.
pub(crate) fn check(lab: &Lab) -> Result<(), SessionError> {
    let mut seen: Vec<&ReplayParams> = Vec::new();
    for workload in &lab.workloads {
        for part in workload.parts.iter().chain(&workload.beside) {
            if let WorkloadParams::Requests(requests) = part {
                check_requests(lab, &workload.name, requests)?;
            }
            let WorkloadParams::Replay(replay) = part else { continue };
            let is_same = |other: &&ReplayParams| {
                let is_same_part = other.trace == replay.trace && other.only == replay.only;
                is_same_part && other.speed == replay.speed
            };
            if seen.iter().any(is_same) {
                continue;
            }
            let wrong = |source| SessionError::Trace { workload: workload.name.clone(), source };
            let plan = planned(replay).map_err(wrong)?;
            if replay.speed == ReplaySpeed::Recorded {
                plan.check_pauses().map_err(wrong)?;
            }
            check_room(lab, &workload.name, &plan)?;
            seen.push(replay);
        }
    }
    Ok(())
}

/// Checks that requests can be planned, and that each device of the lab has room for the longest.
fn check_requests(
    lab: &Lab,
    workload: &str,
    requests: &RequestsParams,
) -> Result<(), SessionError> {
    let wrong = |source| SessionError::Trace { workload: workload.to_owned(), source };
    let choice = RequestChoice { device: requests.device, ..RequestChoice::default() };
    let plan = read_confined(&Reach::default().reading_trace(&requests.trace), || {
        plan_requests(&Trace::open(&requests.trace)?, &choice)
    });
    let plan = plan.map_err(wrong)?;
    let recorded = plan.recorded();
    for size in lab.devices.iter().filter_map(|device| device.backing.size()) {
        let (reach, longest) = (recorded.reach_bytes, recorded.longest_bytes);
        Place::new(reach, longest, size.0, LARGEST_SECTOR, requests.stretch).map_err(wrong)?;
    }
    Ok(())
}

fn planned(replay: &ReplayParams) -> Result<Plan, ReplayError> {
    read_confined(&Reach::default().reading_trace(&replay.trace), || {
        plan(&Trace::open(&replay.trace)?, replay, replay.sync_every)
    })
}

fn check_room(lab: &Lab, workload: &str, plan: &Plan) -> Result<(), SessionError> {
    let needed = plan.tree_bytes();
    let small = lab.devices.iter().find_map(|device| {
        let size = device.backing.size()?;
        (size.0 < needed).then_some((device, size))
    });
    let Some((device, size)) = small else { return Ok(()) };
    Err(SessionError::Usage(format!(
        "workload {workload}: the files of the trace need {}, device {} has {size}; use a larger device, or limit the \
         replay with only",
        Bytes(needed.next_multiple_of(1 << 20)),
        device.name
    )))
}

/// The plan of a trace and the folder that it is limited to: without a choice the one that capture
/// walked.
pub(crate) fn chosen(
    trace: &Trace,
    only: Option<&String>,
) -> Result<(Option<String>, Plan), ReplayError> {
    let planned = |only: Option<&String>| {
        seekwell_replay::plan(trace, &Choice { only: only.cloned(), ..Choice::default() })
    };
    if only.is_none()
        && let [tree] = &trace.meta().initial[..]
    {
        match planned(Some(&tree.root)) {
            // The load works elsewhere than in the directory that it was started in.
            Err(ReplayError::Empty { .. }) => {}
            plan => return Ok((Some(tree.root.clone()), plan?)),
        }
    }
    Ok((only.cloned(), planned(only)?))
}
