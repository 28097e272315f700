use crate::claims;
use crate::judge::judge;
use crate::judge::tests::{CLAIMS, STUDY, run};
use crate::study;
use seekwell_model::replication::{Agreement, ClaimVerdict, NotCountedKind, StudyOutcome};

fn outcome(claims: &str, study: &str, factor: f64) -> StudyOutcome {
    let claims = claims::read("claims.toml", claims).unwrap();
    let study = study::read("9.measure.toml", study, &claims).unwrap();
    judge(&claims, &study, &[run(factor)], &[])
}

/// The reason for which a claim is left out.
fn left_out(outcome: &StudyOutcome, id: &str) -> Option<(NotCountedKind, String)> {
    let claim = outcome.claims.iter().find(|claim| claim.id == id).unwrap();
    claim.not_counted.as_ref().map(|left_out| (left_out.kind, left_out.reason.clone()))
}

#[test]
fn a_win_within_the_tie_width_is_none() {
    // The order wants the second stack to be the faster one: by 1 % it is confirmed by the frozen rule, within the tie
    // of 2 %.
    let narrow = outcome(CLAIMS, STUDY, 0.99);
    assert_eq!(narrow.claims[1].verdict, ClaimVerdict::Confirmed);
    assert_eq!(narrow.claims[1].agreement, Some(Agreement::OurError));
    let clear = outcome(CLAIMS, STUDY, 0.9);
    assert_eq!(clear.claims[1].agreement, Some(Agreement::Agrees));
    assert_eq!(left_out(&clear, "9.order"), None);
}

#[test]
fn a_comparison_of_fitted_values_alone_does_not_count() {
    let fitted = CLAIMS.replace("use = \"predict\"", "use = \"fit\"");
    let all = outcome(&fitted, STUDY, 2.0);
    for claim in ["9.twice", "9.order", "9.equal"] {
        let (kind, _) = left_out(&all, claim).unwrap();
        assert_eq!(kind, NotCountedKind::FittedValues, "{claim}");
    }
    assert_eq!(left_out(&all, "9.sign"), None, "it names no published value");
    let one = CLAIMS.replacen("use = \"predict\"", "use = \"fit\"", 1);
    assert_eq!(left_out(&outcome(&one, STUDY, 2.0), "9.twice"), None);
}

#[test]
fn the_studys_file_can_leave_a_claim_out() {
    let text =
        format!("{STUDY}\n[[not_evidence]]\nof = \"9.twice\"\ntext = \"it repeats 9.order\"\n");
    let outcome = outcome(CLAIMS, &text, 2.0);
    let expected = (NotCountedKind::Stated, "it repeats 9.order".to_owned());
    assert_eq!(left_out(&outcome, "9.twice"), Some(expected));
    assert_eq!(outcome.claims[0].verdict, ClaimVerdict::Confirmed, "the result itself stays");
    let unknown = text.replace("of = \"9.twice\"\ntext", "of = \"9.none\"\ntext");
    let claims = claims::read("claims.toml", CLAIMS).unwrap();
    assert!(study::read("9.measure.toml", &unknown, &claims).is_err());
}

#[test]
fn an_erratum_corrects_the_line_of_a_claim() {
    let text = format!(
        "{CLAIMS}[[erratum]]\nid = \"9.order\"\ndate = \"2026-02-03\"\nline = 44\nreason = \"line 44\"\n"
    );
    let outcome = outcome(&text, STUDY, 2.0);
    assert_eq!((outcome.claims[0].line, outcome.claims[1].line), (3, 44));
    assert_eq!(outcome.errata[1], "9.order (2026-02-03): line 44");
}
