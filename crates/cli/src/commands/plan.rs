//! `seekwell plan`: what a lab would do. Touches nothing.

use crate::args::PlanArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::refusal::RefusalKind;
use seekwell_session::{LabText, Options, Planned, Session, SessionError};
use std::path::Path;

/// Prints the plan of a lab. A disk that a run would be refused is refused here too, instead of the plan;
/// only one without a claim comes below it: the plan is read before a disk is claimed. So does too little
/// room for its images.
///
/// # Errors
/// When the lab cannot be read or planned, or a disk must not be written.
pub fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let planned = planned(session, &arguments.lab, &arguments.at.options())?;
    let plan = planned.plan();
    let checked = planned.check_devices();
    let unclaimed = |error: &SessionError| matches!(error, SessionError::Refused(refusal) if refusal.kind == RefusalKind::NotClaimed);
    if checked.as_ref().is_err_and(|error| !unclaimed(error)) {
        return Ok(checked.map(|()| Exit::Done)?);
    }
    if arguments.json {
        // Without the effects on the machine: the plan still counts as not seen.
        terminal::json(plan)?;
    } else {
        show(&planned)?;
        // An ordinary user cannot keep the note; then a run as root shows the plan once more.
        let _ = planned.note_seen();
    }
    let disk = arguments.at.options().device.filter(|disk| disk.starts_with('/'));
    if let Some(disk) = disk.filter(|disk| !Path::new(disk).exists()) {
        terminal::talk(&format!("{disk} is not on this machine; a run here needs it"));
    }
    checked?;
    planned.check_room(Path::new(""))?;
    Ok(Exit::Done)
}

/// Prints a plan with its effects.
///
/// # Errors
/// When a stack has a journal that its filesystem cannot have.
pub fn show(planned: &Planned) -> Result<(), Failure> {
    let effects = planned.effects()?.lines();
    terminal::data(&seekwell_report::plan_text(planned.plan(), &effects, terminal::width()));
    Ok(())
}

/// Reads a lab and plans it.
///
/// # Errors
/// When the lab cannot be read or planned.
pub fn planned(session: &Session, lab: &Path, options: &Options) -> Result<Planned, Failure> {
    let planned = session.resolve(&LabText::read(lab)?, options)?.plan()?;
    planned.notes().iter().for_each(|note| terminal::talk(note));
    Ok(planned)
}
