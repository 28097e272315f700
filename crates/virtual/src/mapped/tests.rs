use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::*;

fn file(bytes: u64) -> OwnedFd {
    let file = memfd_create(c"test", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, bytes).unwrap();
    file
}

fn plan(guest_address: u64, bytes: u64, file_offset: u64) -> RegionPlan {
    RegionPlan { guest_address, bytes, file_offset }
}

#[test]
fn addresses_of_the_guest_lead_to_its_file() {
    let guest = file(0x4000);
    let mut memory = MappedMemory::default();
    memory.add(plan(0x10_0000, 0x1000, 0x2100), &guest).unwrap();
    memory.add(plan(0x20_0000, 0x800, 0), &guest).unwrap();
    memory.write(0x10_0004, b"one").unwrap();
    memory.write(0x20_07fd, b"two").unwrap();
    let outside = File::from(guest);
    let mut bytes = [0; 3];
    outside.read_exact_at(&mut bytes, 0x2104).unwrap();
    assert_eq!(&bytes, b"one");
    outside.write_all_at(b"new", 0x7fd).unwrap();
    memory.read(0x20_07fd, &mut bytes).unwrap();
    assert_eq!(&bytes, b"new");
}

#[test]
fn no_access_leaves_its_region() {
    let guest = file(0x3000);
    let mut memory = MappedMemory::default();
    memory.add(plan(0x1000, 0x1000, 0), &guest).unwrap();
    memory.add(plan(0x2000, 0x1000, 0x1000), &guest).unwrap();
    for (address, length) in [(0xfff, 1), (0x1fff, 2), (0x3000, 1), (u64::MAX, 1), (0, 0)] {
        let mut bytes = vec![0; length];
        let fault = Err(OutOfRange::new(address, length));
        assert_eq!(memory.read(address, &mut bytes), fault);
        assert_eq!(memory.write(address, &bytes), fault);
    }
    assert_eq!(memory.read(0x2fff, &mut [0]), Ok(()));
}

#[test]
fn a_region_that_is_not_in_its_file_is_refused() {
    let guest = file(0x2000);
    let mut memory = MappedMemory::default();
    for wrong in [
        plan(0, 0, 0),
        plan(0, 0x2001, 0),
        plan(0, 0x1000, 0x1001),
        plan(0, u64::MAX, 2),
        plan(u64::MAX - 0xfff, 0x1001, 0),
    ] {
        let fault = RegionFault::Extent { address: wrong.guest_address, bytes: wrong.bytes };
        assert_eq!(memory.add(wrong, &guest), Err(fault));
    }
    assert!(memory.read(0, &mut [0]).is_err());
}

#[test]
fn memory_that_the_guest_has_cut_off_is_an_error_and_not_the_end() {
    let (one, other) = (file(0x4000), file(0x4000));
    let mut cut = MappedMemory::default();
    cut.add(plan(0x1000, 0x4000, 0), &one).unwrap();
    let mut whole = MappedMemory::default();
    whole.add(plan(0x1000, 0x4000, 0), &other).unwrap();
    cut.write(0x1000, b"here").unwrap();
    ftruncate(&one, 0x2000).unwrap();
    assert_eq!(cut.read(0x2fff, &mut [0]), Ok(()), "it is there before the new end");
    // Across the new end, then where nothing is any more.
    assert_eq!(cut.read(0x2fff, &mut [0; 2]), Err(OutOfRange::new(0x2fff, 2)));
    assert_eq!(cut.write(0x4000, b"gone"), Err(OutOfRange::new(0x4000, 4)));
    // Who has cut once is not believed again.
    assert_eq!(cut.read(0x1000, &mut [0]), Err(OutOfRange::new(0x1000, 1)));
    assert_eq!(whole.read(0x4000, &mut [0]), Ok(()), "others keep theirs");
    drop(cut);
    let mut next = MappedMemory::default();
    next.add(plan(0x1000, 0x1000, 0), &other).unwrap();
    assert_eq!(next.write(0x1000, b"next"), Ok(()), "a new guest begins anew");
}

#[test]
fn shared_numbers_are_the_files() {
    let shared = file(4096);
    let numbers = SharedNumbers::new(&shared, 4096).unwrap();
    numbers.set_u64(8, 0x0102_0304);
    numbers.u16_at(24).store(9, Ordering::Release);
    let mut bytes = [0; 26];
    File::from(shared).read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes[8..12], [4, 3, 2, 1]);
    assert_eq!(bytes[24..], [9, 0]);
    assert_eq!(numbers.get_u64(8), 0x0102_0304);
}

#[test]
#[should_panic(expected = "no number of 8 bytes at 4092")]
fn a_number_outside_is_a_mistake_of_this_program() {
    let _ = SharedNumbers::new(file(4096), 4096).unwrap().get_u64(4092);
}
