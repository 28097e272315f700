use proptest::prelude::*;

use super::*;
use crate::memory::plain::PlainMemory;

const BASE: u64 = 0x1000;
const DESCRIPTORS: u64 = BASE;
const AVAILABLE: u64 = BASE + 0x400;
const USED: u64 = BASE + 0x800;
const TABLE: u64 = BASE + 0x1000;

fn layout(size: u16) -> RingLayout {
    RingLayout { size, descriptors: DESCRIPTORS, available: AVAILABLE, used: USED }
}

fn memory() -> PlainMemory {
    PlainMemory::new(BASE, 0x4000)
}

/// Address, length, flags, next.
type Parts = (u64, u32, u16, u16);

fn put_descriptor(memory: &mut PlainMemory, table: u64, index: u16, parts: Parts) {
    let (address, length, flags, next) = parts;
    let mut bytes = Vec::new();
    bytes.extend(address.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(next.to_le_bytes());
    memory.write(table + 16 * u64::from(index), &bytes).unwrap();
}

fn offer(memory: &mut PlainMemory, position: u16, size: u16, head: u16) {
    memory.put_u16(AVAILABLE + 4 + 2 * u64::from(position % size), head);
    memory.put_u16(AVAILABLE + 2, position.wrapping_add(1));
}

fn segment(address: u64, length: u32, writable: bool) -> Segment {
    Segment { address, length, writable }
}

#[test]
fn a_size_that_is_no_power_of_two_is_refused() {
    for size in [0, 3, 255, 32769] {
        let fault = Ring::new(layout(size), 0).unwrap_err();
        assert_eq!(fault, RingFault::Size(u32::from(size)));
    }
    assert!(Ring::new(layout(1), 0).is_ok());
    assert!(Ring::new(layout(32768), 0).is_ok());
}

#[test]
fn nothing_made_available_is_nothing() {
    let mut ring = Ring::new(layout(8), 0).unwrap();
    assert_eq!(ring.next_head(&memory()), Ok(None));
}

#[test]
fn heads_come_in_order_and_the_index_wraps() {
    let mut memory = memory();
    let mut ring = Ring::new(layout(8), 65534).unwrap();
    for (position, head) in [(65534_u16, 3), (65535, 5), (0, 7)] {
        offer(&mut memory, position, 8, head);
        assert_eq!(ring.next_head(&memory), Ok(Some(head)));
        assert_eq!(ring.next_head(&memory), Ok(None));
    }
}

#[test]
fn more_available_than_the_ring_holds_is_a_fault() {
    let mut memory = memory();
    memory.put_u16(AVAILABLE + 2, 9);
    let mut ring = Ring::new(layout(8), 0).unwrap();
    assert_eq!(ring.next_head(&memory), Err(RingFault::Overrun { count: 9, size: 8 }));
}

#[test]
fn a_head_beyond_the_ring_is_a_fault() {
    let mut memory = memory();
    offer(&mut memory, 0, 8, 8);
    let mut ring = Ring::new(layout(8), 0).unwrap();
    assert_eq!(ring.next_head(&memory), Err(RingFault::Index { index: 8, size: 8 }));
}

#[test]
fn a_chain_is_followed_in_its_own_order() {
    let mut memory = memory();
    put_descriptor(&mut memory, DESCRIPTORS, 6, (100, 16, FLAG_NEXT, 2));
    put_descriptor(&mut memory, DESCRIPTORS, 2, (200, 512, FLAG_NEXT | FLAG_WRITE, 4));
    put_descriptor(&mut memory, DESCRIPTORS, 4, (300, 1, FLAG_WRITE, 99));
    let ring = Ring::new(layout(8), 0).unwrap();
    let mut segments = vec![segment(1, 1, true)];
    ring.chain(&memory, 6, &mut segments).unwrap();
    let expected = [segment(100, 16, false), segment(200, 512, true), segment(300, 1, true)];
    assert_eq!(segments, expected);
}

#[test]
fn an_indirect_table_stands_for_its_chain() {
    let mut memory = memory();
    put_descriptor(&mut memory, DESCRIPTORS, 1, (TABLE, 48, FLAG_INDIRECT, 0));
    put_descriptor(&mut memory, TABLE, 0, (10, 16, FLAG_NEXT, 2));
    put_descriptor(&mut memory, TABLE, 2, (20, 1, FLAG_WRITE, 0));
    let ring = Ring::new(layout(8), 0).unwrap();
    let mut segments = Vec::new();
    ring.chain(&memory, 1, &mut segments).unwrap();
    assert_eq!(segments, [segment(10, 16, false), segment(20, 1, true)]);
}

#[test]
fn chains_that_make_no_sense_are_faults() {
    let chain = |parts: &[(u16, Parts)], table: &[(u16, Parts)]| {
        let mut memory = memory();
        for (index, part) in parts {
            put_descriptor(&mut memory, DESCRIPTORS, *index, *part);
        }
        for (index, part) in table {
            put_descriptor(&mut memory, TABLE, *index, *part);
        }
        let ring = Ring::new(layout(8), 0).unwrap();
        ring.chain(&memory, 0, &mut Vec::new()).unwrap_err()
    };
    let looped = chain(&[(0, (1, 1, FLAG_NEXT, 1)), (1, (1, 1, FLAG_NEXT, 0))], &[]);
    assert_eq!(looped, RingFault::Endless(8));
    let away = chain(&[(0, (1, 1, FLAG_NEXT, 8))], &[]);
    assert_eq!(away, RingFault::Index { index: 8, size: 8 });
    let order = chain(&[(0, (1, 1, FLAG_NEXT | FLAG_WRITE, 1)), (1, (1, 1, 0, 0))], &[]);
    assert_eq!(order, RingFault::Order);
    let followed = chain(&[(0, (TABLE, 16, FLAG_INDIRECT | FLAG_NEXT, 1))], &[]);
    assert_eq!(followed, RingFault::MisplacedIndirect);
    let nested =
        chain(&[(0, (TABLE, 16, FLAG_INDIRECT, 0))], &[(0, (TABLE, 16, FLAG_INDIRECT, 0))]);
    assert_eq!(nested, RingFault::MisplacedIndirect);
    for bytes in [0, 15, 17] {
        let odd = chain(&[(0, (TABLE, bytes, FLAG_INDIRECT, 0))], &[]);
        assert_eq!(odd, RingFault::IndirectLength(bytes));
    }
    let outside = chain(&[(0, (u64::MAX - 8, 32, FLAG_INDIRECT, 0))], &[]);
    assert!(matches!(outside, RingFault::Outside(_)), "{outside}");
}

#[test]
fn used_chains_go_round_the_ring() {
    let mut memory = memory();
    let mut ring = Ring::new(layout(2), 0).unwrap();
    for (head, written) in [(1_u16, 513_u32), (0, 1), (1, 7)] {
        ring.push_used(&mut memory, head, written).unwrap();
    }
    assert_eq!(memory.get_u16(USED + 2), 3);
    assert_eq!(memory.get::<8>(USED + 4), [1, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(memory.get::<8>(USED + 12), [0, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_driver_may_decline_calls() {
    let mut memory = memory();
    let ring = Ring::new(layout(8), 0).unwrap();
    assert_eq!(ring.wants_call(&memory), Ok(true));
    memory.put_u16(AVAILABLE, AVAILABLE_NO_INTERRUPT);
    assert_eq!(ring.wants_call(&memory), Ok(false));
}

/// Bytes that look like a ring often enough to reach every branch.
fn ring_bytes() -> impl Strategy<Value = Vec<u8>> {
    let descriptor = (
        prop_oneof![Just(TABLE), BASE..BASE + 0x4000, any::<u64>()],
        prop_oneof![Just(16_u32), Just(64), 0..200_u32, any::<u32>()],
        0..8_u16,
        prop_oneof![0..9_u16, any::<u16>()],
    );
    proptest::collection::vec(descriptor, 260).prop_map(|descriptors| {
        let mut memory = memory();
        for (index, parts) in descriptors.iter().enumerate() {
            let (table, index) = if index < 8 { (DESCRIPTORS, index) } else { (TABLE, index - 8) };
            put_descriptor(&mut memory, table, index as u16, *parts);
        }
        memory.bytes
    })
}

proptest! {
    #[test]
    fn no_ring_makes_the_walker_run_away(
        bytes in prop_oneof![ring_bytes(), proptest::collection::vec(any::<u8>(), 0x100..0x4000)],
        size in any::<u16>(),
        addresses in any::<[u16; 3]>(),
        near in any::<bool>(),
    ) {
        let mut memory = PlainMemory { base: BASE, bytes };
        let place = |at: u16| if near { BASE + u64::from(at % 0x3000) } else { u64::MAX - u64::from(at) };
        let layout = if near && size % 2 == 0 {
            layout(8)
        } else {
            RingLayout {
                size: 1 << (size % 16),
                descriptors: place(addresses[0]),
                available: place(addresses[1]),
                used: place(addresses[2]),
            }
        };
        let mut ring = Ring::new(layout, size).unwrap();
        let mut segments = Vec::new();
        for _ in 0..70_000 {
            let Ok(Some(head)) = ring.next_head(&memory) else { break };
            prop_assert!(head < layout.size);
            let _ = ring.chain(&memory, head, &mut segments);
            prop_assert!(segments.len() <= LONGEST_CHAIN);
            if ring.push_used(&mut memory, head, 0).is_err() {
                break;
            }
        }
        for head in 0..8 {
            let _ = ring.chain(&memory, head, &mut segments);
            prop_assert!(segments.len() <= LONGEST_CHAIN);
            prop_assert!(segments.windows(2).all(|pair| pair[1].writable || !pair[0].writable));
        }
    }

    #[test]
    fn any_chain_laid_out_is_read_back(
        lengths in proptest::collection::vec((any::<u32>(), any::<bool>()), 1..8),
        start in 0..8_u16,
        step in prop_oneof![Just(1_u16), Just(3), Just(5)],
        indirect in any::<bool>(),
    ) {
        let mut wanted: Vec<Segment> = lengths
            .iter()
            .enumerate()
            .map(|(index, (length, writable))| segment(index as u64 * 7, *length, *writable))
            .collect();
        wanted.sort_by_key(|segment| segment.writable);
        let mut memory = memory();
        let (table, first) = if indirect { (TABLE, 0) } else { (DESCRIPTORS, start) };
        let place = |index: usize| (first + step * index as u16) % 8;
        for (index, part) in wanted.iter().enumerate() {
            let more = if index + 1 < wanted.len() { FLAG_NEXT } else { 0 };
            let flags = more | if part.writable { FLAG_WRITE } else { 0 };
            let parts = (part.address, part.length, flags, place(index + 1));
            put_descriptor(&mut memory, table, place(index), parts);
        }
        if indirect {
            put_descriptor(&mut memory, DESCRIPTORS, start, (TABLE, 128, FLAG_INDIRECT, 0));
        }
        let ring = Ring::new(layout(8), 0).unwrap();
        let mut segments = Vec::new();
        ring.chain(&memory, start, &mut segments).unwrap();
        prop_assert_eq!(segments, wanted);
    }
}
