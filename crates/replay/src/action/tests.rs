use super::*;

#[test]
fn every_call_of_the_catalogue_has_an_action() {
    let calls = Action::of_calls();
    let without: Vec<_> = CALLS
        .iter()
        .zip(&calls)
        .filter(|(_, action)| **action == Action::Order)
        .map(|(call, _)| call.name)
        .collect();
    assert_eq!(without, [""; 0]);
    let first = CALLS.iter().position(|call| call.name == "pwritev2").unwrap();
    assert_eq!(calls[first], Action::WriteAt);
}

#[test]
fn numbers_are_positions() {
    for action in Action::ALL {
        assert_eq!(Action::numbered(*action as u8), Some(*action));
    }
    assert_eq!(Action::numbered(200), None);
}
