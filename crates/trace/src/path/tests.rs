use super::*;

#[test]
fn a_path_loses_dots_and_doubled_slashes() {
    assert_eq!(plain("/srv//mail/./new/../cur/1".to_owned()), "/srv/mail/cur/1");
    assert_eq!(plain("/..".to_owned()), "/");
}
