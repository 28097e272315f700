use super::settle;
use crate::axes::axes;
use crate::fixture::{self, judge};
use crate::order::round_order;
use crate::records::Records;
use seekwell_model::lab::{Effort, Method};
use seekwell_model::verdict::{AxisFound, Verdict};
use seekwell_stats::{Rng, seeded};

const FILESYSTEMS: usize = 3;
const SCHEDULERS: usize = 2;

/// A run of random effects and a random noise: calm, wild, or with a stack that is noisier than all.
fn random_run(seed: u64) -> Verdict {
    let mut rng = seeded(seed);
    let rounds = 6 + rng.index(10) as u32;
    let plan = fixture::race(FILESYSTEMS as u32, SCHEDULERS as u32, |lab| {
        lab.judge.method = Method::Rounds;
        lab.judge.effort = Effort::Rounds(rounds);
    });
    let width = [0.0, 0.03, 0.3][rng.index(3)];
    let truth: Vec<f64> = (0..FILESYSTEMS * SCHEDULERS).map(|_| width * rng.normal()).collect();
    let spread = [0.01, 0.1, 0.3][rng.index(3)];
    let (kind, noisier) = (rng.index(4), rng.index(truth.len()));
    let noise = |rng: &mut Rng, stack: usize| match kind {
        0 => rng.normal(),
        1 => rng.normal() / rng.uniform().max(0.01),
        2 if stack == noisier => 30.0 * rng.normal(),
        _ => rng.normal() + if rng.uniform() < 0.1 { 10.0 } else { 0.0 },
    };
    let mut records = Records::new();
    for round in 0..rounds {
        for trial in round_order(plan.lab.seed, truth.len() as u32, round) {
            let stack = trial.candidate as usize;
            let value = (truth[stack] + spread * noise(&mut rng, stack)).clamp(-9.0, 9.0).exp();
            let fails = rng.uniform() < 0.02;
            let record = if fails { fixture::failed("chance") } else { fixture::record(value) };
            records.insert(trial.index, (trial, record));
        }
    }
    judge(&plan, &records)
}

/// Logarithm of a row of the table, by the numbers of its two values.
fn row(verdict: &Verdict, filesystem: usize, scheduler: usize) -> Option<f64> {
    let label = format!("fs{filesystem}/sched{scheduler}");
    verdict.ratios.iter().find(|row| row.stack == label)?.ratio.map(f64::ln)
}

/// Mean difference between two values of an axis, from the rows of the table alone.
fn by_the_table(verdict: &Verdict, axis: &str, high: usize, low: usize) -> Option<f64> {
    let pairs: Vec<f64> = if axis == "filesystem" {
        let pair = |s| Some(row(verdict, high, s)? - row(verdict, low, s)?);
        (0..SCHEDULERS).filter_map(pair).collect()
    } else {
        let pair = |f| Some(row(verdict, f, high)? - row(verdict, f, low)?);
        (0..FILESYSTEMS).filter_map(pair).collect()
    };
    (!pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64)
}

fn number(value: &str) -> usize {
    value.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

fn check_axis(verdict: &Verdict, axis: &AxisFound) {
    const CLOSE: f64 = 1e-9;
    if axis.measurable {
        let shown = by_the_table(verdict, &axis.axis, number(&axis.highest), number(&axis.lowest));
        let shown = shown.unwrap().exp();
        assert!(shown > 1.0 && axis.low.unwrap() > 1.0, "{axis:?} {shown}");
        assert!(axis.low.unwrap() <= shown + CLOSE && shown <= axis.high.unwrap() + CLOSE);
    } else if let Some(most) = axis.at_most {
        let values = if axis.axis == "filesystem" { FILESYSTEMS } else { SCHEDULERS };
        for (a, b) in (0..values).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let shown = by_the_table(verdict, &axis.axis, a, b).map_or(1.0, |log| log.abs().exp());
            assert!(shown <= most + CLOSE, "{axis:?} {shown}");
        }
        for row in &verdict.ratios {
            let width = (row.high.unwrap() / row.low.unwrap()).sqrt();
            assert!(width <= most + CLOSE, "{axis:?} {row:?}");
        }
    }
}

fn check_interactions(verdict: &Verdict) {
    for found in &verdict.evidence.interactions {
        let [f, s] = found.values.each_ref().map(|value| number(value));
        assert_eq!(found.axes, ["filesystem", "scheduler"]);
        let all = |f: &dyn Fn(usize) -> bool, s: &dyn Fn(usize) -> bool| -> Option<f64> {
            let cells = (0..FILESYSTEMS).flat_map(|a| (0..SCHEDULERS).map(move |b| (a, b)));
            let wanted = cells.filter(|(a, b)| f(*a) && s(*b));
            let logs: Option<Vec<f64>> = wanted.map(|(a, b)| row(verdict, a, b)).collect();
            logs.map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
        };
        let (this, any) = (&|a| a == f, &|_| true);
        let that = &|b| b == s;
        let parts = [all(this, that), all(this, any), all(any, that), all(any, any)];
        let [Some(cell), Some(row), Some(column), Some(mean)] = parts else { continue };
        let shown = (cell - row - column + mean).exp();
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low <= shown + 1e-9 && shown <= high + 1e-9, "{found:?} {shown}");
        assert!(low > 1.0 || high < 1.0, "{found:?}");
    }
}

#[test]
fn no_sentence_about_axes_contradicts_the_table() {
    let (mut measurable, mut bounded, mut together, mut silent) = (0, 0, 0, 0);
    for seed in 0..300 {
        let verdict = random_run(seed);
        for axis in &verdict.evidence.axes {
            check_axis(&verdict, axis);
            measurable += usize::from(axis.measurable);
            bounded += usize::from(!axis.measurable && axis.at_most.is_some());
            silent += usize::from(!axis.measurable && axis.at_most.is_none());
        }
        check_interactions(&verdict);
        together += verdict.evidence.interactions.len();
    }
    // Every kind of sentence was checked.
    let counts = [measurable, bounded, together, silent];
    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
}

#[test]
fn an_interaction_that_the_table_leaves_open_is_not_stated() {
    let plan = fixture::race(FILESYSTEMS as u32, SCHEDULERS as u32, |_| {});
    let (names, design) = axes(&plan, plan.stacks.len());
    let runs = (0..300).map(random_run);
    let mut verdict =
        runs.into_iter().find(|verdict| !verdict.evidence.interactions.is_empty()).unwrap();
    for found in &mut verdict.evidence.interactions {
        (found.low, found.high) = (Some(1.5), Some(2.0));
    }
    let stated = verdict.evidence.interactions.len();
    let mut even = verdict.clone();
    for row in &mut even.ratios {
        row.ratio = Some(1.0);
    }
    settle(&plan, &names, &design, &mut even);
    assert_eq!((even.evidence.interactions.len(), stated > 0), (0, true));
}

#[test]
fn the_interval_of_an_axis_contains_what_the_table_shows() {
    let plan = fixture::race(FILESYSTEMS as u32, SCHEDULERS as u32, |_| {});
    let (names, design) = axes(&plan, plan.stacks.len());
    let mut runs = (0..300).map(random_run);
    let is_stated = |verdict: &Verdict| verdict.evidence.axes.iter().any(|axis| axis.measurable);
    let mut verdict = runs.find(is_stated).unwrap();
    // By the table every value is as good as every other.
    for row in &mut verdict.ratios {
        row.ratio = Some(1.0);
    }
    for axis in &mut verdict.evidence.axes {
        (axis.low, axis.high) = (Some(1.5), Some(2.0));
    }
    settle(&plan, &names, &design, &mut verdict);
    for axis in &verdict.evidence.axes {
        assert_eq!((axis.low, axis.high, axis.measurable), (Some(1.0), Some(2.0), false));
    }
}

#[test]
fn an_interaction_is_the_departure_from_what_its_two_values_predict() {
    let plan = fixture::race(FILESYSTEMS as u32, SCHEDULERS as u32, |_| {});
    let (names, design) = axes(&plan, plan.stacks.len());
    let mut runs = (0..300).map(random_run);
    let mut verdict = runs.find(|verdict| !verdict.evidence.interactions.is_empty()).unwrap();
    verdict.evidence.interactions.truncate(1);
    let found = &mut verdict.evidence.interactions[0];
    (found.low, found.high) = (Some(1.5), Some(2.0));
    let own = found.values.join("/");
    for row in &mut verdict.ratios {
        row.ratio = Some(if row.stack == own { 0.6_f64.exp() } else { 1.0 });
    }
    settle(&plan, &names, &design, &mut verdict);
    // 0.6 less a half and a third of it, plus a sixth.
    let low = verdict.evidence.interactions[0].low.unwrap();
    assert!((low.ln() - 0.2).abs() < 1e-9, "{low}");
}
