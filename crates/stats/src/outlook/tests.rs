use super::*;
use crate::field::Observed;
use crate::question::Better;

fn field(truth: &[f64], rounds: usize, spread: f64, seed: u64) -> (Field, Question) {
    let mut rng = seeded(seed);
    let question = Question::new(Better::Lower, 0.05, 0.95);
    let values: Vec<Vec<Observed>> = truth
        .iter()
        .map(|log| {
            (0..rounds).map(|_| Observed::Value((log + spread * rng.normal()).exp())).collect()
        })
        .collect();
    (Field::new(&values, &question), question)
}

fn looks() -> Vec<LookAhead> {
    [13, 20, 32, 64, 128]
        .map(|rounds| LookAhead { rounds, share: ErrorShare { error: 0.003, stacks: 3 } })
        .to_vec()
}

#[test]
fn a_clear_difference_is_decided_soon_and_a_hopeless_one_hardly_ever() {
    let (clear, question) = field(&[0.0, 0.3, 0.4], 10, 0.05, 1);
    let soon = outlook(&clear, &question, &looks(), 1).expect("three stacks");
    assert!(soon.rounds == 13 && soon.probability > 0.9, "{soon:?}");
    // Stacks at twice the tie width with noise of 200 %.
    let (noisy, question) = field(&[0.0, 0.1, 0.1], 10, 2.0, 1);
    let never = outlook(&noisy, &question, &looks(), 1).expect("three stacks");
    assert!(never.rounds == 128 && never.probability < 0.5, "{never:?}");
}

#[test]
fn chances_grow_with_the_rounds_and_repeat() {
    let (field, question) = field(&[0.0, 0.04, 0.1, 0.12], 8, 0.1, 2);
    let found = chances(&field, &question, &looks(), 3).expect("four stacks");
    assert!(found.is_sorted() && found[4] > found[0], "{found:?}");
    assert_eq!(chances(&field, &question, &looks(), 3), Some(found));
}

#[test]
fn one_stack_has_no_outlook() {
    let (alone, question) = field(&[0.0], 8, 0.1, 2);
    assert_eq!(chances(&alone, &question, &looks(), 3), None);
    let (pair, question) = field(&[0.0, 0.1], 8, 0.1, 2);
    assert_eq!(outlook(&pair, &question, &[], 3), None);
}
