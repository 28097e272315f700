use super::*;
use crate::fixture::Machine;

const SIZE: u64 = 8 << 20;

/// A device of 8 MiB with some bytes on it.
fn found(bytes: &[(u64, &[u8])]) -> Option<String> {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", SIZE / 512);
    for (offset, magic) in bytes {
        machine.put("sdb", *offset, magic);
    }
    let system = machine.system();
    let device = Device::by_name(&system, "sdb").unwrap();
    layer(&system, &device, &machine.path("dev/sdb")).unwrap()
}

#[test]
fn every_place_of_every_mark_is_known() {
    let lvm = [b"LABELONE".as_slice(), &[0; 16], b"LVM2 001"].concat();
    let md = MD_MAGIC.as_slice();
    let uberblock = ZFS_MAGIC.to_le_bytes();
    let swapped = ZFS_MAGIC.to_be_bytes();
    let mut cases: Vec<(&str, u64, &[u8])> = vec![
        ("crypto_LUKS", 0, b"LUKS\xba\xbe"),
        ("crypto_LUKS", 0x4000, b"SKUL\xba\xbe"),
        ("crypto_LUKS", 0x4_0000, b"SKUL\xba\xbe"),
        ("linux_raid_member", 0, md),
        ("linux_raid_member", 4096, md),
        ("linux_raid_member", SIZE - 65536, md),
        ("linux_raid_member", SIZE - 8192, md),
        ("bcache", 4120, &BCACHE_MAGIC),
        ("zfs_member", 128 << 10, &uberblock),
        ("zfs_member", (128 << 10) + 5 * 1024, &swapped),
        ("zfs_member", (256 + 128) << 10, &uberblock),
        ("zfs_member", SIZE - (512 << 10) + (128 << 10), &uberblock),
        ("zfs_member", SIZE - (256 << 10) + (255 << 10), &uberblock),
    ];
    for sector in 0..4 {
        cases.push(("LVM2_member", sector * 512, &lvm));
    }
    for (name, offset, magic) in cases {
        assert_eq!(found(&[(offset, magic)]).as_deref(), Some(name), "at {offset}");
    }
}

#[test]
fn filesystems_tables_and_halves_of_marks_are_no_layer() {
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[(1024 + 56, &[0x53, 0xEF])]), None, "ext4");
    assert_eq!(found(&[(510, &[0x55, 0xAA])]), None, "a partition table");
    assert_eq!(found(&[(512, b"LABELONE")]), None, "a label that is not of LVM2");
    assert_eq!(found(&[(4 * 512, b"LABELONE")]), None, "beyond the four sectors");
    let one = [(65600, b"_BHRfS_M".as_slice()), (65536 + 0x88, &[1])];
    assert_eq!(found(&one), None, "btrfs on one device");
    let three = [(65600, b"_BHRfS_M".as_slice()), (65536 + 0x88, &[3])];
    assert_eq!(found(&three).as_deref(), Some("btrfs of several devices"));
}

#[test]
fn a_device_smaller_than_the_places_is_read_without_error() {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 8);
    let system = machine.system();
    let device = Device::by_name(&system, "sdb").unwrap();
    assert_eq!(layer(&system, &device, &machine.path("dev/sdb")).unwrap(), None);
}

#[test]
fn the_labels_at_the_end_of_the_smallest_pool_are_known() {
    for (labels, known) in [(4, true), (3, false)] {
        let mut machine = Machine::new();
        machine.disk("sdb", "8:16", labels * ZFS_LABEL / 512);
        machine.put("sdb", (labels - 1) * ZFS_LABEL + (128 << 10), &ZFS_MAGIC.to_le_bytes());
        let system = machine.system();
        let device = Device::by_name(&system, "sdb").unwrap();
        let found = layer(&system, &device, &machine.path("dev/sdb")).unwrap();
        assert_eq!(found.is_some(), known, "{labels} labels: {found:?}");
    }
}

#[test]
fn rarer_layers_are_known_to_libblkid() {
    let machine = Machine::new();
    for name in ["isw_raid_member", "drbd", "vdo", "DM_integrity", "gfs2", "swsuspend"] {
        let script = format!("#!/bin/sh\nprintf '# TYPE\\ndos\\n{name}\\n'");
        seekwell_testing::program(&machine.path("bin/wipefs"), &script);
        let found = by_wipefs(&machine.system(), Path::new("/dev/x")).unwrap();
        assert_eq!(found.as_deref(), Some(name));
    }
}

#[test]
fn a_device_is_not_free_because_wipefs_fails() {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 8);
    let system = machine.system();
    let device = Device::by_name(&system, "sdb").unwrap();
    let look = || layer(&system, &device, &machine.path("dev/sdb"));
    assert_eq!(look().unwrap(), None);
    seekwell_testing::program(&machine.path("bin/wipefs"), "#!/bin/sh\necho busy >&2; exit 1");
    assert!(look().unwrap_err().to_string().contains("busy"));
    std::fs::remove_file(machine.path("bin/wipefs")).unwrap();
    assert!(look().unwrap_err().to_string().contains("apt-get install util-linux"));
}
