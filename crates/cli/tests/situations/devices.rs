//! Signatures of every kind on devices that nobody uses: what marks a member of a layer is refused, and what is only
//! an old filesystem, swap area or partition table is free to be claimed. Nothing is written in either case.

use super::{Place, try_family};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of a device.
const SIZE: u64 = 16 << 20;

/// A signature: its name, the bytes with their offsets, and `true` where it marks a member of a layer.
struct Signature {
    name: &'static str,
    bytes: Vec<(u64, Vec<u8>)>,
    member: bool,
}

fn member(name: &'static str, bytes: &[(u64, &[u8])]) -> Signature {
    let bytes = bytes.iter().map(|(at, bytes)| (*at, bytes.to_vec())).collect();
    Signature { name, bytes, member: true }
}

fn free(name: &'static str, bytes: &[(u64, &[u8])]) -> Signature {
    Signature { member: false, ..member(name, bytes) }
}

const BCACHE: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
const ZFS: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();
const ZFS_BIG: [u8; 8] = 0x00ba_b10c_u64.to_be_bytes();

/// A btrfs superblock of so many devices.
fn btrfs(devices: u64) -> Vec<(u64, Vec<u8>)> {
    let superblock = 64 << 10;
    vec![
        (superblock + 64, b"_BHRfS_M".to_vec()),
        (superblock + 0x88, devices.to_le_bytes().to_vec()),
    ]
}

/// Marks of layers, at each of their places.
fn members() -> Vec<Signature> {
    let mut all = Vec::new();
    for (name, sector) in [
        ("LVM in sector 0", 0),
        ("LVM in sector 1", 512),
        ("LVM in sector 2", 1024),
        ("LVM in sector 3", 1536),
    ] {
        all.push(member(name, &[(sector, b"LABELONE"), (sector + 24, b"LVM2 001")]));
    }
    all.push(member("LUKS 1", &[(0, b"LUKS\xba\xbe\0\x01")]));
    all.push(member("LUKS 2", &[(0, b"LUKS\xba\xbe\0\x02")]));
    for (name, at) in [
        ("second header of LUKS 2 at 16 KiB", 0x4000),
        ("second header of LUKS 2 at 32 KiB", 0x8000),
        ("second header of LUKS 2 at 64 KiB", 0x1_0000),
        ("second header of LUKS 2 at 128 KiB", 0x2_0000),
        ("second header of LUKS 2 at 256 KiB", 0x4_0000),
    ] {
        all.push(member(name, &[(at, b"SKUL\xba\xbe\0\x02")]));
    }
    all.push(member("MD 1.1", &[(0, &MD)]));
    all.push(member("MD 1.2", &[(4096, &MD)]));
    all.push(member("MD 1.0", &[(SIZE - 8192, &MD)]));
    all.push(member("MD 0.90", &[(SIZE - (64 << 10), &MD)]));
    all.push(member("bcache", &[(4096 + 24, &BCACHE)]));
    // The memory of a system that sleeps.
    all.push(member("suspended swap", &[(4086, b"S1SUSPEND")]));
    let ring = 128 << 10;
    for (name, at) in [
        ("first label of ZFS", ring),
        ("a later uberblock of ZFS", ring + 17 * 1024),
        ("second label of ZFS", (256 << 10) + ring),
        ("third label of ZFS", SIZE - (512 << 10) + ring),
        ("fourth label of ZFS", SIZE - (256 << 10) + ring),
    ] {
        all.push(member(name, &[(at, &ZFS)]));
    }
    all.push(member("ZFS of another byte order", &[(ring, &ZFS_BIG)]));
    all.push(Signature { name: "btrfs of two devices", bytes: btrfs(2), member: true });
    all.push(Signature { name: "btrfs of nine devices", bytes: btrfs(9), member: true });
    all
}

/// Old contents that nobody uses, and bytes near the places of marks.
fn unused() -> Vec<Signature> {
    let noise: Vec<u8> =
        (0..1_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        free("nothing", &[]),
        Signature { name: "noise", bytes: vec![(0, noise.clone())], member: false },
        Signature {
            name: "text",
            bytes: vec![(0, "LVM LUKS RAID ZFS ".repeat(9_999).into_bytes())],
            member: false,
        },
        free("half a mark of LVM", &[(512, b"LABELONE")]),
        free("the other half", &[(512 + 24, b"LVM2 001")]),
        free("LVM in sector 4", &[(2048, b"LABELONE"), (2048 + 24, b"LVM2 001")]),
        free("LUKS in sector 1", &[(512, b"LUKS\xba\xbe\0\x01")]),
        free("almost LUKS", &[(0, b"LUKS\xba\xbf\0\x01")]),
        free("MD in sector 1", &[(512, &MD)]),
        free("bcache one byte later", &[(4096 + 25, &BCACHE)]),
        free("an uberblock outside of the ring", &[(64 << 10, &ZFS)]),
        free("an uberblock not at a multiple of 1 KiB", &[((128 << 10) + 512, &ZFS)]),
        Signature { name: "btrfs of one device", bytes: btrfs(1), member: false },
        Signature { name: "btrfs that says it has no device", bytes: btrfs(0), member: false },
        free("swap", &[(4086, b"SWAPSPACE2"), (1024, &[1, 0, 0, 0])]),
        free("ext4", &[(1024 + 56, b"\x53\xef")]),
        free("xfs", &[(0, b"XFSB")]),
        free("f2fs", &[(1024, b"\x10\x20\xf5\xf2")]),
        free("jfs", &[(32 << 10, b"JFS1")]),
        free("reiserfs", &[(65_588, b"ReIsEr2Fs")]),
        free("nilfs2", &[(1024 + 6, b"\x34\x34")]),
        free("ISO 9660", &[(32_769, b"CD001")]),
        free("squashfs", &[(0, b"hsqs")]),
        free("FAT", &[(54, b"FAT16   "), (510, b"\x55\xaa")]),
        free("exFAT", &[(3, b"EXFAT   "), (510, b"\x55\xaa")]),
        free("NTFS", &[(3, b"NTFS    "), (510, b"\x55\xaa")]),
        free("an empty table of DOS", &[(510, b"\x55\xaa")]),
        free("the head of a GPT", &[(512, b"EFI PART"), (450, b"\xee"), (510, b"\x55\xaa")]),
        free("a label of BSD", &[(512, b"\x57\x45\x56\x82")]),
        free("a table of Apple", &[(0, b"ER"), (512, b"PM")]),
        free("a tar archive", &[(257, b"ustar\x0000")]),
        free("a program", &[(0, b"\x7fELF")]),
    ]
}

/// A loop device over a file in somebody's folder; detached when dropped.
pub(super) struct Loop(PathBuf);

impl Loop {
    pub(super) fn attach(image: &Path) -> Self {
        let losetup = seekwell_testing::tool("losetup").unwrap();
        let attached =
            Command::new(losetup).args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(attached.status.success(), "{attached:?}");
        Self(PathBuf::from(String::from_utf8(attached.stdout).unwrap().trim()))
    }

    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let losetup = seekwell_testing::tool("losetup").unwrap();
        let detached = Command::new(losetup).arg("--detach").arg(&self.0).status().unwrap();
        assert!(detached.success(), "{}", self.0.display());
    }
}

/// Every command that would write the device, and what comes before.
pub(super) const COMMANDS: [&[&str]; 5] = [
    &["claim", "DEVICE", "--confirm", "no"],
    &["plan", "lab.toml", "--device", "DEVICE"],
    &["run", "lab.toml", "--device", "DEVICE"],
    &["try", "true", "--device", "DEVICE", "--fs", "ext4", "--for", "10s"],
    &["bench", "seekrw", "DEVICE", "--write", "--count", "1"],
];

pub(super) const LAB: &str = "[lab]\nname = \"lab\"\n[[device]]\nname = \"d\"\nloop = \"64MiB\"\n[[filesystem]]\n\
                   type = \"ext4\"\n[[workload]]\nkind = \"mail\"\nfiles = 50\n";

#[test]
fn signatures_decide_alone_and_are_not_written_over() {
    let test = "signatures_decide_alone_and_are_not_written_over";
    if !seekwell_testing::root() || seekwell_testing::tool("losetup").is_none() {
        return seekwell_testing::skip(test, "needs root and losetup for loop devices");
    }
    let signatures: Vec<Signature> = members().into_iter().chain(unused()).collect();
    let all = signatures.iter().flat_map(|signature| COMMANDS.map(|command| (signature, command)));
    try_family("signatures", all.collect(), |(signature, command)| {
        let name = signature.name;
        attempt(signature, command).map_err(|why| format!("{} with {name}: {why}", command[0]))
    });
}

fn attempt(signature: &Signature, command: &[&str]) -> Result<(), String> {
    let place = Place::new();
    let image = place.others().join("image");
    let file = File::create(&image).unwrap();
    file.set_len(SIZE).unwrap();
    for (at, bytes) in &signature.bytes {
        file.write_all_at(bytes, *at).unwrap();
    }
    drop(file);
    fs::write(place.home().join("lab.toml"), LAB).unwrap();
    let before = fs::read(&image).unwrap();
    let device = Loop::attach(&image);
    let path = device.path();
    let words: Vec<&str> =
        command.iter().map(|word| if *word == "DEVICE" { path } else { *word }).collect();
    let told = place.run(&words);
    drop(device);
    if fs::read(&image).unwrap() != before {
        return Err("the device was changed".to_owned());
    }
    let told = told?;
    let is_refused = told.text.contains("carries the mark of");
    if is_refused != signature.member {
        return Err(format!("refused as a member: {is_refused}; {:.300}", told.text));
    }
    // A free device is not written either: nobody has claimed it.
    let unclaimed = ["was not claimed", "nothing was claimed"];
    if !signature.member && !unclaimed.iter().any(|words| told.text.contains(words)) {
        return Err(format!("not for want of a claim: {:.400}", told.text));
    }
    if told.code == 0 { Err(format!("it ends well: {:.300}", told.text)) } else { Ok(()) }
}

/// A program that opens a device for writing, closes that on exec, and runs a command.
const ANCESTOR: &str = "
import os, subprocess, sys
fd = os.open(sys.argv[1], os.O_RDWR)
sys.exit(subprocess.run(sys.argv[2:]).returncode)";

#[test]
fn a_writer_above_the_command_itself_is_found() {
    let test = "a_writer_above_the_command_itself_is_found";
    if !seekwell_testing::root() || seekwell_testing::tool("losetup").is_none() {
        return seekwell_testing::skip(test, "needs root and losetup for loop devices");
    }
    let Some(python) = seekwell_testing::tool("python3") else {
        return seekwell_testing::skip(test, "needs python3");
    };
    let place = Place::new();
    let image = place.others().join("image");
    File::create(&image).unwrap().set_len(SIZE).unwrap();
    let device = Loop::attach(&image);
    let command = [env!("CARGO_BIN_EXE_seekwell"), "claim", device.path(), "--confirm", "no"];
    let arguments = [&["-c", ANCESTOR, device.path()], &command[..]].concat();
    let told = place.run_program(python.to_str().unwrap(), &arguments).unwrap();
    assert!(
        told.text.contains("(python3) has ") && told.text.contains("open for writing"),
        "{}",
        told.text
    );
    assert_ne!(told.code, 0);
    let alone = place.run(&command[1..]).unwrap();
    assert!(!alone.text.contains("open for writing"), "{}", alone.text);
}
