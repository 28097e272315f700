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

#[test]
fn buffers_of_many_threads_are_small_and_take_every_call() {
    let bytes = |threads| Buffer::of_one_of(threads).bytes().len();
    assert_eq!(
        [1, 64, 128, 512, 5000].map(bytes),
        [1 << 20, 1 << 20, 512 << 10, 128 << 10, 64 << 10]
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(100 << 20).unwrap();
    let slots = [Slot::new(-1), Slot::new(std::fs::File::open(file.path()).unwrap().into_raw_fd())];
    let (paths, data): ([CString; 0], _) = ([], Buffer::empty());
    let mut performer = Performer::new(&slots, &paths, &data);
    performer.buffer = Buffer::of_one_of(5000);
    let call = |action, name: &str| Operation::new(action, CallId::named(name).unwrap());
    let mut read = |length: u64| {
        let one = Operation { slot: 1, length, ..call(Action::ReadAt, "pread64") };
        (performer.perform(&one), performer.buffer.bytes().len())
    };
    assert_eq!(read(3 << 20), (Ok(3 << 20), 64 << 10));
    // More than 1024 parts.
    assert_eq!(read(80 << 20), (Ok(80 << 20), 1 << 20));
    close(slots[1].take());
}

#[test]
fn flags_of_an_opening_are_those_of_the_open_file() {
    use rustix::fs::OFlags;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let paths = [CString::new(path.to_str().unwrap()).unwrap()];
    let slots = [Slot::new(-1), Slot::new(-1)];
    let data = Buffer::new(&[5; 4096]);
    let mut performer = Performer::new(&slots, &paths, &data);
    let opening = Operation::new(Action::Open, CallId::named("openat").unwrap());
    for flag in [OFlags::DIRECT, OFlags::SYNC, OFlags::DSYNC, OFlags::APPEND] {
        let flags = OFlags::RDWR | OFlags::CREATE | flag;
        let one = Operation {
            slot: 1,
            path: 1,
            mode: 0o644,
            flags: flags.bits().into(),
            ..opening.clone()
        };
        if performer.perform(&one) == Ok(-i64::from(libc::EINVAL)) {
            seekwell_testing::skip(
                "flags_of_an_opening",
                "no direct I/O in the folder for temporary files",
            );
            continue;
        }
        let file = performer.file(1).unwrap();
        assert!(rustix::fs::fcntl_getfl(file).unwrap().contains(flag), "{flag:?}");
        // From an address that direct I/O takes.
        let write = Operation {
            slot: 1,
            length: 4096,
            ..Operation::new(Action::Write, CallId::named("write").unwrap())
        };
        assert_eq!(performer.perform(&write), Ok(4096), "{flag:?}");
        close(slots[1].take());
    }
    // All writes but the last are at the start of the file.
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8192);
}
