use super::*;

/// Durations of so many threads, each call of a duration of its own.
fn recorded(threads: u64, calls: u64) -> Replayed {
    let durations = Durations::default();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let durations = &durations;
            scope.spawn(move || {
                let mut kept = Kept::new(durations);
                for nth in 0..calls {
                    kept.call((nth % 4) as usize, thread * calls + nth);
                    kept.late(nth);
                }
            });
        }
    });
    let mut all = Replayed::default();
    durations.add_to(&mut all);
    all
}

#[test]
fn no_duration_is_lost_between_threads() {
    let (threads, calls) = (16, 10_000);
    let all = recorded(threads, calls);
    let names: Vec<&str> = all.latencies.keys().copied().collect();
    assert_eq!(names, ["fsync", "other", "read", "write"]);
    let mut expected: [Histogram; 5] = std::array::from_fn(|_| Histogram::new());
    for value in 0..threads * calls {
        expected[(value % calls % 4) as usize].record(value);
        expected[4].record(value % calls);
    }
    for (class, expected) in CLASSES.into_iter().zip(&expected) {
        assert_eq!(&all.latencies[class], expected, "{class}");
    }
    assert_eq!(all.lateness, expected[4]);
}

#[test]
fn a_class_without_calls_has_no_histogram() {
    let all = recorded(1, 1);
    assert_eq!(all.latencies.keys().copied().collect::<Vec<_>>(), ["read"]);
    assert_eq!(recorded(3, 0).latencies.len(), 0);
}

#[test]
fn a_thread_does_not_wait_for_the_histograms_until_it_keeps_too_many() {
    let durations = Durations::default();
    let held = durations.lock();
    let mut kept = Kept::new(&durations);
    for nth in 1..MOST_KEPT {
        kept.late(nth as u64);
        assert_eq!(kept.last.len(), nth);
    }
    drop(held);
    kept.late(1);
    assert!(kept.last.is_empty());
    drop(kept);
    assert_eq!(durations.lock()[LATENESS].count(), MOST_KEPT as u64);
}

#[test]
fn a_duration_beyond_all_reason_stays_in_its_histogram() {
    let durations = Durations::default();
    Kept::new(&durations).call(1, u64::MAX);
    let mut all = Replayed::default();
    durations.add_to(&mut all);
    assert_eq!(all.latencies["write"].count(), 1);
    assert!(all.latencies["write"].max_ns() > Some(3_600_000_000_000));
}
