use super::*;

#[test]
fn a_trace_needs_a_share_of_a_small_filesystem_and_a_gib_of_a_large_one() {
    const GIB: u128 = 1 << 30;
    assert!(!is_little(11 * GIB, 252 * GIB));
    assert!(!is_little(GIB, 252 * GIB));
    assert!(is_little(GIB - 1, 252 * GIB));
    assert!(!is_little(GIB / 20 + 1, GIB));
    assert!(is_little(GIB / 20 - 1, GIB));
    assert!(is_little(0, GIB));
}
