use super::*;

#[test]
fn a_change_is_read_and_printed() {
    let change: Change = " flash.erase_us = 1_500 ".parse().unwrap();
    assert_eq!(change, Change { key: "flash.erase_us".to_owned(), value: 1500.0 });
    assert_eq!(change.to_string(), "flash.erase_us=1500");
    assert_eq!(change.to_string().parse(), Ok(change));
}

#[test]
fn text_without_a_number_is_refused() {
    for text in ["flash.erase_us", "flash.erase_us=", "flash.erase_us=many"] {
        let error = text.parse::<Change>().unwrap_err();
        assert_eq!(error, DeviceError::NotAChange(text.to_owned()));
    }
}
