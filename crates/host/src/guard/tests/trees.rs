//! Random machines against a naive oracle: a device may be claimed only if nothing that lies on it, in
//! it or around it is in use.

use super::super::*;
use crate::fixture::Machine;
use proptest::prelude::*;

/// One disk: partitions, layers on top, and what is mounted or swapped.
#[derive(Clone, Debug)]
struct Disk {
    partitions: usize,
    /// Which of the disk (0) and its partitions carries a stack of so many mapped devices.
    stack: Option<(usize, usize)>,
    /// Which of the disk and its partitions is mounted, and by which process.
    mounted: Option<(usize, usize)>,
    swap: Option<usize>,
    read_only: bool,
    busy: Option<usize>,
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
    )
        .prop_map(|(partitions, stack, mounted, swap, read_only, busy)| Disk {
            partitions,
            stack,
            mounted,
            swap,
            read_only,
            busy,
        })
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
            let partition = format!("{name}{part}");
            machine.partition(
                &name,
                &partition,
                &format!("8:{}", minor + part),
                part as u64 * 2048,
                2048,
            );
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
                let upper = format!("dm-{mapped}");
                machine.disk(&upper, &format!("254:{mapped}"), 1000);
                machine.stack(&upper, &below);
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
        let whole_free = used.iter().all(|in_use| !in_use);
        let busy = |place: usize| disk.busy == Some(place);
        verdicts.push((name.clone(), whole_free && !disk.read_only && !busy(0)));
        for (place, partition) in names.iter().enumerate().skip(1) {
            let free = !used[place] && !used[0] && !busy(place);
            verdicts.push((partition.clone(), free));
        }
    }
    (machine, verdicts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

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
