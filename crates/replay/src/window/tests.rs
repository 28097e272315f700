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
fn a_window_serves_its_own_pages_of_its_own_descriptor() {
    let file = eight_pages();
    let place = (3, 7);
    let window = Window::new(file.as_fd(), place, 2 * PAGE, 4 * PAGE - 1, (Reading::Single, false))
        .expect("mapped");
    let served: Vec<u64> = (0..9).filter(|page| window.serves(place, page * PAGE, false)).collect();
    assert_eq!(served, [2, 3, 4, 5]);
    assert!(!window.serves((3, 8), 2 * PAGE, false), "the slot holds another descriptor");
    assert!(!window.serves((4, 7), 2 * PAGE, false), "other rights may go with it");
    assert!(!window.serves(place, 2 * PAGE, true), "it is not for writing");
}

/// Advice on the mapping of this file, as the kernel tells: `rr` random, `sr` sequential.
fn advice(window: &Window) -> String {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("mappings");
    let start = format!("{:x}-", window.at as usize);
    let mut lines = maps.lines().skip_while(|line| !line.starts_with(&start));
    let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).expect("flags");
    flags.split_whitespace().filter(|flag| ["rr", "sr"].contains(flag)).collect()
}

#[test]
fn advice_is_changed_without_another_mapping() {
    let file = eight_pages();
    let mut window =
        Window::new(file.as_fd(), (1, 0), 0, 8 * PAGE, (Reading::Around, false)).expect("mapped");
    let mut told = vec![advice(&window)];
    for reading in [Reading::Single, Reading::Ahead, Reading::Around] {
        window.advise(reading);
        told.push(advice(&window));
    }
    assert_eq!(told, ["", "rr", "sr", ""]);
}

#[test]
fn a_touch_changes_nothing_and_fails_behind_the_end() {
    let file = eight_pages();
    file.write_all_at(b"kept", 5 * PAGE).expect("written");
    let window =
        Window::new(file.as_fd(), (1, 0), 0, 16 * PAGE, (Reading::Around, true)).expect("mapped");
    assert_eq!(window.touch(5 * PAGE, true), Ok(0));
    assert_eq!(window.touch(5 * PAGE + 7, false), Ok(0));
    assert_eq!(window.touch(8 * PAGE, false), Err(Errno::FAULT));
    let mut bytes = [0; 5];
    file.read_exact_at(&mut bytes, 5 * PAGE).expect("read");
    assert_eq!(&bytes, b"kept\0");
}
