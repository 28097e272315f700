use super::*;

fn place(at: usize) -> String {
    format!("byte {at}")
}

#[test]
fn equal_data_is_right_and_has_no_warning() {
    let mut checked = Checked::default();
    checked.compare(&[7; 10_000], &[7; 10_000], place);
    let outcome = checked.outcome("stream-verify");
    assert_eq!(outcome.metrics["checked_bytes"], 10_000.0);
    assert_eq!(outcome.metrics["wrong_bytes"], 0.0);
    assert_eq!((outcome.app_bytes_read, outcome.warnings.len()), (10_000, 0));
}

/// One byte, a short read and an unreadable part.
#[test]
fn each_piece_with_a_wrong_byte_counts_in_full() {
    let mut checked = Checked::default();
    let mut found = vec![7; 10_000];
    found[9_000] = 8;
    checked.compare(&[7; 10_000], &found, place);
    assert_eq!((checked.bytes, checked.wrong), (10_000, 10_000 - 8192));
    checked.compare(&[7; 8192], &[7; 5000], place);
    assert_eq!((checked.bytes, checked.wrong), (18_192, 10_000 - 8192 + 4096));
    checked.compare(&[7; 100], &[], place);
    checked.lose(5, || "gone".to_owned());
    let outcome = checked.outcome("unpack-verify");
    let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
    assert!(warning.is(WarningCode::WrongData) && warning.keeps_from_ranking());
    assert_eq!(
        warning.text,
        "unpack-verify: 6009 of 18297 bytes checked are not those that were written; first byte 8192"
    );
}
