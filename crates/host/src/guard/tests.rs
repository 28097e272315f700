//! The guard against a fake machine, and against the kernel on loop devices.
//!
//! No spare disk exists on this kind of machine: disks, partitions and layers are a tree of files that
//! looks like sysfs and procfs; what only a kernel can answer is asked of loop devices on images of
//! the test's own. Every image is a canary: it must be byte for byte what it was.

use super::*;
use crate::claim;
use crate::fixture::Machine;
use seekwell_model::units::Bytes;
use std::fs;

mod hidden;
mod kernel;
mod tokens;
mod trees;
mod users;

/// Kinds of devices in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Disk,
    Partition,
    Loop,
    Mapped,
}

const KINDS: [Kind; 4] = [Kind::Disk, Kind::Partition, Kind::Loop, Kind::Mapped];

impl Kind {
    /// The device that is asked about.
    fn target(self) -> &'static str {
        match self {
            Self::Disk => "sdb",
            Self::Partition => "sdb1",
            Self::Loop => "loop7",
            Self::Mapped => "dm-3",
        }
    }

    fn number(self) -> &'static str {
        match self {
            Self::Disk => "8:16",
            Self::Partition => "8:17",
            Self::Loop => "7:7",
            Self::Mapped => "254:3",
        }
    }

    /// A part of it where it has one, else itself.
    fn part(self) -> (&'static str, &'static str) {
        match self {
            Self::Disk => ("sdb1", "8:17"),
            Self::Loop => ("loop7p1", "259:1"),
            Self::Partition | Self::Mapped => (self.target(), self.number()),
        }
    }
}

const SECTORS: u64 = 4096;

/// A machine with the target, not in use by anybody.
fn machine(kind: Kind) -> Machine {
    let mut machine = Machine::new();
    match kind {
        Kind::Disk | Kind::Partition => {
            machine.disk("sdb", "8:16", SECTORS * 2);
            machine.partition("sdb", "sdb1", "8:17", 2048, SECTORS);
            machine.attribute("sdb", "device/model", "Scratch 1000   ");
            machine.attribute("sdb", "device/serial", "WD-ABC123456");
        }
        Kind::Loop => {
            machine.disk("loop7", "7:7", SECTORS);
            machine.partition("loop7", "loop7p1", "259:1", 64, 1024);
            machine.loop_file("loop7", "/home/me/precious.img");
        }
        Kind::Mapped => {
            machine.disk("sdc", "8:32", SECTORS);
            machine.disk("dm-3", "254:3", SECTORS);
            machine.attribute("dm-3", "dm/name", "vg-scratch");
            machine.stack("dm-3", "sdc");
        }
    }
    machine
}

fn context(machine: &Machine) -> Context {
    Context { claims: machine.path("claims"), run_file: Some(machine.path("runs/one.seekwell")) }
}

fn look(machine: &Machine, name: &str, purpose: Purpose) -> Result<Verified, Refusal> {
    check(&machine.system(), &machine.path("dev").join(name), purpose, &context(machine))
}

/// Claims the target as a person would.
fn claim_it(machine: &Machine, name: &str) {
    let system = machine.system();
    let card = claim::describe(&system, &machine.path("dev").join(name), None).unwrap();
    let typed = match &card.identity.serial {
        Some(serial) => serial[serial.len() - 4..].to_owned(),
        None => card.identity.sectors().to_string(),
    };
    claim::confirm(&system, &machine.path("claims"), &card, &typed).unwrap();
}

/// Change of a machine between two looks.
type Change = fn(&mut Machine);

/// How a device can be in use; each puts its state on the machine.
type Put = fn(&mut Machine, Kind);

/// Name, what the guard must say, how the state comes about.
const STATES: [(&str, RefusalKind, Put); 33] = [
    ("mounted", RefusalKind::Mounted, |machine, kind| {
        machine.mount("1", kind.number(), "/mnt", "ext4", &format!("/dev/{}", kind.target()));
    }),
    ("mounted under another number, as btrfs does", RefusalKind::Mounted, |machine, kind| {
        machine.mount("1", "0:55", "/mnt", "btrfs", &format!("/dev/{}", kind.target()));
    }),
    ("a part is mounted", RefusalKind::Mounted, |machine, kind| {
        let (name, number) = kind.part();
        machine.mount("1", number, "/mnt", "ext4", &format!("/dev/{name}"));
    }),
    ("mounted where only this process sees it", RefusalKind::Mounted, |machine, kind| {
        machine.mount("thread-self", kind.number(), "/mnt", "ext4", "/dev/root");
    }),
    ("mounted in another namespace", RefusalKind::Mounted, |machine, kind| {
        machine.mount("4711", kind.number(), "/data", "xfs", "/dev/renamed");
    }),
    ("second device of a mounted btrfs", RefusalKind::Mounted, |machine, kind| {
        machine.write(&format!("sys/fs/btrfs/uuid-1/devices/{}/x", kind.target()), "");
    }),
    ("swap", RefusalKind::Swap, |machine, kind| {
        machine.swap(&format!("/dev/{}", kind.target()));
    }),
    ("a part is swap", RefusalKind::Swap, |machine, kind| {
        machine.swap(&format!("/dev/{}", kind.part().0));
    }),
    ("swap by another name", RefusalKind::Swap, |machine, kind| {
        fs::create_dir_all(machine.path("dev/disk/by-uuid")).unwrap();
        let link = machine.path("dev/disk/by-uuid/1234");
        std::os::unix::fs::symlink(machine.path("dev").join(kind.target()), &link).unwrap();
        machine.swap(link.to_str().unwrap());
    }),
    ("held by LVM that is running", RefusalKind::Held, |machine, kind| {
        machine.disk("dm-0", "254:0", 100);
        machine.attribute("dm-0", "dm/name", "vg-home");
        machine.stack("dm-0", kind.target());
    }),
    ("a part is held by a running RAID", RefusalKind::Held, |machine, kind| {
        machine.disk("md0", "9:0", 100);
        machine.stack("md0", kind.part().0);
    }),
    ("held by a running bcache", RefusalKind::Held, |machine, kind| {
        machine.disk("bcache0", "252:0", 100);
        machine.stack("bcache0", kind.target());
    }),
    ("a loop device stands on it", RefusalKind::Held, |machine, kind| {
        machine.disk("loop3", "7:3", 100);
        machine.loop_file("loop3", &format!("/dev/{}", kind.target()));
    }),
    ("LVM that is not running", RefusalKind::Member, |machine, kind| {
        machine.put(kind.target(), 512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0LVM2 001");
    }),
    ("LVM on a part that is not running", RefusalKind::Member, |machine, kind| {
        machine.put(kind.part().0, 512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0LVM2 001");
    }),
    ("RAID that is not running", RefusalKind::Member, |machine, kind| {
        machine.put(kind.target(), 4096, &0xa92b_4efc_u32.to_le_bytes());
    }),
    ("LUKS that is closed", RefusalKind::Member, |machine, kind| {
        machine.put(kind.target(), 0, b"LUKS\xba\xbe\0\x02");
    }),
    ("ZFS that is exported", RefusalKind::Member, |machine, kind| {
        machine.put(kind.target(), 128 << 10, &0x00ba_b10c_u64.to_le_bytes());
    }),
    ("bcache that is not running", RefusalKind::Member, |machine, kind| {
        let magic = [
            0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
            0x6d, 0x81,
        ];
        machine.put(kind.target(), 4096 + 24, &magic);
    }),
    ("member of a btrfs of two devices", RefusalKind::Member, |machine, kind| {
        machine.put(kind.target(), (64 << 10) + 64, b"_BHRfS_M");
        machine.put(kind.target(), (64 << 10) + 0x88, &2_u64.to_le_bytes());
    }),
    ("read-only", RefusalKind::ReadOnly, |machine, kind| {
        machine.attribute(kind.target(), "ro", "1");
    }),
    ("busy for a reason that nothing shows", RefusalKind::Busy, |machine, kind| {
        machine.busy(kind.target());
    }),
    ("open for writing in another process", RefusalKind::Busy, |machine, kind| {
        machine.process(4242, "qemu-system-x86", kind.target(), "02100002");
    }),
    ("open for writing in a thread's own table", RefusalKind::Busy, |machine, kind| {
        let path = machine.path("dev").join(kind.target());
        machine.thread(4242, 4250, path.to_str().unwrap(), "02100002");
    }),
    ("mapped for writing, descriptor closed", RefusalKind::Busy, |machine, kind| {
        let path = machine.path("dev").join(kind.target());
        machine.mapping(4242, path.to_str().unwrap(), "rw-s", "rd wr sh mr mw me ms sd");
    }),
    ("mapped read-only from a writable descriptor", RefusalKind::Busy, |machine, kind| {
        let path = machine.path("dev").join(kind.target());
        machine.mapping(4242, path.to_str().unwrap(), "r--s", "rd sh mr mw me ms sd");
    }),
    ("open for writing in the program that started us", RefusalKind::Busy, |machine, kind| {
        machine.process(4243, "python3", kind.target(), "02100002");
        machine.write("proc/self/status", "Name:\tseekwell\nPPid:\t4243");
        machine.write("proc/4243/status", "Name:\tpython3\nPPid:\t1");
    }),
    ("another node of the same bytes is mounted", RefusalKind::Mounted, |machine, kind| {
        let (twin, number) = twin(machine, kind);
        machine.mount("1", number, "/mnt", "ext4", &format!("/dev/{twin}"));
    }),
    ("another node of the same bytes is held", RefusalKind::Held, |machine, kind| {
        let (twin, _) = twin(machine, kind);
        machine.disk("md5", "9:5", 100);
        machine.stack("md5", twin);
    }),
    (
        "another node of the same bytes is busy for a reason that nothing shows",
        RefusalKind::Busy,
        |machine, kind| {
            let (twin, _) = twin(machine, kind);
            machine.busy(twin);
        },
    ),
    ("another node of the same bytes is open for writing", RefusalKind::Busy, |machine, kind| {
        let (twin, _) = twin(machine, kind);
        machine.process(4242, "qemu-system-x86", twin, "02100002");
    }),
    ("wipefs is missing", RefusalKind::Unreadable, |machine, _| {
        std::fs::remove_file(machine.path("bin/wipefs")).unwrap();
    }),
    ("it cannot be read", RefusalKind::Unreadable, |machine, kind| {
        machine.unreadable(kind.target());
    }),
];

/// Another node with the bytes of the target: a second path of multipath to a disk, the partition
/// seen through it, a second loop device over one file. A mapped device has one that is a loop device
/// over it and so is told apart by its own state.
fn twin(machine: &mut Machine, kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Disk | Kind::Partition => {
            machine.disk("sdq", "65:0", SECTORS * 2);
            machine.attribute("sdq", "device/model", "Scratch 1000   ");
            machine.attribute("sdq", "device/serial", "WD-ABC123456");
            if kind == Kind::Disk {
                return ("sdq", "65:0");
            }
            machine.partition("sdq", "sdq1", "65:1", 2048, SECTORS);
            ("sdq1", "65:1")
        }
        Kind::Loop => {
            machine.disk("loop9", "7:9", SECTORS);
            machine.loop_file("loop9", "/home/me/precious.img");
            ("loop9", "7:9")
        }
        Kind::Mapped => {
            machine.attribute("dm-3", "wwid", "naa.5000c500a1b2c3d4");
            machine.disk("sdq", "65:0", SECTORS);
            machine.attribute("sdq", "wwid", "naa.5000c500a1b2c3d4");
            ("sdq", "65:0")
        }
    }
}

/// The content of every device but the large and empty system disk.
fn canaries(machine: &Machine) -> Vec<(String, Vec<u8>)> {
    let nodes = fs::read_dir(machine.path("dev")).unwrap().flatten();
    let files = nodes.filter(|entry| entry.file_type().unwrap().is_file());
    let named = files.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    let others = named.filter(|(name, _)| !name.starts_with("sda"));
    others.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

#[test]
fn a_device_in_any_kind_of_use_is_refused_claimed_or_not() {
    for kind in KINDS {
        for (state, expected, put) in STATES {
            for claimed in [false, true] {
                let mut machine = machine(kind);
                if claimed {
                    claim_it(&machine, kind.target());
                }
                put(&mut machine, kind);
                let before = canaries(&machine);
                for purpose in [Purpose::Claim, Purpose::Write] {
                    let cell = format!("{kind:?}, {state}, claimed: {claimed}, {purpose:?}");
                    let refusal = look(&machine, kind.target(), purpose).expect_err(&cell);
                    assert_eq!(refusal.kind, expected, "{cell}: {refusal}");
                    assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{cell}");
                }
                assert!(before == canaries(&machine), "{kind:?}, {state}: a canary changed");
            }
        }
    }
}

#[test]
fn a_claimed_device_that_nobody_uses_may_be_written_and_an_unclaimed_one_not() {
    for kind in KINDS {
        let machine = machine(kind);
        let refusal = look(&machine, kind.target(), Purpose::Write).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::NotClaimed, "{kind:?}: {refusal}");
        look(&machine, kind.target(), Purpose::Claim).unwrap();
        claim_it(&machine, kind.target());
        let token = look(&machine, kind.target(), Purpose::Write).unwrap().permit().unwrap();
        assert_eq!(token.kernel_name(), kind.target());
        assert_eq!(token.path(), machine.path("dev").join(kind.target()));
        token.recheck().unwrap();
    }
}

#[test]
fn every_state_that_comes_after_the_check_is_seen_by_the_recheck() {
    for (state, expected, put) in STATES {
        let mut machine = machine(Kind::Disk);
        claim_it(&machine, "sdb");
        let token = look(&machine, "sdb", Purpose::Write).unwrap().permit().unwrap();
        put(&mut machine, Kind::Disk);
        let refusal = token.recheck().expect_err(state);
        assert_eq!(refusal.kind, expected, "{state}: {refusal}");
    }
}

#[test]
fn another_disk_under_the_same_name_is_noticed() {
    let swaps: [(&str, Change); 4] = [
        ("replugged", |machine| machine.diskseq("sdb", 8)),
        ("another serial", |machine| machine.attribute("sdb", "device/serial", "WD-OTHER9999")),
        ("another model", |machine| machine.attribute("sdb", "device/model", "Precious 1000")),
        ("released", |machine| fs::remove_dir_all(machine.path("claims")).unwrap()),
    ];
    for (what, change) in swaps {
        let mut machine = machine(Kind::Disk);
        claim_it(&machine, "sdb");
        let token = look(&machine, "sdb", Purpose::Write).unwrap().permit().unwrap();
        change(&mut machine);
        let refusal = token.recheck().expect_err(what);
        let expected = [RefusalKind::Changed, RefusalKind::NotClaimed];
        assert!(expected.contains(&refusal.kind), "{what}: {refusal}");
    }
}

#[test]
fn the_disk_of_the_running_system_is_refused_from_every_side() {
    let system_disk = |machine: &Machine| look(machine, "sda", Purpose::Claim).unwrap_err().kind;
    // Its partition with the root filesystem, and the whole.
    let machine = Machine::new();
    let refusal = look(&machine, "sda1", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::System);
    // Between root and the disk is a filesystem alone, and the message repeats no name.
    assert_eq!(refusal.reason, "/ of the running system is on sda1");
    assert_eq!(system_disk(&machine), RefusalKind::System);

    // Root on LVM on LUKS on a partition of it.
    let mut machine = Machine::new();
    machine.unmount_all("1");
    machine.unmount_all("thread-self");
    machine.disk("dm-0", "254:0", 1000);
    machine.disk("dm-1", "254:1", 1000);
    machine.stack("dm-0", "sda1");
    machine.stack("dm-1", "dm-0");
    machine.mount("1", "254:1", "/", "ext4", "/dev/mapper/vg-root");
    for name in ["sda", "sda1", "dm-0", "dm-1"] {
        assert_eq!(
            look(&machine, name, Purpose::Claim).unwrap_err().kind,
            RefusalKind::System,
            "{name}"
        );
    }

    // /usr on a loop device whose file lies on a second disk.
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 1000);
    machine.disk("loop0", "7:0", 1000);
    machine.loop_file("loop0", "/data/usr.img");
    machine.file(
        "/data/usr.img",
        NodeKind::Regular(crate::nodes::DeviceNumber { major: 8, minor: 16 }),
    );
    machine.mount("1", "7:0", "/usr", "squashfs", "/dev/loop0");
    assert_eq!(look(&machine, "sdb", Purpose::Claim).unwrap_err().kind, RefusalKind::System);

    // Root on a btrfs of two disks, of which mountinfo names one.
    let mut machine = Machine::new();
    machine.unmount_all("1");
    machine.unmount_all("thread-self");
    machine.disk("sdb", "8:16", 1000);
    machine.mount("1", "0:30", "/", "btrfs", "/dev/sda1");
    for name in ["sda1", "sdb"] {
        machine.write(&format!("sys/fs/btrfs/uuid-1/devices/{name}/x"), "");
    }
    for name in ["sda", "sda1", "sdb"] {
        assert_eq!(
            look(&machine, name, Purpose::Claim).unwrap_err().kind,
            RefusalKind::System,
            "{name}"
        );
    }
}

#[test]
fn the_disk_with_the_run_file_is_refused() {
    let mut machine = machine(Kind::Disk);
    let number = crate::nodes::DeviceNumber { major: 8, minor: 17 };
    let folder = machine.path("runs");
    machine.file(folder.to_str().unwrap(), NodeKind::Directory(number));
    let refusal = look(&machine, "sdb", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::System);
    assert!(refusal.reason.starts_with("the run file"), "{refusal}");
    // Unmounted meanwhile, it is a disk like any other.
    machine.file(folder.to_str().unwrap(), NodeKind::Other);
    machine.mount("1", "8:1", "/x", "ext4", "/dev/sda1");
    look(&machine, "sdb", Purpose::Claim).unwrap();
}

#[test]
fn a_spare_partition_beside_the_root_filesystem_may_be_claimed() {
    let mut machine = Machine::new();
    machine.partition("sda", "sda2", "8:2", 110_000, 10_000);
    look(&machine, "sda2", Purpose::Claim).unwrap();
    assert_eq!(look(&machine, "sda", Purpose::Claim).unwrap_err().kind, RefusalKind::System);
}

#[test]
fn a_partition_is_refused_for_its_disk_and_for_what_overlaps_it() {
    // The disk is mounted as a whole, whatever its table says.
    let mut whole = machine(Kind::Partition);
    whole.mount("1", "8:16", "/mnt", "ext4", "/dev/sdb");
    assert_eq!(look(&whole, "sdb1", Purpose::Claim).unwrap_err().kind, RefusalKind::Mounted);

    // A logical partition inside an extended one.
    let mut inside = machine(Kind::Partition);
    inside.partition("sdb", "sdb5", "8:21", 2050, 100);
    inside.mount("1", "8:21", "/mnt", "ext4", "/dev/sdb5");
    assert_eq!(look(&inside, "sdb1", Purpose::Claim).unwrap_err().kind, RefusalKind::Mounted);

    // A neighbour is no concern.
    let mut beside = machine(Kind::Partition);
    beside.partition("sdb", "sdb2", "8:18", 2048 + SECTORS, 100);
    beside.mount("1", "8:18", "/mnt", "ext4", "/dev/sdb2");
    look(&beside, "sdb1", Purpose::Claim).unwrap();
}

#[test]
fn what_cannot_be_read_is_a_reason_to_refuse() {
    let gaps: [(&str, Change); 4] = [
        ("mounts of process 1", |machine| {
            fs::remove_file(machine.path("proc/1/mountinfo")).unwrap();
        }),
        ("a broken mountinfo", |machine| machine.write("proc/4711/mountinfo", "garbage")),
        ("read-only or not", |machine| {
            fs::remove_file(machine.path("sys/class/block/sdb/ro")).unwrap();
        }),
        ("no device of this number", |machine| {
            fs::remove_file(machine.path("sys/dev/block/8:16")).unwrap();
        }),
    ];
    for (what, make) in gaps {
        let mut machine = machine(Kind::Disk);
        claim_it(&machine, "sdb");
        make(&mut machine);
        let refusal = look(&machine, "sdb", Purpose::Write).expect_err(what);
        assert_eq!(refusal.kind, RefusalKind::Unreadable, "{what}: {refusal}");
    }
}

#[test]
fn a_root_filesystem_whose_device_is_unknown_is_a_reason_unless_it_needs_none() {
    for (kind, source, refused) in [
        ("ext4", "/dev/root", true),
        ("zonefs", "something", true),
        ("overlay", "overlay", false),
        ("tmpfs", "tmpfs", false),
        ("rootfs", "rootfs", false),
    ] {
        let mut machine = machine(Kind::Disk);
        machine.unmount_all("1");
        machine.unmount_all("thread-self");
        machine.mount("1", "0:99", "/", kind, source);
        let looked = look(&machine, "sdb", Purpose::Claim);
        assert_eq!(looked.is_err(), refused, "{kind} on {source}");
        if let Err(refusal) = looked {
            assert_eq!(refusal.kind, RefusalKind::Unreadable);
        }
    }
}

#[test]
fn free_devices_beside_busy_ones_are_not_refused() {
    // Neighbours of a partition, seen through another path to the same disk.
    let mut paths = machine(Kind::Partition);
    twin(&mut paths, Kind::Partition);
    paths.partition("sdq", "sdq2", "65:2", 2048 + SECTORS, 100);
    paths.mount("1", "65:2", "/mnt", "ext4", "/dev/sdq2");
    look(&paths, "sdb1", Purpose::Claim).unwrap();
    assert_eq!(look(&paths, "sdb", Purpose::Claim).unwrap_err().kind, RefusalKind::Mounted);

    // Another disk of the same model, and one whose serial numbers are all zero.
    let mut alike = machine(Kind::Disk);
    alike.disk("sdq", "65:0", SECTORS * 2);
    alike.attribute("sdq", "device/model", "Scratch 1000   ");
    alike.attribute("sdq", "device/serial", "WD-ABC999999");
    alike.mount("1", "65:0", "/mnt", "ext4", "/dev/sdq");
    look(&alike, "sdb", Purpose::Claim).unwrap();
    for name in ["sdb", "sdq"] {
        alike.attribute(name, "device/serial", "00000000");
    }
    look(&alike, "sdb", Purpose::Claim).unwrap();

    // Another namespace of one NVMe drive has its serial number and a name of its own.
    let mut namespaces = Machine::new();
    for (name, number, wwid) in [("nvme0n1", "259:0", "eui.01"), ("nvme0n2", "259:1", "eui.02")] {
        namespaces.disk(name, number, SECTORS);
        namespaces.attribute(name, "device/serial", "S4X1");
        namespaces.attribute(name, "device/model", "Drive");
        namespaces.attribute(name, "wwid", wwid);
    }
    namespaces.mount("1", "259:1", "/mnt", "ext4", "/dev/nvme0n2");
    look(&namespaces, "nvme0n1", Purpose::Claim).unwrap();

    // A loop device over another file of the same folder, in use.
    let mut files = machine(Kind::Loop);
    files.disk("loop9", "7:9", SECTORS);
    files.loop_file("loop9", "/home/me/other.img");
    files.mount("1", "7:9", "/mnt", "ext4", "/dev/loop9");
    look(&files, "loop7", Purpose::Claim).unwrap();

    // A multipath device, by whose name its paths are held and whose WWID they have.
    let mut multipath = Machine::new();
    multipath.disk("dm-7", "254:7", SECTORS);
    for (name, number) in [("sdq", "65:0"), ("sdr", "65:16")] {
        multipath.disk(name, number, SECTORS);
        multipath.stack("dm-7", name);
        multipath.attribute(name, "wwid", "naa.5");
    }
    multipath.attribute("dm-7", "wwid", "naa.5");
    look(&multipath, "dm-7", Purpose::Claim).unwrap();
    assert_eq!(look(&multipath, "sdq", Purpose::Claim).unwrap_err().kind, RefusalKind::Held);

    // A second path that is idle.
    let mut idle = machine(Kind::Disk);
    twin(&mut idle, Kind::Disk);
    look(&idle, "sdb", Purpose::Claim).unwrap();

    // Private and read-only mappings, and those of other files.
    let reading = machine(Kind::Disk);
    let path = reading.path("dev/sdb");
    reading.mapping(4242, path.to_str().unwrap(), "r--s", "rd sh mr me ms sd");
    reading.mapping(4243, path.to_str().unwrap(), "rw-p", "rd wr mr mw me sd");
    reading.mapping(4244, "/dev/shm/other", "rw-s", "rd wr sh mr mw me ms sd");
    look(&reading, "sdb", Purpose::Claim).unwrap();
}

#[test]
fn the_file_behind_a_loop_device_counts_as_the_device() {
    let image = "/home/me/precious.img";
    let writer = machine(Kind::Loop);
    writer.thread(4242, 4242, image, "02100002");
    // The main thread's table is that of the process.
    let folder = writer.path("proc/4242");
    fs::rename(folder.join("task/4242/fd"), folder.join("fd")).unwrap();
    fs::rename(folder.join("task/4242/fdinfo"), folder.join("fdinfo")).unwrap();
    let refusal = look(&writer, "loop7", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Busy);
    assert!(refusal.reason.contains("has the file behind loop7 open for writing"), "{refusal}");

    let mapped = machine(Kind::Loop);
    mapped.mapping(4242, image, "rw-s", "rd wr sh mr mw me ms sd");
    assert_eq!(look(&mapped, "loop7", Purpose::Claim).unwrap_err().kind, RefusalKind::Busy);

    let swap = machine(Kind::Loop);
    swap.swap(image);
    assert_eq!(look(&swap, "loop7", Purpose::Claim).unwrap_err().kind, RefusalKind::Swap);

    let mut direct = machine(Kind::Loop);
    direct.mount("1", "0:77", "/mnt", "erofs", image);
    assert_eq!(look(&direct, "loop7", Purpose::Claim).unwrap_err().kind, RefusalKind::Mounted);

    // A backup that reads it is no reason.
    let reader = machine(Kind::Loop);
    reader.thread(4242, 4250, image, "02100000");
    look(&reader, "loop7", Purpose::Claim).unwrap();
}

#[test]
fn a_loop_device_over_a_disk_is_that_disk() {
    let mut machine = machine(Kind::Disk);
    machine.disk("loop3", "7:3", SECTORS * 2);
    machine.loop_file("loop3", "/dev/sdb");
    look(&machine, "loop3", Purpose::Claim).unwrap();
    machine.mount("1", "8:17", "/home/me", "ext4", "/dev/sdb1");
    let refusal = look(&machine, "loop3", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Mounted);
    assert!(refusal.reason.contains("which has the same bytes as loop3"), "{refusal}");
}

#[test]
fn the_second_path_to_the_system_disk_is_the_system_disk() {
    let mut machine = Machine::new();
    machine.disk("sdq", "65:0", 200_000);
    for name in ["sda", "sdq"] {
        machine.attribute(name, "wwid", "naa.5000c500a1b2c3d4");
    }
    assert_eq!(look(&machine, "sdq", Purpose::Claim).unwrap_err().kind, RefusalKind::System);
}

#[test]
fn a_link_that_leads_elsewhere_later_breaks_the_bond() {
    let mut machine = machine(Kind::Disk);
    machine.disk("sdc", "8:32", SECTORS * 2);
    machine.attribute("sdc", "device/model", "Scratch 1000");
    machine.attribute("sdc", "device/serial", "WD-OTHER9999");
    claim_it(&machine, "sdb");
    claim_it(&machine, "sdc");
    let link = machine.path("dev/scratch");
    std::os::unix::fs::symlink(machine.path("dev/sdb"), &link).unwrap();
    let system = machine.system();
    let bond = bind(&system, &link).unwrap();
    bond.check(&system).unwrap();
    let verified = look(&machine, "scratch", Purpose::Write).unwrap();
    verified.is_bound(&bond.text()).unwrap();

    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(machine.path("dev/sdc"), &link).unwrap();
    assert_eq!(bond.check(&system).unwrap_err().kind, RefusalKind::Changed);
    // The agent has its own look, after which nothing else comes.
    let other = look(&machine, "scratch", Purpose::Write).unwrap();
    assert_eq!(other.is_bound(&bond.text()).unwrap_err().kind, RefusalKind::Changed);
    // The same disk, plugged in again, is another one too: it may have been written elsewhere.
    machine.diskseq("sdb", 8);
    machine.attribute("sdb", "diskseq", "8");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(machine.path("dev/sdb"), &link).unwrap();
    assert_eq!(bond.check(&system).unwrap_err().kind, RefusalKind::Changed);
}

#[test]
fn readers_are_no_reason() {
    // Read-only descriptors of a monitor.
    let machine = machine(Kind::Disk);
    machine.process(4242, "smartd", "sdb", "02100000");
    look(&machine, "sdb", Purpose::Claim).unwrap();
    // The runner that holds the number of the device for its agent, and a lock held for others.
    machine.process(4243, "seekwell", "sdb", "02100000");
    machine.process(4244, "flock", "sdb", "0100000");
    look(&machine, "sdb", Purpose::Claim).unwrap();
}

#[test]
fn neither_files_nor_nothing_is_a_device() {
    let machine = machine(Kind::Disk);
    machine.write("dev/file", "precious");
    assert_eq!(look(&machine, "file", Purpose::Claim).unwrap_err().kind, RefusalKind::NotOurs);
    assert_eq!(look(&machine, "disk", Purpose::Claim).unwrap_err().kind, RefusalKind::Missing);
}

#[test]
fn refusals_say_what_where_why_and_what_to_do() {
    let texts: Vec<String> = STATES
        .iter()
        .map(|(_, _, put)| {
            let mut machine = machine(Kind::Disk);
            put(&mut machine, Kind::Disk);
            let refusal = look(&machine, "sdb", Purpose::Claim).unwrap_err().to_string();
            let pid = format!("process {})", std::process::id());
            refusal
                .replace(machine.root.path().to_str().unwrap(), "")
                .replace(&pid, "process SELF)")
        })
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn an_unclaimed_disk_is_named_by_what_it_is() {
    let machine = machine(Kind::Disk);
    let refusal = look(&machine, "sdb", Purpose::Write).unwrap_err().to_string();
    let refusal = refusal.replace(machine.root.path().to_str().unwrap(), "");
    insta::assert_snapshot!(refusal, @"/dev/sdb is not written: Scratch 1000, serial WD-ABC123456, 8192 sectors, sdb was not claimed; if everything on it may be destroyed: seekwell claim /dev/sdb");
}

#[test]
fn a_given_device_is_only_for_the_first_process_of_a_kernel() {
    let machine = machine(Kind::Disk);
    let refusal = given(&machine.system(), &machine.path("dev/sdb")).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotClaimed);
    let refusal = given(&System::host(), std::path::Path::new("/dev/loop0")).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotClaimed);
}

#[test]
fn sizes_are_those_of_the_device() {
    let machine = machine(Kind::Disk);
    let verified = look(&machine, "sdb", Purpose::Claim).unwrap();
    assert_eq!(verified.identity().size, Bytes(SECTORS * 2 * 512));
    assert_eq!(verified.identity().model.as_deref(), Some("Scratch 1000"));
    assert_eq!(verified.node(), machine.path("dev/sdb"));
}

#[test]
fn a_layer_is_written_only_if_everything_below_it_may_be() {
    let mut machine = Machine::new();
    for (name, number) in [("sdx", "65:112"), ("sdy", "65:128"), ("md9", "9:9"), ("dm-9", "253:9")]
    {
        machine.disk(name, number, 1 << 20);
    }
    machine.stack("md9", "sdx");
    machine.stack("md9", "sdy");
    let system = machine.system();
    let array = Device::by_name(&system, "md9").unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let path = Path::new("/dev/md9");
    token::only_above(path, &array, &names(&["sdx", "sdy"])).unwrap();
    let refusal = token::only_above(path, &array, &names(&["sdx"])).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotOurs);
    assert!(refusal.to_string().contains("sdy is below it"), "{refusal}");
    // Through a layer between, as sysfs links it.
    let slaves = Device::by_name(&system, "dm-9").unwrap().folder.join("slaves");
    fs::create_dir_all(&slaves).unwrap();
    std::os::unix::fs::symlink(&array.folder, slaves.join("md9")).unwrap();
    let mapped = Device::by_name(&system, "dm-9").unwrap();
    token::only_above(path, &mapped, &names(&["sdx", "sdy"])).unwrap();
    let refusal = token::only_above(path, &mapped, &names(&["sdy"])).unwrap_err();
    assert!(refusal.to_string().contains("sdx is below it"), "{refusal}");
}

#[test]
fn nothing_is_claimed_or_written_where_a_pid_namespace_hides_processes() {
    let machine = machine(Kind::Disk);
    claim_it(&machine, "sdb");
    let token = look(&machine, "sdb", Purpose::Write).unwrap().permit().unwrap();
    machine.hide_processes();
    let refusals = [Purpose::Claim, Purpose::Write].map(|purpose| look(&machine, "sdb", purpose));
    for refusal in refusals.map(Result::unwrap_err).into_iter().chain(token.recheck().err()) {
        assert_eq!(refusal.kind, RefusalKind::Unreadable, "{refusal}");
        assert!(refusal.reason.contains("PID namespace"), "{refusal}");
    }
    assert!(token.recheck().is_err());
}

#[test]
fn a_second_path_in_use_by_the_multipath_device_itself_is_no_reason() {
    let mut machine = machine(Kind::Mapped);
    machine.attribute("dm-3", "wwid", "naa.5000c500a1b2c3d4");
    machine.disk("sdq", "65:0", SECTORS);
    machine.attribute("sdq", "wwid", "naa.5000c500a1b2c3d4");
    machine.stack("dm-3", "sdq");
    // The paths are opened exclusively by the device that joins them.
    machine.busy("sdq");
    look(&machine, "dm-3", Purpose::Claim).unwrap();
}

#[test]
fn a_disk_with_another_partition_in_use_is_no_reason() {
    let mut machine = machine(Kind::Partition);
    machine.partition("sdb", "sdb2", "8:18", 2048 + SECTORS, 1024);
    // The kernel opens neither the disk nor that partition exclusively.
    machine.busy("sdb");
    machine.busy("sdb2");
    look(&machine, "sdb1", Purpose::Claim).unwrap();
    machine.busy("sdb1");
    assert_eq!(look(&machine, "sdb1", Purpose::Claim).unwrap_err().kind, RefusalKind::Busy);
}
