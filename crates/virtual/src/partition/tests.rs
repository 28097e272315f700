use seekwell_device::{Lba, Operation};

use super::*;
use crate::instant::Instant;

fn read(id: u64, lba: u64) -> Request {
    Request { id, operation: Operation::Read, lba: Lba(lba), sectors: 8, fua: false }
}

#[test]
fn a_partition_ends_where_it_is_told_to() {
    let mut front = Partition::new(Box::new(Instant::new(1024)), 64);
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
    let front = Partition::new(Box::new(Instant::new(1024)), 4096);
    assert_eq!(front.geometry().sectors_512, 1024);
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
    assert_eq!(times(Box::new(Partition::new(whole(), 4_000_000))), times(whole()));
}
