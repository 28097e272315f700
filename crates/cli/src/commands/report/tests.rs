use super::*;
use seekwell_model::record::{BlockEvents, StepRecord};

fn with_pressure(percents: &[Option<f64>]) -> Record {
    let sample = |cpu_pressure_percent| Sample { cpu_pressure_percent, ..Sample::default() };
    let timeline: Vec<Sample> = percents.iter().copied().map(sample).collect();
    let histograms = BTreeMap::from([("read".to_owned(), vec![1, 2])]);
    Record {
        steps: vec![StepRecord { histograms, ..StepRecord::default() }],
        journal_timeline: timeline.clone(),
        timeline,
        block_events: Some(BlockEvents::default()),
        ..Record::blank()
    }
}

#[test]
fn a_text_needs_the_mean_pressure_of_a_modelled_trial_alone() {
    let mut record = with_pressure(&[Some(10.0), None, Some(50.0)]);
    lighten(&mut record, true);
    let step = StepRecord::default();
    let mean = Sample { cpu_pressure_percent: Some(30.0), ..Sample::default() };
    assert_eq!(record, Record { steps: vec![step], timeline: vec![mean], ..Record::blank() });
    let mut without = with_pressure(&[None, None]);
    lighten(&mut without, true);
    assert_eq!(without.timeline, []);
}

#[test]
fn the_timeline_of_other_trials_stays() {
    let whole = with_pressure(&[Some(10.0), None, Some(50.0)]);
    let mut record = whole.clone();
    lighten(&mut record, false);
    assert_eq!(record.timeline, whole.timeline);
    assert_eq!(record.journal_timeline, []);
}
