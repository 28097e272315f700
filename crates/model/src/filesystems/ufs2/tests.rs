use super::*;
use std::collections::BTreeMap;

const NOW: i64 = 1_700_000_000;

/// A filesystem as it is on the device: its pieces by their first byte.
struct Disk(BTreeMap<u64, Vec<u8>>);

impl Disk {
    fn of(device: Bytes, arguments: &str) -> Self {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let mut disk = BTreeMap::new();
        let mut last = 0;
        for mut piece in pieces(device, &arguments, NOW).unwrap() {
            if piece.offset == 0 {
                // An old superblock at the place of the new one goes first, too.
                assert_eq!(piece.bytes, vec![0; (SUPERBLOCK_AT + SUPERBLOCK_SPACE) as usize]);
                piece.bytes.truncate(SUPERBLOCK_AT as usize);
            }
            assert!(piece.offset + piece.bytes.len() as u64 <= device.0, "{}", piece.offset);
            last = piece.offset;
            assert_eq!(disk.insert(piece.offset, piece.bytes), None, "twice at {last}");
        }
        assert_eq!(last, SUPERBLOCK_AT, "what is half made has no superblock");
        let mut end = 0;
        for (offset, bytes) in &disk {
            assert!(*offset >= end, "pieces overlap at {offset}");
            end = offset + bytes.len() as u64;
        }
        Self(disk)
    }

    fn bytes(&self, offset: u64, length: usize) -> &[u8] {
        let (start, piece) = self.0.range(..=offset).next_back().unwrap();
        let from = (offset - start) as usize;
        &piece[from..from + length]
    }

    fn u32(&self, offset: u64) -> u64 {
        u64::from(u32::from_le_bytes(self.bytes(offset, 4).try_into().unwrap()))
    }

    fn u64(&self, offset: u64) -> u64 {
        u64::from_le_bytes(self.bytes(offset, 8).try_into().unwrap())
    }

    /// A field of the superblock.
    fn of_super(&self, place: u64) -> u64 {
        self.u32(SUPERBLOCK_AT + place)
    }

    fn bit(&self, map: u64, number: u64) -> bool {
        self.bytes(map + number / 8, 1)[0] >> (number % 8) & 1 == 1
    }
}

/// Counts everything in the maps bit by bit and compares it with every count of the format.
fn check(device: Bytes, arguments: &str) {
    let disk = Disk::of(device, arguments);
    let (block, fragment) = (disk.of_super(48), disk.of_super(52));
    let (per_block, groups) = (disk.of_super(56), disk.of_super(44));
    let (group_size, inodes) = (disk.of_super(188), disk.of_super(184));
    let size = disk.u64(SUPERBLOCK_AT + 1080);
    let data = disk.of_super(20);
    assert_eq!(block, fragment * per_block);
    assert!(size * fragment <= device.0);
    let lost = device.0 - size * fragment;
    assert!(lost < block.max((data + per_block) * fragment), "{lost} bytes are not used");
    let mut total = [0; 4];
    for group in 0..groups {
        let start = group * group_size;
        assert_eq!(
            disk.bytes((start + disk.of_super(8)) * fragment, 1376),
            disk.bytes(SUPERBLOCK_AT, 1376),
            "copy {group}"
        );
        let head = (start + disk.of_super(12)) * fragment;
        assert_eq!(disk.u32(head + 4), 0x0009_0255);
        assert_eq!(disk.u32(head + 12), group);
        let fragments = disk.u32(head + 20);
        assert_eq!(fragments, group_size.min(size - start));
        let (used, free) = (head + disk.u32(head + 92), head + disk.u32(head + 96));
        assert!(disk.u32(head + 100) <= block && disk.u32(head + 100) <= disk.of_super(160));
        let mut counted = [u64::from(group == 0), 0, 0, 0];
        counted[2] = (0..inodes).filter(|inode| !disk.bit(used, *inode)).count() as u64;
        for first in (0..fragments).step_by(per_block as usize) {
            let count = (first..first + per_block).filter(|one| disk.bit(free, *one)).count();
            if count as u64 == per_block {
                counted[1] += 1;
            } else {
                counted[3] += count as u64;
            }
        }
        for one in fragments..group_size.next_multiple_of(8) {
            assert!(!disk.bit(free, one), "fragment {one} of group {group} does not exist");
        }
        let first_used = if group == 0 { 0 } else { disk.of_super(8) };
        assert!((first_used..data).all(|one| !disk.bit(free, one)), "what describes the group");
        let of_group = [24, 28, 32, 36].map(|place| disk.u32(head + place));
        let summary = data * fragment + group * 16;
        let of_summary = [0, 4, 8, 12].map(|place| disk.u32(summary + place));
        assert_eq!((of_group, of_summary), (counted, counted), "group {group}");
        let runs: u64 = (1..8).map(|length| length * disk.u32(head + 52 + length * 4)).sum();
        assert_eq!(runs, counted[3], "runs of group {group}");
        total.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
    }
    let of_super = [1008, 1016, 1024, 1032].map(|place| disk.u64(SUPERBLOCK_AT + place));
    assert_eq!(of_super, total);
    assert_eq!(total[2], groups * inodes - 3);
    // All that files can have is free, except for the root directory, and for the place of the
    // superblock in all groups but the first, which counts as used there as here.
    let usable = disk.u64(SUPERBLOCK_AT + 1088);
    assert_eq!(total[1] * per_block + total[3], usable - 1);
}

#[test]
fn every_count_agrees_with_the_maps_for_many_sizes() {
    for mib in [1, 16, 17, 64, 96, 100, 333, 1024] {
        check(Bytes::mib(mib), "");
    }
    check(Bytes(5_000_000_000), "");
    check(Bytes((3 << 30) + 512), "");
}

#[test]
fn every_count_agrees_with_the_maps_for_many_options() {
    for arguments in [
        "-O 2 -f 4096", "-b 16384 -f 2048", "-b 8192 -f 1024 -i 4096", "-b4096 -f512",
        "-b 4096 -f 4096", "-i 1000000 -m 0", "-i 4096",
    ] {
        check(Bytes::mib(200), arguments);
    }
}

#[test]
fn fields_are_where_the_format_says() {
    let disk = Disk::of(Bytes::mib(1024), "");
    let fields = [
        (1372, 0x1954_0119),
        (8, 24),
        (12, 32),
        (16, 40),
        (20, 40 + 256 * 8),
        (44, 4),
        (48, 32_768),
        (52, 4096),
        (56, 8),
        (60, 8),
        (72, 0xffff_8000),
        (76, 0xffff_f000),
        (80, 15),
        (84, 12),
        (96, 3),
        (100, 3),
        (104, 4096),
        (116, 4096),
        (120, 128),
        (156, 4096),
        (184, 65_536 / 2),
        (188, 65_536),
        (1320, 120),
    ];
    for (place, value) in fields {
        assert_eq!(disk.of_super(place), value, "at {place}");
    }
    assert_eq!(disk.bytes(SUPERBLOCK_AT + 208, 4), [0, 1, 0, 0x80], "clean");
    let long = [(1000, 65_536), (1080, 262_144), (1096, 2088), (1336, 32_767), (1344, 4095)];
    for (place, value) in long {
        assert_eq!(disk.u64(SUPERBLOCK_AT + place), value, "at {place}");
    }
    let root = 40 * 4096 + 2 * 256;
    assert_eq!(disk.bytes(root, 4), [0o755_u16 as u8, 0x41, 2, 0], "a directory with two links");
    assert_eq!((disk.u64(root + 16), disk.u64(root + 24)), (512, 8));
    assert_eq!(disk.u64(root + 32), NOW as u64);
    let directory = disk.u64(root + 112);
    assert_eq!(directory, 2089);
    let mut entries = vec![2, 0, 0, 0, 12, 0, 4, 1, b'.', 0, 0, 0];
    entries.extend([2, 0, 0, 0, 244, 1, 4, 2, b'.', b'.', 0, 0]);
    assert_eq!(disk.bytes(directory * 4096, 24), entries);
    assert_eq!(disk.bytes(directory * 4096 + 24, 488), [0; 488]);
}

#[test]
fn an_old_superblock_at_another_place_is_wiped() {
    let disk = Disk::of(Bytes::mib(64), "");
    assert!(disk.bytes(0, 65_536).iter().all(|byte| *byte == 0));
}

#[test]
fn what_linux_cannot_have_is_refused_in_words() {
    let error = |mib: u64, arguments: &str| {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        pieces(Bytes::mib(mib), &arguments, NOW).map(|_| ()).unwrap_err()
    };
    assert_eq!(error(64, "-O 1"), "newfs -O is 2 here: Linux writes UFS2");
    assert_eq!(error(64, "-U 1"), "newfs -U is not known here; use -b, -f, -i or -m");
    assert_eq!(error(64, "now"), "newfs has no argument now");
    assert_eq!(error(64, "-b"), "newfs -b takes a number, and has ``");
    assert_eq!(error(64, "-b 64k"), "newfs -b takes a number, and has `64k`");
    assert_eq!(
        error(64, "-b 65536"),
        "newfs -b 65536: a block has 4096, 8192, 16384 or 32768 bytes"
    );
    assert_eq!(error(64, "-f 8192"), "newfs -f 8192: a fragment has 512, 1024, 2048 or 4096 bytes");
    assert_eq!(error(64, "-f 2048"), "newfs -b 32768 -f 2048: a block has 1 to 8 fragments");
    assert_eq!(error(64, "-m 51"), "newfs -m 51: at most 50 per cent");
    assert_eq!(error(64, "-i 512"), "newfs -i: a fragment to 1 GiB for each inode");
    assert_eq!(error(0, ""), "0B is too small for UFS2");
    let small = pieces(Bytes::kib(256), &[], NOW).map(|_| ()).unwrap_err();
    assert_eq!(small, "256KiB is too small for UFS2");
    let large = pieces(Bytes(17 << 40), &[], NOW).map(|_| ()).unwrap_err();
    assert_eq!(
        large,
        "17TiB is too large for UFS2 under Linux: at most 2^32 - 1 fragments and inodes"
    );
}
