//! The mounted filesystem of a stack, and everything that happens to it after the workload: write-back
//! of the layer in memory, unmount, check, simulated crash.

use super::Part;
use super::attached::Device;
use super::made::Made;
use crate::context::Trial;
use crate::crash::{self, Crash};
use crate::error::{Fault, TrialError};
use crate::mount::{self, Above, Mount};
use seekwell_host::filesystem::{self, Checked};
use seekwell_host::nfs::{self, Place};
use seekwell_host::trial_directory::TrialDirectory;
use seekwell_model::agent::TrialPart;
use seekwell_model::filesystems::names_of;
use seekwell_model::record::StepRecord;
use seekwell_model::stack::{Filesystem, Nfs};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WRITE_BACK_STEP;

/// Mounting, and checking, after a simulated crash.
const MOUNT_TORN: &str = "mount_torn";
const FSCK_TORN: &str = "fsck_torn";

/// A mounted stack.
#[derive(Debug)]
pub struct Mounted<'d> {
    made: Made<'d>,
    mount: Mount,
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
            let mount = timed_mount("mount", plan, made, trial)?;
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
                devices.journal().map(Device::path),
                Some(self.mount.filesystem().as_path()),
            )?;
            let in_force = &mut trial.record.in_force;
            in_force.block_bytes = found.block_bytes;
            in_force.journal_bytes = found.journal_bytes;
            in_force.mount = found.mount;
            Ok(())
        })
    }

    /// The mount itself.
    #[must_use]
    pub fn mount_mut(&mut self) -> &mut Mount {
        &mut self.mount
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
            let damage = |found: &Checked| {
                let words = beginning(&found.output);
                format!("'{}' found damage after a clean unmount: {words}", found.command)
            };
            let clean = check("fsck", WarningCode::FsckDamage, damage, made, trial)?;
            if !clean && trial.request.part == TrialPart::Survey && !made.repair(trial)? {
                trial.record.add_warning(not_repaired());
            }
        }
        if trial.request.settings.fsck_torn {
            crash_and_check(made, trial)?;
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

/// Mounts, and adds a step of this name.
fn timed_mount(
    name: &str,
    plan: mount::MountPlan,
    made: Made<'_>,
    trial: &mut Trial<'_, '_>,
) -> Result<Mount, Fault> {
    let observer = made.devices.observer(trial.origin_ns);
    let (step, mount) = observer.housekeeping(name, || Ok(plan.mount()?), None)?;
    trial.record.add_step(step);
    Ok(mount)
}

/// Damage that the checker could not repair.
pub(crate) fn not_repaired() -> Warning {
    Warning::new(WarningCode::FilesystemLost, "its checker does not repair it")
}

/// Checks the filesystem; damage is a warning. Returns true if there is none.
fn check(
    step: &'static str,
    code: WarningCode,
    words: impl FnOnce(&Checked) -> String,
    made: Made<'_>,
    trial: &mut Trial<'_, '_>,
) -> Result<bool, TrialError> {
    let damaged = made.check(step, trial)?.filter(|found| !found.clean);
    if let Some(found) = &damaged {
        trial.record.add_warning(Warning::new(code, words(found)));
    }
    Ok(damaged.is_none())
}

/// Ends the filesystem during writes, then times the mount that recovers it, and its check.
fn crash_and_check(made: Made<'_>, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
    let name = made.definition.name;
    if made.definition.journal.is_none() {
        trial.record.add_warning(not_crashed(name, Crash::NoJournal));
        return Ok(());
    }
    let crashed = trial.stage(MOUNT_TORN, |trial| {
        let mount = made.plan(trial, Above::default())?.mount()?;
        let crashed = crash::crash(&mount.filesystem())
            .map_err(Fault::io("end the filesystem during writes"))?;
        mount.unmount()?;
        Ok(crashed)
    })?;
    if crashed != Crash::Down {
        trial.record.add_warning(not_crashed(name, crashed));
        return Ok(());
    }
    trial.step(MOUNT_TORN, |trial| {
        let plan = made.plan(trial, Above::default())?;
        timed_mount(MOUNT_TORN, plan, made, trial)?.unmount()?;
        Ok(())
    })?;
    let damage = |found: &Checked| {
        let words = beginning(&found.output);
        format!(
            "'{}' found damage after a simulated crash and the mount that recovers from it: {words}",
            found.command
        )
    };
    check(FSCK_TORN, WarningCode::FsckTornDamage, damage, made, trial).map(drop)
}

/// The beginning of a program's output.
fn beginning(output: &str) -> String {
    output.chars().take(500).collect()
}

/// The reason why no crash was simulated.
fn not_crashed(filesystem: &str, crash: Crash) -> Warning {
    let able = names_of(|one| one.journal.is_some() && one.has_shutdown);
    let elsewhere = format!("use it on {able}, or cut the power on the virtual backend");
    let (why, remedy) = match crash {
        Crash::Full => (
            "it has no room for another file",
            "use a larger device, or leave fsck_torn out".to_owned(),
        ),
        Crash::NoJournal => (
            "it has no journal, so unmounting would write the data that a crash would lose",
            elsewhere,
        ),
        Crash::Unknown | Crash::Down => ("this kernel cannot end it during writes", elsewhere),
    };
    let text = format!("the crash of {filesystem} could not be simulated: {why}");
    Warning::new(WarningCode::NotTorn, text).with_remedy(remedy)
}
