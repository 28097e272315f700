use super::*;
use seekwell_trace::calls::CallId;

#[test]
fn a_step_has_its_calls_and_the_next_one_begins_at_zero() {
    let mut counting = Counting::new();
    let call = |name, file: Option<u32>, process| Event {
        file: file.map(FileId),
        ..Event::new(0, process, process, CallId::named(name).unwrap())
    };
    for nth in 0..20 {
        counting.add(&call("pread64", Some(nth % 10), 7));
    }
    counting.add(&call("fsync", None, 8));
    counting.add(&call("read", Some(3), 8));
    let path = |file: FileId| (file.0 == 3).then_some("/srv/db");
    let live = counting.take(path, |process| (process == 7).then_some("db"));
    assert_eq!(live.calls, [("read", 21), ("sync", 1)]);
    assert_eq!(live.processes, [("7 db".to_owned(), 20), ("8".to_owned(), 2)]);
    assert_eq!((live.files.len(), &live.files[0]), (8, &("/srv/db".to_owned(), 3)));
    assert_eq!(live.files[7], ("?".to_owned(), 2));
    assert_eq!(counting.take(|_| None, |_| None).calls, []);
}
