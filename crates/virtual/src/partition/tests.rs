use seekwell_device::{Lba, Operation};

use super::*;
use crate::instant::Instant;

fn read(id: u64, lba: u64) -> Request {
    Request { id, operation: Operation::Read, lba: Lba(lba), sectors: 8, fua: false }
}

#[test]
fn a_partition_ends_where_it_is_told_to() {
    let mut front = Partition::new(Box::new(Instant::new(1024)), 0, 64);
    assert_eq!(front.geometry().sectors_512, 64);
    front.submit(5, read(1, 56)).unwrap();
    assert_eq!(
        front.submit(5, read(2, 64)).unwrap_err(),
        Refused::OutOfRange { id: 2, capacity: 64 }
    );
    let mut done = Vec::new();
    assert_eq!(front.next_event_ns(), Some(5));
    front.advance(5, &mut done);
    assert_eq!(done, [Completion { id: 1, at_ns: 5 }]);
}

#[test]
fn a_partition_is_never_larger_than_its_device() {
    let front = Partition::new(Box::new(Instant::new(1024)), 0, 4096);
    assert_eq!(front.geometry().sectors_512, 1024);
    let back = Partition::new(Box::new(Instant::new(1024)), 1000, 4096);
    assert_eq!(back.geometry().sectors_512, 24);
}

#[test]
fn times_are_those_of_the_whole_device() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../devices/maxtor-6y080l0.toml");
    let file = seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap();
    let whole = || seekwell_device::build(&file, 3);
    let times = |mut model: Box<dyn Model>| {
        let (mut now_ns, mut times) = (0, Vec::new());
        for id in 1..50 {
            model.submit(now_ns, read(id, id * 40_000 % 2_000_000 / 8 * 8)).unwrap();
            let mut done = Vec::new();
            while done.is_empty() {
                now_ns = model.next_event_ns().unwrap();
                model.advance(now_ns, &mut done);
            }
            times.push(now_ns);
        }
        times
    };
    assert_eq!(times(Box::new(Partition::new(whole(), 0, 4_000_000))), times(whole()));
}

/// The example card of flashbench takes writes in any order in its first two units of 4 MiB alone.
#[test]
fn a_partition_behind_the_first_units_of_a_card_is_as_slow_as_they_are_not() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../devices/sd-card-4mib.toml");
    let file = seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap();
    let again = |start| {
        let mut card = Partition::new(seekwell_device::build(&file, 3), start, 1 << 20);
        let mut now_ns = 0;
        for id in 1..10 {
            let write =
                Request { id, operation: Operation::Write, lba: Lba(64), sectors: 8, fua: false };
            card.submit(now_ns, write).unwrap();
            let mut done = Vec::new();
            while done.is_empty() {
                now_ns = card.next_event_ns().unwrap();
                card.advance(now_ns, &mut done);
            }
        }
        now_ns
    };
    assert!(again(4 * 8192) > 10 * again(0), "{} and {} ns", again(4 * 8192), again(0));
}

#[test]
fn what_a_power_cut_takes_is_counted_from_the_beginning_of_the_partition() {
    let front = Partition::new(Box::new(Instant::new(1024)), 100, 50);
    let inside = |lba, sectors| front.inside(SectorRange { lba: Lba(lba), sectors });
    let range = |lba, sectors| Some(SectorRange { lba: Lba(lba), sectors });
    assert_eq!(inside(110, 8), range(10, 8));
    assert_eq!(inside(96, 8), range(0, 4));
    assert_eq!(inside(146, 8), range(46, 4));
    assert_eq!((inside(92, 8), inside(150, 8)), (None, None));
}
