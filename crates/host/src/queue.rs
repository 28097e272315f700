//! Request queues: which scheduler, how many requests, how much read-ahead; set, read back, put back.
//!
//! The kernel clamps some values silently, a switch of scheduler resets others, and all of them
//! outlive a loop device. So the whole queue goes to the undo list first, the scheduler is set before
//! everything else, the read-ahead after everything else, and each value is read again.
//!
//! `discard_max_bytes` is only read: on most devices the kernel shows a value there that it does not
//! take back, so that a change could not be undone. mkfs and mount get options against discarding
//! instead.

use crate::attributes::{
    DISCARD, MAX_SECTORS, NR_REQUESTS, READ_AHEAD, ROTATIONAL, SCHEDULER, WRITE_CACHE,
    WRITEBACK_THROTTLING, in_force,
};
use crate::error::{Error, Result};
use crate::hdparm;
use crate::sysfs::{self, System};
use crate::undo::{Restored, Target, Undo};
use seekwell_model::agent::QueueDefaults;
use seekwell_model::record::QueueSettings;
use seekwell_model::stack::{DeviceSettings, Scheduler, WriteCache};
use seekwell_model::warning::{Warning, WarningCode};
use std::collections::BTreeMap;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Settings wanted for a queue; `None` leaves a setting as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Scheduler; set again even when it is in force, so that its tunables start at their defaults.
    pub scheduler: Option<String>,
    /// `iosched/*` by file name.
    pub tunables: BTreeMap<String, String>,
    /// `nr_requests`.
    pub nr_requests: Option<u32>,
    /// `nr_requests` if the lab gives no number; a device with fewer tags keeps its own.
    pub usual_requests: Option<u32>,
    /// `read_ahead_kb`.
    pub read_ahead_kb: Option<u32>,
    /// `max_sectors_kb`.
    pub max_sectors_kb: Option<u32>,
    /// `rotational`.
    pub rotational: Option<bool>,
    /// `write_cache`.
    pub write_cache: Option<WriteCache>,
    /// Flags and values for hdparm, for example `-B128`.
    pub hdparm: Vec<String>,
}

impl Wanted {
    /// Settings of a stack: the scheduler's settings before the device's before the comparable
    /// defaults.
    #[must_use]
    pub fn new(device: &DeviceSettings, scheduler: &Scheduler, defaults: &QueueDefaults) -> Self {
        let apm = device.apm.map(|level| format!("-B{level}"));
        Self {
            scheduler: Some(scheduler.kind.clone()),
            tunables: scheduler.tunables.clone(),
            nr_requests: scheduler.nr_requests.or(device.nr_requests),
            usual_requests: Some(defaults.nr_requests),
            read_ahead_kb: scheduler
                .read_ahead_kb
                .or(device.read_ahead_kb)
                .or(Some(defaults.read_ahead_kb)),
            max_sectors_kb: device.max_sectors_kb,
            rotational: device.rotational,
            write_cache: device.write_cache,
            hdparm: apm.into_iter().chain(device.hdparm.iter().cloned()).collect(),
        }
    }
}

/// Schedulers that a device offers, in the kernel's order.
///
/// # Errors
/// When there is no such device.
pub fn schedulers(system: &System, kernel_name: &str) -> Result<Vec<String>> {
    let text = sysfs::read(&system.queue(kernel_name)?.join(SCHEDULER))?;
    Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

/// Settings in force. A partition has those of its disk.
///
/// # Errors
/// When there is no such device, or a file holds no number.
pub fn read(system: &System, kernel_name: &str) -> Result<QueueSettings> {
    let queue = system.queue(kernel_name)?;
    let number = |name: &str| sysfs::read_number::<u32>(&queue.join(name));
    let tunables = queue.join("iosched");
    Ok(QueueSettings {
        scheduler: sysfs::read_optional(&queue.join(SCHEDULER)).as_deref().and_then(in_force),
        nr_requests: number(NR_REQUESTS)?,
        read_ahead_kb: number(READ_AHEAD)?,
        max_sectors_kb: number(MAX_SECTORS)?,
        rotational: number(ROTATIONAL)?.map(|value| value != 0),
        logical_block_bytes: number("logical_block_size")?,
        physical_block_bytes: number("physical_block_size")?,
        discard_max_bytes: sysfs::read_number(&queue.join(DISCARD))?,
        write_cache: sysfs::read_optional(&queue.join(WRITE_CACHE)),
        tunables: sysfs::names(&tunables)
            .into_iter()
            .filter_map(|name| Some((name.clone(), sysfs::read_optional(&tunables.join(name))?)))
            .collect(),
    })
}

/// Sets what is wanted, reads each value back, and says what came out otherwise.
///
/// # Errors
/// When the kernel lacks the scheduler or a tunable, a setting cannot be written at all, or the
/// undo list cannot.
pub fn apply(
    system: &System,
    kernel_name: &str,
    wanted: &Wanted,
    undo: &mut Undo,
) -> Result<Vec<Warning>> {
    let device = system.disk_of(kernel_name)?;
    undo.record_queue(&device)?;
    let mut setter = Setter { system, device: &device, undo, warnings: Vec::new() };
    // A list without a file holds what is changed alone; each of the limits changes this one.
    setter.undo.record(&setter.target(READ_AHEAD))?;
    if let Some(scheduler) = &wanted.scheduler {
        setter.switch(scheduler)?;
    }
    let text = |number: Option<u32>| number.map(|value| value.to_string());
    match wanted.nr_requests {
        Some(asked) => setter.set(NR_REQUESTS, Some(asked.to_string()))?,
        None => setter.set_where_possible(NR_REQUESTS, text(wanted.usual_requests))?,
    }
    for (name, value) in &wanted.tunables {
        setter.tune(name, value)?;
    }
    setter.set(MAX_SECTORS, text(wanted.max_sectors_kb))?;
    setter.set(ROTATIONAL, wanted.rotational.map(|on| u8::from(on).to_string()))?;
    let cache = wanted.write_cache.map(|cache| match cache {
        WriteCache::WriteBack => "write back".to_owned(),
        WriteCache::WriteThrough => "write through".to_owned(),
    });
    setter.set(WRITE_CACHE, cache)?;
    // Last: each of the limits above resets it.
    setter.set(READ_AHEAD, text(wanted.read_ahead_kb))?;
    for argument in &wanted.hdparm {
        let (flag, value) = hdparm::split(&device, argument)?;
        setter.undo.record(&Target::Hdparm { device: device.clone(), flag: flag.to_owned() })?;
        hdparm::set(system, &device, flag, value)?;
    }
    Ok(setter.warnings)
}

/// Puts a device's settings back as they were before the run, and marks that in the undo list. To be
/// called before a loop device is let go: after that another run may have it.
///
/// # Errors
/// When the undo list cannot be written.
pub fn restore(system: &System, kernel_name: &str, undo: &mut Undo) -> Result<Restored> {
    let device = system.disk_of(kernel_name)?;
    undo.restore_device(&device)
}

struct Setter<'a> {
    system: &'a System,
    device: &'a str,
    undo: &'a mut Undo,
    warnings: Vec<Warning>,
}

impl Setter<'_> {
    fn target(&self, attribute: &str) -> Target {
        Target::Queue { device: self.device.to_owned(), attribute: attribute.to_owned() }
    }

    fn path(&self, attribute: &str) -> Result<std::path::PathBuf> {
        Ok(self.system.queue(self.device)?.join(attribute))
    }

    fn scheduler(&self) -> Result<String> {
        let path = self.path(SCHEDULER)?;
        let text = sysfs::read(&path)?;
        in_force(&text).ok_or_else(|| Error::format(path, &text, "names of schedulers"))
    }

    fn switch(&mut self, wanted: &str) -> Result<()> {
        let current = self.scheduler()?;
        self.record_before_switch(&current)?;
        self.undo.note_set(&self.target(SCHEDULER), wanted)?;
        let path = self.path(SCHEDULER)?;
        if current == wanted && wanted != "none" {
            // Writing the name in force is ignored, and the tunables of the last trial would stay.
            self.system.nodes.write_setting(&path, "none").map_err(Error::io("write", &path))?;
        }
        // A scheduler that is a module is not offered before it is loaded; writing its name loads it.
        if let Err(error) = self.system.nodes.write_setting(&path, wanted) {
            return Err(self.no_scheduler(wanted, &error));
        }
        let now = self.scheduler()?;
        if now == wanted {
            return Ok(());
        }
        let what = format!("the scheduler is still '{now}' after '{wanted}' was written");
        Err(Error::setting(self.device, what, "look at the kernel's log"))
    }

    fn no_scheduler(&self, wanted: &str, error: &std::io::Error) -> Error {
        let offered = schedulers(self.system, self.device).unwrap_or_default();
        let remedy = match offered.iter().any(|name| name == wanted) {
            true => "it offers that one, so look at the kernel's log".to_owned(),
            false => format!("choose one of {}", offered.join(", ")),
        };
        let what = format!("the kernel rejects the scheduler '{wanted}' ({error})");
        Error::setting(self.device, what, remedy)
    }

    /// Everything that the switch will reset.
    fn record_before_switch(&mut self, current: &str) -> Result<()> {
        self.undo.record(&self.target(SCHEDULER))?;
        self.undo.record(&self.target(NR_REQUESTS))?;
        self.undo.record(&self.target(WRITEBACK_THROTTLING))?;
        for name in sysfs::names(&self.path("iosched")?) {
            self.undo.record(&self.tunable(current, &name))?;
        }
        Ok(())
    }

    fn tunable(&self, scheduler: &str, name: &str) -> Target {
        Target::Tunable {
            device: self.device.to_owned(),
            scheduler: scheduler.to_owned(),
            name: name.to_owned(),
        }
    }

    fn set(&mut self, attribute: &str, value: Option<String>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let path = self.path(attribute)?;
        let Some(current) = sysfs::read_optional(&path) else {
            self.warn(attribute, &value, "the device does not have this setting");
            return Ok(());
        };
        if current == value {
            return Ok(());
        }
        let target = self.target(attribute);
        self.undo.record(&target)?;
        self.undo.note_set(&target, &value)?;
        self.write(attribute, &path, &value);
        Ok(())
    }

    /// Sets what makes queues comparable. Without a scheduler a queue is no longer than the tags of
    /// its device (32 of a SATA disk): the record has the number in force, and nobody asked for more.
    fn set_where_possible(&mut self, attribute: &str, value: Option<String>) -> Result<()> {
        let said = self.warnings.len();
        self.set(attribute, value)?;
        self.warnings.truncate(said);
        Ok(())
    }

    fn tune(&mut self, name: &str, value: &str) -> Result<()> {
        let scheduler = self.scheduler()?;
        let folder = self.path("iosched")?;
        let names = sysfs::names(&folder);
        if !names.iter().any(|known| known == name) {
            let what = format!("the scheduler {scheduler} has no tunable '{name}'");
            let remedy = match names.is_empty() {
                true => "remove it: this scheduler has none".to_owned(),
                false => format!("use one of {}", names.join(", ")),
            };
            return Err(Error::setting(self.device, what, remedy));
        }
        self.undo.record(&self.tunable(&scheduler, name))?;
        self.write(&format!("iosched/{name}"), &folder.join(name), value);
        Ok(())
    }

    /// Writes a value. A value that the kernel refuses or changes is reported and not fatal: the stack
    /// is measured with the value in force.
    fn write(&mut self, attribute: &str, path: &Path, value: &str) {
        if let Err(error) = self.system.nodes.write_setting(path, value) {
            self.warn(attribute, value, &format!("the kernel refused it ({error})"));
            return;
        }
        let now = sysfs::read_optional(path).unwrap_or_default();
        if now != value {
            self.warn(attribute, value, &format!("the kernel changed it to {now}"));
        }
    }

    fn warn(&mut self, attribute: &str, value: &str, why: &str) {
        self.warnings.push(Warning::new(
            WarningCode::QueueSetting,
            format!("{}: {attribute} = {value} was requested, but {why}", self.device),
        ));
    }
}
