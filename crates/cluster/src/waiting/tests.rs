use super::*;

#[test]
fn a_job_that_waits_tells_its_reason() {
    let waits = parsed("12|PENDING|all|Resources\n").unwrap();
    assert_eq!((&*waits.job, &*waits.reason, &*waits.partition), ("12", "Resources", "all"));
    assert!(!waits.is_in_vain());
    assert!(parsed("12|PENDING|all|PartitionNodeLimit\n").unwrap().is_in_vain());
    let drained = parsed("12|PENDING|all|ReqNodeNotAvail, UnavailableNodes:node[1-2]").unwrap();
    assert_eq!(drained.reason, "ReqNodeNotAvail");
    assert!(!drained.is_in_vain(), "a node may come back");
    assert_eq!(parsed("12|RUNNING|all|None\n"), None);
    assert_eq!(parsed(""), None);
}

#[test]
fn a_partition_is_told_with_its_nodes() {
    let rows = "all*|2|1\nbig|1|64\nbig|10|128\n";
    assert_eq!(nodes_in(rows, None), "partition all has 2 nodes of 1 CPU");
    let big = "partition big has 1 node of 64 CPUs and 10 nodes of 128 CPUs";
    assert_eq!(nodes_in(rows, Some("big")), big);
    assert_eq!(nodes_in(rows, Some("bog")), "the cluster has no partition bog");
    assert_eq!(nodes_in("big|1|64\n", None), "the cluster has no default partition");
}
