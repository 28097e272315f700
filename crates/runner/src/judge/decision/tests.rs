use super::*;
use crate::fixture;
use seekwell_model::lab::Effort;

fn row(stack: &str, ratio: Option<f64>, basis: Basis) -> Ratio {
    Ratio {
        stack: stack.to_owned(),
        ratio,
        low: ratio.map(|ratio| ratio / 2.0),
        high: ratio.map(|ratio| ratio * 2.0),
        median: None,
        pairs: 8,
        basis,
        hodges_lehmann: None,
        a12: None,
        autocorrelated: false,
    }
}

#[test]
fn a_decision_follows_from_the_finding() {
    let tie = |set: &[usize]| of(&Finding::Tie { set: set.to_vec(), not_better: vec![] });
    assert_eq!(of(&Finding::Winner { stack: 0 }), Decision::Winner);
    assert_eq!([tie(&[0]), tie(&[0, 1])], [Decision::BestChoice, Decision::EquivalentSet]);
}

#[test]
fn each_decision_has_a_sentence_to_act_on() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let said = |plan: &Plan, decision, stacks: &[&str], ratios: &[Ratio], out| {
        let stacks: Vec<String> = stacks.iter().map(|stack| (*stack).to_owned()).collect();
        Words::new(plan).sentence(decision, &stacks, ratios, out)
    };
    // The next is the first other stack that was compared in pairs.
    let rows = [
        row("a", Some(1.0), Basis::Paired),
        row("s", Some(1.5), Basis::Screen),
        row("b", Some(2.0), Basis::Paired),
        row("c", Some(4.0), Basis::Paired),
    ];
    assert_eq!(
        said(&plan, Decision::Winner, &["a"], &rows, 0),
        "a is the best, by more than 2 % against every other stack; the next, b, takes 2.00 times as long (1.00 to 4.00)."
    );
    assert_eq!(
        said(&plan, Decision::BestChoice, &["a"], &rows[..2], 0),
        "Take a: no other stack is better by more than 2 %."
    );
    let unknown = [row("b", None, Basis::Paired)];
    assert_eq!(
        said(&plan, Decision::BestChoice, &["a"], &unknown, 0),
        "Take a: no other stack is better by more than 2 %."
    );
    let inconclusive = |stacks: &[&str], out| said(&plan, Decision::Inconclusive, stacks, &[], out);
    assert_eq!(inconclusive(&["a", "b"], 0), "Inconclusive: the best may be a or b.");
    assert_eq!(
        inconclusive(&["a", "b"], 1),
        "Inconclusive: the best may be a or b; 1 stack is out."
    );
    assert_eq!(
        inconclusive(&["a", "b"], 2),
        "Inconclusive: the best may be a or b; 2 stacks are out."
    );
    assert_eq!(inconclusive(&["a"], 2), "Inconclusive: nothing can be compared yet.");
    assert_eq!(inconclusive(&[], 2), "Inconclusive: nothing can be compared yet.");
    // A rate is had, not taken, and so is what is better when it is higher.
    plan.lab.judge.metric = "step.rate".into();
    let has = "; the next, b, has 2.00 times its step.rate (1.00 to 4.00).";
    assert!(said(&plan, Decision::Winner, &["a"], &rows, 0).ends_with(has));
    (plan.lab.judge.metric, plan.lab.judge.better) = ("step.elapsed".into(), Better::Higher);
    let has = "; the next, b, has 2.00 times its step.elapsed (1.00 to 4.00).";
    assert!(said(&plan, Decision::Winner, &["a"], &rows, 0).ends_with(has));
}

#[test]
fn numbers_have_three_digits() {
    let said = [0.01234, 0.5, 1.0, 1.234, 12.34, 123.4, 1234.5].map(three);
    assert_eq!(said, ["0.0123", "0.500", "1.00", "1.23", "12.3", "123", "1234"]);
    assert_eq!([10.0, 100.0, 0.0, -12.34].map(three), ["10.0", "100", "0.00", "-12.3"]);
    assert_eq!([f64::INFINITY, f64::NAN].map(three), ["unknown", "unknown"]);
}

#[test]
fn lists_read_as_people_say_them() {
    let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    assert_eq!(list(&[]), "none");
    assert_eq!(list(&names[..1]), "a");
    assert_eq!(list(&names[..4]), "a, b, c or d");
    assert_eq!(list(&names[..3]), "a, b or c");
    assert_eq!(list(&names), "a, b, c, d or 2 others");
}
