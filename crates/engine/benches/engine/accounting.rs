//! CPU time of everything that a side starts: its threads, its processes, and the workers that the
//! kernel's io_uring makes for them (they are threads of the process that asks).

use std::fs;
use std::path::{Path, PathBuf};

/// Mount point of the cpuacct controller.
const ROOT: &str = "/sys/fs/cgroup/cpuacct";

/// A group of its own below [`ROOT`], removed when this value is dropped.
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// # Errors
    /// When this machine has no such hierarchy, or does not let us.
    pub fn make() -> Result<Self, String> {
        let folder = Path::new(ROOT).join(format!("seekwell-bench-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder })
    }

    fn used_ns(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join("cpuacct.usage")).unwrap();
        text.trim().parse().unwrap()
    }

    /// Does something in a thread of the group; gives also the CPU time of all that came of it.
    pub fn count<T: Send>(&self, work: impl FnOnce() -> T + Send) -> (T, u64) {
        let before = self.used_ns();
        let result = std::thread::scope(|scope| {
            let member = || {
                let own = rustix::thread::gettid().as_raw_nonzero().to_string();
                fs::write(self.folder.join("tasks"), own).unwrap();
                work()
            };
            scope.spawn(member).join().unwrap()
        });
        (result, self.used_ns() - before)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}
