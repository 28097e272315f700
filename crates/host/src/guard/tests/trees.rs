//! Random machines against a naive oracle: a device may be claimed only if nothing that lies on it, in
//! it or around it is in use.

use super::super::*;
use crate::fixture::Machine;
use proptest::prelude::*;

/// One disk: partitions, layers on top, and what is mounted or swapped.
#[derive(Clone, Debug)]
struct Disk {
    partitions: usize,
    /// Place (0 for the disk, or a partition) below a stack of mapped devices, and their number.
    stack: Option<(usize, usize)>,
    /// Which of the disk and its partitions is mounted, and by which process.
    mounted: Option<(usize, usize)>,
    swap: Option<usize>,
    read_only: bool,
    busy: Option<usize>,
    /// A second path to the disk, with the same partitions; which of them is mounted there.
    path: Option<Option<usize>>,
    /// So many loop devices over one file, and which of them is mounted or open for writing.
    loops: (usize, Option<(usize, bool)>),
    /// Which of the disk and its partitions another process writes: 0 by a descriptor, 1 in a
    /// thread, 2 by a mapping, 3 only reads it.
    writer: Option<(usize, usize)>,
}

fn disk() -> impl Strategy<Value = Disk> {
    let place = || 0..4_usize;
    (
        0..3_usize,
        prop::option::weighted(0.3, (place(), 1..3_usize)),
        prop::option::weighted(0.3, (place(), 0..3_usize)),
        prop::option::weighted(0.15, place()),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.15, place()),
        prop::option::weighted(0.3, prop::option::weighted(0.5, place())),
        (0..3_usize, prop::option::weighted(0.5, (0..3_usize, any::<bool>()))),
        prop::option::weighted(0.2, (place(), 0..4_usize)),
    )
        .prop_map(
            |(partitions, stack, mounted, swap, read_only, busy, path, loops, writer)| Disk {
                partitions,
                stack,
                mounted,
                swap,
                read_only,
                busy,
                path,
                loops,
                writer,
            },
        )
}

const PROCESSES: [&str; 3] = ["1", "thread-self", "99"];

/// Builds the disks; returns every device with whether the oracle lets it be claimed.
fn build(disks: &[Disk]) -> (Machine, Vec<(String, bool)>) {
    let mut machine = Machine::new();
    let mut verdicts = vec![("sda".to_owned(), false), ("sda1".to_owned(), false)];
    let mut mapped = 0;
    for (index, disk) in disks.iter().enumerate() {
        let name = format!("sd{}", char::from(b'b' + index as u8));
        let minor = (index + 1) * 16;
        machine.disk(&name, &format!("8:{minor}"), 10_000);
        let mut names = vec![name.clone()];
        for part in 1..=disk.partitions {
            let (partition, number) = (format!("{name}{part}"), format!("8:{}", minor + part));
            machine.partition(&name, &partition, &number, part as u64 * 2048, 2048);
            names.push(partition);
        }
        // A place that does not exist is no place.
        let at = |place: usize| names.get(place).cloned();
        let mut used = vec![false; names.len()];
        let mut mark =
            |name: &str| used[names.iter().position(|known| known == name).unwrap()] = true;
        if let Some((place, height)) = disk.stack
            && let Some(mut below) = at(place)
        {
            mark(&below);
            for level in 0..height {
                let upper = layer(&mut machine, mapped, &below);
                verdicts.push((upper.clone(), level + 1 == height));
                below = upper;
                mapped += 1;
            }
        }
        if let Some((place, process)) = disk.mounted
            && let Some(device) = at(place)
        {
            mark(&device);
            let number = format!("8:{}", minor + place);
            machine.mount(PROCESSES[process], &number, "/somewhere", "ext4", "/dev/other");
        }
        if let Some(device) = disk.swap.and_then(at) {
            // One swap at a time is what the fixture can show.
            machine.swap(&format!("/dev/{device}"));
            mark(&device);
        }
        if disk.read_only {
            machine.attribute(&name, "ro", "1");
        }
        if let Some(device) = disk.busy.and_then(at) {
            machine.busy(&device);
        }
        let written = writer(&mut machine, index, disk.writer, &names);
        let (paths, on_path) = second_path(&mut machine, index, disk, &name);
        // A use anywhere on the disk concerns the whole; one of the whole or of the same partition
        // concerns a partition, whichever path it is by.
        let in_use = |place: usize| used[place] || on_path[place] || written[place];
        let concerned = |place: usize| match place {
            0 => (0..names.len()).any(in_use),
            place => in_use(0) || in_use(place),
        };
        let busy = |place: usize| is_busy(disk, names.len(), place);
        for (place, path) in paths.iter().enumerate() {
            verdicts.push((path.clone(), !concerned(place) && !busy(place)));
        }
        loops(&mut machine, index, disk.loops, &mut verdicts);
        verdicts.push((name.clone(), !concerned(0) && !disk.read_only && !busy(0)));
        for (place, partition) in names.iter().enumerate().skip(1) {
            let free = !concerned(place) && !busy(place);
            verdicts.push((partition.clone(), free));
        }
    }
    (machine, verdicts)
}

/// Returns true if the whole disk is in use, or a partition other than the one at `place`.
fn is_busy(disk: &Disk, names: usize, place: usize) -> bool {
    match disk.busy.filter(|busy| *busy < names) {
        None => false,
        Some(0) => place == 0 || names == 2,
        Some(busy) => place == 0 || place == busy,
    }
}

/// A mapped device on another device.
fn layer(machine: &mut Machine, number: usize, below: &str) -> String {
    let upper = format!("dm-{number}");
    machine.disk(&upper, &format!("254:{number}"), 1000);
    machine.stack(&upper, below);
    upper
}

/// Another process with one of the names open; which of them it writes.
fn writer(
    machine: &mut Machine,
    index: usize,
    writer: Option<(usize, usize)>,
    names: &[String],
) -> Vec<bool> {
    let mut written = vec![false; names.len()];
    let Some((place, how)) = writer.filter(|(place, _)| *place < names.len()) else {
        return written;
    };
    let pid = 5000 + index as u32;
    let node = machine.path("dev").join(&names[place]);
    let node = node.to_str().unwrap();
    match how {
        0 => machine.process(pid, "writer", &names[place], "02100002"),
        1 => machine.thread(pid, pid + 500, node, "02100001"),
        2 => machine.mapping(pid, node, "rw-s", "rd wr sh mr mw me ms sd"),
        _ => machine.process(pid, "reader", &names[place], "02100000"),
    }
    written[place] = how < 3;
    written
}

/// A second path to a disk, with the same partitions; its names, and which of them is mounted.
fn second_path(
    machine: &mut Machine,
    index: usize,
    disk: &Disk,
    name: &str,
) -> (Vec<String>, Vec<bool>) {
    let mut on_path = vec![false; disk.partitions + 1];
    let Some(mounted) = disk.path else { return (Vec::new(), on_path) };
    let path = format!("sdp{}", char::from(b'b' + index as u8));
    let minor = 128 + index * 16;
    machine.disk(&path, &format!("66:{minor}"), 10_000);
    for name in [name, &path] {
        machine.attribute(name, "wwid", &format!("naa.{index}"));
    }
    let mut paths = vec![path.clone()];
    for part in 1..=disk.partitions {
        let partition = format!("{path}{part}");
        let number = format!("66:{}", minor + part);
        machine.partition(&path, &partition, &number, part as u64 * 2048, 2048);
        paths.push(partition);
    }
    if let Some(place) = mounted.filter(|place| *place < paths.len()) {
        let number = format!("66:{}", minor + place);
        machine.mount("1", &number, "/over-there", "ext4", "/dev/other");
        on_path[place] = true;
    }
    (paths, on_path)
}

/// Loop devices over one file; a use of one is a use of all.
fn loops(
    machine: &mut Machine,
    index: usize,
    (count, used): (usize, Option<(usize, bool)>),
    verdicts: &mut Vec<(String, bool)>,
) {
    let name = |number: usize| format!("loop{}", index * 4 + number);
    for number in 0..count {
        machine.disk(&name(number), &format!("7:{}", index * 4 + number), 1000);
        machine.loop_file(&name(number), &format!("/images/{index}.img"));
    }
    let used = used.filter(|(number, _)| *number < count);
    match used {
        Some((number, true)) => {
            machine.mount("1", &format!("7:{}", index * 4 + number), "/image", "xfs", "/dev/other");
        }
        Some((number, false)) => {
            machine.process(6000 + index as u32, "qemu", &name(number), "02100002");
        }
        None => {}
    }
    verdicts.extend((0..count).map(|number| (name(number), used.is_none())));
}

/// 100,000 trees and more: `SEEKWELL_TREES=100000 cargo test -p seekwell-host nothing_in_use`.
fn trees() -> ProptestConfig {
    let cases = std::env::var("SEEKWELL_TREES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or_else(|| seekwell_testing::cases(64, 256)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(trees())]

    #[test]
    fn nothing_in_use_is_ever_let_through(mut disks in prop::collection::vec(disk(), 1..4)) {
        // Only the last swap is on; the others would be marked in vain.
        let last = disks.iter().rposition(|disk| disk.swap.is_some_and(|place| place <= disk.partitions));
        for (index, disk) in disks.iter_mut().enumerate() {
            if Some(index) != last {
                disk.swap = None;
            }
        }
        let (machine, verdicts) = build(&disks);
        let system = machine.system();
        for (name, free) in verdicts {
            let path = machine.path("dev").join(&name);
            let looked = check(&system, &path, Purpose::Claim, &Context::default());
            prop_assert_eq!(looked.is_ok(), free, "{}: {:?}", name, looked.err());
        }
    }
}
