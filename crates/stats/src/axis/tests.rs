use super::*;
use crate::field::Observed;
use crate::question::Better;
use crate::rng::seeded;

/// Trials of a 3 by 3 lab: logarithms of the values by filesystem and scheduler, with noise.
fn trials(truth: &[[f64; 3]; 3], rounds: usize, spread: f64, seed: u64) -> Vec<Vec<Observed>> {
    let mut rng = seeded(seed);
    let mut all = vec![vec![]; 9];
    for _ in 0..rounds {
        for (stack, row) in all.iter_mut().enumerate() {
            let log = truth[stack / 3][stack % 3] + spread * rng.normal();
            row.push(Observed::Value(log.exp()));
        }
    }
    all
}

fn question() -> Question {
    Question::new(Better::Lower, 0.05, 0.95)
}

fn found(values: &[Vec<Observed>], is_out: &[bool]) -> Vec<AxisFound> {
    let field = Field::new(values, &question());
    axes(&Design::product(&[3, 3]), &field, is_out, &question())
}

const SLOW_THIRD: [[f64; 3]; 3] = [[0.0; 3], [0.02; 3], [0.5; 3]];

#[test]
fn an_axis_that_matters_comes_with_what_is_out_and_what_is_alike() {
    let out = [false, false, false, false, false, false, true, true, true];
    let all = found(&trials(&SLOW_THIRD, 14, 0.09, 3), &out);
    let filesystem = &all[0];
    assert_eq!(filesystem.left.len(), 2);
    assert_eq!(filesystem.out[0].value, 2);
    let ratio = filesystem.out[0].ratio;
    assert!(ratio.low > 1.45 && ratio.high < 1.85, "{ratio:?}");
    assert!(filesystem.within().unwrap() < 1.13, "{filesystem:?}");
    let scheduler = &all[1];
    assert_eq!(scheduler.left.len(), 3);
    assert!(scheduler.within().unwrap() < 1.15 && scheduler.out.is_empty());
    assert!(filesystem.matters() > scheduler.matters());
}

#[test]
fn rounds_after_a_stack_has_left_count() {
    let out = [false, false, false, false, false, false, true, true, true];
    let mut values = trials(&SLOW_THIRD, 30, 0.09, 3);
    let early: Vec<Vec<Observed>> = values.iter().map(|row| row[..6].to_vec()).collect();
    for row in &mut values[6..] {
        row[6..].fill(Observed::NotRun);
    }
    let width = |found: &[AxisFound]| found[1].within().unwrap();
    assert!(width(&found(&values, &out)) < 1.0 + 0.6 * (width(&found(&early, &out)) - 1.0));
}

#[test]
fn values_that_depend_on_the_other_axis_have_no_average() {
    let truth = [[0.0, 0.4, 0.0], [0.4, 0.0, 0.4], [0.2, 0.2, 0.2]];
    let all = found(&trials(&truth, 14, 0.05, 1), &[false; 9]);
    assert!(all[0].pairs.is_empty() && all[0].within().is_none());
    assert_eq!(all[0].combinations.len(), 3);
    let first = all[0].combinations[0].compared;
    assert_eq!((first.value, first.against), (1, 0));
    assert!(first.ratio.low > 1.2);
}

/// The average within which the axis is said to be holds the truth in 95 of 100 labs.
#[test]
fn averages_hold_as_often_as_they_say() {
    let truth = [[0.0, 0.01, 0.02]; 3];
    let (mut wrong, labs) = (0, 300);
    for seed in 0..labs {
        let all = found(&trials(&truth, 14, 0.09, 1000 + seed), &[false; 9]);
        let holds = |pair: &Compared| {
            let log = truth[0][pair.value] - truth[0][pair.against];
            pair.ratio.low <= log.exp() && log.exp() <= pair.ratio.high
        };
        wrong += usize::from(!all[1].pairs.iter().all(holds));
    }
    assert!(wrong * 20 <= labs as usize, "{wrong} of {labs}");
}

#[test]
fn of_a_rate_more_is_better() {
    let values = trials(&SLOW_THIRD, 10, 0.01, 7);
    let question = Question::new(Better::Higher, 0.05, 0.95);
    let field = Field::new(&values, &question);
    let all = axes(&Design::product(&[3, 3]), &field, &[false; 9], &question);
    assert_eq!(all[0].left[0], 2);
    let worst = all[0].pairs.iter().find(|pair| (pair.value, pair.against) == (0, 2)).unwrap();
    assert!(worst.ratio.centre < 0.65);
}

#[test]
fn too_few_rounds_say_nothing() {
    assert!(found(&trials(&SLOW_THIRD, 2, 0.01, 7), &[false; 9]).is_empty());
}
