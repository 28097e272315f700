use super::*;
use std::collections::HashSet;

#[test]
fn names_and_numbers_are_unique() {
    let names: HashSet<_> = CALLS.iter().map(|call| call.name).collect();
    let numbers: HashSet<_> = CALLS.iter().map(|call| call.number).collect();
    assert_eq!((names.len(), numbers.len()), (CALLS.len(), CALLS.len()));
}

#[test]
fn a_call_is_found_by_its_name() {
    let id = CallId::named("pwrite64").unwrap();
    assert_eq!((id.call().number, id.call().class), (18, Class::Write));
    assert_eq!(CallId::named("getpid"), None);
}
