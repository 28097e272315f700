use super::*;
use seekwell_model::verdict::{DependenceFound, Evidence, VerdictKind};
use seekwell_stats::{Better, Question, compare, seeded};

fn verdict(rounds: u32, correlation: f64, spells: f64) -> Verdict {
    let found = DependenceFound {
        correlation: Some(correlation),
        assumed: 0.6,
        told: true,
        spells: Some(spells),
    };
    Verdict {
        rounds,
        decision: Some(Decision::Winner),
        evidence: Evidence { dependence: Some(found), ..Evidence::default() },
        ..seekwell_fixtures::verdict(VerdictKind::Winner, &["a"], rounds)
    }
}

#[test]
fn a_certificate_from_few_dependent_rounds_is_doubted() {
    let said = |verdict: &Verdict| dependent_rounds(verdict).map(|warning| warning.text);
    assert_eq!(said(&verdict(10, 0.3, 0.2)), None);
    let alike = said(&verdict(10, 0.5, 0.2)).unwrap();
    assert!(alike.contains("correlation 0.50") && alike.contains("10 of them"), "{alike}");
    assert_eq!(said(&verdict(20, 0.5, 0.2)), None);
    let spells = said(&verdict(20, 0.3, 0.7)).unwrap();
    assert!(spells.contains("probability 70 %") && spells.contains("20 rounds"), "{spells}");
    assert_eq!(said(&verdict(40, 0.3, 0.7)), None);
}

#[test]
fn what_certifies_nothing_or_was_not_estimated_is_not_doubted() {
    let open = Verdict { decision: Some(Decision::Inconclusive), ..verdict(10, 0.9, 0.9) };
    assert_eq!(dependent_rounds(&open), None);
    let mut old = verdict(10, 0.9, 0.9);
    old.evidence.dependence = None;
    assert_eq!(dependent_rounds(&old), None);
}

/// Two stacks, the second twice as slow.
fn compared(rounds: usize, exact: bool) -> Comparison {
    let mut rng = seeded(5);
    let values = [1.0, 2.0]
        .map(|value| (0..rounds).map(|_| Some(value * (0.01 * rng.normal()).exp())).collect());
    let question = Question { exact, ..Question::new(Better::Lower, 0.05, 0.95) };
    compare(&values, &question).unwrap()
}

#[test]
fn a_certificate_says_what_its_rounds_cannot_show() {
    assert!(limits(&compared(10, false)).contains("fewer than 40 rounds"));
    assert_eq!(limits(&compared(40, false)), "");
    assert_eq!(limits(&compared(10, true)), "");
    // Nothing is certified in three rounds.
    assert_eq!(limits(&compared(3, false)), "");
}
