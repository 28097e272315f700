//! Settings of the kernel that outlive a process: the memory limit, those of `/proc/sys/vm` and the queue
//! settings. Each is on the undo list before it is changed.

use super::Part;
use super::attached::{Attached, Device};
use crate::context::{TEARDOWN, Trial};
use crate::error::{Fault, TrialError};
use seekwell_host::memory::{self, CgroupVersion, MemoryGroup};
use seekwell_host::queue::{self, Wanted};
use seekwell_host::undo::Restored;
use seekwell_model::record::DeviceInForce;
use seekwell_model::stack::MemoryLimit;
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};

/// The memory limit of the stack and its settings of `/proc/sys/vm`. It is up before the first is set, so that one that
/// fails half-way is restored too.
#[derive(Debug, Default)]
pub struct Memory(Option<MemoryGroup>);

impl Memory {
    /// Sets what the stack asks for, and enters the limit.
    ///
    /// # Errors
    /// When the kernel refuses a setting or the limit, or has no memory cgroup.
    pub fn set(&mut self, trial: &mut Trial<'_, '_>) -> Result<(), Fault> {
        for (name, value) in &trial.request.stack.memory.vm {
            memory::set_vm(&trial.system, name, value, &mut trial.undo)?;
        }
        let in_force = &mut trial.record.in_force;
        in_force.cpus.clone_from(&trial.cpus);
        in_force.swap = memory::swap(&trial.system)?;
        let request = trial.request;
        let limit = match (request.stack.memory.limit, request.ram) {
            (MemoryLimit::Limit(bytes), _) => bytes,
            (MemoryLimit::Quarter, Some(ram)) => Bytes(ram.0 / 4),
            (MemoryLimit::Quarter, None) | (MemoryLimit::Unlimited, _) => return Ok(()),
        };
        let group = memory::limit(&trial.system, &request.run, limit, &mut trial.undo)?;
        in_force.memory_limit = Some(group.limit);
        in_force.memory_cgroup = Some(group.version.word().to_owned());
        if group.version == CgroupVersion::V1 {
            let text = "the memory limit is a version 1 cgroup, which does not limit write-back";
            trial.record.add_warning(Warning::new(WarningCode::MemoryV1, text));
        }
        self.0 = Some(group);
        Ok(())
    }
}

impl Part<Trial<'_, '_>> for Memory {
    type Error = TrialError;

    fn take_down(self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        let restored =
            trial.stage(TEARDOWN, |trial| restored(memory::restore_vm(&mut trial.undo)?));
        let removed = trial.stage(TEARDOWN, |trial| match self.0 {
            Some(group) => Ok(group.remove(&mut trial.undo)?),
            None => Ok(()),
        });
        removed.and(restored)
    }
}

/// The queue settings of the devices. It is up before the first is changed, so that one that fails
/// half-way is put back too.
#[derive(Debug)]
pub struct Queues {
    devices: Vec<String>,
    sector_bytes: u32,
}

impl Queues {
    /// The queues of these devices, unchanged.
    #[must_use]
    pub fn of(attached: &Attached) -> Self {
        let devices = attached.layer().into_iter().chain(attached.devices());
        let devices = devices.map(|device| device.name().to_owned()).collect();
        Self { devices, sector_bytes: 512 }
    }

    /// Sets scheduler and queue settings, and reads back what is in force.
    ///
    /// # Errors
    /// When the kernel refuses the scheduler or a setting cannot be read back.
    pub fn set(&mut self, trial: &mut Trial<'_, '_>, attached: &Attached) -> Result<(), Fault> {
        let request = trial.request;
        let stack = &request.stack;
        let wanted = Wanted::new(&stack.device.settings, &stack.scheduler, &request.defaults);
        // The settings that the lab asks of the data device are not asked of the journal's.
        let plain = Wanted::new(&Default::default(), &stack.scheduler, &request.defaults);
        let journal = attached.journal.as_ref().map(|device| (device, &plain));
        let plain = attached.data.as_ref().filter(|device| !device.is_layer());
        let data: Vec<&Device> = attached.members.iter().chain(plain).collect();
        for (device, wanted) in data.into_iter().map(|device| (device, &wanted)).chain(journal) {
            let said = queue::apply(&trial.system, device.name(), wanted, &mut trial.undo)?;
            trial.record.warnings.extend(said);
        }
        if let Some(layer) = attached.layer() {
            // Without a wish of the lab the layer keeps the read-ahead that it chose for itself.
            let read_ahead_kb =
                stack.scheduler.read_ahead_kb.or(stack.device.settings.read_ahead_kb);
            let wanted = Wanted { read_ahead_kb, ..Wanted::default() };
            let said = queue::apply(&trial.system, layer.name(), &wanted, &mut trial.undo)?;
            trial.record.warnings.extend(said);
        }
        let in_force = |device: &Device| in_force(trial, device);
        let data = attached.data.as_ref().map(in_force).transpose()?.unwrap_or_default();
        let journal = attached.journal.as_ref().map(in_force).transpose()?;
        let members = attached.members.iter().map(in_force).collect::<Result<_, _>>()?;
        self.sector_bytes = data.queue.logical_block_bytes.unwrap_or(self.sector_bytes);
        trial.record.in_force.device = data;
        trial.record.in_force.journal = journal;
        trial.record.in_force.members = members;
        Ok(())
    }

    /// Logical sector of the data device in bytes.
    #[must_use]
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

fn in_force(trial: &Trial<'_, '_>, device: &Device) -> Result<DeviceInForce, Fault> {
    let identity = device.identity();
    let queue = queue::read(&trial.system, &identity.kernel_name)?;
    Ok(DeviceInForce {
        kernel_name: identity.kernel_name.clone(),
        size: identity.size,
        model: identity.model.clone(),
        serial: identity.serial.clone(),
        firmware: identity.firmware.clone(),
        queue,
    })
}

impl Part<Trial<'_, '_>> for Queues {
    type Error = TrialError;

    /// Restores every queue, also after one that could not be restored.
    fn take_down(self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        let mut done = Ok(());
        for name in &self.devices {
            let restored = trial.stage(TEARDOWN, |trial| {
                restored(queue::restore(&trial.system, name, &mut trial.undo)?)
            });
            done = done.and(restored);
        }
        done
    }
}

pub(super) fn restored(done: Restored) -> Result<(), Fault> {
    if done.problems.is_empty() { Ok(()) } else { Err(Fault::Other(done.problems.join("; "))) }
}
