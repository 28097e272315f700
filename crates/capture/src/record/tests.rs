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
    let mut bytes = vec![0_u8; 72];
    bytes[0] = 7;
    bytes[4] = 22;
    bytes[32..40].copy_from_slice(&4096_i64.to_ne_bytes());
    bytes[40] = 9;
    bytes[52] = 5;
    bytes[56] = 77;
    let Some(Record::Operation(found)) = Record::parse(&bytes) else { panic!("no operation") };
    assert_eq!((found.code, found.result, found.offset), (22, 4096, 9));
    assert_eq!((found.fd, found.inode), (Some(5), 77));
    bytes[68] = 1;
    let Some(Record::Operation(found)) = Record::parse(&bytes) else { panic!("no operation") };
    assert_eq!(found.fd, None);
    for length in 0..72 {
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
