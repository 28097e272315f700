use super::*;

#[test]
fn a_step_hardly_slower_than_its_source_is_marked() {
    assert!(source_bound("unpack", 80, 100).is_some());
    assert!(source_bound("unpack", 79, 100).is_none());
}
