use std::cell::Cell;
use std::convert::Infallible;

use super::*;
use crate::content::Content;
use crate::instant::Instant;

fn record(elapsed_ns: u64) -> Record {
    Record { elapsed_ns, ..Record::blank() }
}

fn keeping() -> Keeping {
    Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() }
}

fn prepared(byte: u8) -> Prepared {
    let mut content = Content::new(64, keeping());
    content.write(8, &[byte; 512]).unwrap();
    let disk = DiskParts::new(Box::new(Instant::new(64)), content).freeze();
    Prepared {
        disks: Some(vec![("data".to_owned(), disk)]),
        record: record(u64::from(byte)),
        is_final: true,
    }
}

fn byte(start: &Start) -> u8 {
    let mut sector = [0; 512];
    start.disks.as_ref().unwrap()[0].parts.content.read(8, &mut sector).unwrap();
    sector[0]
}

#[test]
fn each_stack_is_prepared_once_and_copies_do_not_see_each_other() {
    let (all, count) = (Preparations::new(Bytes::mib(64)), Cell::new(0));
    let start = |key: &str, byte: u8| {
        let prepare = || {
            count.set(count.get() + 1);
            Ok::<_, Infallible>(prepared(byte))
        };
        all.start(key, &keeping(), prepare).unwrap()
    };
    let mut first = start("one", 1);
    assert_eq!((byte(&first), first.record.elapsed_ns), (1, 1));
    let disks = first.disks.as_mut().unwrap();
    assert_eq!(disks[0].role, "data");
    disks[0].parts.content.write(8, &[9; 512]).unwrap();
    assert_eq!(byte(&start("one", 2)), 1);
    assert_eq!(byte(&start("two", 3)), 3);
    assert_eq!(count.get(), 2);
}

#[test]
fn an_error_is_told_and_the_next_one_tries_again() {
    let all = Preparations::new(Bytes::mib(64));
    let failed = all.start("one", &keeping(), || Err("no room")).unwrap_err();
    assert_eq!(failed, "no room");
    let start = all.start("one", &keeping(), || Ok::<_, &str>(prepared(4))).unwrap();
    assert_eq!(byte(&start), 4);
}

#[test]
fn a_stack_that_cannot_be_prepared_says_so_to_everyone() {
    let all = Preparations::new(Bytes::mib(64));
    let prepare =
        || Ok::<_, Infallible>(Prepared { disks: None, record: record(5), is_final: true });
    all.start("one", &keeping(), prepare).unwrap();
    let again = all.start("one", &keeping(), prepare).unwrap();
    assert!(again.disks.is_none());
    assert_eq!(again.record.elapsed_ns, 5);
}

#[test]
fn a_guest_that_died_is_not_the_result_of_later_trials() {
    let all = Preparations::new(Bytes::mib(64));
    let died = Prepared { disks: None, record: record(5), is_final: false };
    let start = all.start("one", &keeping(), || Ok::<_, Infallible>(died)).unwrap();
    assert!(start.disks.is_none());
    assert_eq!(start.record.elapsed_ns, 5);
    let next = all.start("one", &keeping(), || Ok::<_, Infallible>(prepared(4))).unwrap();
    assert_eq!(byte(&next), 4);
}

/// A stack whose disk takes 4 MiB of memory and a little.
fn large(byte: u8) -> Prepared {
    let mut content = Content::new(1 << 14, Keeping { memory_bytes: 1 << 30, ..keeping() });
    let mut state = u64::from(byte);
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    })
    .take(3 << 20)
    .collect();
    content.write(0, &noise).unwrap();
    content.write(8, &[byte; 512]).unwrap();
    let disk = DiskParts::new(Box::new(Instant::new(1 << 14)), content).freeze();
    Prepared { disks: Some(vec![("data".to_owned(), disk)]), ..prepared(byte) }
}

#[test]
fn disks_beyond_the_bound_are_in_files_and_read_the_same() {
    let all = Preparations::new(Bytes::mib(10));
    for number in 1..=6 {
        let key = number.to_string();
        let start = all.start(&key, &keeping(), || Ok::<_, Infallible>(large(number))).unwrap();
        assert_eq!(byte(&start), number, "before and behind the bound");
    }
    let in_memory = all.in_memory.load(Ordering::Relaxed);
    assert!((8 << 20..10 << 20).contains(&in_memory), "{in_memory}");
    let Some(Some(last)) = all.slots.lock().unwrap().get("6").map(|slot| {
        let prepared = slot.lock().unwrap();
        prepared.as_ref().and_then(|prepared| Some(prepared.disks.as_ref()?[0].1.memory_bytes()))
    }) else {
        panic!("the last stack is not kept")
    };
    assert!(last < 1 << 18, "{last} bytes of the last disk are in memory");
}
