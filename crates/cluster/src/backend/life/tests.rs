use super::*;
use crate::fixture::spool;

/// Waits until this holds, for a minute at most.
fn until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_session_beats_while_its_main_thread_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let life = Life::begin(&spool).unwrap();
    assert_eq!(spool.heard_session().unwrap(), Some((1, 0)));
    life.with(7).unwrap();
    life.thread.as_ref().unwrap().thread().unpark();
    until(|| spool.heard_session().unwrap() == Some((2, 7)));
    drop(life);
    let last = spool.heard_session().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(spool.heard_session().unwrap(), last, "dropping it ends it");
}

#[test]
fn a_folder_that_cannot_be_written_for_a_while_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.remove().unwrap();
    assert!(Life::begin(&spool).is_err());
    let failing = |most_failing, fails: &mut dyn FnMut(&Life)| {
        let shared = Arc::new(Shared::default());
        let (beating, spool) = (shared.clone(), spool.clone());
        let beat = move || beating.beat(&spool, Duration::from_millis(1), most_failing);
        fails(&Life { shared, thread: Some(std::thread::spawn(beat)) });
    };
    failing(Duration::from_secs(100), &mut |life| {
        std::thread::sleep(Duration::from_millis(50));
        life.with(0).unwrap();
    });
    failing(Duration::ZERO, &mut |life| until(|| life.with(0).is_err()));
}
