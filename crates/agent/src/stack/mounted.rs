//! The mounted filesystem of a stack, and everything that happens to it after the workload: write-back
//! of the layer in memory, unmount, check.

use super::Part;
use super::attached::Device;
use super::made::Made;
use crate::context::Trial;
use crate::error::{Fault, TrialError};
use crate::mount::{self, Above, Mount};
use seekwell_host::filesystem;
use seekwell_host::nfs::{self, Place};
use seekwell_host::trial_directory::TrialDirectory;
use seekwell_model::agent::TrialPart;
use seekwell_model::record::StepRecord;
use seekwell_model::stack::{Filesystem, Nfs};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WRITE_BACK_STEP;

/// A mounted stack.
#[derive(Debug)]
pub struct Mounted<'d> {
    made: Made<'d>,
    pub(crate) mount: Mount,
}

impl<'d> Mounted<'d> {
    /// Mounts the filesystem as a step of its own.
    ///
    /// # Errors
    /// When the kernel refuses the mount.
    pub fn mount(trial: &mut Trial<'_, '_>, made: Made<'d>) -> Result<Self, TrialError> {
        trial.step("mount", |trial| {
            let work = &trial.request.work;
            mount::private_work(work)
                .map_err(Fault::io(format!("mount a tmpfs on {}", work.display())))?;
            let filesystem = &trial.request.stack.filesystem;
            let place = |_: &Nfs| Place::find(&trial.system, &mut trial.undo, work);
            let place = filesystem.nfs.as_ref().map(place).transpose()?;
            let nfs = filesystem.nfs.clone().zip(place);
            let directory = filesystem.export.as_ref();
            let directory = directory
                .map(|export| TrialDirectory::make(&mut trial.undo, export))
                .transpose()?;
            if let Some(directory) = &directory {
                let text = directory.described(&filesystem.mount)?;
                trial.record.in_force.layers.push(text);
                trial.record.add_warning(server_unknown(filesystem));
            }
            let above = Above { overlay: filesystem.overlay, nfs, directory };
            let plan = made.plan(trial, above)?;
            let described = filesystem.nfs.as_ref().map(nfs::described);
            trial.record.in_force.layers.extend(described.into_iter().flatten());
            let observer = made.devices.observer(trial.origin_ns);
            let (step, mount) = observer.housekeeping("mount", || Ok(plan.mount()?), None)?;
            trial.record.add_step(step);
            Ok(Self { made, mount })
        })
    }

    /// Reads back what the kernel made of the mount.
    ///
    /// # Errors
    /// When the superblock or the mount table cannot be read.
    pub fn read_back(&self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        trial.stage("mount", |trial| {
            let devices = self.made.devices;
            let found = filesystem::read_back(
                &trial.system,
                self.made.definition,
                devices.path(),
                devices.journal.as_ref().map(Device::path),
                Some(self.mount.filesystem().as_path()),
            )?;
            let in_force = &mut trial.record.in_force;
            in_force.block_bytes = found.block_bytes;
            in_force.journal_bytes = found.journal_bytes;
            in_force.mount = found.mount;
            Ok(())
        })
    }

    /// Writes the layer in memory to the device; the last writing step is durable only then.
    fn write_back(&mut self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        if !self.mount.writes_back() {
            return Ok(());
        }
        let devices = self.made.devices;
        trial.step(WRITE_BACK_STEP, |trial| {
            let observer = devices.observer(trial.origin_ns);
            let (step, ()) =
                observer.housekeeping(WRITE_BACK_STEP, || Ok(self.mount.write_back()?), None)?;
            devices.flush()?;
            let elapsed = step.metrics.get("elapsed").copied().unwrap_or_default();
            let durable = |step: &mut StepRecord| {
                step.metrics.get_mut("elapsed_durable").map(|value| *value += elapsed)
            };
            let _ = trial.record.steps.iter_mut().rev().find_map(durable);
            trial.record.add_step(step);
            Ok(())
        })
    }

    fn unmount(self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        let devices = self.made.devices;
        trial.step("umount", |trial| {
            let observer = devices.observer(trial.origin_ns);
            let body = || Ok(self.mount.unmount()?);
            let (step, ()) =
                observer.housekeeping("umount", body, Some(&mut || devices.flush()))?;
            trial.record.add_step(step);
            Ok(())
        })
    }
}

impl Part<Trial<'_, '_>> for Mounted<'_> {
    type Error = TrialError;

    fn take_down(mut self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        crate::strays::end_strays(&trial.request.stack);
        let made = self.made;
        let written = self.write_back(trial);
        let unmounted = self.unmount(trial);
        written.and(unmounted)?;
        if trial.request.part == TrialPart::Prepare {
            return Ok(());
        }
        if trial.request.settings.fsck {
            let clean = check(made, trial)?;
            if !clean && trial.request.part == TrialPart::Survey && !made.repair(trial)? {
                trial.record.add_warning(not_repaired());
            }
        }
        Ok(())
    }
}

/// The part of a trial on another machine's directory that is not measured.
fn server_unknown(filesystem: &Filesystem) -> Warning {
    let from = filesystem.export.as_ref().map_or("", |export| export.from.as_str());
    let text = format!(
        "{from}: what the server's disks did, and whether they have what a sync returned for, is not known"
    );
    Warning::new(WarningCode::ServerUnknown, text)
}

/// Damage that the checker could not repair.
pub(crate) fn not_repaired() -> Warning {
    Warning::new(WarningCode::FilesystemLost, "its checker does not repair it")
}

/// Checks the filesystem; damage is a warning. Returns true if there is none.
fn check(made: Made<'_>, trial: &mut Trial<'_, '_>) -> Result<bool, TrialError> {
    let damaged = made.check("fsck", trial)?.filter(|found| !found.clean);
    if let Some(found) = &damaged {
        let beginning: String = found.output.chars().take(500).collect();
        let text = format!("'{}' found damage after a clean unmount: {beginning}", found.command);
        trial.record.add_warning(Warning::new(WarningCode::FsckDamage, text));
    }
    Ok(damaged.is_none())
}
