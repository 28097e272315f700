//! The lock against the kernel, from two mount namespaces.

use super::*;
use crate::fixture::with_own_mounts;
use crate::sysfs::System;
use rustix::fs::{CWD, FileType, mknodat};
use rustix::mount::{MountFlags, mount};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// A number that no loop device of a test gets.
const NAME: &str = "loop1048000";

#[test]
fn a_loop_device_has_one_lock_in_all_mount_namespaces_and_it_ends_with_its_last_copy() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_loop_device_has_one_lock", "needs root to mount");
    }
    let dev = System::host().dev;
    let names = [NAME.to_owned(), "loop1048001".to_owned()];
    let lock = LoopLock::take(&dev, NAME).unwrap().unwrap();
    let copy = lock.clone();
    // The /dev of a container: nodes of its own in a tmpfs. The folder ends outside of the mounts.
    let other = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount("seekwell", other.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        let number = std::fs::metadata("/dev/loop-control").unwrap().rdev();
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, other.path().join(NODE), FileType::CharacterDevice, mode, number).unwrap();
        assert!(LoopLock::take(other.path(), NAME).unwrap().is_none());
        assert!(LoopLock::take(other.path(), "loop1048001").unwrap().is_some());
        let first = BTreeSet::from([NAME.to_owned()]);
        assert!(seekwell_testing::soon(|| LoopLock::taken(other.path(), &names) == first));
    });
    // udev and mkfs lock nodes with flock, which neither waits for this lock nor ends it.
    let node = File::open(dev.join(NODE)).unwrap();
    rustix::fs::flock(&node, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    drop(lock);
    assert!(LoopLock::take(&dev, NAME).unwrap().is_none(), "a copy is left");
    drop(copy);
    assert!(
        seekwell_testing::soon(|| LoopLock::take(&dev, NAME).unwrap().is_some()),
        "no copy is left"
    );
    assert!(LoopLock::take(&dev, "sda").is_err());
}
