use super::*;

#[test]
fn it_begins_at_a_page_and_has_its_length() {
    for length in [0, 1, 4095, 4096, 8192, 1 << 20] {
        let bytes = Aligned::zeroed(length);
        assert_eq!(bytes.as_ptr() as usize % ALIGNMENT, 0, "{length}");
        assert_eq!(bytes.len() as u64, length);
        assert!(bytes.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn what_fits_nowhere_is_empty() {
    assert!(Aligned::zeroed(u64::MAX).is_empty());
}
