use super::*;
use seekwell_model::field::{Value, Values};
use seekwell_model::stack::{
    Backing, Device, DeviceSettings, Filesystem, Journal, Memory, Scheduler,
};
use seekwell_model::workloads::{WorkloadParams, workload_kind};

fn stack(filesystem: &str) -> Stack {
    let backing = Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) };
    Stack {
        label: "default".into(),
        device: Device {
            name: "d".into(),
            backing,
            base: "d".into(),
            settings: DeviceSettings::default(),
            price: None,
        },
        layers: Default::default(),
        journal: Journal::internal(),
        filesystem: Filesystem {
            name: filesystem.into(),
            kind: filesystem.into(),
            mkfs: vec![],
            mount: vec![],
            discard: false,
            overlay: None,
            nfs: None,
            export: None,
        },
        scheduler: Scheduler::plain("none"),
        memory: Memory::quarter(),
    }
}

fn workload(kind: &str, values: &[(&'static str, Value)]) -> Workload {
    let mut checked = Values::default();
    for (name, value) in values {
        checked.set(name, value.clone());
    }
    let params: WorkloadParams = workload_kind(kind).unwrap().params(&checked).unwrap();
    Workload { name: kind.into(), parts: vec![params], beside: vec![] }
}

#[test]
fn a_trial_with_more_to_do_is_predicted_to_take_longer_and_write_more() {
    let facts = BackendFacts::default();
    let few = cost(&stack("ext4"), &workload("mail", &[("files", Value::Integer(100))]), &facts);
    let many =
        cost(&stack("ext4"), &workload("mail", &[("files", Value::Integer(10_000))]), &facts);
    assert!(many.time_ns > few.time_ns);
    assert!(many.written > few.written);
}

#[test]
fn a_time_bound_step_costs_its_time() {
    let facts = BackendFacts::default();
    let time = |seconds| {
        let time = Value::Duration(seekwell_model::units::Nanos::seconds(seconds));
        cost(&stack("raw"), &workload("seek", &[("time", time)]), &facts).time_ns
    };
    assert_eq!(time(30) - time(10), 20_000_000_000);
}

#[test]
fn a_modelled_device_is_predicted_in_the_time_of_this_machine() {
    let facts = BackendFacts::default();
    let mut modelled = stack("raw");
    modelled.device.backing =
        Backing::Model { model: "sata-2tb-5400".into(), size: Some(Bytes::mib(64)), start: None };
    let cost = |stack: &Stack, field, value| {
        super::cost(stack, &workload("seek", &[(field, value)]), &facts).time_ns
    };
    let time = |stack: &Stack, seconds| {
        let time = Value::Duration(seekwell_model::units::Nanos::seconds(seconds));
        cost(stack, "time", time)
    };
    assert_eq!(time(&modelled, 30) - time(&modelled, 10), 1_000_000_000);
    let count = |stack: &Stack| cost(stack, "count", Value::Integer(100_000));
    assert!(count(&modelled) < count(&stack("raw")));
}

#[test]
fn characters_and_blocks_do_not_cost_what_a_file_costs() {
    let facts = BackendFacts::default();
    let size = |field| (field, Value::Size(Bytes::mib(64)));
    let none = ("files", Value::Integer(1));
    let values = [size("size"), size("char_size"), none];
    let cost = cost(&stack("ext4"), &workload("bonnie", &values), &facts);
    // Two passes of 64 Mi characters at 15 ns, three of 64 MiB in blocks, 8,192 seeks of 120 µs:
    // about 4 s. At 60 µs for every character it was 2 h.
    assert!((3_000_000_000..8_000_000_000).contains(&cost.time_ns), "{}", cost.time_ns);
}

#[test]
fn a_synced_write_costs_more_than_a_write_into_memory() {
    let facts = BackendFacts::default();
    let time = |more: &[(&'static str, Value)]| {
        let mut values = vec![
            ("write", Value::Bool(true)),
            ("count", Value::Integer(1_000)),
            ("size", Value::Size(Bytes::kib(4))),
            ("file_size", Value::Size(Bytes::mib(64))),
            ("cache", Value::Text("warm".into())),
        ];
        values.extend_from_slice(more);
        cost(&stack("ext4"), &workload("stream", &values), &facts).time_ns
    };
    let synced = time(&[("sync", Value::Text("fsync".into()))]);
    assert!(synced - time(&[]) > 2_000_000_000, "{synced}");
}

#[test]
fn bytes_of_a_command_are_unknown_not_zero() {
    let command = workload("command", &[("run", Value::Text("true".into()))]);
    assert_eq!(cost(&stack("ext4"), &command, &BackendFacts::default()).written, None);
}
