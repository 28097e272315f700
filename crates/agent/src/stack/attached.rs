//! The block devices of a stack with the layers above them, each with the right to write to it.

use super::Part;
use super::limits::restored;
use crate::context::{TEARDOWN, Trial};
use crate::error::{Fault, TrialError};
use crate::measure::Observer;
use seekwell_host::facts::device_size;
use seekwell_host::guard::{self, Context, Purpose, WriteToken};
use seekwell_host::identity::Identity;
use seekwell_host::layers::{Assembled, How, Lower};
use seekwell_host::loop_device::{self, Candidate, LoopDevice};
use seekwell_host::sysfs::System;
use seekwell_host::undo::Target;
use seekwell_host::{caches, image};
use seekwell_model::agent::{DeviceHandle, TrialPart};
use seekwell_model::filesystems::FilesystemDefinition;
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// A block device of the stack, the right to write to it, and the loop device that frees it.
#[derive(Debug)]
pub struct Device {
    token: WriteToken,
    /// Held for the whole trial: its last close frees the device.
    _loop_device: Option<LoopDevice>,
    /// `None` for a layer.
    handle: Option<DeviceHandle>,
}

impl Device {
    /// The right to write to the device.
    #[must_use]
    pub fn token(&self) -> &WriteToken {
        &self.token
    }

    /// The device node.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.token.path()
    }

    /// The kernel's name, for example `loop3`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.token.kernel_name()
    }

    /// Identity as it was when the device was attached.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.token.identity()
    }

    /// Returns true for a layer over other devices, or a disk in memory.
    #[must_use]
    pub fn is_layer(&self) -> bool {
        self.handle.is_none()
    }

    fn attach(
        trial: &mut Trial<'_, '_>,
        handle: &DeviceHandle,
        limit: Option<Bytes>,
    ) -> Result<Self, Fault> {
        let system = &trial.system;
        let (token, loop_device) = match handle {
            DeviceHandle::Image { fd, sector, .. } => {
                let image = borrow_image(*fd)?;
                let mut note = |candidate: Candidate<'_>| trial.undo.record_candidate(candidate);
                let device = loop_device::attach_noted(system, &image, *sector, limit, &mut note)?;
                (guard::scratch(system, &device, &image)?, Some(device))
            }
            DeviceHandle::Claimed { path, claims, run_file, bound } => {
                let context = Context { claims: claims.clone(), run_file: Some(run_file.clone()) };
                let verified = guard::check(system, path, Purpose::Write, &context)?;
                if let Some(bound) = bound {
                    verified.is_bound(bound)?;
                }
                (verified.permit()?, None)
            }
            DeviceHandle::Given { path } => (guard::given(system, path)?, None),
            DeviceHandle::Unused { .. } => return Err(Fault::NoDevice),
        };
        Ok(Self { token, _loop_device: loop_device, handle: Some(handle.clone()) })
    }

    /// The difference between the image now and when it was made; `None` where there is none.
    fn image_difference(&self) -> Result<Option<String>, Fault> {
        let Some(DeviceHandle::Image { fd, layout, .. }) = &self.handle else { return Ok(None) };
        let now = image::layout(&borrow_image(*fd)?)?;
        Ok(image::difference(layout, &now)
            .map(|difference| format!("the image under {} changed: {difference}", self.name())))
    }
}

/// The attached devices of a stack.
#[derive(Debug)]
pub struct Attached {
    // Fields are dropped in this order.
    /// The device of an external journal.
    pub(crate) journal: Option<Device>,
    /// The uppermost layer, or the plain device; `None` if the filesystem is on none.
    pub(crate) data: Option<Device>,
    assembled: Assembled,
    /// The devices below the layers, the second devices of caches last; empty without layers.
    pub(crate) members: Vec<Device>,
    /// Size of the data device, or of the lab's device that the stack does not use; `None` if it is
    /// not known.
    pub(crate) size: Option<Bytes>,
}

impl Attached {
    /// Attaches the data device and the external journal's, and brings the layers up. Of a filesystem
    /// in memory or on another machine nothing is attached, and of a disk in memory not the device
    /// that it replaces.
    ///
    /// # Errors
    /// When a device cannot be attached, the guard refuses it, or a layer cannot be brought up;
    /// nothing is attached then.
    pub fn attach(
        trial: &mut Trial<'_, '_>,
        definition: &FilesystemDefinition,
    ) -> Result<Self, Fault> {
        let request = trial.request;
        let (stack, assembled) = (&request.stack, Assembled::default());
        let unused = unused_size(&trial.system, &request.device);
        if !stack.is_on_devices() {
            let (journal, data, members) = (None, None, Vec::new());
            return Ok(Self { journal, data, assembled, members, size: unused });
        }
        let device = stack.uses_device().then_some(&request.device);
        let data = device.map(|handle| Device::attach(trial, handle, None)).transpose()?;
        let default = definition.journal.map(|journal| journal.default);
        let limit = stack.journal.size.or(default);
        let journal = request.journal.as_ref();
        let journal = journal.map(|handle| Device::attach(trial, handle, limit)).transpose()?;
        if stack.layers.is_empty() {
            let size = data.as_ref().map(|device| device.identity().size);
            return Ok(Self { journal, data, assembled, members: Vec::new(), size });
        }
        let joined = data.is_some().then_some(&request.members).into_iter().flatten();
        let mut members: Vec<Device> = data.into_iter().collect();
        for handle in joined.chain(&request.fast) {
            members.push(Device::attach(trial, handle, None)?);
        }
        let (data, assembled) = layered(trial, &members, unused)?;
        let size = Some(data.identity().size);
        Ok(Self { journal, data: Some(data), assembled, members, size })
    }

    /// The uppermost layer.
    #[must_use]
    pub fn layer(&self) -> Option<&Device> {
        self.data.as_ref().filter(|device| device.is_layer())
    }

    /// The node of the data device; empty if the filesystem is on none.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.data.as_ref().map_or(Path::new(""), Device::path)
    }

    /// The data device, then the journal's.
    pub fn all(&self) -> impl Iterator<Item = &Device> {
        self.data.iter().chain(&self.journal)
    }

    /// The devices themselves, without layers: those that hold the data, then the journal's.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        let plain = self.data.iter().filter(|device| !device.is_layer());
        self.members.iter().chain(plain).chain(&self.journal)
    }

    /// The counters that are read around every step.
    #[must_use]
    pub fn observer(&self, origin_ns: u64) -> Observer {
        Observer {
            device: self.data.as_ref().map(|device| device.name().to_owned()),
            journal: self.journal.as_ref().map(|journal| journal.name().to_owned()),
            members: self.members.iter().map(|member| member.name().to_owned()).collect(),
            origin_ns,
        }
    }

    /// Flushes the volatile cache of every device.
    ///
    /// # Errors
    /// When a flush fails: data was lost.
    pub fn flush(&self) -> Result<(), Fault> {
        for device in self.all() {
            let path = device.path();
            let file = File::open(path).map_err(Fault::io(format!("open {}", path.display())))?;
            caches::flush_device(&file)?;
        }
        Ok(())
    }
}

impl Part<Trial<'_, '_>> for Attached {
    type Error = TrialError;

    /// Detaches the devices, and then restores the settings of loop devices once more: detaching sets
    /// some anew. Before that, the images must still be what was measured: a discard, a
    /// truncation or a copy on write of the host's filesystem turns a trial into a test of that
    /// filesystem.
    fn take_down(mut self, trial: &mut Trial<'_, '_>) -> Result<(), TrialError> {
        let sound = trial.stage(TEARDOWN, |trial| Ok(self.assembled.check(&trial.system)?));
        let layers = trial.stage(TEARDOWN, |trial| Ok(self.assembled.take_down(&trial.system)?));
        let images = trial.stage(TEARDOWN, |trial| {
            for device in self.devices() {
                if let Some(text) = device.image_difference()? {
                    trial.record.add_warning(Warning::new(WarningCode::ImageChanged, text));
                }
            }
            Ok(())
        });
        drop(self);
        let freed = trial.stage(TEARDOWN, |trial| {
            restored(trial.undo.restore_where(Target::ends_with_devices)?)
        });
        sound.and(layers).and(images).and(freed)
    }
}

/// Size of the lab's device for a stack that does not use it.
fn unused_size(system: &System, handle: &DeviceHandle) -> Option<Bytes> {
    match handle {
        DeviceHandle::Unused { size } => *size,
        DeviceHandle::Given { path } => device_size(system, path),
        DeviceHandle::Image { .. } | DeviceHandle::Claimed { .. } => None,
    }
}

/// The uppermost layer of the stack over these devices, data devices first. A disk in memory replaces
/// a device of size `unused`.
fn layered(
    trial: &mut Trial<'_, '_>,
    members: &[Device],
    unused: Option<Bytes>,
) -> Result<(Device, Assembled), Fault> {
    let request = trial.request;
    let how = match request.part {
        TrialPart::Whole | TrialPart::Prepare | TrialPart::Make => How::Make,
        TrialPart::Measure | TrialPart::Made => How::Open,
        TrialPart::Survey => How::Recover,
    };
    let tokens: Vec<&WriteToken> = members.iter().map(Device::token).collect();
    let (data, fast) = tokens.split_at(tokens.len() - request.fast.len());
    let mut assembled = Assembled::default();
    let layers = &request.stack.layers;
    let lower = if layers.is_in_memory() {
        Lower::Memory { count: layers.devices(), size: unused.unwrap_or_default() }
    } else {
        Lower::Devices(data)
    };
    let top = assembled.bring_up(&trial.system, &mut trial.undo, layers, how, lower, fast);
    trial.record.in_force.layers.clone_from(&assembled.commands);
    match top {
        Ok(token) => Ok((Device { token, _loop_device: None, handle: None }, assembled)),
        Err(error) => {
            // The first fault is the one to tell.
            let _ = assembled.take_down(&trial.system);
            Err(error.into())
        }
    }
}

/// The image that was passed under this number.
fn borrow_image(fd: i32) -> Result<OwnedFd, Fault> {
    if fd < 3 {
        return Err(Fault::Other(format!("descriptor {fd} cannot be an image")));
    }
    // SAFETY: the backend that started this process opened the image under this number, and nothing
    // here closes it; the borrow ends with the clone. A number that is not open fails the clone.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(Fault::io(format!("use descriptor {fd} as an image")))
}
