use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

#[test]
fn a_command_that_failed_fails_its_capture_and_one_that_was_interrupted_does_not() {
    let ended = |ended, status: Option<i32>| {
        exit(&Captured {
            events: 1,
            lost: Vec::new(),
            duration: Duration::from_secs(1),
            recorder_cpu: Duration::ZERO,
            ended,
            status: status.map(ExitStatus::from_raw),
        })
    };
    assert_eq!(ended(Ended::Target, Some(0)), Exit::Done);
    assert_eq!(ended(Ended::Target, Some(2 << 8)), Exit::CommandFailed);
    // A signal, from the same Ctrl-C.
    assert_eq!(ended(Ended::Stopped, Some(libc::SIGINT)), Exit::Done);
    assert_eq!(ended(Ended::Time, None), Exit::Done);
}
