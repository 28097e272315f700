//! `seekwell device probe`: a device file from a disk itself.

use crate::args::ProbeArgs;
use crate::failure::{Exit, Failure};
use crate::{output, terminal};
use chrono::{DateTime, Utc};
use seekwell_device::probed::Probed;
use seekwell_host::facts::disk_model;
use seekwell_host::guard::Context;
use seekwell_host::output::Kind;
use seekwell_probe::{
    Accuracy, Findings, FlashFindings, Label, News, ProbeError, Simulated, Stage, Tape, Target,
    Volume, WriteTarget,
};
use seekwell_session::{ProbedDevice, ProbedError, ProbedWrites, Session};
use std::time::SystemTime;

/// Seed of what is withheld, so that it differs from the requests of the experiments.
const WITHHELD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Probes a disk or a model and writes the device file.
///
/// # Errors
/// When the device cannot be opened, read or, with `--write`, written, does not rotate, or the file cannot be written.
pub fn run(session: &Session, arguments: &ProbeArgs) -> Result<Exit, Failure> {
    check_name(&arguments.name)?;
    if let Some(path) = &arguments.output {
        output::refuse_existing(path)?;
    }
    let (mut opened, title, drive) = opened(session, arguments)?;
    let begun_ns = opened.target().now_ns();
    let probed = learn(&mut opened, arguments);
    if let Some(disturbance) = opened.target().disturbance() {
        terminal::talk(&format!("warning: {disturbance}"));
    }
    let (learned, accuracy) = probed?;
    let took_s = (opened.target().now_ns() - begun_ns) / 1_000_000_000;
    terminal::talk(learned.summary(&accuracy).trim_end());
    terminal::talk(&format!("{:<22}{took_s} s", "time of the device"));
    let source = format!("probe of {title}");
    let label = Label { name: &arguments.name, title: &title, source: &source };
    let origin = Probed {
        drive,
        seekwell: env!("CARGO_PKG_VERSION").to_owned(),
        date: DateTime::<Utc>::from(SystemTime::now()).date_naive().to_string(),
        method: if arguments.write { "reads and writes" } else { "reads" }.to_owned(),
    };
    let file = learned.file(label, &accuracy);
    let file = seekwell_device::with_origin(&file, &origin).map_err(|error| {
        Failure::Error(format!("the findings make no device that can be modelled: {error}"))
    })?;
    match &arguments.output {
        Some(path) => output::create(path, Kind::Device, file.as_bytes())?,
        None => terminal::data(&file),
    }
    Ok(Exit::Done)
}

/// The device to probe: for reading alone, or for writing, too.
enum Opened {
    Reads(Box<dyn Target>),
    Writes(Box<dyn WriteTarget>),
}

impl Opened {
    fn target(&mut self) -> &mut dyn Target {
        match self {
            Self::Reads(target) => &mut **target,
            Self::Writes(target) => &mut **target,
        }
    }
}

/// Findings of a kind of device.
enum Learned {
    Disk(Box<Findings>),
    Flash(FlashFindings),
    Volume(Box<Volume>),
}

impl Learned {
    fn summary(&self, accuracy: &Accuracy) -> String {
        match self {
            Self::Disk(findings) => seekwell_probe::summary(findings, accuracy),
            Self::Flash(findings) => seekwell_probe::flash_summary(findings, accuracy),
            Self::Volume(volume) => seekwell_probe::volume_summary(volume, accuracy),
        }
    }

    fn file(&self, label: Label, accuracy: &Accuracy) -> String {
        match self {
            Self::Disk(findings) => seekwell_probe::device_file(label, findings, Some(accuracy)),
            Self::Flash(findings) => seekwell_probe::flash_file(label, findings, Some(accuracy)),
            Self::Volume(volume) => seekwell_probe::volume_file(label, volume, Some(accuracy)),
        }
    }
}

/// Shows what is looked for and what was found, during the probe.
fn tell(news: News) {
    terminal::talk(&match news {
        News::Begins(stage) => format!("probing: {}", stage.name()),
        News::Found(name, value) => format!("  {name:<22}{value}"),
    });
}

/// Makes the experiments, then judges the file on requests that were withheld.
fn learn(opened: &mut Opened, arguments: &ProbeArgs) -> Result<(Learned, Accuracy), ProbeError> {
    let seed = arguments.seed;
    let mut tape = Tape::new(seed ^ WITHHELD);
    if !opened.target().geometry().rotational {
        if let Some(learned) = learn_volume(opened, arguments)? {
            return Ok(learned);
        }
        if let Opened::Writes(target) = opened {
            return learn_flash(&mut **target, arguments);
        }
    }
    let probed = seekwell_probe::probe(opened.target(), &mut tape, seed, &mut tell);
    let mut findings = match (probed, &mut *opened) {
        // Some sticks, readers and volumes call themselves rotating.
        (Err(ProbeError::NoRotation), opened) => {
            if let Some(learned) = learn_volume(opened, arguments)? {
                return Ok(learned);
            }
            let Opened::Writes(target) = opened else { return Err(ProbeError::NoRotation) };
            return learn_flash(&mut **target, arguments);
        }
        (found, _) => found?,
    };
    let accuracy = match opened {
        Opened::Reads(target) => {
            tell(News::Begins(Stage::Accuracy));
            seekwell_probe::judge(&mut **target, &tape, &findings, seed ^ WITHHELD)?
        }
        Opened::Writes(target) => {
            seekwell_probe::probe_writes(&mut **target, &mut tape, &mut findings, seed, &mut tell)?;
            tell(News::Begins(Stage::Accuracy));
            seekwell_probe::judge_writes(&mut **target, &tape, &findings, seed ^ WITHHELD)?
        }
    };
    Ok((Learned::Disk(Box::new(findings)), accuracy))
}

/// A volume whose service limits requests; `None` when the device is none.
fn learn_volume(
    opened: &mut Opened,
    arguments: &ProbeArgs,
) -> Result<Option<(Learned, Accuracy)>, ProbeError> {
    let seed = arguments.seed;
    let mut tape = Tape::new(seed ^ WITHHELD);
    let found = seekwell_probe::probe_volume(opened.target(), &mut tape, seed, &mut tell)?;
    let Some(mut volume) = found else { return Ok(None) };
    let accuracy = match opened {
        Opened::Reads(target) => {
            tell(News::Begins(Stage::Accuracy));
            seekwell_probe::judge_volume(&mut **target, &tape, &volume, seed ^ WITHHELD)?
        }
        Opened::Writes(target) => {
            seekwell_probe::probe_volume_writes(
                &mut **target, &mut tape, &mut volume, seed, &mut tell,
            )?;
            tell(News::Begins(Stage::Accuracy));
            seekwell_probe::judge_volume_writes(&mut **target, &tape, &volume, seed ^ WITHHELD)?
        }
    };
    Ok(Some((Learned::Volume(Box::new(volume)), accuracy)))
}

fn learn_flash(
    target: &mut dyn WriteTarget,
    arguments: &ProbeArgs,
) -> Result<(Learned, Accuracy), ProbeError> {
    let most_bytes = arguments.most_written.saturating_mul(1 << 30);
    let mut tape = Tape::new(arguments.seed ^ WITHHELD);
    let findings =
        seekwell_probe::probe_flash(target, &mut tape, arguments.seed, most_bytes, &mut tell)?;
    tell(News::Begins(Stage::Accuracy));
    let accuracy =
        seekwell_probe::judge_flash(target, &tape, &findings, arguments.seed ^ WITHHELD)?;
    Ok((Learned::Flash(findings), accuracy))
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

/// The device to probe, its title for people, and the model of a drive that has one. Neither is the path, which may hold
/// the serial number.
fn opened(
    session: &Session,
    arguments: &ProbeArgs,
) -> Result<(Opened, String, Option<String>), Failure> {
    if let Some(name) = &arguments.model {
        let file = session.device(name)?;
        let model = Simulated::new(seekwell_device::build(&file, arguments.seed));
        let opened = match arguments.write {
            true => Opened::Writes(Box::new(model)),
            false => Opened::Reads(Box::new(model)),
        };
        return Ok((opened, format!("the model {name}"), None));
    }
    let Some(path) = &arguments.device else {
        return Err(Failure::Error("no device is named; give a disk or --model".to_owned()));
    };
    let system = &session.machine().system;
    let opened = if arguments.write {
        let claims = session.machine().claims();
        let context = Context { claims, run_file: arguments.output.clone() };
        let disk = ProbedWrites::open(system, path, &context).map_err(refused)?;
        warn_of(disk.scheduler());
        Opened::Writes(Box::new(disk))
    } else {
        let disk = ProbedDevice::open(system, path)?;
        warn_of(disk.scheduler());
        Opened::Reads(Box::new(disk))
    };
    let drive = disk_model(system, path);
    let node = || path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string();
    Ok((opened, drive.clone().unwrap_or_else(node), drive))
}

fn warn_of(scheduler: Option<&str>) {
    if let Some(scheduler) = scheduler.filter(|scheduler| *scheduler != "none") {
        terminal::talk(&format!(
            "warning: the scheduler {scheduler} reorders reads before the disk can; for the disk's own sorting choose none"
        ));
    }
}

/// A device that the guard refuses ends the command as it ends a run.
fn refused(error: ProbedError) -> Failure {
    match error {
        ProbedError::Refused(refusal) => refusal.into(),
        ProbedError::Host(error) => error.into(),
        other => other.into(),
    }
}
