//! Rights to write: who gets one, and when it ends.

use super::super::*;
use super::{Kind, SECTORS, claim_it, look, machine};
use crate::fixture::Machine;
use std::fs::{self, File};

#[test]
fn a_right_to_an_image_lasts_as_long_as_the_image_is_behind_the_device() {
    let mut machine = machine(Kind::Loop);
    let (image, other) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    machine.loop_over("loop7", &image);
    let path = machine.path("dev/loop7");
    let right = |image: &File| token::scratch_at(&machine.system(), &path, image);
    let token = right(&image).unwrap();
    assert!(token.is_scratch());
    assert_eq!((token.path(), token.kernel_name()), (path.as_path(), "loop7"));
    token.recheck().unwrap();
    assert_eq!(right(&other).unwrap_err().kind, RefusalKind::NotOurs);

    machine.loop_over("loop7", &other);
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::NotOurs);
    machine.loop_over("loop7", &image);
    token.recheck().unwrap();
    machine.diskseq("loop7", 8);
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Changed);
    machine.diskseq("loop7", 7);
    machine.mount("1", "7:7", "/mnt", "ext4", "/dev/loop7");
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Mounted);
}

#[test]
fn an_image_with_a_name_is_none_of_this_run() {
    let machine = machine(Kind::Loop);
    let folder = tempfile::tempdir().unwrap();
    let right = |file: &File| {
        machine.loop_over("loop7", file);
        token::scratch_at(&machine.system(), &machine.path("dev/loop7"), file)
    };
    let theirs = folder.path().join("precious.img");
    fs::write(&theirs, "precious").unwrap();
    let refusal = right(&File::open(&theirs).unwrap()).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);
    assert!(refusal.reason.contains("file with a name"), "{refusal}");
}

#[test]
fn only_process_1_of_the_first_namespace_has_devices_of_its_own() {
    let first = Some(0xEFFF_FFFC);
    assert!(token::is_first(1, first));
    for (process, namespace) in [(2, first), (1, Some(0xEFFF_FFFD)), (1, None), (2, None)] {
        assert!(!token::is_first(process, namespace), "{process} {namespace:?}");
    }
}

#[test]
fn a_device_of_an_own_kernel_is_looked_at_again_before_each_use() {
    let mut machine = machine(Kind::Disk);
    let path = machine.path("dev/sdb");
    let token = token::without_claim(&machine.system(), &path).unwrap();
    assert_eq!((token.kernel_name(), token.is_scratch()), ("sdb", false));
    token.recheck().unwrap();
    machine.diskseq("sdb", 8);
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Changed);
    machine.diskseq("sdb", 7);
    machine.mount("1", "8:17", "/mnt", "ext4", "/dev/sdb1");
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Mounted);
    let refusal = token::without_claim(&machine.system(), &path).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Mounted);
}

#[test]
fn the_right_to_a_layer_ends_when_something_else_is_below_it() {
    let mut machine = machine(Kind::Disk);
    machine.disk("md9", "9:9", SECTORS);
    machine.disk("sdz", "65:144", SECTORS);
    claim_it(&machine, "sdb");
    let below = look(&machine, "sdb", Purpose::Write).unwrap().permit().unwrap();
    machine.stack("md9", "sdb");
    let (system, path) = (machine.system(), machine.path("dev/md9"));
    let refusal = layered(&system, &path, &[], &[]).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);
    let token = layered(&system, &path, &[&below], &[]).unwrap();
    assert_eq!((token.path(), token.kernel_name()), (path.as_path(), "md9"));
    token.recheck().unwrap();
    machine.diskseq("md9", 8);
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Changed);
    machine.diskseq("md9", 7);
    machine.stack("md9", "sdz");
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::NotOurs);
}

#[test]
fn a_disk_with_nothing_below_it_is_written_only_if_the_run_added_it() {
    let mut machine = machine(Kind::Disk);
    machine.disk("zram3", "251:3", SECTORS);
    let (system, path) = (machine.system(), machine.path("dev/zram3"));
    let refusal = layered(&system, &path, &[], &["zram2".to_owned()]).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);
    let token = layered(&system, &path, &[], &["zram3".to_owned()]).unwrap();
    token.recheck().unwrap();
    machine.diskseq("zram3", 8);
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Changed);
}

#[test]
fn another_node_under_the_path_of_a_held_device_is_noticed() {
    let machine = machine(Kind::Disk);
    claim_it(&machine, "sdb");
    machine.held("sdb", "/dev/null");
    let token = look(&machine, "sdb", Purpose::Write).unwrap().permit().unwrap();
    token.recheck().unwrap();
    // All that sysfs says is as before.
    machine.held("sdb", "/dev/zero");
    let refusal = token.recheck().unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Changed);
    assert!(refusal.reason.starts_with("it leads to another device"), "{refusal}");
    machine.held("sdb", "/no/such/node");
    assert_eq!(token.recheck().unwrap_err().kind, RefusalKind::Unreadable);
}

#[test]
fn the_exclusive_open_must_find_the_device_that_sysfs_names() {
    let machine = machine(Kind::Disk);
    let look = |machine: &Machine| look(machine, "sdb", Purpose::Claim);
    machine.probed("sdb", Ok("8:16"));
    look(&machine).unwrap();
    machine.probed("sdb", Ok("8:32"));
    let refusal = look(&machine).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Changed);
    assert_eq!(refusal.reason, "it became 8:32 while it was checked");
    machine.probed("sdb", Err(libc::EIO));
    assert_eq!(look(&machine).unwrap_err().kind, RefusalKind::Unreadable);
    machine.probed("sdb", Err(libc::EBUSY));
    assert_eq!(look(&machine).unwrap_err().kind, RefusalKind::Busy);
}
