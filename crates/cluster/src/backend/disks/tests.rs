use super::*;

#[test]
fn a_worker_tells_its_task_its_restarts_and_its_job() {
    let named = |number, restarts, job| Some(Named { number, restarts, job });
    assert_eq!(Named::parse("7--node-1-4242-99"), named(7, 0, "99"));
    assert_eq!(Named::parse("7-2-n1.site-4242-99"), named(7, 2, "99"));
    for other in ["node1-4242", "7", "", "a-0-node1-1-2", "7-2-4242-99"] {
        assert_eq!(Named::parse(other), None, "{other}");
    }
    let [first, second] = [Named::parse("7--a-1-9"), Named::parse("7-1-b-2-9")].map(Option::unwrap);
    assert!(first.is_before(second) && !second.is_before(first) && !first.is_before(first));
    assert!(!first.is_before(Named::parse("7-1-b-2-8").unwrap()), "of another job");
}
