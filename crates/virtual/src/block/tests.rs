use proptest::prelude::*;

use super::*;
use crate::memory::plain::PlainMemory;

const BASE: u64 = 0x1000;
const DATA: u64 = BASE + 0x100;
const STATUS: u64 = BASE + 0xf00;

fn memory_with_header(kind: u32, sector: u64) -> PlainMemory {
    let mut memory = PlainMemory::new(BASE, 0x1000);
    memory.write(BASE, &kind.to_le_bytes()).unwrap();
    memory.write(BASE + 8, &sector.to_le_bytes()).unwrap();
    memory
}

fn read_only(address: u64, length: u32) -> Segment {
    Segment { address, length, writable: false }
}

fn writable(address: u64, length: u32) -> Segment {
    Segment { address, length, writable: true }
}

fn disk(operation: Operation, sector: u64, sectors: u32) -> Command {
    Command::Disk { operation, sector, sectors }
}

#[test]
fn a_read_names_its_sectors_and_leaves_its_buffers() {
    let mut memory = memory_with_header(0, 77);
    memory.write(BASE + 4, &12_u32.to_le_bytes()).unwrap();
    let mut segments = vec![
        read_only(BASE, 16),
        writable(DATA, 512),
        writable(DATA + 600, 512),
        writable(STATUS, 1),
    ];
    let frame = parse(&memory, &mut segments).unwrap();
    assert_eq!(frame.command, disk(Operation::Read, 77, 2));
    assert_eq!((frame.status_address, frame.data_bytes, frame.origin), (STATUS, 1024, 12));
    assert_eq!(segments, [writable(DATA, 512), writable(DATA + 600, 512)]);
}

#[test]
fn header_and_status_may_share_buffers_with_data() {
    let memory = memory_with_header(1, 5);
    let mut segments =
        vec![read_only(BASE, 3), read_only(BASE + 3, 13 + 512), writable(STATUS - 4, 5)];
    let frame = parse(&memory, &mut segments).unwrap();
    assert_eq!(frame.command, disk(Operation::Write, 5, 1));
    assert_eq!(frame.status_address, STATUS);
    assert_eq!(segments, [read_only(BASE + 16, 512)]);
}

#[test]
fn a_flush_has_no_sectors() {
    let memory = memory_with_header(4, 9);
    let frame = parse(&memory, &mut vec![read_only(BASE, 16), writable(STATUS, 1)]).unwrap();
    assert_eq!(frame.command, disk(Operation::Flush, 0, 0));
}

#[test]
fn a_discard_takes_its_range_from_its_data() {
    for (kind, operation) in [(11, Operation::Discard), (13, Operation::WriteZeroes)] {
        let mut memory = memory_with_header(kind, 0);
        memory.write(DATA, &1234_u64.to_le_bytes()).unwrap();
        memory.write(DATA + 8, &56_u32.to_le_bytes()).unwrap();
        let mut segments = vec![read_only(BASE, 16), read_only(DATA, 16), writable(STATUS, 1)];
        let frame = parse(&memory, &mut segments).unwrap();
        assert_eq!(frame.command, disk(operation, 1234, 56));
        let mut two = vec![read_only(BASE, 16), read_only(DATA, 32), writable(STATUS, 1)];
        assert_eq!(parse(&memory, &mut two).unwrap().command, Command::Malformed);
    }
}

#[test]
fn what_is_not_known_or_not_whole_is_named_so() {
    let parse_one = |kind, length| {
        let memory = memory_with_header(kind, 0);
        let mut segments = vec![read_only(BASE, 16), writable(DATA, length), writable(STATUS, 1)];
        parse(&memory, &mut segments).unwrap().command
    };
    assert_eq!(parse_one(8, 20), Command::Identify);
    assert_eq!(parse_one(8, 19), Command::Malformed);
    assert_eq!(parse_one(99, 512), Command::Unknown);
    assert_eq!(parse_one(0, 511), Command::Malformed);
    assert_eq!(parse_one(0, 0), Command::Malformed);
}

#[test]
fn a_chain_that_is_no_frame_is_a_fault() {
    let memory = memory_with_header(0, 0);
    let fault = |mut segments: Vec<Segment>| parse(&memory, &mut segments).unwrap_err();
    assert_eq!(fault(vec![read_only(BASE, 15), writable(STATUS, 1)]), FrameFault::Header(15));
    assert_eq!(fault(vec![]), FrameFault::Header(0));
    assert_eq!(fault(vec![read_only(BASE, 16)]), FrameFault::Status);
    assert_eq!(fault(vec![read_only(BASE, 16), writable(STATUS, 0)]), FrameFault::Status);
    let outside = fault(vec![read_only(0, 16), writable(STATUS, 1)]);
    assert_eq!(outside, FrameFault::Outside(OutOfRange { address: 0, length: 16 }));
    let wraps = fault(vec![read_only(BASE, 16), writable(u64::MAX, 9)]);
    assert_eq!(wraps, FrameFault::Outside(OutOfRange { address: u64::MAX, length: 1 }));
}

fn geometry() -> Geometry {
    Geometry {
        sectors_512: 0x0102_0304_0506,
        logical_block: 512,
        physical_block: 4096,
        queue_depth: 31,
        max_request_bytes: 120 * 1024,
        rotational: true,
        write_cache: true,
        max_discard_sectors: None,
        max_write_zeroes_sectors: None,
        wraps_at: None,
    }
}

#[test]
fn the_configuration_says_what_the_geometry_says() {
    let bytes = config(&geometry());
    assert_eq!(bytes[..8], [6, 5, 4, 3, 2, 1, 0, 0]);
    assert_eq!(bytes[8..12], [0, 16, 0, 0], "segments of 4096");
    assert_eq!(bytes[12..16], [30, 0, 0, 0], "30 of them: 120 KiB");
    assert_eq!(bytes[20..24], [0, 2, 0, 0]);
    assert_eq!(bytes[24], 3, "eight logical blocks in a physical one");
    assert_eq!(bytes[32], 1);
    assert_eq!(bytes[34], 1);
    assert!(bytes[36..].iter().all(|byte| *byte == 0));
}

#[test]
fn discard_is_configured_only_where_there_is_one() {
    let geometry = Geometry {
        logical_block: 4096,
        max_discard_sectors: Some(0x800),
        max_write_zeroes_sectors: Some(0x400),
        ..geometry()
    };
    let bytes = config(&geometry);
    assert_eq!(bytes[24], 0);
    assert_eq!(bytes[36..48], [0, 8, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(bytes[48..56], [0, 4, 0, 0, 1, 0, 0, 0]);
    let all = features(&geometry, false);
    assert_eq!(
        all & (FEATURE_DISCARD | FEATURE_WRITE_ZEROES),
        FEATURE_DISCARD | FEATURE_WRITE_ZEROES
    );
}

#[test]
fn a_write_through_device_offers_no_flush() {
    let through = Geometry { write_cache: false, ..geometry() };
    assert_eq!(features(&through, false), COMMON_FEATURES);
    assert_eq!(features(&geometry(), false), COMMON_FEATURES | FEATURE_FLUSH);
    assert_eq!(features(&through, true), COMMON_FEATURES | FEATURE_READ_ONLY);
}

proptest! {
    #[test]
    fn no_chain_makes_the_parser_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0x200),
        kind in prop_oneof![Just(0_u32), Just(1), Just(4), Just(8), Just(11), Just(13), any::<u32>()],
        parts in proptest::collection::vec(
            (prop_oneof![BASE..BASE + 0x220, any::<u64>()],
             prop_oneof![0..40_u32, any::<u32>()], any::<bool>()),
            0..12,
        ),
    ) {
        let mut memory = PlainMemory { base: BASE, bytes };
        memory.write(BASE, &kind.to_le_bytes()).unwrap();
        let mut segments: Vec<Segment> = parts
            .iter()
            .map(|(address, length, writable)| Segment { address: *address, length: *length, writable: *writable })
            .collect();
        segments.sort_by_key(|segment| segment.writable);
        if let Ok(frame) = parse(&memory, &mut segments) {
            let sum: u64 = segments.iter().map(|segment| u64::from(segment.length)).sum();
            prop_assert_eq!(sum, frame.data_bytes);
            let mut buffer = vec![0; 64];
            let _ = gather(&memory, &segments, &mut buffer);
            let _ = scatter(&mut memory, &segments, &buffer);
        }
    }

    #[test]
    fn scattered_bytes_are_gathered_again(
        bytes in proptest::collection::vec(any::<u8>(), 1..400),
        cuts in proptest::collection::vec(1..50_u32, 1..20),
    ) {
        let mut memory = PlainMemory::new(0, 4096);
        let mut address = 0;
        let mut segments = Vec::new();
        for length in cuts {
            segments.push(writable(address, length));
            address += u64::from(length) + 3;
        }
        let room: usize = segments.iter().map(|segment| segment.length as usize).sum();
        scatter(&mut memory, &segments, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        let gathered = gather(&memory, &segments, &mut back);
        if bytes.len() <= room {
            prop_assert_eq!(gathered, Ok(()));
            prop_assert_eq!(back, bytes);
        } else {
            prop_assert!(gathered.is_err());
            prop_assert_eq!(&back[..room], &bytes[..room]);
        }
    }
}
