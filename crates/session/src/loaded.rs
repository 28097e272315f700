//! A session: its machine, and the data loaded once for all of its labs.

use crate::devices::Devices;
use crate::error::SessionError;
use crate::machine::Machine;
use seekwell_device::DeviceFile;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A session of one process: its machine, and the data loaded once for all of its labs.
pub struct Session {
    machine: Machine,
    devices: OnceCell<BTreeMap<String, DeviceFile>>,
}

impl Session {
    /// A session on this machine. Nothing is read yet.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self { machine, devices: OnceCell::new() }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Every modelled device by name, loaded once.
    ///
    /// # Errors
    /// [`SessionError::Catalogue`] when a built-in file is wrong.
    pub fn devices(&self) -> Result<&BTreeMap<String, DeviceFile>, SessionError> {
        if let Some(devices) = self.devices.get() {
            return Ok(devices);
        }
        let devices = seekwell_device::catalogue().map_err(SessionError::Catalogue)?;
        Ok(self.devices.get_or_init(|| devices))
    }
    /// A modelled device by name, `NAME@BUS`, or the path of a device file, with changes of its numbers as labs write
    /// them.
    ///
    /// # Errors
    /// When there is no such device, or its file cannot be read or is wrong.
    pub fn device(&self, word: &str) -> Result<DeviceFile, SessionError> {
        Devices::new(self.devices()?).one(word)
    }
}
