use super::*;
use seekwell_model::verdict::{DependenceFound, Evidence, VerdictKind};

fn verdict(rounds: u32, correlation: f64) -> Verdict {
    let found =
        DependenceFound { correlation: Some(correlation), assumed: 0.6, told: true, spells: None };
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
    assert_eq!(said(&verdict(10, 0.3)), None);
    let alike = said(&verdict(10, 0.5)).unwrap();
    assert!(alike.contains("correlation 0.50") && alike.contains("10 of them"), "{alike}");
    assert_eq!(said(&verdict(20, 0.5)), None);
    let open = Verdict { decision: Some(Decision::Inconclusive), ..verdict(10, 0.9) };
    assert_eq!(said(&open), None);
}
