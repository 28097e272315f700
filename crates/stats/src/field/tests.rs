use super::*;
use crate::rng::seeded;

fn question() -> Question {
    Question::new(Better::Lower, 0.05, 0.95)
}

fn field(rows: &[Vec<Observed>]) -> Field {
    Field::new(rows, &question())
}

fn noisy(seed: u64, effect: f64, rounds: usize) -> Vec<Observed> {
    let mut rng = seeded(seed);
    (0..rounds).map(|_| Observed::Value((effect + 0.05 * rng.normal()).exp())).collect()
}

#[test]
fn a_failure_counts_against_either_end() {
    let mut rows = vec![noisy(1, 0.0, 20), noisy(2, 0.3, 20)];
    let whole = field(&rows).pair(1, 0);
    rows[1][4] = Observed::Failed;
    let holed = field(&rows).pair(1, 0);
    assert_eq!((holed.rounds, holed.failed, holed.worse_by.len()), (20, 1, 19));
    assert!(holed.low(0.01) < whole.low(0.01) && holed.high(0.01) > whole.high(0.01));
    // More failures than are left out of the mean leave it open.
    rows[1][5..9].fill(Observed::Failed);
    assert_eq!(field(&rows).pair(1, 0).high(0.01), f64::INFINITY);
    assert_eq!(field(&rows).pair(0, 1).low(0.01), f64::NEG_INFINITY);
    assert_eq!(field(&rows).run_and_failed(1), (20, 5));
}

#[test]
fn what_was_not_run_is_no_failure() {
    let mut rows = vec![noisy(1, 0.0, 20), noisy(2, 0.3, 20)];
    rows[1][10..].fill(Observed::NotRun);
    let pair = field(&rows).pair(1, 0);
    assert_eq!((pair.rounds, pair.failed), (10, 0));
    assert_eq!(field(&rows).run_and_failed(1), (10, 0));
}

#[test]
fn a_model_is_taken_at_its_word() {
    let rows = vec![vec![Observed::Value(2.0); 6], vec![Observed::Value(3.0); 6]];
    let exact = Field::new(&rows, &Question { exact: true, ..question() }).pair(1, 0);
    let exact = exact.interval(0.01).unwrap();
    assert_eq!((exact.low, exact.high), (exact.centre, exact.centre));
    let measured = field(&rows).pair(1, 0).interval(0.01).unwrap();
    assert!(measured.low < measured.centre && measured.high > measured.centre);
}
