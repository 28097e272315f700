//! `seekwell device`: the modelled devices, and where their numbers come from.

use crate::args::{DeviceCheckArgs, DeviceCommand};
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_device::{catalogue, check};
use seekwell_host::confine::Reach;
use seekwell_host::facts::serials;
use seekwell_session::{Session, System, device_text};

mod serve;

/// Lists the modelled devices; shows, serves, probes or checks one.
///
/// # Errors
/// When there is no such device, or a file is wrong or cannot be read or written.
pub fn run(session: &Session, command: &DeviceCommand) -> Result<Exit, Failure> {
    match command {
        DeviceCommand::List => {
            let devices = session.devices()?;
            let table = catalogue::table(devices.values());
            terminal::data(&terminal::wrap_last(&table, "what it is", terminal::columns()));
        }
        DeviceCommand::Show { name } => {
            let file = session.device(name)?;
            let text = catalogue::origins(&file);
            terminal::data(&terminal::fitted(&terminal::harmless(&text), 0, terminal::columns()));
        }
        DeviceCommand::Serve(arguments) => serve::run(session, arguments)?,
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
