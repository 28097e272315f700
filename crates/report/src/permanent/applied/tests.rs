use super::*;
use crate::fixture;
use seekwell_model::stack::Stack;

/// The winner `xfs/none` on a disk, changed by the test.
fn text(change: impl FnOnce(&mut Stack), form: Applied) -> String {
    let mut view = fixture::winner();
    let stack = &mut view.plan.stacks[1];
    let path = "/dev/disk/by-id/ata-X_1".into();
    stack.device.backing = seekwell_model::backing::Backing::Disk { path };
    stack.memory.vm.insert("dirty_ratio".to_owned(), "40".to_owned());
    change(stack);
    applied(&view, form).unwrap()
}

#[test]
fn lines_are_a_text_whose_other_lines_are_comments() {
    insta::assert_snapshot!(text(|_| {}, Applied::Lines));
}

#[test]
fn a_mount_unit_takes_the_place_of_the_line_for_fstab() {
    let text = text(|_| {}, Applied::Systemd);
    insta::assert_snapshot!(text);
    assert!(!text.contains("fstab"), "{text}");
}

#[test]
fn each_task_of_ansible_is_one_item_and_what_destroys_needs_its_tag() {
    let text = text(
        |stack| stack.filesystem.mkfs = vec!["-m".into(), "crc=1 \"#".into()],
        Applied::Ansible,
    );
    insta::assert_snapshot!(text);
    let tasks: Vec<serde_json::Value> = text
        .lines()
        .filter_map(|line| Some(serde_json::from_str(line.strip_prefix("- ")?).unwrap()))
        .collect();
    let is_mkfs = |task: &&serde_json::Value| task["name"].as_str().unwrap().contains("mkfs");
    let tags: Vec<_> = tasks.iter().filter(is_mkfs).map(|task| &task["tags"]).collect();
    assert_eq!(tags, [&serde_json::json!(["never", "once"])]);
    assert_eq!(tasks.len(), 7, "{text}");
}

#[test]
fn names_of_units_are_those_of_systemd_escape() {
    let name = |place: &str| {
        let line = format!("/dev/x {place} ext4 defaults 0 2");
        Mount::of(&line).unwrap().unit_name()
    };
    assert_eq!(name("/MOUNT-POINT"), "MOUNT\\x2dPOINT.mount");
    assert_eq!(name("/srv/a_b.c:d"), "srv-a_b.c:d.mount");
    assert_eq!(name("/srv/\\040\u{e4}"), "srv-\\x20\\xc3\\xa4.mount");
}

#[test]
fn a_run_without_a_pick_has_nothing_to_put_in_force() {
    let mut view = fixture::winner();
    let without = seekwell_model::answer::Answer { pick: None, ..answer(&view).into_owned() };
    view.verdict.answer = Some(without);
    assert_eq!(applied(&view, Applied::Lines), None);
}
