use super::*;

fn event() -> Event {
    Event {
        disk: 1,
        operation: Operation::Write,
        lba: Lba(8),
        sectors: 16,
        submit_ns: 1000,
        complete_ns: 2000,
        status: 0,
        data: 77,
        origin: 0,
    }
}

fn hash(events: &[Event]) -> u64 {
    let mut fingerprint = Fingerprint::default();
    events.iter().for_each(|event| fingerprint.add(event));
    fingerprint.hash
}

#[test]
fn every_part_of_an_event_counts() {
    let base = event();
    let others = [
        Event { disk: 2, ..base },
        Event { operation: Operation::Read, ..base },
        Event { operation: Operation::Discard, ..base },
        Event { operation: Operation::WriteZeroes, ..base },
        Event { lba: Lba(9), ..base },
        Event { sectors: 17, ..base },
        Event { submit_ns: 1001, ..base },
        Event { complete_ns: 2001, ..base },
        Event { status: 1, ..base },
        Event { data: 78, ..base },
    ];
    let mut hashes: Vec<u64> = others.iter().map(|other| hash(&[*other])).collect();
    hashes.push(hash(&[base]));
    hashes.push(hash(&[]));
    hashes.push(hash(&[base, base]));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), others.len() + 3);
}

#[test]
fn the_order_counts() {
    let (one, two) = (event(), Event { lba: Lba(9), ..event() });
    assert_ne!(hash(&[one, two]), hash(&[two, one]));
}

#[test]
fn the_hash_of_a_known_event_never_changes() {
    assert_eq!(hash(&[event()]), 0xa9f6_dd16_7a40_4011, "results of earlier runs would be void");
}

#[test]
fn checkpoints_bound_where_two_runs_part() {
    let mut one = Fingerprint::default();
    for position in 0..3500 {
        one.add(&Event { submit_ns: position, ..event() });
    }
    assert_eq!(one.checkpoints.len(), 3);
    assert_eq!(one.first_difference(&one.clone()), None);
    for (changed, window) in [(0, 0..1000), (999, 0..1000), (2000, 2000..3000), (3400, 3000..3500)]
    {
        let mut other = Fingerprint::default();
        for position in 0..3500 {
            let data = u64::from(position == changed);
            other.add(&Event { submit_ns: position, data: 77 + data, ..event() });
        }
        assert_eq!(one.first_difference(&other), Some(window.clone()));
        assert_eq!(other.first_difference(&one), Some(window));
    }
}

#[test]
fn a_run_that_stops_early_differs_where_it_stops() {
    let mut short = Fingerprint::default();
    (0..1000).for_each(|_| short.add(&event()));
    let mut long = short.clone();
    long.add(&event());
    assert_eq!(short.first_difference(&long), Some(1000..1001));
}
