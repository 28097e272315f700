use super::*;
use crate::fixture;
use seekwell_model::stack::Journal;
use seekwell_model::units::Bytes;

const IMAGE: &str = "scratch is an image on a disk of this machine: the disk's cache, age and other users affect the numbers";

#[test]
fn equal_settings_raise_nothing_but_the_image() {
    assert_eq!(uncontrolled(&fixture::winner()), [IMAGE]);
}

#[test]
fn swap_pinning_memory_disks_and_the_environment_are_told() {
    let mut view = fixture::winner();
    view.records[0].1.in_force.swap = Some(Bytes::gib(1));
    view.records[1].1.in_force.cpus.clear();
    for stack in &mut view.plan.stacks {
        let ram = Backing::Ram { size: Bytes::gib(1), sector: Bytes(512) };
        stack.device.backing = ram.clone();
        stack.journal =
            Journal { name: "on-ram".to_owned(), external: Some(ram), ..Journal::internal() };
    }
    view.environment["uncontrolled"] = serde_json::json!(["the CPU frequency was not fixed", 7]);
    assert_eq!(
        uncontrolled(&view),
        [
            "on-ram, scratch is memory, not a disk: its numbers are an upper bound",
            "swap was on: memory pressure may have written to another device",
            "the workload was not pinned to CPUs in every trial",
            "the CPU frequency was not fixed",
        ]
    );
}

#[test]
fn many_stacks_are_shortened() {
    let labels: Vec<String> = (0..9).map(|index| format!("s{index}")).collect();
    let set: BTreeSet<&str> = labels.iter().map(String::as_str).collect();
    assert_eq!(few(&set), "s0, s1, s2, 6 more");
}
