//! `seekwell device`: the modelled devices, and what they do, drawn.

use crate::args::{DeviceCheckArgs, DeviceCommand, DeviceCompareArgs};
use crate::commands::compare::Run;
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_device::compared::Compared;
use seekwell_device::{DeviceFile, catalogue, check};
use seekwell_host::confine::Reach;
use seekwell_host::facts::serials;
use seekwell_host::output::Kind;
use seekwell_model::comparison::Prediction;
use seekwell_model::stack::Backing;
use seekwell_runner::compare::{Side, predicted};
use seekwell_session::{Session, System, device_text};
use serde_json::json;
use std::collections::BTreeMap;

mod serve;

/// Lists the modelled devices, draws one, serves, probes or checks one, or compares a prediction with the device.
///
/// # Errors
/// When there is no such device, or a file is wrong or cannot be read or written.
pub fn run(session: &Session, command: &DeviceCommand) -> Result<Exit, Failure> {
    match command {
        DeviceCommand::List => {
            let devices = session.devices()?;
            let table = seekwell_device::catalogue::table(devices.values());
            terminal::data(&terminal::wrap_last(&table, "what it is", terminal::columns()));
        }
        DeviceCommand::Show { name } => {
            let file = session.device(name)?;
            let text = seekwell_device::draw(&file) + &seekwell_device::catalogue::origins(&file);
            terminal::data(&terminal::fitted(&terminal::harmless(&text), 0, terminal::columns()));
        }
        DeviceCommand::Serve(arguments) => serve::run(session, arguments)?,
        DeviceCommand::Compare(arguments) => compare(arguments)?,
        DeviceCommand::Check(arguments) => {
            return checked(&session.machine().system, arguments);
        }
        DeviceCommand::Claim(arguments) => {
            return super::claim::claim(session.machine(), arguments);
        }
        DeviceCommand::Release(arguments) => {
            return super::claim::release(session.machine(), arguments);
        }
        DeviceCommand::Probe(arguments) => return super::probe::run(session, arguments),
        DeviceCommand::Replicate(arguments) => return super::replicate::run(session, arguments),
    }
    Ok(Exit::Done)
}

/// Checks a file by the rules for those that are given to others, and says a line about each.
fn checked(system: &System, arguments: &DeviceCheckArgs) -> Result<Exit, Failure> {
    let DeviceCheckArgs { file, other } = arguments;
    let private = private(system);
    let reach = Reach::default().reading(file);
    foreign::confine(&other.iter().fold(reach, |reach, other| reach.reading(other)));
    let other = other.as_deref().map(device_text).transpose()?;
    let rules = check::check(&device_text(file)?, other.as_deref(), &private);
    let text = terminal::harmless(&check::lines(&rules));
    terminal::data(&terminal::fitted(&text, 0, terminal::columns()));
    match rules.iter().any(|rule| rule.passed == Some(false)) {
        true => Ok(Exit::ThresholdFailed),
        false => Ok(Exit::Done),
    }
}

/// Names of this machine, its user and its disks, each with its kind for people.
fn private(system: &System) -> Vec<(&'static str, String)> {
    let users = ["USER", "LOGNAME", "SUDO_USER"].map(std::env::var);
    let users =
        users.into_iter().flatten().map(|name| ("the name of a user of this machine", name));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let serials = serials(system).into_iter().map(|serial| ("the serial number of a disk", serial));
    users.chain([("the name of this host", host)]).chain(serials).collect()
}

/// Compares a prediction on a device file with a run on the device, and keeps the error in the file.
fn compare(arguments: &DeviceCompareArgs) -> Result<(), Failure> {
    let DeviceCompareArgs { file: path, predicted, real, dry_run } = arguments;
    let reach = Reach::default().reading(path).reading_database(predicted).reading_database(real);
    foreign::confine(&if *dry_run { reach } else { reach.writing(path) });
    let text = device_text(path)?;
    let device = seekwell_device::load(&text)
        .map_err(|error| Failure::Error(format!("{}: {error}", path.display())))?;
    let (model, disk) = (Run::read(predicted)?, Run::read(real)?);
    let (side, real_side) = (model.side(), disk.side());
    let refused = |text: String| Err(Failure::Error(text));
    if !is_of(&side, &device) {
        return refused(format!(
            "{} did not run on {} as it is in {}, on all of its stacks; run the lab on the file: seekwell run LAB --place virtual --model {}",
            predicted.display(),
            device.name(),
            path.display(),
            path.display()
        ));
    }
    if !dry_run && !is_on_disks(&real_side) {
        return refused(format!(
            "{} did not run on a disk or partition alone, so it says nothing about the device; --dry-run compares without keeping it",
            real.display()
        ));
    }
    let found =
        predicted::predicted(&side, &real_side).map_err(|error| Failure::from_error(&error))?;
    terminal::data(&seekwell_report::prediction_text(
        &found,
        terminal::width(),
        terminal::colour(),
    ));
    if *dry_run {
        return Ok(());
    }
    let kept = kept(&side.plan.lab.name, &found);
    let more = seekwell_device::with_comparison(&text, &kept)
        .map_err(|error| Failure::from_error(&error))?;
    output::write(path, Kind::Device, more.as_bytes(), true)
}

/// Returns true if every stack of a run has this device, with the numbers that the file has now, as disk or journal.
fn is_of(side: &Side<'_>, device: &DeviceFile) -> bool {
    let named = BTreeMap::from([(device.name().to_owned(), device.clone())]);
    let is_same = |backing: &Backing| match backing {
        // A comma begins changed numbers.
        Backing::Model { model, .. } if !model.contains(',') => {
            let values = catalogue::find(&named, model).ok().flatten().map(|file| file.values());
            values.is_some_and(|values| side.environment["models"][model] == json!(values))
        }
        _ => false,
    };
    side.plan.stacks.iter().all(|stack| {
        is_same(&stack.device.backing) || stack.journal.external.as_ref().is_some_and(is_same)
    })
}

/// Returns true if a run had nothing but disks and partitions.
fn is_on_disks(side: &Side<'_>) -> bool {
    let is_disk =
        |backing: &Backing| matches!(backing, Backing::Disk { .. } | Backing::Partition { .. });
    side.plan.stacks.iter().all(|stack| {
        is_disk(&stack.device.backing) && stack.journal.external.as_ref().is_none_or(is_disk)
    })
}

fn kept(lab: &str, found: &Prediction) -> Compared {
    let [predicted_best, best] = found.best().map(str::to_owned);
    Compared {
        lab: lab.to_owned(),
        metric: found.metric.clone(),
        stacks: u32::try_from(found.stacks.len()).unwrap_or(u32::MAX),
        lowest: found.lowest,
        median: found.median,
        highest: found.highest,
        predicted_best,
        best,
    }
}
