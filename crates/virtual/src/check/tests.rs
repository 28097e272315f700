use std::time::Duration;

use seekwell_device::{Lba, Operation};

use super::*;
use crate::End;
use crate::fingerprint::Fingerprint;
use crate::machine::{HostCost, Transport};

fn event(position: u64) -> Event {
    Event {
        disk: 0,
        operation: Operation::Read,
        lba: Lba(position),
        sectors: 8,
        submit_ns: position,
        complete_ns: position + 1,
        status: 0,
        data: 0,
        origin: 0,
    }
}

fn outcome(events: Vec<Event>, keep: bool) -> Outcome {
    let mut fingerprint = Fingerprint::default();
    events.iter().for_each(|event| fingerprint.add(event));
    let cost = HostCost {
        wall: Duration::ZERO,
        guest_cpu: Duration::ZERO,
        controller_cpu: Duration::ZERO,
        start: None,
    };
    Outcome {
        end: End::Finished { status: 0 },
        output: b"same".to_vec(),
        heard: Vec::new(),
        log: Vec::new(),
        console: String::new(),
        fingerprint,
        events: keep.then_some(events),
        virtual_ns: 0,
        disks: Vec::new(),
        cost,
        transport: Transport::Messages,
        records: None,
        origins: None,
    }
}

fn run(count: u64, changed: Option<u64>) -> Vec<Event> {
    let one = |position| match changed {
        Some(at) if at == position => Event { complete_ns: 99_999, ..event(position) },
        _ => event(position),
    };
    (0..count).map(one).collect()
}

#[test]
fn the_same_is_the_same_whatever_it_cost() {
    let one = outcome(run(2500, None), true);
    let mut other = outcome(run(2500, None), false);
    other.cost.wall = Duration::from_secs(9);
    other.console = "noise".to_owned();
    assert_eq!(difference(&one, &other), None);
}

#[test]
fn the_first_differing_event_is_named() {
    let one = outcome(run(2500, None), true);
    let other = outcome(run(2500, Some(1234)), true);
    let found = difference(&one, &other).unwrap();
    let changed = Event { complete_ns: 99_999, ..event(1234) };
    let expected =
        Difference::Event { position: 1234, first: Some(event(1234)), second: Some(changed) };
    assert_eq!(found, expected);
    let text = found.to_string();
    assert!(text.starts_with("the runs differ from event 1234 on: first disk 0 Read of 8 sectors at 1234, submitted at 1234 ns"), "{text}");
}

#[test]
fn a_run_that_went_on_parts_from_one_that_did_not() {
    let found = difference(&outcome(run(7, None), true), &outcome(run(8, None), true)).unwrap();
    let expected = Difference::Event { position: 7, first: None, second: Some(event(7)) };
    assert_eq!(found, expected);
}

#[test]
fn without_events_the_window_is_named() {
    let found = difference(&outcome(run(2500, None), false), &outcome(run(2500, Some(1234)), true));
    assert_eq!(found, Some(Difference::Window { from: 1000, to: 2000 }));
}

#[test]
fn ends_and_outputs_count_too() {
    let one = outcome(run(3, None), true);
    let mut other = outcome(run(3, None), true);
    other.output = b"sane".to_vec();
    assert_eq!(difference(&one, &other), Some(Difference::Output { position: 2 }));
    other.end = End::PoweredOff;
    assert!(matches!(difference(&one, &other), Some(Difference::End { .. })));
}
