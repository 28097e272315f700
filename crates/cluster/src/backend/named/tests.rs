use super::*;

#[test]
fn a_worker_tells_its_task_its_restarts_its_node_and_its_job() {
    let named = |number, restarts, node, job| Some(Named { number, restarts, node, job });
    assert_eq!(Named::parse("7--node-1-4242-99"), named(7, 0, "node-1", "99"));
    assert_eq!(Named::parse("7-2-n1.site-4242-99"), named(7, 2, "n1.site", "99"));
    for other in ["node1-4242", "7", "", "a-0-node1-1-2", "7-2-4242-99"] {
        assert_eq!(Named::parse(other), None, "{other}");
    }
    let [first, second] = [Named::parse("7--a-1-9"), Named::parse("7-1-b-2-9")].map(Option::unwrap);
    assert!(first.is_before(second) && !second.is_before(first) && !first.is_before(first));
    assert!(!first.is_before(Named::parse("7-1-b-2-8").unwrap()), "of another job");
}

#[test]
fn workers_of_one_number_in_two_jobs_are_of_two_tasks() {
    assert!(are_of_one_task("7--a-1-9", "7-1-b-2-9"));
    assert!(!are_of_one_task("7--a-1-9", "7-1-b-2-8"));
    assert!(!are_of_one_task("7--a-1-9", "6-1-b-2-9"));
    assert!(are_of_one_task("7-a", "7-b") && !are_of_one_task("node1-7", "node1-7"));
}

#[test]
fn the_node_of_a_worker_is_in_its_name() {
    assert_eq!(node("7--node-1-4242-99"), "node-1");
    assert_eq!([node("node-1-4242"), node("pod-a"), node("a")], ["node-1", "pod-a", "a"]);
}
