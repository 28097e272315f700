//! Cgroups of tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reason of a skip where no cgroup can be made.
pub const NO_CGROUP: &str = "needs root and a mounted cgroup2";

/// A cgroup, removed in the end.
#[derive(Debug)]
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one with this path below the root of version 2; `None` where none can be made.
    #[must_use]
    pub fn make(path: &str) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
        let root = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (place, kind) = (words.next()?, words.next()?);
            (kind == "cgroup2").then(|| Path::new(place))
        })?;
        let path = root.join(path);
        std::fs::create_dir_all(&path).ok()?;
        Some(Self(path))
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A line for a shell that enters it.
    #[must_use]
    pub fn enter(&self) -> String {
        format!("echo $$ >'{}/cgroup.procs' || exit", self.0.display())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process that was killed may leave it a moment later.
        for _ in 0..1000 {
            if std::fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Those above it that nothing else is in.
        for above in self.0.ancestors().skip(1) {
            if std::fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
}
