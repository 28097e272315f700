//! Helpers shared by tests of several workloads.

use crate::step::StepContext;
use std::path::{Path, PathBuf};

/// A step in a directory, without a device of its own.
pub fn context(directory: &Path) -> StepContext<'_> {
    StepContext {
        directory: Some(directory),
        device: Path::new("/dev/null"),
        device_file: None,
        raw: false,
        seed: 5,
        stop: None,
        device_bytes: 0,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    }
}

/// A filesystem in memory that is soon full; unmounted when dropped.
#[derive(Debug)]
pub struct SmallTmpfs {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl SmallTmpfs {
    /// Its root.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallTmpfs {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.path, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(self.folder.path().exists());
    }
}

/// A filesystem of 1 MiB; `None`, and a counted skip, where it cannot be mounted.
pub fn small_tmpfs(test: &str) -> Option<SmallTmpfs> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to mount a small tmpfs");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    std::fs::create_dir(&path).unwrap();
    let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
    rustix::mount::mount("seekwell-test", &path, "tmpfs", flags, Some(c"size=1m,mode=700"))
        .unwrap();
    Some(SmallTmpfs { folder, path })
}
