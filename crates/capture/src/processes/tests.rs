use super::*;

#[test]
fn a_path_loses_dots_and_doubled_slashes() {
    assert_eq!(plain("/srv//mail/./new/../cur/1".to_owned()), "/srv/mail/cur/1");
    assert_eq!(plain("/..".to_owned()), "/");
}

#[test]
fn this_process_is_seen_with_its_directory_and_threads() {
    let own = std::process::id();
    let here = std::env::current_dir().unwrap();
    assert_eq!(seen(own).directory, Some(here.to_string_lossy().into_owned()));
    assert!(family(own).contains(&(own, own)));
    assert!(seen(own).descriptors.iter().any(|open| open.fd == 0));
}
