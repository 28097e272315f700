use super::*;
use std::error::Error;

#[test]
fn the_reason_says_every_cause_once_and_the_type_is_kept() {
    let source = io::Error::new(io::ErrorKind::PermissionDenied, "not allowed");
    let host = seekwell_host::Error::Io { action: "open", path: "/dev/loop0".into(), source };
    let error = TrialError { stage: "setup".to_owned(), fault: Box::new(host.into()) };
    assert_eq!(error.reason(), "cannot open /dev/loop0: not allowed");
    assert_eq!(error.to_string(), "setup: cannot open /dev/loop0: not allowed");
    let fault = error.source().and_then(|source| source.downcast_ref::<Box<Fault>>()).unwrap();
    let Fault::Host(seekwell_host::Error::Io { source, .. }) = &**fault else {
        panic!("{fault:?}")
    };
    assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn a_cause_below_is_added_to_the_reason() {
    let source = io::Error::other("the disk is gone");
    let fault = Fault::Io { action: "flush /dev/loop1".to_owned(), source };
    let error = TrialError { stage: "umount".to_owned(), fault: Box::new(fault) };
    assert_eq!(error.reason(), "cannot flush /dev/loop1: the disk is gone");
}
