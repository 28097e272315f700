use super::measured::read;
use super::*;
use crate::{claims, study};
use seekwell_model::lab::{Effort, Lab, Match, Workload};
use seekwell_model::plan::{Candidate, Plan};
use seekwell_model::record::{Sample, StepRecord};
use seekwell_model::replication::ShownBy;
use seekwell_model::units::Bytes;

pub(crate) const CLAIMS: &str = r#"
frozen = "2026-01-01"
[[study]]
key = "9"
title = "t"
author = "a"
kernel = "k"
stands_for = "s"
[[value]]
id = "9.fast"
group = "9.g"
value = 10
unit = "s"
line = 1
use = "predict"
[[value]]
id = "9.slow"
group = "9.g"
value = 20
unit = "s"
line = 2
use = "predict"
[[claim]]
id = "9.twice"
line = 3
says = "twice"
form = "ratio"
of = "9.slow"
over = "9.fast"
published = 2.0
lab = "l"
[[claim]]
id = "9.order"
line = 4
says = "order"
form = "order"
values = ["9.slow", "9.fast"]
lab = "l"
[[claim]]
id = "9.equal"
line = 5
says = "equal"
form = "equal"
values = ["9.fast", "9.slow"]
lab = "l"
[[claim]]
id = "9.between"
line = 6
says = "between"
form = "range"
low = 9
high = 12
lab = "l"
[[claim]]
id = "9.cross"
line = 7
says = "cross"
form = "cross"
curves = ["up", "down"]
lab = "l"
[[claim]]
id = "9.sign"
line = 8
says = "sign"
form = "sign"
confirmed_if = "in words"
lab = "l"
[[claim]]
id = "9.any"
line = 9
says = "any"
form = "sign"
confirmed_if = "in words"
lab = "l"
[[claim]]
id = "9.nothing"
line = 10
says = "nothing"
form = "sign"
confirmed_if = "in words"
lab = "l"
[[claim]]
id = "9.never"
line = 11
says = "never"
form = "cannot"
because = "so"
[[erratum]]
id = "9.twice"
date = "2026-02-02"
reason = "a slip"
"#;

pub(crate) const STUDY: &str = r#"
study = "9"
[[lab]]
name = "l"
whole = "l"
[[measure]]
id = "9.fast"
lab = "l"
stack = { filesystem = "one" }
value = "[s.elapsed]"
[[measure]]
id = "9.slow"
lab = "l"
stack = { filesystem = "two" }
value = "[s.elapsed]"
[[measure]]
id = "9.both"
lab = "l"
value = "[s.elapsed]"
[[curve]]
name = "up"
lab = "l"
stack = { filesystem = "one" }
value = "[s.elapsed] * $"
points = [["small", "1"], ["large", "4"]]
[[curve]]
name = "down"
lab = "l"
stack = { filesystem = "two" }
value = "[s.elapsed] / $"
points = [["small", "1"], ["large", "4"]]
[[test]]
claim = "9.between"
all = [{ value = "{9.fast}" }]
[[test]]
claim = "9.sign"
all = [{ value = "{9.slow} / {9.fast}", above = 1.5, below = 3 }]
[[test]]
claim = "9.any"
any = [{ value = "{9.fast}", above = 15 }, { value = "{9.slow}", above = 15 }]
[[test]]
claim = "9.nothing"
all = [{ value = "{9.both}", above = 0 }]
[[also]]
of = "9.equal"
says = "both together"
value = "{9.fast} + {9.slow}"
[[reason]]
of = "9.equal"
text = "they are not"
"#;

pub(crate) fn plan() -> Plan {
    let workload = Workload { name: "w".into(), parts: vec![], beside: vec![] };
    let lab = seekwell_fixtures::lab("s.elapsed", Effort::Rounds(6), vec![workload]);
    let stacks = ["one", "two"].map(seekwell_fixtures::named_stack);
    let lab = Lab { name: "l".into(), ..lab };
    Plan { trials: vec![], ..seekwell_fixtures::plan(lab, stacks.to_vec(), 6) }
}

fn record(elapsed: f64) -> Record {
    let step =
        StepRecord { ended_ns: 4_000_000_000, ..seekwell_fixtures::step("s", "elapsed", elapsed) };
    seekwell_fixtures::record(vec![step])
}

/// Stack two takes `factor` times as long as stack one, in each of six rounds of another pace.
pub(crate) fn run(factor: f64) -> Run {
    let mut records = BTreeMap::new();
    for round in 0..6_u32 {
        let pace = 10.0 + f64::from(round) * 0.1;
        for candidate in 0..2_u32 {
            let index = round * 2 + candidate;
            let elapsed = if candidate == 0 { pace } else { pace * factor };
            let trial = PlannedTrial { index, round, candidate, seed: 1 };
            records.insert(index, (trial, record(elapsed)));
        }
    }
    Run {
        lab: "l".into(),
        file: "l.seekwell".into(),
        kernel: "6.12".into(),
        changed_models: Vec::new(),
        unknown_models: Vec::new(),
        plan: plan(),
        records,
        again: BTreeSet::new(),
    }
}

fn outcome(runs: &[Run], ends: &[Vec<Run>]) -> StudyOutcome {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let study = study::read("9.measure.toml", STUDY, &claims).unwrap();
    judge(&claims, &study, runs, ends)
}

fn verdicts(outcome: &StudyOutcome) -> Vec<(&str, ClaimVerdict)> {
    outcome.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect()
}

#[test]
fn every_form_is_decided_by_its_interval() {
    use ClaimVerdict::{CannotBeTested, Confirmed, NotConfirmed, NotMeasured};
    let outcome = outcome(&[run(2.0)], &[]);
    let expected = [
        ("9.twice", Confirmed),
        ("9.order", NotConfirmed),
        ("9.equal", NotConfirmed),
        ("9.between", Confirmed),
        ("9.cross", Confirmed),
        ("9.sign", Confirmed),
        ("9.any", Confirmed),
        // It fits both stacks, and says nothing of either.
        ("9.nothing", NotMeasured),
        ("9.never", CannotBeTested),
    ];
    assert_eq!(verdicts(&outcome), expected);
    let equal = &outcome.claims[2];
    assert_eq!(equal.reason.as_deref(), Some("they are not"));
    assert_eq!(equal.also[0].says, "both together");
    assert!((30.0..32.0).contains(&equal.also[0].found.unwrap().centre));
    let shown = |stack: &str, first: u32| ShownBy {
        file: "l.seekwell".to_owned(),
        stacks: vec![stack.to_owned()],
        trials: (0..6).map(|round| 2 * round + first).collect(),
    };
    assert_eq!(equal.shown_by, [shown("one", 0), shown("two", 1)]);
    assert_eq!(outcome.errata, ["9.twice (2026-02-02): a slip"]);
    assert_eq!(outcome.score()[&Confirmed], 5);
}

fn agreement(outcome: &StudyOutcome, id: &str) -> Option<Agreement> {
    outcome.claims.iter().find(|claim| claim.id == id).unwrap().agreement
}

#[test]
fn claims_agree_differ_or_cannot_be_told_by_whole_intervals() {
    use Agreement::{Agrees, CannotTell, OurError};
    let twice = outcome(&[run(2.0)], &[]);
    let of = |id: &str| agreement(&twice, id);
    assert_eq!((of("9.twice"), of("9.order")), (Some(Agrees), Some(OurError)));
    assert_eq!((of("9.equal"), of("9.between")), (Some(OurError), Some(Agrees)));
    assert_eq!(
        (of("9.cross"), of("9.sign"), of("9.any")),
        (Some(Agrees), Some(Agrees), Some(Agrees))
    );
    assert_eq!((of("9.nothing"), of("9.never")), (None, None));
    assert_eq!(twice.agreements(), BTreeMap::from([(Agrees, 5), (OurError, 2)]));
    // The second stack is now the faster, now the slower one: confirmed by no rule, and not refuted either.
    let mut noisy = run(1.0);
    for (trial, record) in noisy.records.values_mut() {
        let factor = if trial.round % 2 == 0 { 0.7 } else { 1.35 };
        let elapsed = if trial.candidate == 0 { 10.0 } else { 10.0 * factor };
        *record = self::record(elapsed);
    }
    let noisy = outcome(&[noisy], &[]);
    let order = noisy.claims.iter().find(|claim| claim.id == "9.order").unwrap();
    assert_eq!((order.verdict, order.agreement), (ClaimVerdict::NotConfirmed, Some(CannotTell)));
    assert_eq!(agreement(&noisy, "9.equal"), Some(CannotTell));
    assert_eq!(agreement(&noisy, "9.twice"), Some(OurError));
    // Alike to the last digit is known: there is no order, and the equal ones agree.
    let alike = outcome(&[run(1.0)], &[]);
    assert_eq!(agreement(&alike, "9.order"), Some(OurError));
    assert_eq!(agreement(&alike, "9.equal"), Some(Agrees));
}

#[test]
fn a_difference_is_a_finding_only_with_an_experiment_that_shows_its_cause() {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let found = |experiment: &str| {
        let finding = format!(
            "[[finding]]\nof = \"9.equal\"\ntext = \"two is slow\"\nexperiment = {{ value = \"{{9.slow}}\", {experiment} }}\n"
        );
        let study = study::read("9", &format!("{STUDY}{finding}"), &claims).unwrap();
        let outcome = judge(&claims, &study, &[run(2.0)], &[]);
        outcome.claims.into_iter().find(|claim| claim.id == "9.equal").unwrap()
    };
    let shown = found("above = 15");
    assert_eq!(shown.agreement, Some(Agreement::Finding));
    assert_eq!(shown.reason.as_deref(), Some("two is slow"));
    assert_eq!(shown.experiment.unwrap().agrees, Some(true));
    for not in ["above = 30", "above = 20.5"] {
        let one = found(not);
        assert_eq!(one.agreement, Some(Agreement::OurError), "{not}");
        assert_eq!(one.reason.as_deref(), Some("they are not"));
        assert!(one.experiment.is_some());
    }
}

#[test]
fn values_on_which_something_was_changed_after_a_miss_count_as_fitted() {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let read = |values: &str| {
        let change =
            format!("[[changed]]\ndate = \"2026-02-03\"\ntext = \"moved\"\nvalues = [{values}]\n");
        study::read("9", &format!("{STUDY}{change}"), &claims)
    };
    let outcome = judge(&claims, &read("\"9.sl*\"").unwrap(), &[run(2.0)], &[]);
    let since: Vec<_> = outcome.values.iter().map(|value| value.fitted_since.as_deref()).collect();
    assert_eq!(since, [None, Some("2026-02-03")]);
    assert_eq!(outcome.changes, ["2026-02-03: moved"]);
    let error = read("\"9.none\"").unwrap_err().to_string();
    assert!(error.contains("a change names '9.none', which is not a value"), "{error}");
}

#[test]
fn what_cannot_be_tested_here_is_not_decided_by_numbers_that_look_like_it() {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let text =
        format!("{STUDY}\n[[cannot]]\nof = \"9.twice\"\ntext = \"there is no second one\"\n");
    let study = study::read("9.measure.toml", &text, &claims).unwrap();
    let outcome = judge(&claims, &study, &[run(2.0)], &[]);
    let twice = &outcome.claims[0];
    assert_eq!((twice.id.as_str(), twice.verdict), ("9.twice", ClaimVerdict::CannotBeTested));
    assert_eq!(twice.because.as_deref(), Some("there is no second one"));
    assert_eq!(outcome.score()[&ClaimVerdict::Confirmed], 4);
}

#[test]
fn values_stand_beside_the_published_ones_with_the_range_of_both_ends() {
    let end = |factor| {
        let run = run(factor);
        vec![Run { again: run.records.keys().copied().collect(), ..run }]
    };
    // Of an end that ran nothing of this again, nothing follows.
    let outcome = outcome(&[run(2.0)], &[end(1.0), end(3.0), vec![run(7.0)]]);
    let slow = &outcome.values[1];
    let measured = slow.measured.unwrap();
    assert_eq!(measured.rounds, 6);
    assert!((20.0..21.0).contains(&measured.centre));
    assert!(measured.low < measured.centre && measured.centre < measured.high);
    assert_eq!(slow.agrees(), Some(true));
    let [low, high] = slow.range.unwrap();
    assert!((10.0..10.5).contains(&low) && (30.0..31.0).contains(&high));
    // Where both stacks are alike it is not twice, and three times is not twice either.
    let ends = |id: &str| {
        let claim = outcome.claims.iter().find(|claim| claim.id == id).unwrap();
        claim.at_ends.map(|ends| (ends.same, ends.of))
    };
    assert_eq!(ends("9.twice"), Some((0, 2)));
    assert_eq!(ends("9.nothing"), None);
    assert_eq!(ends("9.never"), None);
}

#[test]
fn equal_stacks_are_equal_and_no_order_is_seen_in_them() {
    let outcome = outcome(&[run(1.0)], &[]);
    let of = |id: &str| outcome.claims.iter().find(|claim| claim.id == id).unwrap().verdict;
    assert_eq!(of("9.equal"), ClaimVerdict::Confirmed);
    assert_eq!(of("9.twice"), ClaimVerdict::NotConfirmed);
    assert_eq!(of("9.any"), ClaimVerdict::NotConfirmed);
}

#[test]
fn what_did_not_run_or_failed_is_not_measured_and_not_scored() {
    let nothing = outcome(&[], &[]);
    assert!(nothing.values.iter().all(|value| value.measured.is_none()));
    assert_eq!(nothing.score()[&ClaimVerdict::NotMeasured], 8);
    let mut failing = run(2.0);
    for (trial, record) in failing.records.values_mut().filter(|(trial, _)| trial.candidate == 1) {
        assert_eq!(trial.candidate, 1);
        record.status = Status::Marked;
    }
    let outcome = outcome(&[failing], &[]);
    assert!(outcome.values[0].measured.is_some() && outcome.values[1].measured.is_none());
    assert_eq!(outcome.labs[0].trials, 6);
    assert_eq!(outcome.labs[0].left_out, 6);
    let order = outcome.claims.iter().find(|claim| claim.id == "9.order").unwrap();
    let because = "fewer than 6 rounds of this set measured 9.fast / 9.slow";
    assert_eq!(order.because.as_deref(), Some(because));
}

#[test]
fn counters_quantiles_and_the_timeline_are_read() {
    let mut one = record(1.0);
    let mut histogram = seekwell_stats::histogram::Histogram::new();
    (1..=100).for_each(|value| histogram.record(value * 1_000_000));
    one.steps[0].histograms.insert("fsync".into(), histogram.to_bytes());
    one.steps[0].device =
        Some(seekwell_model::record::DeviceTotals { reads: 7, ..Default::default() });
    let sample = |second: u64, writes_per_s: f64| Sample {
        at_ns: second * 1_000_000_000,
        writes_per_s,
        ..Sample::default()
    };
    // The fifth lies after the step.
    one.timeline =
        vec![sample(1, 10.0), sample(2, 30.0), sample(3, 28.0), sample(4, 20.0), sample(5, 99.0)];
    let plan = plan();
    let run = Run {
        lab: "l".into(),
        file: String::new(),
        kernel: String::new(),
        changed_models: Vec::new(),
        unknown_models: Vec::new(),
        again: BTreeSet::new(),
        records: BTreeMap::from([(
            0,
            (PlannedTrial { index: 0, round: 0, candidate: 0, seed: 1 }, one),
        )]),
        plan,
    };
    let of = |path: &str| {
        let formula = crate::formula::parse(&format!("[{path}]")).unwrap();
        let measure = study::Measure::new(Some("l".into()), Match::default(), formula);
        let study =
            Study { measures: BTreeMap::from([("x".to_owned(), measure)]), ..Study::default() };
        Measures::new(&study, std::slice::from_ref(&run)).rounds("x").get(&0).copied()
    };
    assert_eq!(of("s.device.reads"), Some(7.0));
    assert_eq!(of("s.journal.reads"), None);
    assert!((of("s.fsync.p50").unwrap() - 0.05).abs() < 0.001);
    assert_eq!(of("s.timeline.w/s.max"), Some(30.0));
    assert_eq!(of("s.timeline.w/s.mean"), Some(22.0));
    assert_eq!(of("s.timeline.w/s.max2s"), Some(24.0));
    assert_eq!(of("s.timeline.w_await.max"), None);
    assert_eq!(of("s.nothing"), None);
}

#[test]
fn the_median_of_the_busy_part_leaves_out_what_was_idle() {
    let mut one = record(1.0);
    let sample = |second: u64, busy: f64, written: f64| Sample {
        at_ns: second * 1_000_000_000,
        written_kib_per_s: written,
        utilisation_percent: busy,
        ..Sample::default()
    };
    one.steps[0].ended_ns = 5_000_000_000;
    one.timeline = vec![
        sample(1, 0.0, 0.0),
        sample(2, 0.0, 0.0),
        sample(3, 100.0, 0.0),
        sample(4, 80.0, 30.0),
        sample(5, 90.0, 50.0),
    ];
    assert_eq!(read(&one, "s.timeline.wkB/s.median"), Some(0.0));
    assert_eq!(read(&one, "s.timeline.wkB/s.median-busy"), Some(30.0));
    one.timeline.truncate(2);
    assert_eq!(read(&one, "s.timeline.wkB/s.median-busy"), None);
}

/// A study of four cells: `a.*` of one stack over the other, `b.*` the other way round.
const CELLS: &str = r#"
[[curve]]
name = "a"
value = "{9.slow} / {9.fast} * $"
points = [["one", "1"], ["two", "0.1"]]
[[curve]]
name = "b"
value = "{9.fast} / {9.slow} * $"
points = [["one", "1"], ["two", "10"]]
[[test]]
claim = "9.nothing"
"#;

/// Verdict and words of a claim that asks this of the cells.
fn of_cells(cells: &str, records: bool) -> (ClaimVerdict, Tested) {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let begin = STUDY.split("[[test]]\nclaim = \"9.nothing\"").next().unwrap();
    let text = format!("{begin}{CELLS}cells = [{{ {cells} }}]\n");
    let study = study::read("9", &text, &claims).unwrap();
    let runs = if records { vec![run(2.0)] } else { vec![] };
    let outcome = judge(&claims, &study, &runs, &[]);
    let claim = outcome.claims.into_iter().find(|claim| claim.id == "9.nothing").unwrap();
    (claim.verdict, claim.tests.into_iter().next().unwrap())
}

#[test]
fn cells_are_counted_with_their_whole_interval() {
    // Slow takes twice as long as fast: a.one is 2, a.two 0.2, b.one 0.5, b.two 5.
    let verdict = |cells: &str| of_cells(cells, true).0;
    let (confirmed, not) = (ClaimVerdict::Confirmed, ClaimVerdict::NotConfirmed);
    let all = "of = [\"a.*\", \"b.*\"], above = 1";
    assert_eq!(verdict(&format!("{all}, count = \"one\"")), confirmed);
    assert_eq!(verdict("of = [\"a.two\", \"b.one\"], above = 1, count = \"one\""), not);
    assert_eq!(verdict(&format!("{all}, count = \"none\"")), not);
    assert_eq!(verdict("of = [\"a.two\"], above = 1, count = \"none\""), confirmed);
    // Two count, one of them of each curve: half is not more than half.
    assert_eq!(verdict(&format!("{all}, count = \"most-in\", most_in = [\"b.*\"]")), not);
    let three = "of = [\"a.*\", \"b.*\"], above = 0.4, count = \"most-in\", most_in = [\"b.*\"]";
    assert_eq!(verdict(three), confirmed);
    // Of no cells, most are nothing.
    let none = "of = [\"a.two\"], above = 1, count = \"most-in\", most_in = [\"a.two\"]";
    assert_eq!(verdict(none), not);
    let (_, words) = of_cells(&format!("{all}, count = \"one\""), true);
    assert_eq!(words.what, "2 of 4 cells a.*, b.* above 1, 0 not measured: a.one, b.two");
    assert_eq!(words.found.unwrap().centre, 2.0);
}

#[test]
fn cells_that_were_not_measured_decide_nothing() {
    for count in ["count = \"one\"", "count = \"none\"", "count = \"most-in\", most_in = [\"a.*\"]"]
    {
        let (verdict, words) = of_cells(&format!("of = [\"a.*\"], above = 1, {count}"), false);
        assert_eq!(verdict, ClaimVerdict::NotMeasured);
        assert_eq!((words.found, words.holds), (None, None));
        assert!(words.what.contains("2 not measured"), "{}", words.what);
    }
}

#[test]
fn not_above_is_broken_by_a_whole_interval_alone() {
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    let verdict = |bound: f64| {
        let asked =
            format!("all = [{{ value = \"{{9.slow}} / {{9.fast}}\", not_above = {bound} }}]");
        let text = STUDY.replace("all = [{ value = \"{9.both}\", above = 0 }]", &asked);
        let study = study::read("9", &text, &claims).unwrap();
        let outcome = judge(&claims, &study, &[run(2.0)], &[]);
        outcome.claims.iter().find(|claim| claim.id == "9.nothing").unwrap().verdict
    };
    assert_eq!(verdict(1.5), ClaimVerdict::NotConfirmed);
    // The interval of 2 reaches to both sides of it.
    assert_eq!(verdict(2.0), ClaimVerdict::Confirmed);
    assert_eq!(verdict(3.0), ClaimVerdict::Confirmed);
}

#[test]
fn five_rounds_are_no_interval_even_without_spread() {
    let mut short = run(2.0);
    short.records.retain(|_, (trial, _)| trial.round < 5);
    for (trial, record) in short.records.values_mut() {
        *record = self::record(if trial.candidate == 0 { 10.0 } else { 20.0 });
    }
    let found = outcome(std::slice::from_ref(&short), &[]);
    assert!(found.values.iter().all(|value| value.measured.is_none()));
    let score = found.score();
    assert_eq!(score.get(&ClaimVerdict::Confirmed), None);
    assert_eq!(score.get(&ClaimVerdict::NotConfirmed), None);
    for candidate in 0..2 {
        let elapsed = if candidate == 0 { 10.0 } else { 20.0 };
        let trial = PlannedTrial { index: 10 + candidate, round: 5, candidate, seed: 1 };
        short.records.insert(10 + candidate, (trial, record(elapsed)));
    }
    let measured = outcome(&[short], &[]).values[0].measured.unwrap();
    assert_eq!(measured.rounds, 6);
    assert!((measured.centre - 10.0).abs() < 1e-9);
}

/// The steps of study 003's kept quick run: it starts from a kept copy, so no step populates, and
/// its counters hold the walk over the file's map beside the accesses.
fn seekrw(name: &str, file: Bytes, elapsed: f64) -> Run {
    // Stack, requests per access, pointer blocks, extents, reads of the device over the whole step.
    let kept = [
        ("ext3", 1.905, Some(32801.0), Some(1099.0), 46_136),
        ("ext4", 1.0007, Some(4.0), Some(83.0), 7009),
        ("raw", 1.0, None, None, 7000),
    ];
    let io = seekwell_model::workloads::IoParams { file_size: Some(file), ..io() };
    let part = seekwell_model::workloads::SeekRwParams { caches: vec![io.cache], each: io };
    let mut plan = plan();
    plan.lab.name = name.into();
    plan.stacks = kept.iter().map(|(name, ..)| seekwell_fixtures::named_stack(name)).collect();
    plan.workloads[0].parts = vec![seekwell_model::workloads::WorkloadParams::SeekRw(part)];
    plan.candidates = (0..3).map(|stack| Candidate { stack, workload: 0 }).collect();
    let mut records = BTreeMap::new();
    for round in 0..6 {
        for (candidate, (_, per_op, pointers, extents, reads)) in (0..3).zip(&kept) {
            let mut one = record(elapsed);
            let step = &mut one.steps[0];
            step.name = "seekrw-direct".into();
            step.metrics.insert("ops".into(), 7000.0);
            step.metrics.insert("device_reads_per_op".into(), *per_op);
            step.metrics.insert("metadata_reads".into(), (per_op - 1.0) * 7000.0);
            pointers.map(|count| step.metrics.insert("pointer_blocks".into(), count));
            extents.map(|count| step.metrics.insert("extents".into(), count));
            let reads = *reads;
            step.device =
                Some(seekwell_model::record::DeviceTotals { reads, ..Default::default() });
            let index = round * 3 + candidate;
            records.insert(index, (PlannedTrial { index, round, candidate, seed: 1 }, one));
        }
    }
    let file = format!("{name}.seekwell");
    Run {
        lab: "003-seekrw".into(),
        file,
        kernel: "6.12".into(),
        changed_models: Vec::new(),
        unknown_models: Vec::new(),
        plan,
        records,
        again: BTreeSet::new(),
    }
}

fn io() -> seekwell_model::workloads::IoParams {
    serde_json::from_str(
        r#"{"kind":"seekrw","step":"seekrw-direct","size":512,"count":7000,"time":null,
            "threads":1,"depth":1,"engine":"psync","pattern":"random","read_percent":100,
            "cache":"direct","rate":null,"file_size":null,"fsync_every":0,"content":"stamped"}"#,
    )
    .unwrap()
}

fn of_003(run: Run) -> (Study, StudyOutcome, Run) {
    let text = |wanted: &str| crate::FILES.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let claims = claims::read("claims.toml", text("claims.toml")).unwrap();
    let study = study::read("003", text("003.measure.toml"), &claims).unwrap();
    let outcome = judge(&claims, &study, std::slice::from_ref(&run), &[]);
    (study, outcome, run)
}

#[test]
fn accesses_of_003_are_counted_without_the_walk_over_the_map() {
    let (study, outcome, run) = of_003(seekrw("003-seekrw", Bytes::gib(128), 100.0));
    let of = |id: &str| measured(&study, std::slice::from_ref(&run), id).unwrap().centre;
    let near = |id: &str, wanted: f64| {
        let found = of(id);
        assert!((found / wanted - 1.0).abs() < 1e-9, "{id}: {found}, wanted {wanted}");
    };
    near("003.ext3.direct.ios_per_read", 1.905);
    near("003.ext3.direct.tps", 1.905 * 7000.0 / 100.0);
    near("003.file-gib", 128.0);
    near("003.pointer-blocks-2tb", 32801.0 * 16.0);
    near("003.extent-blocks-2tb", 64.0);
    near("003.fragments-2tb", 1328.0);
    let verdict =
        |id: &str| outcome.claims.iter().find(|claim| claim.id == id).map(|claim| claim.verdict);
    assert_eq!(verdict("003.pointer-blocks"), Some(ClaimVerdict::Confirmed));
    assert_eq!(verdict("003.extent-blocks"), Some(ClaimVerdict::Confirmed));
    assert_eq!(verdict("003.fragments"), Some(ClaimVerdict::NotConfirmed));
}

#[test]
fn times_of_the_quick_set_of_003_are_not_measured_and_say_why() {
    let (study, outcome, run) = of_003(seekrw("003-seekrw-quick", Bytes::gib(128), 100.0));
    let runs = std::slice::from_ref(&run);
    assert!(measured(&study, runs, "003.ext3.direct.ios_per_read").is_some());
    assert!(measured(&study, runs, "003.ext3.direct.tps").is_none());
    assert!(measured(&study, runs, "003.ext4.direct.elapsed").is_none());
    let ratio =
        outcome.claims.iter().find(|claim| claim.id == "003.ext3-over-ext4-direct").unwrap();
    assert_eq!(ratio.verdict, ClaimVerdict::NotMeasured);
    assert!(ratio.because.as_deref().unwrap().contains("do not compare"), "{:?}", ratio.because);
    let elapsed =
        outcome.values.iter().find(|value| value.id == "003.ext3.direct.elapsed").unwrap();
    assert!(elapsed.note.as_deref().unwrap().contains("do not compare"), "{:?}", elapsed.note);
}
