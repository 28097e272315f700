use super::*;

fn raw(logical: u64, physical: u64, length: u64, flags: u32) -> RawExtent {
    RawExtent { logical, physical, length, flags, ..RawExtent::default() }
}

fn joined(list: &[RawExtent]) -> Vec<Extent> {
    let mut result = Vec::new();
    for extent in list {
        append(&mut result, extent);
    }
    result
}

#[test]
fn a_run_that_is_recorded_in_pieces_is_one_extent() {
    let whole = joined(&[raw(0, 4096, 8192, EXTENT_LAST)]);
    let pieces = joined(&[raw(0, 4096, 4096, 0), raw(4096, 8192, 4096, EXTENT_LAST)]);
    assert_eq!(whole, pieces);
    assert_eq!(digest(&whole), digest(&pieces));
}

#[test]
fn a_gap_a_jump_and_a_conversion_each_begin_a_new_extent() {
    for second in [
        raw(8192, 8192, 4096, 0),
        raw(4096, 9000, 4096, 0),
        raw(4096, 8192, 4096, EXTENT_UNWRITTEN),
    ] {
        let list = joined(&[raw(0, 4096, 4096, 0), second]);
        assert_eq!(list.len(), 2);
        assert_ne!(digest(&list), digest(&joined(&[raw(0, 4096, 8192, 0)])));
    }
}

#[test]
fn more_extents_than_one_question_holds_are_all_found() {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;
    let file = tempfile::tempfile().unwrap();
    // A hole after each block keeps the kernel from joining them.
    for block in 0..(BATCH as u64 * 2 + 5) {
        file.write_all_at(&[1; 4096], block * 8192).unwrap();
    }
    let Some(list) = extents(file.as_fd()).unwrap() else {
        return seekwell_testing::skip(
            "more_extents_than_one_question_holds",
            "no FIEMAP on the temporary folder",
        );
    };
    assert_eq!(list.len(), BATCH * 2 + 5);
    assert!(list.iter().enumerate().all(|(index, extent)| extent.logical == index as u64 * 8192));
}
