//! The filesystem on the device: made, checked, not mounted.

use super::attached::{Attached, Device};
use crate::context::Trial;
use crate::error::{Fault, TrialError};
use crate::mount::{Above, MountPlan};
use seekwell_host::filesystem::{self, Checked};
use seekwell_model::filesystems::FilesystemDefinition;
use seekwell_model::power_cut::REPAIR;
use std::path::Path;

/// A device with a filesystem on it.
#[derive(Clone, Copy, Debug)]
pub struct Made<'d> {
    /// Definition of the filesystem.
    pub definition: &'static FilesystemDefinition,
    /// The devices that hold it.
    pub devices: &'d Attached,
}

impl<'d> Made<'d> {
    /// Makes the filesystem as a step of its own.
    ///
    /// # Errors
    /// When mkfs or the flush after it fails.
    pub fn make(
        trial: &mut Trial<'_, '_>,
        definition: &'static FilesystemDefinition,
        devices: &'d Attached,
    ) -> Result<Self, TrialError> {
        trial.step("mkfs", |trial| {
            let observer = devices.observer(trial.origin_ns);
            let stack = &trial.request.stack;
            let body = || {
                // A filesystem in memory or on another machine is not made.
                let Some(data) = &devices.data else { return Ok(vec![]) };
                Ok(filesystem::make(
                    &trial.system,
                    definition,
                    &stack.filesystem,
                    &stack.journal,
                    data.token(),
                    devices.journal.as_ref().map(Device::token),
                )?)
            };
            let (step, commands) =
                observer.housekeeping("mkfs", body, Some(&mut || devices.flush()))?;
            trial.record.in_force.mkfs = commands;
            trial.record.add_step(step);
            Ok(Self { definition, devices })
        })
    }

    /// A plan to mount it in the work directory, which [`crate::mount::private_work`] made.
    ///
    /// # Errors
    /// When the options of the stack do not go together.
    pub fn plan(&self, trial: &Trial<'_, '_>, above: Above) -> Result<MountPlan, Fault> {
        let (stack, work) = (&trial.request.stack, &trial.request.work);
        let journal = self.devices.journal.as_ref().map(Device::path);
        let mut options =
            filesystem::mount_options(self.definition, &stack.filesystem, &stack.journal, journal)?;
        if self.definition.is_in_memory {
            let size = self.memory_size(trial).map(|size| format!("size={size}"));
            options.splice(0..0, size);
        }
        let device = match &self.devices.data {
            Some(device) => device.path(),
            None => Path::new(self.definition.name),
        };
        let (definition, device) = (self.definition, device.to_owned());
        Ok(MountPlan { definition, device, options, base: work.clone(), above })
    }

    /// Bytes of a filesystem in memory: as many as the device has, and no more than half of the memory,
    /// so that the workload keeps the other half. `None` is the kernel's choice.
    fn memory_size(&self, trial: &Trial<'_, '_>) -> Option<u64> {
        let device = self.devices.size.map(|size| size.0);
        let memory = trial.record.in_force.memory_limit.or(trial.request.ram);
        device.into_iter().chain(memory.map(|memory| memory.0 / 2)).min()
    }

    /// Repairs the filesystem, and checks it. Returns true if the checker then finds nothing.
    ///
    /// # Errors
    /// When a program cannot be run.
    pub fn repair(&self, trial: &mut Trial<'_, '_>) -> Result<bool, TrialError> {
        let repaired = self.run_checker(REPAIR, self.definition.repair, trial)?;
        if repaired.is_none() {
            return Ok(false);
        }
        Ok(self.check("fsck", trial)?.is_some_and(|found| found.clean))
    }

    /// Runs the filesystem's checker as a step; `None` where it has none.
    ///
    /// # Errors
    /// When the checker cannot be run; damage that it finds is a value.
    pub fn check(
        &self,
        name: &'static str,
        trial: &mut Trial<'_, '_>,
    ) -> Result<Option<Checked>, TrialError> {
        self.run_checker(name, self.definition.fsck, trial)
    }

    fn run_checker(
        &self,
        name: &'static str,
        checker: &'static [&'static str],
        trial: &mut Trial<'_, '_>,
    ) -> Result<Option<Checked>, TrialError> {
        if checker.is_empty() {
            return Ok(None);
        }
        trial.step(name, |trial| {
            let journal = self.devices.journal.as_ref().map(Device::path);
            let device = self.devices.path();
            let (system, definition) = (&trial.system, self.definition);
            let body = || Ok(filesystem::fsck(system, definition, checker, device, journal)?);
            let observer = self.devices.observer(trial.origin_ns);
            let (step, checked) = observer.housekeeping(name, body, None)?;
            trial.record.add_step(step);
            Ok(checked)
        })
    }
}
