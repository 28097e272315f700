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
    let (all, count) = (Preparations::default(), Cell::new(0));
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
    let all = Preparations::default();
    let failed = all.start("one", &keeping(), || Err("no room")).unwrap_err();
    assert_eq!(failed, "no room");
    let start = all.start("one", &keeping(), || Ok::<_, &str>(prepared(4))).unwrap();
    assert_eq!(byte(&start), 4);
}

#[test]
fn a_stack_that_cannot_be_prepared_says_so_to_everyone() {
    let all = Preparations::default();
    let prepare =
        || Ok::<_, Infallible>(Prepared { disks: None, record: record(5), is_final: true });
    all.start("one", &keeping(), prepare).unwrap();
    let again = all.start("one", &keeping(), prepare).unwrap();
    assert!(again.disks.is_none());
    assert_eq!(again.record.elapsed_ns, 5);
}

#[test]
fn a_guest_that_died_is_not_the_result_of_later_trials() {
    let all = Preparations::default();
    let died = Prepared { disks: None, record: record(5), is_final: false };
    let start = all.start("one", &keeping(), || Ok::<_, Infallible>(died)).unwrap();
    assert!(start.disks.is_none());
    assert_eq!(start.record.elapsed_ns, 5);
    let next = all.start("one", &keeping(), || Ok::<_, Infallible>(prepared(4))).unwrap();
    assert_eq!(byte(&next), 4);
}
