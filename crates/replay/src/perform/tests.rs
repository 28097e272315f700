use super::{Buffer, Performer};
use crate::action::Action;
use crate::encode::Operation;
use crate::slot::{Slot, close};
use seekwell_trace::calls::CallId;
use std::ffi::CString;
use std::os::fd::IntoRawFd;

fn is_mapped(path: &std::path::Path) -> bool {
    std::fs::read_to_string("/proc/self/maps").unwrap().contains(&*path.to_string_lossy())
}

#[test]
fn the_pages_of_a_mapping_are_read_after_its_call() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let fd = std::fs::File::open(file.path()).unwrap().into_raw_fd();
    let slots = [Slot::new(-1), Slot::new(fd)];
    let (paths, data): ([CString; 0], _) = ([], Buffer::empty());
    let mut performer = Performer::new(&slots, &paths, &data);
    let map = Operation {
        slot: 1,
        length: 1 << 20,
        ..Operation::new(Action::Map, CallId::named("mmap").unwrap())
    };
    assert_eq!(performer.perform(&map), Ok(0));
    assert!(is_mapped(file.path()));
    performer.unmap();
    assert!(!is_mapped(file.path()));
    // A second look has nothing to read.
    performer.unmap();
    // No mapping is left by a second call, nor by one that fails.
    assert_eq!(performer.perform(&map), Ok(0));
    let failing = Operation { offset: 1, ..map };
    assert_eq!(performer.perform(&failing), Ok(-i64::from(libc::EINVAL)));
    performer.unmap();
    assert!(!is_mapped(file.path()));
    close(fd);
}

#[test]
fn a_touched_page_keeps_its_contents_and_is_there() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [7; 8192]).unwrap();
    let open = |write: bool| {
        let file = std::fs::File::options().read(true).write(write).open(file.path()).unwrap();
        Slot::new(file.into_raw_fd())
    };
    let slots = [Slot::new(-1), open(true), open(false)];
    let (paths, data): ([CString; 0], _) = ([], Buffer::empty());
    let mut performer = Performer::new(&slots, &paths, &data);
    let mut touch = |slot: u64, offset: u64, flags: u64| {
        let operation = Operation::new(Action::Touch, CallId::named("page_fault").unwrap());
        performer.perform(&Operation { slot, offset, flags, ..operation })
    };
    assert_eq!([touch(1, 0, 0), touch(1, 4096, 1), touch(2, 4096, 0)], [Ok(0); 3]);
    // Behind the end there is no page, and a file that is open for reading takes no writes.
    assert_eq!(touch(1, 8192, 0), Ok(-i64::from(libc::EFAULT)));
    assert_eq!(touch(2, 0, 1), Ok(-i64::from(libc::EACCES)));
    assert_eq!(touch(1, 1, 0), Ok(0));
    assert!(is_mapped(file.path()));
    performer.detach(&Operation::new(Action::Skip, CallId::named("close").unwrap()));
    assert!(!is_mapped(file.path()));
    assert_eq!(std::fs::read(file.path()).unwrap(), [7; 8192]);
    slots.iter().for_each(|slot| close(slot.take()));
}
