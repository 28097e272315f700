use super::*;

#[test]
fn a_message_is_sixteen_little_endian_bytes() {
    let message =
        TimeMessage { operation: TimeOperation::Run, sequence: 0x0102, time_ns: 0x0a0b_0c0d };
    let bytes = message.encode();
    assert_eq!(bytes, [6, 0, 0, 0, 2, 1, 0, 0, 0x0d, 0x0c, 0x0b, 0x0a, 0, 0, 0, 0]);
    assert_eq!(TimeMessage::decode(&bytes), Some(message));
}

#[test]
fn every_operation_has_its_number_and_no_other_is_known() {
    for (number, operation) in OPERATIONS.into_iter().enumerate() {
        let message = TimeMessage { operation, sequence: 7, time_ns: 9 };
        assert_eq!(message.encode()[0], number as u8);
        assert_eq!(TimeMessage::decode(&message.encode()), Some(message));
    }
    let mut bytes = [0; MESSAGE_BYTES];
    bytes[0] = 10;
    assert_eq!(TimeMessage::decode(&bytes), None);
    bytes[3] = 1;
    assert_eq!(TimeMessage::decode(&bytes), None);
}

#[test]
fn an_acknowledgement_carries_the_sequence() {
    let message = TimeMessage { operation: TimeOperation::Get, sequence: 41, time_ns: u64::MAX };
    let ack = TimeMessage { operation: TimeOperation::Ack, sequence: 41, time_ns: 5 };
    assert_eq!(message.ack(5), ack);
}

/// The guest's view of the same memory.
fn guest_view(clock: &SharedClock) -> SharedNumbers {
    SharedNumbers::new(clock.file(), layout::TOTAL_BYTES as usize).unwrap()
}

#[test]
fn the_memory_is_laid_out_as_the_kernel_has_it() {
    let clock = SharedClock::new(Transport::Bells).unwrap();
    clock.set_now(11);
    clock.set_free_until(22);
    clock.set_running(Running::Controller);
    let guest = guest_view(&clock);
    assert_eq!(guest.u32_at(0).load(Ordering::Relaxed), 2, "version");
    assert_eq!(guest.u32_at(4).load(Ordering::Relaxed), 8192, "length");
    assert_eq!((guest.get_u64(8), guest.get_u64(16)), (22, 11));
    assert_eq!(guest.u16_at(24).load(Ordering::Relaxed), 0, "the controller runs");
    assert_eq!(guest.u16_at(26).load(Ordering::Relaxed), 2, "clients");
    assert_eq!(guest.u32_at(4096).load(Ordering::Relaxed), 0x8000_0001, "controller's abilities");
}

#[test]
fn what_the_transport_does_without_is_not_offered() {
    let version = |transport| {
        let clock = SharedClock::new(transport).unwrap();
        let guest = guest_view(&clock);
        (guest.u32_at(0).load(Ordering::Relaxed), guest.u32_at(4096).load(Ordering::Relaxed))
    };
    assert_eq!(version(Transport::Messages), (0, 1));
    assert_eq!(version(Transport::SharedClock), (2, 1));
    assert_eq!(version(Transport::Bells), (2, 0x8000_0001));
}

#[test]
fn a_request_counts_only_while_its_flag_is_set() {
    let clock = SharedClock::new(Transport::Bells).unwrap();
    let guest = guest_view(&clock);
    assert!(!clock.is_taken());
    guest.u32_at(4096 + 128).store(1, Ordering::Relaxed);
    assert!(clock.is_taken());
    guest.set_u64(4096 + 128 + 8, 99);
    assert_eq!(clock.request_ns(), None);
    guest.u32_at(4096 + 128 + 4).store(1, Ordering::Relaxed);
    assert_eq!(clock.request_ns(), Some(99));
}

#[test]
fn bells_are_heard_once() {
    let clock = SharedClock::new(Transport::Bells).unwrap();
    let guest = guest_view(&clock);
    assert_eq!(clock.take_kicks(), 0);
    guest.set_u64(4096 + 64, 0b101);
    assert_eq!(clock.take_kicks(), 0b101);
    assert_eq!(clock.take_kicks(), 0);
    clock.ring_calls(1);
    clock.ring_calls(4);
    assert_eq!(guest.get_u64(4096 + 72), 0b101);
}

#[test]
fn the_guest_cannot_take_the_clock_away() {
    let clock = SharedClock::new(Transport::Bells).unwrap();
    assert_eq!(ftruncate(&clock.file, 0), Err(Errno::PERM));
    assert_eq!(ftruncate(&clock.file, 2 * layout::TOTAL_BYTES), Err(Errno::PERM));
    clock.set_free_until(77);
}
