use super::*;
use crate::metrics::METRICS as KNOWN;

#[test]
fn counts_survive_their_step() {
    let mut counts = CutCounts::default();
    let all = [AfterCut::Whole, AfterCut::Damaged, AfterCut::LostSynced, AfterCut::Unmountable];
    for (times, after) in (1..).zip(all) {
        for _ in 0..times {
            counts.add(after);
        }
    }
    let expected = CutCounts { cuts: 10, survived: 1, damaged: 2, lost_synced: 3, unmountable: 4 };
    assert_eq!(counts, expected);
    assert_eq!(counts.losses(), 7);
    assert_eq!(CutCounts::of(&[counts.step(5, 9)]), Some(expected));
    assert_eq!(CutCounts::of(&[]), None);
}

#[test]
fn each_metric_of_the_step_is_defined() {
    let step = CutCounts::default().step(0, 0);
    assert_eq!(step.metrics.len(), METRICS.len());
    for name in METRICS {
        assert!(step.metrics.contains_key(*name), "{name}");
        assert!(KNOWN.iter().any(|metric| metric.name == *name), "{name}");
    }
}
