use super::*;

fn extent(logical: u64, physical: u64, length: u64) -> Extent {
    Extent { logical, physical, length }
}

#[test]
fn extents_that_continue_each_other_are_one() {
    let parts = [extent(0, 100, 10), extent(10, 110, 10), extent(20, 200, 5), extent(30, 205, 5)];
    assert_eq!(merged(&parts), [extent(0, 100, 20), extent(20, 200, 5), extent(30, 205, 5)]);
    assert_eq!(merged(&[]), []);
}

#[test]
fn the_request_is_as_long_as_the_kernels() {
    // struct fiemap has 32 bytes and struct fiemap_extent 56 (linux/fiemap.h).
    assert_eq!(size_of::<RawExtent>(), 56);
    assert_eq!(size_of::<Request>(), 32 + 56 * BATCH);
}
