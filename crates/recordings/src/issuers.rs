//! Origin of block requests: processes of the load, threads of the kernel that work for it, other programs and
//! other devices.

use seekwell_trace::meta::Meta;
use seekwell_trace::{ProcessEntry, Request};
use std::collections::HashSet;

/// Process that makes the kernel's threads.
const KTHREADD: u32 = 2;
/// Starts of the names of the kernel's threads that issue requests.
const THREADS: [&str; 30] = [
    "kworker/", "jbd2/", "xfsaild/", "xfs-", "xfs_", "btrfs-", "f2fs_", "ext4-", "ext4lazyinit",
    "kswapd", "khugepaged", "kcompactd", "ksoftirqd/", "kdmflush", "dmcrypt_", "kcryptd", "kcopyd",
    "dm-", "dm_", "bcache", "md_", "raid", "flush-", "kblockd", "kthreadd", "nilfs", "jfs", "nfsd",
    "zvol", "txg_sync",
];
/// Names that have a number at their end: `loop0`, `md127_raid1`.
const NUMBERED: [&str; 3] = ["loop", "md", "mmcqd/"];

/// Issuers of the requests of a trace, and the devices of the load.
pub(crate) struct Issuers {
    kernel: HashSet<u32>,
    /// Devices with the files of the load; none when the trace does not name them.
    devices: HashSet<u32>,
}

impl Issuers {
    pub(crate) fn new(meta: &Meta, processes: &[ProcessEntry]) -> Self {
        let threads = processes.iter().filter(|row| is_kernel(row)).map(|row| row.process);
        // Interrupts of an idle CPU have process 0.
        let kernel = threads.chain([0]).collect();
        Self { kernel, devices: meta.devices.iter().copied().collect() }
    }

    /// True for requests of threads of the kernel.
    pub(crate) fn are_kernel(&self, request: &Request) -> bool {
        request.process.is_some_and(|process| self.kernel.contains(&process))
    }

    /// True for requests to a device with files of the load.
    pub(crate) fn are_on_device(&self, request: &Request) -> bool {
        self.devices.is_empty() || self.devices.contains(&request.device)
    }

    /// True for requests of the load: to its devices, by a process with calls, by the kernel or by an unknown one.
    pub(crate) fn are_of_load(&self, request: &Request, is_calling: impl Fn(u32) -> bool) -> bool {
        let called = request.process.is_none_or(is_calling);
        self.are_on_device(request) && (called || self.are_kernel(request))
    }
}

/// True for a thread of the kernel: a child of kthreadd, or a name as the kernel gives its threads. No source
/// names the parents of threads that ran before.
fn is_kernel(entry: &ProcessEntry) -> bool {
    let named = |name: &String| {
        let end = name.find(|letter: char| letter.is_ascii_digit()).unwrap_or(name.len());
        THREADS.iter().any(|start| name.starts_with(start)) || NUMBERED.contains(&&name[..end])
    };
    entry.parent == Some(KTHREADD)
        || entry.process == KTHREADD
        || entry.name.as_ref().is_some_and(named)
}
