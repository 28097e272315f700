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
    let worst = |lost: u64, transactions| CutLosses {
        torn: 1,
        repaired: lost,
        lost_bytes_max: lost,
        lost_transactions_max: transactions,
        ..CutLosses::default()
    };
    let other = CutCounts { losses: Some(worst(5, None)), ..CutCounts::default() };
    counts.losses = Some(worst(3, Some(2)));
    counts.add_all(other);
    let losses = CutLosses { torn: 2, repaired: 8, ..worst(5, Some(2)) };
    let (cuts, survived, damaged, lost_synced, unmountable) = (10, 1, 2, 3, 4);
    let losses = Some(losses);
    let expected = CutCounts { cuts, survived, damaged, lost_synced, unmountable, losses };
    assert_eq!(counts, expected);
    assert_eq!(counts.lossy(), 7);
    assert_eq!(CutCounts::of(&[counts.step(5, 9)]), Some(expected));
    assert_eq!(CutCounts::of(&[]), None);
}

#[test]
fn each_metric_of_the_step_is_defined() {
    let losses = Some(CutLosses { lost_transactions_max: Some(0), ..CutLosses::default() });
    let step = CutCounts { losses, ..CutCounts::default() }.step(0, 0);
    assert_eq!(step.metrics.len(), METRICS.len());
    for name in METRICS {
        assert!(step.metrics.contains_key(*name), "{name}");
        assert!(KNOWN.iter().any(|metric| metric.name == *name), "{name}");
    }
}
