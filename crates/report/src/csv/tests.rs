use super::*;
use crate::fixture;

#[test]
fn one_row_per_trial_step_and_metric() {
    let text = csv(&fixture::winner());
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some("trial,round,stack,workload,status,step,metric,unit,value,stage,reason")
    );
    assert_eq!(lines.next(), Some("0,0,ext4/none,mail,ok,mkfs,elapsed_durable,s,0.05,,"));
    assert_eq!(lines.next(), Some("0,0,ext4/none,mail,ok,unpack,elapsed_durable,s,0.731,,"));
    assert_eq!(text.matches("\r\n").count(), 1 + 24 * 5);
    assert!(text.ends_with("\r\n"));
}

#[test]
fn a_failed_trial_has_one_row_with_its_reason() {
    let mut view = fixture::winner();
    view.plan.stacks[0].label = "a,\"b\"".to_owned();
    view.records[0].1.steps.clear();
    view.records[0].1.status =
        Status::Failed { stage: "mkfs".to_owned(), reason: "no space\nleft".to_owned() };
    let text = csv(&view);
    let first = text.split("\r\n").nth(1);
    assert_eq!(first, Some("0,0,\"a,\"\"b\"\"\",mail,failed,,,,,mkfs,\"no space\nleft\""));
}

#[test]
fn values_keep_all_their_digits() {
    let mut view = fixture::winner();
    view.records[0].1.steps[0].metrics.insert("iops".to_owned(), 0.1 + 0.2);
    assert!(csv(&view).contains(",iops,/s,0.30000000000000004,"));
}
