//! The filesystem of a stack while it is mounted, with the layer in memory above it if there is one.

use rustix::mount::{MountFlags, MountPropagationFlags};
use seekwell_host::filesystem;
use seekwell_host::nfs::{self, NfsMount, Place};
use seekwell_host::overlay::{self, OverlayMount};
use seekwell_host::sysfs::System;
use seekwell_host::trial_directory::TrialDirectory;
use seekwell_host::{Error, caches};
use seekwell_model::filesystems::FilesystemDefinition;
use seekwell_model::stack::{Nfs, Overlay, WriteBack};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Unmounting waits for the write-back of what is dirty; what takes longer hangs.
const UNMOUNT: Duration = Duration::from_secs(300);

/// Mount point, device and options of a stack.
#[derive(Debug)]
pub struct MountPlan {
    pub(crate) definition: &'static FilesystemDefinition,
    pub(crate) device: PathBuf,
    pub(crate) options: Vec<String>,
    /// The directory that [`private_work`] made.
    pub(crate) base: PathBuf,
    pub(crate) above: Above,
}

/// Between the mounted filesystem and the workload; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Above {
    /// A writable layer.
    pub overlay: Option<Overlay>,
    /// An NFS server, its place, and its client.
    pub nfs: Option<(Nfs, Place)>,
    /// A directory of another machine instead of the device.
    pub directory: Option<TrialDirectory>,
}

/// A mounted stack.
#[derive(Debug)]
pub struct Mount {
    plan: MountPlan,
    layer: Option<OverlayMount>,
    export: Option<NfsMount>,
}

/// Mounts a small tmpfs on `work`, so that mount points leave nothing behind on the host: it goes
/// with the mount namespace.
///
/// # Errors
/// The kernel's.
pub fn private_work(work: &Path) -> io::Result<()> {
    rustix::mount::mount(
        "seekwell",
        work,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(c"size=1m,mode=700"),
    )?;
    // An unmount reaches the namespaces of the workload's programs too.
    rustix::mount::mount_change(work, MountPropagationFlags::SHARED)?;
    for name in ["base", "top", "layer", nfs::FOLDER] {
        fs::create_dir(work.join(name))?;
    }
    Ok(())
}

impl MountPlan {
    fn lower(&self) -> PathBuf {
        self.base.join("base")
    }

    /// The mount point of the overlay.
    fn top(&self) -> PathBuf {
        self.base.join("top")
    }

    /// Returns true if a layer in memory is above it.
    fn is_below_memory(&self) -> bool {
        self.above.overlay.is_some_and(|overlay| overlay.upper.is_some())
    }

    /// The options under a layer in memory.
    fn lower_options(&self) -> Vec<String> {
        self.options.iter().cloned().chain(["ro".to_owned()]).collect()
    }

    /// Mounts it.
    ///
    /// # Errors
    /// The kernel's, with its own words.
    pub fn mount(self) -> Result<Mount, Error> {
        let lower = self.lower();
        let Some(overlay) = &self.above.overlay else {
            self.mount_lower()?;
            let export = self.export()?;
            return Ok(Mount { plan: self, layer: None, export });
        };
        let Some(size) = overlay.upper else {
            filesystem::mount(self.definition, &self.device, &lower, &self.options)?;
            let layer = overlay::mount_within(&lower, &self.top())?;
            return Ok(Mount { plan: self, layer: Some(layer), export: None });
        };
        filesystem::mount(self.definition, &self.device, &lower, &self.lower_options())?;
        let layer = overlay::mount(&lower, &self.base.join("layer"), &self.top(), size)?;
        Ok(Mount { plan: self, layer: Some(layer), export: None })
    }

    /// Mounts the filesystem itself, or the directory of another machine.
    fn mount_lower(&self) -> Result<(), Error> {
        let lower = self.lower();
        match &self.above.directory {
            Some(directory) => directory.mount(&self.top(), &lower, &self.options),
            None => filesystem::mount(self.definition, &self.device, &lower, &self.options),
        }
    }

    /// Mounts it again with dropped caches.
    fn remount_lower_cold(&self) -> Result<(), Error> {
        let lower = self.lower();
        if self.above.directory.is_some() {
            filesystem::unmount(&lower, UNMOUNT)?;
            return self.mount_lower();
        }
        filesystem::remount_cold(self.definition, &self.device, &lower, &self.options)
    }

    /// Exports the mounted filesystem and mounts the export, if the stack has NFS.
    fn export(&self) -> Result<Option<NfsMount>, Error> {
        let Some((nfs, place)) = &self.above.nfs else { return Ok(None) };
        nfs::mount(&System::host(), nfs, place, &self.lower(), &self.top()).map(Some)
    }
}

impl Mount {
    /// The directory of the workload.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        match (&self.layer, &self.export) {
            (Some(layer), _) => layer.target().to_owned(),
            (None, Some(export)) => export.target().to_owned(),
            (None, None) => self.plan.lower(),
        }
    }

    /// The mount point of the filesystem itself.
    #[must_use]
    pub fn filesystem(&self) -> PathBuf {
        self.plan.lower()
    }

    /// Remounts with dropped caches. The content of a layer in memory above it stays by intent.
    ///
    /// # Errors
    /// When the filesystem stays busy or cannot be mounted again.
    pub fn make_cold(&mut self) -> Result<(), Error> {
        let upper = self.layer.take().map(|layer| layer.unmount(UNMOUNT)).transpose()?;
        self.export.take().map(|export| export.unmount(UNMOUNT)).transpose()?;
        let plan = &self.plan;
        let lower = plan.lower();
        let Some(upper) = upper.filter(|_| plan.is_below_memory()) else {
            plan.remount_lower_cold()?;
            self.export = plan.export()?;
            if plan.above.overlay.is_some() {
                self.layer = Some(overlay::mount_within(&lower, &plan.top())?);
            }
            return Ok(());
        };
        filesystem::remount_cold(plan.definition, &plan.device, &lower, &plan.lower_options())?;
        self.layer = Some(upper.mount(&lower, &plan.top())?);
        Ok(())
    }

    /// Writes back everything that is dirty in it, on both sides of NFS.
    ///
    /// # Errors
    /// When a write-back fails: data was lost.
    pub fn sync(&self) -> Result<(), Error> {
        sync(self.directory())?;
        if self.export.is_some() { sync(self.filesystem()) } else { Ok(()) }
    }

    /// Returns true if the layer in memory is to be written to the device at the end.
    #[must_use]
    pub fn writes_back(&self) -> bool {
        self.plan.is_below_memory()
            && self.layer.is_some()
            && self.plan.above.overlay.is_some_and(|overlay| overlay.write_back == WriteBack::End)
    }

    /// Applies the layer in memory to the filesystem and syncs it; the layer is gone afterwards.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn write_back(&mut self) -> Result<(), Error> {
        let Some(layer) = self.layer.take() else { return Ok(()) };
        let upper = layer.unmount(UNMOUNT)?;
        let plan = &self.plan;
        filesystem::unmount(&plan.lower(), UNMOUNT)?;
        filesystem::mount(plan.definition, &plan.device, &plan.lower(), &plan.options)?;
        upper.write_back(&plan.lower())?;
        upper.drop_layer(UNMOUNT)?;
        self.sync()
    }

    /// Unmounts everything.
    ///
    /// # Errors
    /// When something still uses it.
    pub fn unmount(self) -> Result<(), Error> {
        if let Some(layer) = self.layer {
            layer.unmount(UNMOUNT)?.drop_layer(UNMOUNT)?;
        }
        self.export.map(|export| export.unmount(UNMOUNT)).transpose()?;
        filesystem::unmount(&self.plan.lower(), UNMOUNT)
    }
}

fn sync(path: PathBuf) -> Result<(), Error> {
    let file = File::open(&path).map_err(|source| Error::Io { action: "open", path, source })?;
    caches::sync_filesystem(&file)
}
