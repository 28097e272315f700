//! Block device below a path.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Name in sysfs of a block device, or of the device that the filesystem of a path is on. `None`
/// where there is none, as in memory or on several devices.
pub(super) fn below(path: &Path) -> Option<String> {
    let facts = std::fs::metadata(path).ok()?;
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// The device's node, for messages.
pub(super) fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// Its logical sector in bytes; of a partition that of its disk. `None` when the kernel does not
/// say.
pub(super) fn sector_bytes(name: &str) -> Option<u32> {
    let class = Path::new("/sys/class/block").join(name);
    [class.join("queue"), class.join("../queue")].iter().find_map(|queue| {
        let text = std::fs::read_to_string(queue.join("logical_block_size")).ok()?;
        text.trim().parse().ok()
    })
}
