use std::process::{Command, Stdio};

use super::*;

/// A block device in a fake sysfs.
fn plant(sys: &Path, device: &str, scheduler: &str, file: Option<&str>) {
    let folder = sys.join(device);
    fs::create_dir_all(folder.join("queue")).unwrap();
    fs::write(folder.join("queue/scheduler"), format!("{scheduler}\n")).unwrap();
    fs::write(folder.join("queue/nr_requests"), "128\n").unwrap();
    if let Some(file) = file {
        fs::create_dir_all(folder.join("loop")).unwrap();
        fs::write(folder.join("loop/backing_file"), format!("{file}\n")).unwrap();
    }
}

const MOUNTS: &str = "/dev/vda / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n";

#[test]
fn what_is_new_is_named_and_what_was_there_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (sys, mounts) = (folder.path().join("block"), folder.path().join("mounts"));
    plant(&sys, "loop0", "[none] bfq", None);
    plant(&sys, "loop1", "[none] bfq", Some("/old.img"));
    fs::write(&mounts, MOUNTS).unwrap();
    let before = Machine::look_in(&sys, &mounts).unwrap();
    assert_eq!(before.new_since(&before), [""; 0]);

    plant(&sys, "loop0", "none [bfq]", Some("/new image.img"));
    plant(&sys, "loop8", "none [bfq]", None);
    plant(&sys, "loop9", "[none] bfq", None);
    fs::write(&mounts, format!("{MOUNTS}/dev/loop0 /mnt/a xfs rw 0 0\n")).unwrap();
    let after = Machine::look_in(&sys, &mounts).unwrap();
    assert_eq!(
        after.new_since(&before),
        [
            "loop device loop0 on /new image.img",
            "mount /dev/loop0 /mnt/a xfs",
            "loop0 scheduler: `none [bfq]`, was `[none] bfq`",
            "loop8 scheduler: `none [bfq]`, was `[none] bfq`",
        ]
    );
}

#[test]
fn what_went_away_or_only_changed_its_mount_options_is_not_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (sys, mounts) = (folder.path().join("block"), folder.path().join("mounts"));
    plant(&sys, "loop0", "[none] bfq", Some("/old.img"));
    fs::write(&mounts, MOUNTS).unwrap();
    let before = Machine::look_in(&sys, &mounts).unwrap();
    fs::remove_file(sys.join("loop0/loop/backing_file")).unwrap();
    fs::write(&mounts, "/dev/vda / ext4 ro 0 0\n").unwrap();
    let after = Machine::look_in(&sys, &mounts).unwrap();
    assert_eq!(after.new_since(&before), [""; 0]);
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::look().unwrap();
    assert!(!machine.mounts.is_empty());
}

#[test]
fn a_process_is_found_by_what_it_inherited() {
    let marker = format!("SEEKWELL_XTASK_TEST=m{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    assert_eq!(processes_with(&marker).unwrap(), [""; 0]);
    // `cat` waits for its input, and ends when the test drops it.
    let mut child = Command::new("cat").env(name, value).stdin(Stdio::piped()).spawn().unwrap();
    let found = processes_with(&marker).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(found, [format!("process /proc/{} (cat)", child.id())]);
    assert_eq!(processes_with(&marker).unwrap(), [""; 0]);
}
