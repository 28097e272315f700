use super::*;
use proptest::prelude::*;

prop_compose! {
    fn operation()(
        action in 0..Action::ALL.len(),
        call in 0_u16..90,
        [added, pauses_first, renews]: [bool; 3],
        words in proptest::array::uniform8(prop_oneof![Just(0), 1_u64..300, any::<u64>()]),
        expected in prop_oneof![Just(0), -200_i64..70_000, any::<i64>()],
        start_ns: u64,
        [think_ns, wait_ns, beside_ns] in proptest::array::uniform3(prop_oneof![Just(0), any::<u64>()]),
        after in proptest::collection::vec((any::<u32>(), any::<u64>()), 0..4),
    ) -> Operation {
        let [slot, to_slot, path, to_path, offset, length, flags, mode] = words;
        Operation {
            action: Action::ALL[action], call: CallId(call), added, slot, to_slot, path, to_path,
            offset, length, flags, mode, expected, start_ns, think_ns,
            wait_ns, beside_ns, pauses_first, renews, after,
        }
    }
}

proptest! {
    #[test]
    fn operations_come_back_as_they_were(all in proptest::collection::vec(operation(), 0..20)) {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for one in &all {
            one.encode(last, &mut bytes);
            last = one.start_ns;
        }
        let mut bytes = bytes.as_slice();
        let mut read = Operation::new(Action::Order, CallId(0));
        for one in &all {
            read.decode(&mut bytes).unwrap();
            prop_assert_eq!(&read, one);
        }
        prop_assert_eq!(read.decode(&mut bytes), None);
    }

    #[test]
    fn damaged_bytes_end_the_lane(bytes: Vec<u8>) {
        let mut bytes = bytes.as_slice();
        let mut read = Operation::new(Action::Order, CallId(0));
        while read.decode(&mut bytes).is_some() {}
    }
}

#[test]
fn a_read_of_a_block_takes_eleven_bytes() {
    let read = Operation {
        slot: 3,
        length: 4096,
        expected: 4096,
        start_ns: 1_000_000,
        think_ns: 900,
        ..Operation::new(Action::Read, CallId(0))
    };
    let mut bytes = Vec::new();
    read.encode(999_000, &mut bytes);
    assert_eq!(bytes.len(), 11);
}
