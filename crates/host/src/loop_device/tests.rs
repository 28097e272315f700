//! No spare disk is needed: every device here is a loop device on an image of its own.

use super::*;
use crate::fixture;
use crate::image;
use crate::nodes::{Behind, BehindLoop, FileId, Kernel, Nodes};
use std::io::{Read, Seek, SeekFrom, Write};

const TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn the_structures_have_the_kernels_sizes() {
    assert_eq!((size_of::<Info>(), size_of::<Config>()), (232, 304));
}

#[test]
fn an_attached_image_is_direct_and_free_again_with_its_descriptor() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "an_attached_image_is_direct",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let on_disk = image::create(folder.path(), Bytes::mib(4), 1, &mut |_| {}).unwrap();
    let in_ram = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {}).unwrap();
    for image in [on_disk, in_ram] {
        for sector in [512, 4096] {
            let device = attach(&system, image.file(), Bytes(sector), None).unwrap();
            let name = device.kernel_name().to_owned();
            assert!(attached(&system).iter().any(|one| one.kernel_name == name), "{name}");
            let flag = |file: &str| sysfs::read(&system.block(&name).join("loop").join(file));
            assert_eq!([flag("dio").unwrap(), flag("autoclear").unwrap()], ["1", "1"]);
            assert_eq!(device.size(), Bytes::mib(4));
            let logical = system.queue(&name).unwrap().join("logical_block_size");
            assert_eq!(sysfs::read_number::<u64>(&logical).unwrap(), Some(sector));
            let facts = rustix::fs::fstat(image.file()).unwrap();
            let file = FileId { device: facts.st_dev, inode: facts.st_ino };
            let behind = Behind { what: BehindLoop::File(file), offset: 0 };
            assert_eq!(Kernel.behind_loop(device.path()).unwrap(), Some(behind));
            assert!(Kernel.has_our_image(device.path()));
            drop(device);
            wait_detached(&system, &name, TIMEOUT).unwrap();
        }
    }
}

#[test]
fn what_is_written_through_the_device_is_in_the_image() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "what_is_written_through_the_device",
            "needs root to attach a loop device",
        );
    }
    let (image, device) = fixture::ram_device(2);
    let mut node = device.file();
    node.seek(SeekFrom::Start(8192)).unwrap();
    node.write_all(b"through the device").unwrap();
    crate::caches::flush_device(node).unwrap();
    let mut file = image.file();
    file.seek(SeekFrom::Start(8192)).unwrap();
    let mut read = [0; 18];
    file.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"through the device");
}

#[test]
fn a_limit_shows_only_the_beginning_of_the_image() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_limit_shows_only_the_beginning",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let image = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {}).unwrap();
    let device = attach(&system, image.file(), Bytes(512), Some(Bytes::mib(1))).unwrap();
    assert_eq!(device.size(), Bytes::mib(1));
}

#[test]
fn many_at_once_get_a_device_each() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "many_at_once_get_a_device_each",
            "needs root to attach a loop device",
        );
    }
    let devices: Vec<LoopDevice> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..12)
            .map(|_| {
                scope.spawn(|| {
                    let (_, device) = fixture::ram_device(1);
                    device
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut names: Vec<&str> = devices.iter().map(LoopDevice::kernel_name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 12);
}

#[test]
fn a_device_in_use_is_waited_for_and_then_named() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_device_in_use_is_waited_for",
            "needs root to attach a loop device",
        );
    }
    let (_image, device) = fixture::ram_device(1);
    let error = wait_detached(&System::host(), device.kernel_name(), Duration::from_millis(20))
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Timeout { .. }));
    assert!(text.contains(&format!("{} is still attached to", device.kernel_name())), "{text}");
}

#[test]
fn direct_io_that_did_not_come_on_is_an_error_and_leaves_nothing() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "direct_io_that_did_not_come_on",
            "needs root to attach a loop device",
        );
    }
    // A tree in which the kernel's answer about direct I/O is missing.
    let mut system = System::host();
    let folder = tempfile::tempdir().unwrap();
    system.sys = folder.path().to_owned();
    let image = image::create_in_ram(&system, Bytes::mib(1), 1, &mut |_| {}).unwrap();
    let error = attach(&system, image.file(), Bytes(512), None).unwrap_err();
    let text = error.to_string();
    let (device, _) = text.split_once(" does not use direct I/O on its image").unwrap();
    wait_detached(&System::host(), device, TIMEOUT).unwrap();
}
