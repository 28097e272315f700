//! The block devices of a stack with the layers above them, each with the right to write to it.

use super::Part;
use crate::context::{TEARDOWN, Trial};
use crate::error::{Fault, TrialError};
use crate::measure::Observer;
use seekwell_host::guard::{self, Context, Purpose, WriteToken};
use seekwell_host::identity::Identity;
use seekwell_host::layers::{Assembled, How};
use seekwell_host::loop_device::{self, LoopDevice};
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
    identity: Identity,
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
        self.identity.kernel_name.as_str()
    }

    /// Identity as it was when the device was attached.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns true for a disk or partition that the user claimed.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        matches!(self.handle, Some(DeviceHandle::Claimed { .. }))
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
                let mut note = |name: &str| trial.undo.record_free_loop(name);
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
        };
        Self::of(token, loop_device, Some(handle.clone()))
    }

    fn of(
        token: WriteToken,
        loop_device: Option<LoopDevice>,
        handle: Option<DeviceHandle>,
    ) -> Result<Self, Fault> {
        let identity = token.identity().cloned();
        let identity = identity.ok_or_else(|| Fault::NotABlockDevice(token.path().to_owned()))?;
        Ok(Self { token, identity, _loop_device: loop_device, handle })
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
    journal: Option<Device>,
    /// The uppermost layer, or the plain device.
    data: Device,
    assembled: Assembled,
    /// The devices below the layers, the second devices of caches last; empty without layers.
    members: Vec<Device>,
    /// True if the filesystem is on another machine, and the devices are unused.
    is_remote: bool,
}

impl Attached {
    /// Attaches the data device and the external journal's, and brings the layers up.
    ///
    /// # Errors
    /// When a device cannot be attached, the guard refuses it, or a layer cannot be brought up;
    /// nothing is attached then.
    pub fn attach(
        trial: &mut Trial<'_, '_>,
        definition: &FilesystemDefinition,
    ) -> Result<Self, Fault> {
        let request = trial.request;
        let is_remote = definition.is_remote;
        let data = Device::attach(trial, &request.device, None)?;
        let journal = match &request.journal {
            None => None,
            Some(handle) => {
                let default = definition.journal.map(|journal| journal.default);
                Some(Device::attach(trial, handle, request.stack.journal.size.or(default))?)
            }
        };
        if request.stack.layers.is_empty() {
            let assembled = Assembled::default();
            return Ok(Self { journal, data, assembled, members: Vec::new(), is_remote });
        }
        let mut members = vec![data];
        for handle in request.members.iter().chain(&request.fast) {
            members.push(Device::attach(trial, handle, None)?);
        }
        let (data, assembled) = layered(trial, &members)?;
        Ok(Self { journal, data, assembled, members, is_remote })
    }

    /// The data device; with layers the uppermost.
    #[must_use]
    pub fn data(&self) -> &Device {
        &self.data
    }

    /// The device of an external journal.
    #[must_use]
    pub fn journal(&self) -> Option<&Device> {
        self.journal.as_ref()
    }

    /// Returns true if the filesystem is on another machine, so that the devices are unused.
    #[must_use]
    pub fn are_unused(&self) -> bool {
        self.is_remote
    }

    /// The devices below the layers; empty without layers.
    #[must_use]
    pub fn members(&self) -> &[Device] {
        &self.members
    }

    /// The data device, then the journal's.
    pub fn all(&self) -> impl Iterator<Item = &Device> {
        std::iter::once(&self.data).chain(&self.journal)
    }

    /// The devices themselves, without layers: those that hold the data, then the journal's.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        let plain = self.members.is_empty().then_some(&self.data);
        self.members.iter().chain(plain).chain(&self.journal)
    }

    /// The counters that are read around every step.
    #[must_use]
    pub fn observer(&self, origin_ns: u64) -> Observer {
        Observer {
            device: self.data.name().to_owned(),
            journal: self.journal.as_ref().map(|journal| journal.name().to_owned()),
            members: self.members.iter().map(|member| member.name().to_owned()).collect(),
            origin_ns,
            is_in_memory: false,
            is_remote: self.is_remote,
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
            let restored = trial.undo.restore_where(Target::ends_with_devices)?;
            if restored.problems.is_empty() {
                Ok(())
            } else {
                Err(Fault::NotRestored(restored.problems))
            }
        });
        sound.and(layers).and(images).and(freed)
    }
}

/// The uppermost layer of the stack over these devices, data devices first.
fn layered(trial: &mut Trial<'_, '_>, members: &[Device]) -> Result<(Device, Assembled), Fault> {
    let request = trial.request;
    let how = match request.part {
        TrialPart::Whole | TrialPart::Prepare | TrialPart::Make => How::Make,
        TrialPart::Measure | TrialPart::Made | TrialPart::Endure | TrialPart::Survey => How::Open,
    };
    let tokens: Vec<&WriteToken> = members.iter().map(Device::token).collect();
    let (data, fast) = tokens.split_at(request.members.len() + 1);
    let mut assembled = Assembled::default();
    let layers = &request.stack.layers;
    let top = assembled.bring_up(&trial.system, &mut trial.undo, layers, how, data, fast);
    let device = top.map_err(Fault::from).and_then(|token| Device::of(token, None, None));
    trial.record.in_force.layers.clone_from(&assembled.commands);
    match device {
        Ok(device) => Ok((device, assembled)),
        Err(fault) => {
            // The first fault is the one to tell.
            let _ = assembled.take_down(&trial.system);
            Err(fault)
        }
    }
}

/// The image that was passed under this number.
fn borrow_image(fd: i32) -> Result<OwnedFd, Fault> {
    if fd < 3 {
        return Err(Fault::NotAnImage(fd));
    }
    // SAFETY: the backend that started this process opened the image under this number, and nothing
    // here closes it; the borrow ends with the clone. A number that is not open fails the clone.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(Fault::io(format!("use descriptor {fd} as an image")))
}
