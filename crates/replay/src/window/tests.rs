//! Windows on a file of eight pages.

use super::*;
use rustix::fd::AsFd;
use std::fs::File;
use std::os::unix::fs::FileExt;

fn eight_pages() -> File {
    let file = tempfile::tempfile().expect("a file");
    file.set_len(8 * PAGE).expect("space");
    file
}

#[test]
fn a_window_serves_its_own_pages_of_its_own_file() {
    let (file, other) = (eight_pages(), eight_pages());
    let window = Window::new(file.as_fd(), 3, 2 * PAGE, 4 * PAGE - 1, (Reading::Single, false))
        .expect("mapped");
    let single = (Reading::Single, false);
    let served: Vec<u64> =
        (0..9).filter(|page| window.serves(file.as_fd(), 3, page * PAGE, single)).collect();
    assert_eq!(served, [2, 3, 4, 5]);
    assert!(!window.serves(other.as_fd(), 3, 2 * PAGE, single));
    assert!(!window.serves(file.as_fd(), 4, 2 * PAGE, single), "other rights may go with it");
    assert!(
        !window.serves(file.as_fd(), 3, 2 * PAGE, (Reading::Single, true)),
        "it is not for writing"
    );
    let around = (Reading::Around, false);
    assert!(!window.serves(file.as_fd(), 3, 2 * PAGE, around), "it reads single pages");
}

#[test]
fn a_touch_changes_nothing_and_fails_behind_the_end() {
    let file = eight_pages();
    file.write_all_at(b"kept", 5 * PAGE).expect("written");
    let window =
        Window::new(file.as_fd(), 1, 0, 16 * PAGE, (Reading::Around, true)).expect("mapped");
    assert_eq!(window.touch(5 * PAGE, true), Ok(0));
    assert_eq!(window.touch(5 * PAGE + 7, false), Ok(0));
    assert_eq!(window.touch(8 * PAGE, false), Err(Errno::FAULT));
    let mut bytes = [0; 5];
    file.read_exact_at(&mut bytes, 5 * PAGE).expect("read");
    assert_eq!(&bytes, b"kept\0");
}
