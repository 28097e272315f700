use super::*;

#[test]
fn free_extents_that_touch_are_one_and_fall_into_classes() {
    let found = classified(vec![
        (1 << 20, 4096),
        (8192, 4096),
        (4096, 4096),
        (100 << 20, 63 << 10),
        (200 << 20, 64 << 10),
        (300 << 20, 20 << 20),
    ]);
    let expected = FreeSpace {
        extents: 5,
        largest: 20 << 20,
        bytes: [4096 + 8192 + (63 << 10), 64 << 10, 0, 20 << 20],
    };
    assert_eq!(found, expected);
}
