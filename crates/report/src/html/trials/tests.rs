use super::*;
use crate::fixture;
use seekwell_model::record::{Sample, StepRecord};

fn record(status: Status, values: &[(&str, &str, f64)]) -> Record {
    let mut steps: Vec<StepRecord> = Vec::new();
    for (step, name, value) in values {
        let known = steps.iter().position(|one| one.name == *step);
        let at = known.unwrap_or_else(|| {
            steps.push(StepRecord { name: (*step).to_owned(), ..StepRecord::default() });
            steps.len() - 1
        });
        steps[at].metrics.insert((*name).to_owned(), *value);
    }
    Record { status, steps, ..Record::blank() }
}

fn trial(index: u32, candidate: u32) -> PlannedTrial {
    PlannedTrial { index, round: 0, candidate, seed: 1 }
}

#[test]
fn the_last_record_of_a_trial_counts_when_it_ended_well() {
    let mut trials = PageTrials::for_page(false);
    let ok = |values| record(Status::Ok, values);
    trials.see(&trial(0, 1), &ok(&[("seek", "iops", 900.0)]));
    trials.see(&trial(0, 1), &ok(&[("seek", "iops", 1.0), ("mail", "rate", 7.0)]));
    trials.see(&trial(1, 1), &ok(&[("seek", "iops", 3.0)]));
    trials.see(&trial(2, 0), &record(Status::Marked, &[("seek", "iops", 50.0)]));
    // A candidate that the plan does not have.
    trials.see(&trial(3, 9), &ok(&[("seek", "odd", 5.0)]));
    let (paths, medians) = trials.medians(2);
    assert_eq!(paths, [("mail", "rate"), ("seek", "iops")]);
    assert_eq!(medians, [vec![None, None], vec![Some(7.0), Some(2.0)]]);
}

#[test]
fn a_page_without_records_details_is_the_one_of_whole_records() {
    let mut whole = fixture::winner();
    for (_, record) in &mut whole.records {
        let sample = |at_ns| Sample { at_ns, read_kib_per_s: 8.0, ..Sample::default() };
        record.timeline = [1, 2, 3].map(sample).to_vec();
    }
    let mut light = whole.clone();
    for (_, record) in &mut light.records {
        let metric = whole.verdict.metric.as_str();
        record.keep_metrics(&[metric.into()], "none");
        record.timeline = Vec::new();
    }
    for program in
        [None, Some(&crate::program::Program { text: "", hash: "", style: "", style_hash: "" })]
    {
        let trials = PageTrials::for_page(program.is_none()).with(&whole);
        let page =
            |view| crate::html::page(view, &trials, "r", crate::Inside::Nothing, program).text(&[]);
        let summary = |page: &str| {
            let begin = page.find("id=\"summary\">").expect("a summary");
            page[begin..].to_owned()
        };
        assert_eq!(summary(&page(&light)), summary(&page(&whole)));
        let drawings = |page: &str| page.matches("class=\"spark\"").count();
        let expected = if program.is_none() { whole.records.len() } else { 0 };
        assert_eq!(drawings(&page(&light)), expected);
    }
}
