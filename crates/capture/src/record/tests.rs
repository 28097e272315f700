use super::*;

#[test]
fn names_from_the_file_up_become_a_path() {
    assert_eq!(walked(b"1\0cur\0mail\0", true), "/mail/cur/1");
    assert_eq!(walked(b"", true), "/");
    assert_eq!(walked(b"deep\0", false), "…/deep");
}

#[test]
fn a_call_is_parsed_and_short_bytes_are_not() {
    let mut bytes = vec![0_u8; 112];
    bytes[0] = 1;
    bytes[4] = 17;
    bytes[32..40].copy_from_slice(&(-2_i64).to_ne_bytes());
    bytes[40..48].copy_from_slice(&u64::MAX.to_ne_bytes());
    bytes[56] = 9;
    bytes[96] = 5;
    bytes[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
    let Some(Record::Call(call)) = Record::parse(&bytes) else { panic!("no call") };
    assert_eq!((call.number, call.result, call.position, call.args[1]), (17, -2, None, 9));
    assert_eq!((call.cpu_ns, call.waited_ns), (Some(5), None));
    for length in 0..112 {
        assert!(Record::parse(&bytes[..length]).is_none(), "{length}");
    }
    bytes[0] = 99;
    assert!(Record::parse(&bytes).is_none());
}

#[test]
fn an_operation_has_a_descriptor_or_a_registered_file() {
    let mut bytes = vec![0_u8; 80];
    bytes[0] = 7;
    bytes[4] = 22;
    bytes[32..40].copy_from_slice(&4096_i64.to_ne_bytes());
    bytes[40] = 9;
    bytes[52] = 5;
    bytes[56] = 77;
    bytes[72] = 2;
    let Some(Record::Operation(found)) = Record::parse(&bytes) else { panic!("no operation") };
    assert_eq!((found.code, found.result, found.offset), (22, 4096, 9));
    assert_eq!((found.fd, found.inode, found.flags), (Some(5), 77, 2));
    bytes[68] = 1;
    let Some(Record::Operation(found)) = Record::parse(&bytes) else { panic!("no operation") };
    assert_eq!(found.fd, None);
    for length in 0..80 {
        assert!(Record::parse(&bytes[..length]).is_none(), "{length}");
    }
}

#[test]
fn a_wake_up_is_parsed() {
    let mut bytes = vec![0_u8; 32];
    (bytes[0], bytes[4], bytes[8], bytes[16], bytes[28]) = (8, 5, 70, 60, 9);
    let Some(Record::Wake(found)) = Record::parse(&bytes) else { panic!("no wake-up") };
    assert_eq!((found.waker, found.end_ns, found.slept_ns, found.thread), (5, 70, 60, 9));
    for length in 0..32 {
        assert!(Record::parse(&bytes[..length]).is_none(), "{length}");
    }
}

#[test]
fn a_fault_and_the_sleep_in_it_are_parsed() {
    let mut bytes = vec![0_u8; 56];
    (bytes[0], bytes[4], bytes[16], bytes[24], bytes[28], bytes[32]) = (9, 8 | 2, 60, 7, 9, 5);
    bytes[40..48].copy_from_slice(&u64::MAX.to_ne_bytes());
    bytes[48] = 3;
    let Some(Record::Fault(found)) = Record::parse(&bytes) else { panic!("no fault") };
    assert_eq!((found.start_ns, found.process, found.thread, found.address), (60, 7, 9, 5));
    assert_eq!((found.cpu_ns, found.waited_ns), (None, Some(3)));
    assert!(found.is_in_call() && found.is_write() && !found.is_protection());
    for length in 0..56 {
        assert!(Record::parse(&bytes[..length]).is_none(), "{length}");
    }
    let mut bytes = vec![0_u8; 40];
    (bytes[0], bytes[16], bytes[28], bytes[32]) = (10, 60, 9, 70);
    let Some(Record::Slept(found)) = Record::parse(&bytes) else { panic!("no sleep") };
    assert_eq!((found.start_ns, found.thread, found.slept_ns), (60, 9, 70));
    assert!(Record::parse(&bytes[..39]).is_none());
}

#[test]
fn the_end_of_a_thread_says_if_it_is_the_last() {
    let mut bytes = vec![0_u8; 48];
    (bytes[0], bytes[16], bytes[20]) = (5, 7, 8);
    let is_last = |bytes: &[u8]| match Record::parse(bytes) {
        Some(Record::Life(life)) => Some((life.life, life.is_last)),
        _ => None,
    };
    assert_eq!(is_last(&bytes), Some((Life::Exit, false)));
    bytes[28] = 1;
    assert_eq!(is_last(&bytes), Some((Life::Exit, true)));
}

#[test]
fn a_request_has_the_name_of_its_issuer() {
    let mut bytes = vec![0_u8; 72];
    bytes[0] = 6;
    bytes[24..32].copy_from_slice([300_u32, 8 << 20].map(u32::to_ne_bytes).as_flattened());
    bytes[40..48].copy_from_slice([4096_u32, 2].map(u32::to_ne_bytes).as_flattened());
    bytes[56..67].copy_from_slice(b"jbd2/sda1-8");
    let Some(Record::Block(block)) = Record::parse(&bytes) else { panic!("not a request") };
    assert_eq!((block.process, block.device, block.bytes, block.depth), (300, 8 << 20, 4096, 2));
    assert_eq!(name(&block.name).as_deref(), Some("jbd2/sda1-8"));
    assert_eq!(name(&[0; 16]), None);
    assert!(Record::parse(&bytes[..71]).is_none(), "cut");
}
