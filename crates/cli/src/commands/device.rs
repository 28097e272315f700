//! `seekwell device`: the modelled devices, and what they do, drawn.

use crate::args::DeviceCommand;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_device::DeviceFile;
use seekwell_session::Session;
use std::path::Path;

/// Lists the modelled devices, or draws one.
///
/// # Errors
/// When there is no such device, or its file is wrong.
pub fn run(session: &Session, command: &DeviceCommand) -> Result<Exit, Failure> {
    match command {
        DeviceCommand::List => {
            let devices = session.devices()?;
            terminal::data(&seekwell_device::catalogue::table(devices.values()));
        }
        DeviceCommand::Show { name } => {
            let file = device(session, name)?;
            terminal::data(&terminal::harmless(&seekwell_device::draw(&file)));
            terminal::data(&terminal::harmless(&seekwell_device::catalogue::origins(&file)));
        }
    }
    Ok(Exit::Done)
}

/// A device by name, name and bus, or the path of a file of the user's own.
fn device(session: &Session, name: &str) -> Result<DeviceFile, Failure> {
    let found = seekwell_device::catalogue::find(session.devices()?, name);
    if let Some(file) = found.map_err(|error| Failure::from_error(&error))? {
        return Ok(file);
    }
    if !name.ends_with(".toml") {
        return Err(Failure::Error(format!(
            "modelled device '{name}' not found; list the devices with seekwell device list, or give the path of your own .toml file"
        )));
    }
    let text = std::fs::read_to_string(Path::new(name))
        .map_err(|error| Failure::Error(format!("cannot read {name}: {error}")))?;
    seekwell_device::load(&text).map_err(|error| Failure::Error(format!("{name}: {error}")))
}
