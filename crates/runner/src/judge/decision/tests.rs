use super::*;
use seekwell_model::verdict::VerdictKind;

#[test]
fn a_decision_follows_from_the_finding() {
    let tie = |set: &[usize]| of(&Finding::Tie { set: set.to_vec(), not_better: vec![] });
    assert_eq!(of(&Finding::Winner { stack: 0 }), Decision::Winner);
    assert_eq!([tie(&[0]), tie(&[0, 1])], [Decision::BestChoice, Decision::EquivalentSet]);
}

#[test]
fn every_answer_has_a_sentence_to_act_on() {
    let verdict = seekwell_fixtures::verdict(VerdictKind::Winner, &["a"], 8);
    let answer =
        Answer { pick: Some("a".to_owned()), loss: Some(0.0871), among: 9, ..Answer::default() };
    let said = |answer: &Answer, metric: &str, better| {
        sentence(answer, &Verdict { metric: metric.to_owned(), better, ..verdict.clone() })
    };
    assert_eq!(
        said(&answer, "unpack.elapsed_durable", Better::Lower),
        "Take a: at most 8.8 % slower than the best of the 9 stacks."
    );
    assert_eq!(
        said(&answer, "seek.iops", Better::Higher),
        "Take a: at most 8.8 % worse than the best of the 9 stacks."
    );
    let open = Answer { loss: None, cause: Some("3 of 20 trials of b failed".into()), ..answer };
    assert_eq!(
        said(&open, "seek.iops", Better::Higher),
        "If you must choose: a; 3 of 20 trials of b failed."
    );
    assert_eq!(said(&Answer::default(), "seek.iops", Better::Higher), NOTHING);
}

#[test]
fn three_digits_are_shown() {
    assert_eq!([0.16, 1.0, 12.345, 312.4].map(three), ["0.160", "1.00", "12.3", "312"]);
    assert_eq!(three(f64::INFINITY), "unknown");
}

#[test]
fn lists_end_in_and() {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(and(&names(&[])), "");
    assert_eq!(and(&names(&["a"])), "a");
    assert_eq!(and(&names(&["a", "b", "c"])), "a, b and c");
}
