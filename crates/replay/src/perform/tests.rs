use super::{Buffer, Performer};
use crate::action::Action;
use crate::encode::Operation;
use seekwell_trace::calls::CallId;
use std::ffi::CString;
use std::os::fd::IntoRawFd;
use std::sync::atomic::AtomicI32;

fn is_mapped(path: &std::path::Path) -> bool {
    std::fs::read_to_string("/proc/self/maps").unwrap().contains(&*path.to_string_lossy())
}

#[test]
fn the_pages_of_a_mapping_are_read_after_its_call() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let fd = std::fs::File::open(file.path()).unwrap().into_raw_fd();
    let slots = [AtomicI32::new(-1), AtomicI32::new(fd)];
    let (paths, data): ([CString; 0], _) = ([], Buffer::empty());
    let mut performer = Performer::new(&slots, &paths, &data);
    let map = Operation {
        slot: 1,
        length: 1 << 20,
        ..Operation::new(Action::Map, CallId::named("mmap").unwrap())
    };
    assert_eq!(performer.perform(&map), Ok(0));
    assert!(is_mapped(file.path()));
    performer.touch();
    assert!(!is_mapped(file.path()));
    // A second look has nothing to read.
    performer.touch();
    // No mapping is left by a second call, nor by one that fails.
    assert_eq!(performer.perform(&map), Ok(0));
    let failing = Operation { offset: 1, ..map };
    assert_eq!(performer.perform(&failing), Ok(-i64::from(libc::EINVAL)));
    performer.touch();
    assert!(!is_mapped(file.path()));
    super::close(fd);
}
