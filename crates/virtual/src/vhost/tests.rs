use proptest::prelude::*;

use super::*;

fn message(request: u32, flags: u32, payload: &[u8]) -> (Header, Vec<u8>) {
    (Header { request, flags, size: payload.len() as u32 }, payload.to_vec())
}

fn parsed(request: u32, payload: &[u8]) -> Result<Request, MessageFault> {
    let (header, payload) = message(request, 1, payload);
    parse(&header, &payload)
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn a_header_is_three_numbers() {
    let header = Header { request: 35, flags: 9, size: 8 };
    assert_eq!(header.encode(), [35, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(Header::decode(&header.encode()), header);
    assert!(header.needs_reply());
}

#[test]
fn every_request_of_the_guest_is_known() {
    assert_eq!(parsed(1, &[]), Ok(Request::GetFeatures));
    assert_eq!(parsed(2, &7_u64.to_le_bytes()), Ok(Request::SetFeatures(7)));
    assert_eq!(parsed(3, &[]), Ok(Request::SetOwner));
    assert_eq!(parsed(8, &words(&[0, 256])), Ok(Request::SetRingSize(256)));
    assert_eq!(parsed(10, &words(&[0, 5])), Ok(Request::SetRingBase(5)));
    assert_eq!(parsed(15, &[]), Ok(Request::GetProtocolFeatures));
    assert_eq!(parsed(16, &8_u64.to_le_bytes()), Ok(Request::SetProtocolFeatures(8)));
    assert_eq!(parsed(18, &words(&[0, 1])), Ok(Request::EnableRing(true)));
    assert_eq!(parsed(21, &[]), Ok(Request::SetCallSocket));
    assert_eq!(parsed(24, &words(&[0, 60, 0])), Ok(Request::GetConfig(60)));
    assert_eq!(parsed(35, &words(&[0, 0])), Ok(Request::Kick));
    assert_eq!(parsed(77, &[]), Ok(Request::Other(77)));
}

#[test]
fn ring_addresses_are_in_the_order_of_the_protocol() {
    let mut payload = words(&[0, 0]);
    for number in [1_u64, 2, 3, 4] {
        payload.extend(number.to_le_bytes());
    }
    let addresses = RingAddresses { descriptors: 1, used: 2, available: 3 };
    assert_eq!(parsed(9, &payload), Ok(Request::SetRingAddresses(addresses)));
}

#[test]
fn memory_regions_are_read_as_far_as_they_are_there() {
    let mut payload = words(&[1, 0]);
    for number in [0x1000_u64, 0x2000, 0x1000, 0x3000] {
        payload.extend(number.to_le_bytes());
    }
    let plan = RegionPlan { guest_address: 0x1000, bytes: 0x2000, file_offset: 0x3000 };
    assert_eq!(parsed(5, &payload), Ok(Request::SetMemoryTable(vec![plan])));
    payload[0] = 2;
    assert_eq!(parsed(5, &payload), Err(MessageFault::Payload { request: 5, bytes: 40 }));
    payload[0] = 9;
    assert!(parsed(5, &payload).is_err());
}

#[test]
fn a_message_of_another_version_or_without_end_is_refused() {
    let check_one = |flags, size| check(&Header { request: 1, flags, size });
    assert_eq!(check_one(1, 0), Ok(()));
    assert_eq!(check_one(9, LONGEST_PAYLOAD as u32), Ok(()));
    assert_eq!(check_one(2, 0), Err(MessageFault::Version(2)));
    let bytes = LONGEST_PAYLOAD as u32 + 1;
    assert_eq!(check_one(1, bytes), Err(MessageFault::Length(bytes)));
}

#[test]
fn answers_carry_exactly_the_flags_that_the_guest_wants() {
    let reply = reply_number(1, 0x0102);
    assert_eq!(reply, [1, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    let config = reply_config(24, 6, &[1, 2, 3]);
    assert_eq!(config[..12], [24, 0, 0, 0, 5, 0, 0, 0, 18, 0, 0, 0]);
    assert_eq!(config[12..], [0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0]);
    assert_eq!(call(3), [4, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_configuration_of_any_length_can_be_asked_for() {
    assert_eq!(reply_config(24, u32::MAX, &[1]).len(), HEADER_BYTES + LONGEST_PAYLOAD);
    assert_eq!(reply_config(24, 0, &[1]).len(), HEADER_BYTES + 12);
}

proptest! {
    #[test]
    fn no_payload_makes_the_parser_panic(
        request in 0..40_u32,
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = parsed(request, &payload);
    }
}
