use super::*;

#[test]
fn a_step_has_its_calls_and_the_next_one_begins_at_zero() {
    let resolver = Resolver::new(0, 1, Vec::new());
    let mut counting = Counting::new();
    let call = |name| CallId::named(name).unwrap();
    for nth in 0..20 {
        counting.call(call("pread64"), Some(FileId(nth % 10)), 7);
    }
    counting.call(call("fsync"), None, 8);
    counting.call(call("read"), Some(FileId(3)), 8);
    let live = counting.take(&resolver);
    assert_eq!(live.calls, [("read", 21), ("sync", 1)]);
    assert_eq!(live.processes, [("7".to_owned(), 20), ("8".to_owned(), 2)]);
    // The number of its name is not known to this resolver.
    assert_eq!((live.files.len(), &live.files[0]), (8, &("?".to_owned(), 3)));
    assert_eq!(live.files[7].1, 2);
    assert_eq!(counting.take(&resolver).calls, []);
}
