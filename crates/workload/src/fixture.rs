//! Helpers shared by tests of several workloads.

use std::path::{Path, PathBuf};

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
