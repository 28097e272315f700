//! Sentences, rows and warnings of a verdict, each at the values where it changes.

use super::*;
use seekwell_model::record::StepRecord;
use seekwell_stats::interval::Interval;

fn interval(low: f64, centre: f64, high: f64) -> Interval {
    Interval { low, centre, high }
}

fn row(stack: usize, standing: Standing, joint: Option<Interval>) -> Row {
    Row { stack, rounds: 12, failed: 0, ratio: None, joint, standing }
}

fn comparison(finding: Finding, rows: Vec<Row>) -> Comparison {
    Comparison { baseline: Some(0), rows, loss: None, rival: None, finding, dependence: None }
}

fn unresolved(candidates: &[usize]) -> Finding {
    let candidates = candidates.to_vec();
    Finding::Unresolved { candidates, reason: Unresolved::TooWide, rounds_needed: None }
}

fn plan(labels: &[&str]) -> Plan {
    fixture::plan(labels, Effort::Rounds(6))
}

#[test]
fn settings_of_the_judge_out_of_range_are_the_reason() {
    let mut plan = plan(&["a", "b"]);
    plan.lab.judge.tie = -1.0;
    let verdict = judge(&plan, &records(&plan, 6, &[1.0, 2.0], 0.01));
    assert_eq!(
        (verdict.kind, verdict.stacks.len(), verdict.rounds),
        (VerdictKind::Unresolved, 0, 6)
    );
    assert!(verdict.reason.contains("tie width -1 is out of range"), "{}", verdict.reason);
    assert_eq!(verdict.sentence, "Nothing can be compared yet.");
}

#[test]
fn each_reason_has_its_words() {
    let plan = plan(&["a", "b"]);
    let said = |reason| unresolved_reason(&plan, reason, None, 9);
    assert_eq!(
        said(Unresolved::NoData),
        "no successful trial reported step.elapsed; the warnings say what failed or was marked"
    );
    assert_eq!(
        said(Unresolved::OneStack),
        "only one stack has values: there is nothing to compare it with"
    );
    assert_eq!(
        said(Unresolved::TooFewRounds { have: 3, need: 6 }),
        "only 3 complete paired rounds, at least 6 are needed; set rounds = 6 or a larger budget"
    );
    assert_eq!(
        said(Unresolved::Failures { stack: 1, failed: 4, of: 9 }),
        "4 of 9 trials of b failed, so it may be better or worse than the others"
    );
    assert_eq!(
        said(Unresolved::Identical),
        "all values of step.elapsed are the same: its clock or counter is too coarse to tell the stacks apart; measure more work in a trial"
    );
    assert_eq!(
        said(Unresolved::TooWide),
        "the intervals are too wide after 9 complete rounds, and the number that would decide it cannot be estimated; use more rounds or a wider tie"
    );
    assert!(
        said(Unresolved::Doubtful { stack: 1, doubtful: 8, of: 9 })
            .starts_with("8 of 9 trials of b were marked as doubtful")
    );
    let needed = Needed { rounds: 30, more_ns: 0, probability: None };
    let likely = unresolved_reason(&plan, Unresolved::TooWide, Some(&needed), 9);
    assert!(likely.contains("about 30 rounds would decide it"), "{likely}");
}

#[test]
fn rounds_that_are_missing_have_their_time() {
    assert_eq!(needs(None, 8, 1_000), None);
    let needed = |rounds, more_ns| Some(Needed { rounds, more_ns, probability: None });
    assert_eq!(needs(Some(20), 8, 1_000), needed(20, 12_000));
    assert_eq!(needs(Some(5), 8, 1_000), needed(5, 0));
}

#[test]
fn an_inconclusive_comparison_names_the_rounds_that_were_estimated() {
    let plan = plan(&["a", "b"]);
    let finding = Finding::Unresolved {
        candidates: vec![0, 1],
        reason: Unresolved::TooWide,
        rounds_needed: Some(40),
    };
    let rows = vec![row(0, Standing::Leader, None), row(1, Standing::Open, None)];
    let values = vec![vec![Some(1.0); 8], vec![Some(1.0); 8]];
    let found = verdict(&plan, &values, &comparison(finding, rows), 1_000_000_000);
    let needed = Needed { rounds: 40, more_ns: 32_000_000_000, probability: None };
    assert_eq!(found.evidence.needed, Some(needed));
    assert!(
        found.reason.contains("about 40 rounds would decide it (32.0 s more)"),
        "{}",
        found.reason
    );
    assert_eq!((found.rounds, found.baseline.as_deref()), (8, Some("a")));
}

#[test]
fn the_ends_of_an_interval_that_say_nothing_are_left_out() {
    let shown = |joint| {
        let found =
            ratio("a".into(), &row(0, Standing::Open, joint), &[Some(3.0), None, Some(1.0)]);
        assert_eq!((found.pairs, found.median, found.basis), (12, Some(2.0), Basis::Paired));
        (found.low, found.ratio, found.high)
    };
    assert_eq!(shown(Some(interval(0.5, 1.0, 2.0))), (Some(0.5), Some(1.0), Some(2.0)));
    assert_eq!(shown(Some(interval(0.0, 1.0, f64::INFINITY))), (None, Some(1.0), None));
    assert_eq!(shown(None), (None, None, None));
}

#[test]
fn the_best_row_is_first_whichever_direction_is_better() {
    let rows = |better| {
        let row = |ratio: Option<f64>| Ratio { ratio, ..ratio_of(&format!("{ratio:?}")) };
        let mut rows = [None, Some(1.0), Some(2.0), Some(0.5)].map(row);
        best_first(&mut rows, better);
        rows.map(|row| row.ratio)
    };
    assert_eq!(rows(Better::Lower), [Some(0.5), Some(1.0), Some(2.0), None]);
    assert_eq!(rows(Better::Higher), [Some(2.0), Some(1.0), Some(0.5), None]);
}

fn ratio_of(stack: &str) -> Ratio {
    ratio(stack.to_owned(), &row(0, Standing::Open, None), &[])
}

#[test]
fn stacks_that_cannot_be_the_best_are_out_with_the_reason() {
    let plan = plan(&["a", "b", "c", "d", "e", "f"]);
    let worse = Some(interval(1.5, 2.0, 2.5));
    let rows = vec![
        row(0, Standing::Leader, Some(interval(1.0, 1.0, 1.0))),
        row(1, Standing::Open, Some(interval(0.9, 1.0, 1.1))),
        row(2, Standing::Worse, worse),
        Row { failed: 7, ..row(3, Standing::Failing, worse) },
        row(4, Standing::Absent, None),
        row(5, Standing::TooFewRounds, None),
    ];
    let found = out(&plan, &comparison(unresolved(&[0, 1]), rows.clone()));
    let texts: Vec<(&str, &str)> =
        found.iter().map(|out| (out.stack.as_str(), out.reason.as_str())).collect();
    assert_eq!(
        texts,
        [
            ("c", "worse than a in 12 rounds: 2.00 times its step.elapsed (1.50 to 2.50)"),
            ("d", "7 of its trials failed"),
            ("e", "it has no value"),
        ]
    );
    assert_eq!(out(&plan, &comparison(Finding::Winner { stack: 0 }, rows.clone())), []);
    let nobody = Comparison { baseline: None, ..comparison(unresolved(&[]), rows) };
    assert_eq!(out(&plan, &nobody), []);
}

#[test]
fn failed_trials_are_doubts_of_every_verdict() {
    let plan = plan(&["a", "b"]);
    let rows = |failed| {
        vec![row(0, Standing::Leader, None), Row { failed, ..row(1, Standing::Open, None) }]
    };
    let said = |failed| {
        let found = comparison(unresolved(&[0, 1]), rows(failed));
        with_doubts(&plan, &found, "because".to_owned())
    };
    assert_eq!(said(0), "because");
    assert_eq!(
        said(2),
        "because; failed trials count as the best or worst possible result, whichever speaks against the verdict: b (2)"
    );
}

#[test]
fn reasons_of_winners_and_ties_count_and_name_the_others() {
    let plan = plan(&["a", "b", "c"]);
    let absent = Row { rounds: 0, ..row(2, Standing::Absent, None) };
    let rows = vec![row(0, Standing::Leader, None), row(1, Standing::Worse, None), absent];
    let won = winner_reason(&plan, &comparison(Finding::Winner { stack: 0 }, rows));
    assert_eq!(won, "better than the other stack by more than the tie of 2 %, at 95 % confidence");
    assert_eq!(tie_reason(&plan, &[]), "no other stack is better by more than the tie of 2 %");
    assert_eq!(
        tie_reason(&plan, &["b".to_owned(), "c".to_owned()]),
        "no other stack is better by more than the tie of 2 %; b and c may be as good, or worse"
    );
    assert_eq!([0.02, 0.025, 1.0].map(percent), ["2 %", "2.5 %", "100 %"]);
}

#[test]
fn medians_are_of_the_values_there_are() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[None, None]), None);
    assert_eq!(median(&[Some(3.0), None, Some(1.0), Some(2.0)]), Some(2.0));
    assert_eq!(median(&[Some(4.0), Some(1.0), Some(2.0), Some(3.0)]), Some(2.5));
}

#[test]
fn sixty_per_cent_of_the_time_is_most_of_it() {
    let plan = plan(&["a"]);
    let said = |percent: f64| {
        let mut record = fixture::record(1.0);
        record.timeline = vec![Sample { cpu_pressure_percent: Some(percent), ..Sample::default() }];
        busy_processors(&[(plan.trials[0], record)]).is_some()
    };
    assert_eq!([59.9, 60.0].map(said), [false, true]);
}

#[test]
fn a_warning_names_four_stacks_at_most() {
    let warning = Warning::new(WarningCode::NotDurable, "it is odd");
    let said = |times, stacks: &[&str]| {
        let stacks = stacks.iter().map(|stack| (*stack).to_owned()).collect();
        Counted { times, stacks, ..Counted::of(warning.clone()) }.summed().text
    };
    assert_eq!(said(1, &["a"]), "it is odd");
    assert_eq!(said(2, &["a"]), "it is odd (2 times, in a)");
    let stacks = ["a".to_owned()].into();
    let other = Counted { times: 2, differ: true, stacks, ..Counted::of(warning.clone()) };
    assert_eq!(other.summed().text, "it is odd (the first of 2, in a)");
    assert_eq!(said(9, &["a", "b", "c", "d"]), "it is odd (9 times, in a, b, c, d)");
    assert_eq!(said(9, &["a", "b", "c", "d", "e"]), "it is odd (9 times, in a, b, c, d, …)");
}

#[test]
fn failures_are_counted_by_stack_and_reason() {
    let plan = plan(&["a", "b"]);
    let reason = |trial: &PlannedTrial| match (trial.candidate, trial.round) {
        (0, 0) => Some("no\nspace"),
        (1, 0..3) => Some("no mkfs"),
        _ => None,
    };
    let record = |trial: &PlannedTrial| {
        let failed = reason(trial).map(fixture::failed);
        (*trial, failed.unwrap_or_else(|| fixture::record(1.0)))
    };
    let list: Vec<_> = plan.trials.iter().map(record).collect();
    let texts: Vec<String> = failures(&plan, &list).into_iter().map(|one| one.text).collect();
    assert_eq!(
        texts,
        ["a: 1 trial failed in step: no; space", "b: 3 trials failed in step: no mkfs"]
    );
    assert!(warnings(&plan, &list).iter().any(|one| one.text == texts[0]));
}

#[test]
fn data_in_memory_at_the_end_of_a_judged_step_are_a_doubt() {
    let said = |metric: &str, bytes: Option<f64>| {
        let mut plan = plan(&["a"]);
        plan.lab.judge.metric = metric.into();
        let mut record = fixture::record(1.0);
        let metrics = &mut record.steps[0].metrics;
        metrics.extend(bytes.map(|bytes| ("undurable_bytes".to_owned(), bytes)));
        not_durable(&plan, &[(plan.trials[0], record)])
    };
    let text = |bytes| said("step.elapsed", Some(bytes)).unwrap().text;
    let start = "not yet on the device when step ended and was judged: ";
    assert_eq!(text(999_999.0), format!("{start}less than 1 MB"));
    assert_eq!(text(1e6), format!("{start}up to 1 MB"));
    assert_eq!(text(7.4e6), format!("{start}up to 7 MB"));
    let remedy = said("step.elapsed", Some(1e6)).unwrap().remedy;
    assert_eq!(remedy, "judge step.elapsed_durable to count the write-back");
    assert_eq!(said("step.elapsed_durable", Some(1e9)), None);
    assert_eq!(said("step.elapsed", None), None);
    assert_eq!(said("elapsed", Some(1e9)), None);
}

#[test]
fn doubts_about_steps_are_told_apart_by_step() {
    let plan = plan(&["a"]);
    let warning = Warning::new(WarningCode::NotDurable, "it is odd");
    let mut record = fixture::record(1.0);
    let other = StepRecord {
        name: "other".into(),
        warnings: vec![warning.clone()],
        ..StepRecord::default()
    };
    record.steps[0].warnings.push(warning.clone());
    record.steps.push(other);
    record.warnings.push(warning);
    let found = warnings(&plan, &[(plan.trials[0], record)]);
    assert_eq!(found.iter().filter(|one| one.text == "it is odd").count(), 3, "{found:?}");
}

#[test]
fn the_mean_time_of_a_trial_is_that_of_all() {
    let plan = plan(&["a", "b"]);
    assert_eq!(mean_trial_ns(&Outcomes::new()), 0);
    let mut all = records(&plan, 1, &[1.0, 2.0], 0.0);
    for (index, (_, record)) in &mut all {
        record.elapsed_ns = 1_000 + 500 * u64::from(*index);
    }
    assert_eq!(mean_trial_ns(&outcomes_of(&plan, &all)), 1_250);
}

#[test]
fn other_programs_on_most_cpus_are_a_doubt_also_of_short_trials() {
    let plan = plan(&["a"]);
    let doubt = |others: [Option<f64>; 3]| {
        let records: Vec<_> = others
            .into_iter()
            .map(|others_cpu_percent| {
                (plan.trials[0], Record { others_cpu_percent, ..fixture::record(1.0) })
            })
            .collect();
        busy_processors(&records).map(|warning| warning.text)
    };
    assert_eq!(
        doubt([Some(10.0), Some(90.0), Some(96.0)]).unwrap(),
        "other programs used 90 % of the CPUs during the trials (median)"
    );
    assert_eq!(doubt([Some(10.0), Some(49.0), Some(96.0)]), None);
    assert_eq!(doubt([None, None, None]), None);
}
