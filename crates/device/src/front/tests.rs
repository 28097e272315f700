use super::{Front, conflict};
use crate::model::{Geometry, Lba, Operation, Refused, Request};

fn geometry() -> Geometry {
    Geometry {
        sectors_512: 1000,
        logical_block: 4096,
        physical_block: 4096,
        queue_depth: 2,
        max_request_bytes: 65536,
        rotational: false,
        write_cache: false,
        max_discard_sectors: Some(16),
        max_write_zeroes_sectors: None,
        wraps_at: None,
    }
}

fn request(id: u64, operation: Operation, lba: u64, sectors: u32) -> Request {
    Request { id, operation, lba: Lba(lba), sectors, fua: false }
}

#[test]
fn malformed_requests_are_refused_each_for_its_reason() {
    use Operation::{Discard, Flush, Read, Write, WriteZeroes};
    let id = 1;
    let cases = [
        (request(id, Read, 8, 8), Ok(())),
        (request(id, Read, 992, 8), Ok(())),
        (request(id, Flush, 0, 0), Ok(())),
        (request(id, Flush, 0, 8), Err(Refused::Malformed { id })),
        (request(id, Read, 8, 0), Err(Refused::Malformed { id })),
        (request(id, Read, 4, 8), Err(Refused::Malformed { id })),
        (request(id, Write, 8, 7), Err(Refused::Malformed { id })),
        (request(id, Read, 1000, 8), Err(Refused::OutOfRange { id, capacity: 1000 })),
        (request(id, Read, u64::MAX - 7, 8), Err(Refused::OutOfRange { id, capacity: 1000 })),
        (request(id, Write, 0, 136), Err(Refused::TooLong { id, limit: 128 })),
        (request(id, Discard, 0, 24), Err(Refused::TooLong { id, limit: 16 })),
        (request(id, WriteZeroes, 0, 8), Err(Refused::Unsupported { id, operation: WriteZeroes })),
    ];
    for (request, expected) in cases {
        assert_eq!(geometry().check(&request), expected, "{request:?}");
    }
}

#[test]
fn desk_refuses_what_only_it_can_know() {
    let mut front = Front::new(geometry());
    front.pass_time(100);
    let read = |id| request(id, Operation::Read, 0, 8);
    assert_eq!(
        front.check(99, &read(5)),
        Err(Refused::TimeWentBack { id: 5, at_ns: 99, now_ns: 100 })
    );
    for id in [5, 6] {
        front.check(100, &read(id)).unwrap();
        front.admit(read(id)).unwrap();
    }
    assert_eq!(front.check(100, &read(6)), Err(Refused::DuplicateId(6)));
    assert_eq!(front.admit(read(7)), Err(Refused::QueueFull { id: 7, depth: 2 }));
    front.finish(5, 120);
    assert_eq!(front.admit(read(7)), Ok(()));
}

#[test]
fn busy_time_is_that_with_something_outstanding() {
    let mut front = Front::new(geometry());
    for (id, from, to) in [(1, 100, 150), (2, 200, 260)] {
        front.pass_time(from);
        front.admit(request(id, Operation::Write, 0, 8)).unwrap();
        front.pass_time(to);
        front.finish(id, to);
    }
    front.pass_time(300);
    front.admit(request(3, Operation::Read, 0, 8)).unwrap();
    front.pass_time(307);
    let totals = front.totals();
    assert_eq!(
        (totals.busy_ns, totals.writes, totals.sectors_written, totals.reads),
        (117, 2, 16, 0)
    );
}

#[test]
fn only_overlapping_requests_of_which_one_writes_are_in_conflict() {
    use Operation::{Discard, Flush, Read, Write};
    let conflicts = |one: (Operation, u64), other: (Operation, u64)| {
        conflict(&request(1, one.0, one.1, 8), &request(2, other.0, other.1, 8))
    };
    assert!(conflicts((Read, 0), (Write, 7)));
    assert!(conflicts((Discard, 7), (Read, 0)));
    assert!(!conflicts((Read, 0), (Read, 0)));
    assert!(!conflicts((Write, 0), (Write, 8)));
    assert!(!conflict(&request(1, Write, 0, 8), &request(2, Flush, 0, 0)));
}

#[test]
fn refusals_say_what_to_do() {
    let messages = [
        Refused::Malformed { id: 3 }.to_string(),
        Refused::QueueFull { id: 3, depth: 31 }.to_string(),
        Refused::TimeWentBack { id: 3, at_ns: 5, now_ns: 9 }.to_string(),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    request 3 is not made of whole logical blocks; align its address and length
    request 3 is one more than the device's queue of 31 takes; wait for a completion
    request 3 comes at 5 ns, but the device is already at 9 ns; time must not go back
    ");
}
