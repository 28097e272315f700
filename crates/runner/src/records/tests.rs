use super::*;
use crate::fixture;
use seekwell_model::lab::Effort;
use seekwell_model::power_cut::AfterCut;
use seekwell_model::record::{DeviceTotals, Node, Sample};
use std::mem::size_of;

fn plan() -> Plan {
    fixture::plan(&["a", "b"], Effort::Rounds(6))
}

/// A record of which every part is filled.
fn full() -> Record {
    let mut record = fixture::record(2.0);
    let totals =
        DeviceTotals { read_bytes: 10, written_bytes: 32, busy_ms: 7, ..DeviceTotals::default() };
    record.steps[0].device = Some(totals);
    record.steps[0].metrics.insert("elapsed_durable".to_owned(), 3.0);
    record.steps[0].histograms.insert("read".to_owned(), vec![1; 100_000]);
    record.steps.push(StepRecord {
        name: "umount".to_owned(),
        device: Some(totals),
        ..StepRecord::default()
    });
    let mut cuts = CutCounts::default();
    cuts.add(AfterCut::Damaged);
    record.steps.push(cuts.step(0, 1));
    record.timeline = vec![Sample::default(); 1_000];
    (record.elapsed_ns, record.cost_ns) = (11, Some(12));
    record.in_force.mount = Some("rw,noatime".to_owned());
    record.in_force.mkfs = vec!["mkfs.ext4 -q".to_owned()];
    record.in_force.device.queue.write_cache = Some("write back".to_owned());
    record.in_force.node = Some(Node { name: "n1".to_owned(), ..Node::default() });
    record
}

#[test]
fn an_outcome_has_what_verdicts_tell_of() {
    let outcome = fixture::outcome(&plan(), &full());
    assert_eq!((outcome.end, outcome.value), (End::Ok, Some(2.0)));
    assert_eq!((outcome.elapsed_ns, outcome.cost_ns), (11, Some(12)));
    assert_eq!(outcome.moved_bytes, Some(84.0));
    assert_eq!(outcome.cuts.map(|cuts| (cuts.cuts, cuts.damaged)), Some((1, 1)));
    // The time until all is on the device is that of the step.
    assert_eq!(outcome.judged.unwrap().busy, Some((7_000_000, 3_000_000_000)));
    assert_eq!(outcome.in_force.mount.as_deref(), Some("rw,noatime"));
    assert_eq!(outcome.in_force.device.queue.write_cache.as_deref(), Some("write back"));
    assert_eq!(outcome.in_force.node.as_ref().unwrap().name, "n1");
    assert!(outcome.in_force.mkfs.is_empty());
}

#[test]
fn a_trial_that_is_not_ranked_explains_nothing() {
    for (status, end) in [
        (Status::Marked, End::Marked),
        (Status::Failed { stage: "mkfs".to_owned(), reason: "EIO".to_owned() }, End::Failed),
    ] {
        let outcome = fixture::outcome(&plan(), &Record { status, ..full() });
        assert_eq!((outcome.end, outcome.value), (end, Some(2.0)));
        assert_eq!((outcome.judged, outcome.moved_bytes), (None, Some(84.0)));
    }
    let nothing = fixture::outcome(&plan(), &Record { steps: vec![], ..fixture::record(1.0) });
    assert_eq!((nothing.value, nothing.moved_bytes), (None, None));
}

#[test]
fn an_outcome_is_small_and_shares_settings_with_others() {
    assert!(size_of::<(u32, (PlannedTrial, Outcome))>() <= 144);
    assert!(size_of::<JudgedStep>() <= 80);
    let mut extractor = Extractor::new(&plan());
    let [one, other] = [&full(), &full()].map(|record| extractor.outcome(record));
    assert!(std::ptr::eq(&*one.in_force, &*other.in_force));
}
