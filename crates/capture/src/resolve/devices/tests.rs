use super::*;
use std::fs::{create_dir_all, write};
use std::os::unix::fs::symlink;

/// A disk 8:0 with the partition 8:1, a disk 8:16, a mapped device 253:0 over both disks, and a disk in memory, 251:0.
fn sys() -> tempfile::TempDir {
    let sys = tempfile::tempdir().unwrap();
    let root = sys.path();
    for (path, dev) in [
        ("devices/sda", "8:0\n"),
        ("devices/sda/sda1", "8:1\n"),
        ("devices/sdb", "8:16\n"),
        ("devices/dm-0", "253:0\n"),
    ] {
        create_dir_all(root.join(path)).unwrap();
        write(root.join(path).join("dev"), dev).unwrap();
    }
    write(root.join("devices/sda/sda1/partition"), "1\n").unwrap();
    let queues = ["devices/sda/mq", "devices/sdb/mq"];
    for folder in queues.into_iter().chain(["dev/block", "devices/dm-0/slaves", "devices/zram0"]) {
        create_dir_all(root.join(folder)).unwrap();
    }
    for (link, to) in [
        ("dev/block/8:0", "devices/sda"),
        ("dev/block/8:1", "devices/sda/sda1"),
        ("dev/block/8:16", "devices/sdb"),
        ("dev/block/253:0", "devices/dm-0"),
        ("dev/block/251:0", "devices/zram0"),
        ("devices/dm-0/slaves/sda1", "devices/sda/sda1"),
        ("devices/dm-0/slaves/sdb", "devices/sdb"),
    ] {
        symlink(root.join(to), root.join(link)).unwrap();
    }
    sys
}

const MOUNTS: &str = "\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:30 / /tmp rw - tmpfs tmpfs rw
24 22 0:40 / /merged rw - overlay overlay rw";

const FILE: u32 = 0o100_644;

fn serving(files: &[(u32, &str, u32)]) -> Option<Vec<u32>> {
    let sys = sys();
    Machine { sys: sys.path(), mounts: MOUNTS }.serving(files.iter().copied())
}

#[test]
fn a_partition_is_served_by_its_disk_and_a_mapped_device_by_its_members() {
    let (sda, sdb) = (8 << 20, 8 << 20 | 16);
    assert_eq!(serving(&[(sda | 1, "/etc/passwd", FILE)]), Some(vec![sda]));
    assert_eq!(serving(&[(253 << 20, "/srv/a", FILE)]), Some(vec![sda, sdb]));
    assert_eq!(serving(&[(251 << 20, "/zram/a", FILE)]), None);
    assert_eq!(serving(&[(259 << 20, "/gone/a", FILE)]), None);
}

#[test]
fn memory_has_no_device_and_that_of_an_overlay_is_not_known() {
    let (memory, merged) = ((30, "/tmp/a", FILE), (40, "/merged/a", FILE));
    let (pipe, root) = ((12, "pipe:[7]", 0o010_600), (8 << 20 | 1, "/a", FILE));
    assert_eq!(serving(&[memory, pipe]), Some(vec![]));
    assert_eq!(serving(&[memory, root]), Some(vec![8 << 20]));
    assert_eq!(serving(&[merged, root]), None);
}

#[test]
fn a_loop_device_stands_for_the_disk_below_it() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_loop_device_stands_for_the_disk_below_it", "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(1 << 20).unwrap();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new("losetup").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    let device = run(&["--find", "--show", image.to_str().unwrap()]);
    let below = number(rustix::fs::stat(&image).unwrap().st_dev);
    let files = [(0, device.as_str(), S_IFBLK), (below, image.to_str().unwrap(), FILE)];
    let found = Machine { sys: Path::new("/sys"), mounts: "" }.serving(files.into_iter());
    let number = number(rustix::fs::stat(&device).unwrap().st_rdev);
    run(&["--detach", &device]);
    // A disk in memory below it issues no requests of its own.
    assert!(found.is_none_or(|found| found == [number]));
}
