use super::*;
use crate::fixture;
use seekwell_model::record::{DeviceInForce, Sample};

fn named(record: &Record, step: &StepRecord) -> Vec<(&'static str, f64)> {
    Quantities::of(record, step)
        .iter()
        .map(|(number, amount)| (QUANTITIES[number].0, amount))
        .collect()
}

#[test]
fn requests_in_flight_come_from_samples_wholly_inside_the_step() {
    let sample = |ms: u64, queue_size: f64| Sample {
        at_ns: ms * 1_000_000,
        queue_size,
        ..Sample::default()
    };
    let step =
        StepRecord { started_ns: 100_000_000, ended_ns: 500_000_000, ..StepRecord::default() };
    let mut record = fixture::record(1.0);
    // The sample at 150 ms began before the step, that at 550 ms ended after it.
    record.timeline = [(50, 90.0), (150, 90.0), (250, 1.0), (350, 2.0), (450, 3.0), (550, 90.0)]
        .map(|(ms, queue)| sample(ms, queue))
        .to_vec();
    assert_eq!(in_flight(&record, &step), Some(2.0));
    // Two are too few to speak of.
    record.timeline.remove(3);
    assert_eq!(in_flight(&record, &step), None);
}

#[test]
fn quantities_without_a_count_are_missing() {
    let step = |device| StepRecord { device: Some(device), ..StepRecord::default() };
    let of = |device| named(&fixture::record(1.0), &step(device));
    let idle = of(DeviceTotals::default());
    assert_eq!(idle, [("MB written", 0.0), ("MB read", 0.0)]);
    let busy = of(DeviceTotals {
        reads: 2,
        read_bytes: 8_192,
        writes: 3,
        writes_merged: 1,
        written_bytes: 12_288,
        flushes: Some(7),
        ..DeviceTotals::default()
    });
    assert_eq!(
        busy,
        [
            ("flushes", 7.0),
            ("KiB per write", 4.0),
            ("KiB per read", 4.0),
            ("% of writes merged", 25.0),
            ("MB written", 0.012_288),
            ("MB read", 0.008_192),
        ]
    );
}

/// The counters of an array are of requests to it: it has no flushes, and no write of parity.
#[test]
fn quantities_of_a_layered_stack_are_of_its_disks() {
    let disk = DeviceTotals {
        writes: 4,
        written_bytes: 16_384,
        flushes: Some(3),
        ..DeviceTotals::default()
    };
    let array = DeviceTotals { writes: 1, written_bytes: 4_096, ..DeviceTotals::default() };
    let step = |members: &[DeviceTotals]| StepRecord {
        device: Some(array),
        members: members.to_vec(),
        ..StepRecord::default()
    };
    let mut record = fixture::record(1.0);
    record.in_force.members = vec![DeviceInForce::default(); 2];
    let both = named(&record, &step(&[disk, disk]));
    assert!(both.contains(&("flushes", 6.0)), "{both:?}");
    assert!(both.contains(&("KiB per write", 4.0)), "{both:?}");
    assert!(both.contains(&("MB written", 0.032_768)), "{both:?}");
    // Of one disk the kernel says no flushes: then those of the array are not known.
    let silent = DeviceTotals { flushes: None, ..disk };
    let known = named(&record, &step(&[disk, silent]));
    assert!(!known.iter().any(|(name, _)| *name == "flushes"), "{known:?}");
    // A disk that was not counted leaves the sum unknown.
    assert_eq!(named(&record, &step(&[disk])), []);
}

#[test]
fn next_to_nothing_is_measured_in_the_unit_of_the_quantity() {
    let floors = [
        ("flushes", 2.0),
        ("% of writes merged", 5.0),
        ("requests in flight", 0.2),
        ("s of CPU", 0.005),
        ("s of the arm's movement", 0.05),
        ("s of waiting for the sector", 0.05),
        ("bytes written per byte", 0.1),
        ("MB written", 1.0),
    ];
    for (what, expected) in floors {
        assert!(QUANTITIES.contains(&(what, expected)), "{what}");
    }
}
