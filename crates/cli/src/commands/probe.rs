//! `seekwell probe`: a device file from a disk itself.

use crate::args::ProbeArgs;
use crate::failure::{Exit, Failure};
use crate::{output, terminal};
use seekwell_device::probe::{self, Label, Simulated, Stage, Target};
use seekwell_host::output::Kind;
use seekwell_session::{ProbedDevice, Session};

/// Seed of the withheld reads, so that they differ from the reads of the experiments.
const WITHHELD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Probes a disk or a model and writes the device file.
///
/// # Errors
/// When the device cannot be opened or read, does not rotate, or the file cannot be written.
pub fn run(session: &Session, arguments: &ProbeArgs) -> Result<Exit, Failure> {
    check_name(&arguments.name)?;
    if let Some(path) = &arguments.output {
        output::refuse_existing(path)?;
    }
    let (mut target, title) = target(session, arguments)?;
    let begun_ns = target.now_ns();
    let mut tell = |stage: Stage| terminal::talk(&format!("probing: {}", stage.name()));
    let probed = probe::probe(&mut *target, arguments.seed, &mut tell).and_then(|findings| {
        tell(Stage::Accuracy);
        let accuracy = probe::judge(&mut *target, &findings, arguments.seed ^ WITHHELD)?;
        Ok((findings, accuracy))
    });
    if let Some(disturbance) = target.disturbance() {
        terminal::talk(&format!("warning: {disturbance}"));
    }
    let (findings, accuracy) = probed.map_err(|error| Failure::from_error(&error))?;
    let took_s = (target.now_ns() - begun_ns) / 1_000_000_000;
    terminal::talk(probe::summary(&findings, &accuracy).trim_end());
    terminal::talk(&format!("{:<22}{took_s} s", "time of the device"));
    let source = format!("probe of {title}");
    let label = Label { name: &arguments.name, title: &title, source: &source };
    let file = probe::device_file(label, &findings, Some(&accuracy));
    seekwell_device::load(&file).map_err(|error| {
        Failure::Error(format!("the findings make no device that can be modelled: {error}"))
    })?;
    match &arguments.output {
        Some(path) => output::create(path, Kind::Device, file.as_bytes())?,
        None => terminal::data(&file),
    }
    Ok(Exit::Done)
}

/// Refuses a name before minutes of reading, not after them.
fn check_name(name: &str) -> Result<(), Failure> {
    if seekwell_device::file::is_name(name) {
        return Ok(());
    }
    Err(Failure::Error(format!(
        "the name '{name}' cannot be used; make it of small letters, digits and '-'"
    )))
}

/// The device to probe, and its title for people.
fn target(session: &Session, arguments: &ProbeArgs) -> Result<(Box<dyn Target>, String), Failure> {
    if let Some(name) = &arguments.model {
        let file = session.device(name)?;
        let model = seekwell_device::build(&file, arguments.seed);
        return Ok((Box::new(Simulated::new(model)), format!("the model {name}")));
    }
    let Some(path) = &arguments.device else {
        return Err(Failure::Error("no device is named; give a disk or --model".to_owned()));
    };
    let disk = ProbedDevice::open(&session.machine().system, path)
        .map_err(|error| Failure::from_error(&error))?;
    if let Some(scheduler) = disk.scheduler().filter(|scheduler| *scheduler != "none") {
        terminal::talk(&format!(
            "warning: the scheduler {scheduler} reorders reads before the disk can; for the disk's own sorting choose none"
        ));
    }
    Ok((Box::new(disk), path.display().to_string()))
}
