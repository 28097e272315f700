use super::*;

/// A guardian that never answers, in a state of its own.
fn link(script: &str) -> GuardianLink {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(LOOK)).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = command.process_group(0).spawn().unwrap();
    GuardianLink { child, socket: BufReader::new(ours) }
}

#[test]
fn a_stopped_guardian_is_not_waited_for_and_is_named() {
    let mut stopped = link("kill -STOP $$; read word");
    let pid = stopped.pid();
    while !is_stopped(pid) {
        sleep(BYE_POLL);
    }
    let error = stopped.done().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the guardian (process {pid}) was stopped, as by SIGSTOP")
    );
    let error = stopped.bye().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "it was ended and reaped");
}

#[test]
fn an_answer_that_comes_in_pieces_is_one_answer() {
    let mut slow = link("read word; printf 'cl' >&0; sleep 0.6; echo ear >&0; read word");
    assert_eq!(slow.done().unwrap(), "clear");
    slow.bye().unwrap();
}
